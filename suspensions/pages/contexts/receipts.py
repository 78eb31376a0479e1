"""One receipt with its chain and Verify, and the lists of receipts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from suspensions.pages.contexts.frame import CallOutcome, Chrome, Empty, Link, Search, Tab
from suspensions.pages.contexts.pause import CallLine, Change, Fact, Folded


@dataclass(frozen=True, slots=True)
class DecidedCall(CallOutcome):
    """What an admission decided of one call, and what it changed of the arguments."""

    changes: Sequence[Change] = ()


@dataclass(frozen=True, slots=True)
class ReceiptRow:
    kind: str
    href: str
    at: datetime
    by: str
    run_id: str
    suspension_id: str
    digest: str
    scope: str
    text: str = ""
    calls: Sequence[CallLine] = ()
    """What the pause asked, as far as the row shows it; none where it was purged."""
    more_calls: int = 0


@dataclass(frozen=True, slots=True)
class ReceiptsPage:
    chrome: Chrome
    tabs: Sequence[Tab]
    search: Search
    rows: Sequence[ReceiptRow]
    empty: Empty | None = None
    older_href: str = ""
    looked: str = ""
    """How many were looked through, where the search stopped before the oldest."""
    exports: Sequence[Link] = ()


@dataclass(frozen=True, slots=True)
class ChainNode:
    """A receipt in its chain admission → start → closure (or expiry); `here` is the one on the page."""

    kind: str
    href: str
    at: datetime | None = None
    by: str = ""
    digest: str = ""
    here: bool = False
    missing: str = ""
    """What to say where this receipt does not exist yet."""


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison of Verify. `word` is ``equal``, ``linked`` or what is wrong."""

    name: str
    ok: bool
    word: str
    stored: str = ""
    computed: str = ""
    detail: str = ""
    """What was looked at, where it was not two digests."""


@dataclass(frozen=True, slots=True)
class Verification:
    at: datetime
    checks: Sequence[Check]

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)

    @property
    def matched(self) -> int:
        return sum(check.ok for check in self.checks)


@dataclass(frozen=True, slots=True)
class VerifyBox:
    """The Verify button's form and, once pressed, what it found."""

    action: str
    result: Verification | None = None
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """Name and value of a hashed object. `digest` values break in the middle."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class ReceiptPage:
    chrome: Chrome
    kind: str
    title: str
    lede: str
    chain: Sequence[ChainNode]
    digest_title: str
    digest: str
    domain: str
    members: Sequence[Member]
    canonical: str
    facts: Sequence[Fact]
    verify: VerifyBox
    crumbs: Sequence[Link] = ()
    download_href: str = ""
    input_outcomes: Sequence[DecidedCall] = ()
    input_text: Folded | None = None
    input_size: int = 0
    schema_version: int = 1
