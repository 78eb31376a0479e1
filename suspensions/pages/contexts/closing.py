"""Closing an uncertain resume: what is proved on the left, the frozen request on the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from suspensions.pages.contexts.frame import Banner, Chrome, Link
from suspensions.pages.contexts.pause import KeptText


@dataclass(frozen=True, slots=True)
class Note:
    """The line under a field: a ``hint``, something to look at (``soon``), or a ``fault``."""

    name: str
    text: str = ""
    tone: str = "hint"

    @property
    def is_fault(self) -> bool:
        return self.tone == "fault"


@dataclass(frozen=True, slots=True)
class ClosingField:
    """A line to fill. `choices` are proposed, and another text may be typed."""

    name: str
    label: str
    value: str
    note: Note
    aside: str = ""
    placeholder: str = ""
    choices: Sequence[str] = ()
    focus: bool = False
    wide: bool = False


@dataclass(frozen=True, slots=True)
class HolderRow:
    """A worker that held the run since its admission. `word` is ``quiet``, ``missing``, or empty without a proof."""

    owner: str
    since: datetime
    word: str = ""


@dataclass(frozen=True, slots=True)
class ProofBox:
    """What stands below the proof: its size and digest, and whom of the workers it names.

    `claims` are the proof's own words, by field, to be put into fields that are empty.
    """

    size: int
    sha256: str
    holders: Sequence[HolderRow]
    claims: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class FrozenMember:
    """A member of the request. `mine`: it comes from the form; `absent`: why it has no value."""

    name: str
    value: str
    mine: bool = False
    wrong: bool = False
    absent: str = ""


@dataclass(frozen=True, slots=True)
class Frozen:
    """The request as it stands and its digest, once it is whole."""

    digest: str
    domain: str
    members: Sequence[FrozenMember]
    missing: Sequence[str] = ()
    claims: str = ""
    """What the issuer would sign, as JSON."""
    notes: Sequence[Note] = ()
    proof: ProofBox | None = None


@dataclass(frozen=True, slots=True)
class ClosingForm:
    """The form. `pins` are what it was opened with, so that it closes nothing else."""

    action: str
    leave_href: str
    pins: Sequence[tuple[str, str]]
    before: Sequence[ClosingField]
    """The fields above the proof."""
    after: Sequence[ClosingField]
    """The fields below it."""
    proof: ClosingField
    proof_box: ProofBox
    confirm: ClosingField
    six: str
    frozen: Frozen
    faults: Sequence[tuple[str, str]] = ()
    """Name and label of each field that must be mended."""


@dataclass(frozen=True, slots=True)
class ClosingPage:
    chrome: Chrome
    title: str
    crumbs: Sequence[Link]
    started_at: datetime | None = None
    starter: str = ""
    takers: Sequence[HolderRow] = ()
    """Who took the run over since, oldest first."""
    heard_at: datetime | None = None
    lapsed_at: datetime | None = None
    workers: Sequence[str] = ()
    """Everybody whom closing shuts out."""
    handed_out: Sequence[str] = ()
    banner: Banner | None = None
    form: ClosingForm | None = None
    kept: Sequence[KeptText] = ()
