"""One pause: its calls, the decision form, what stands, the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from suspensions.pages.contexts.frame import Banner, Chrome, Deadline, Link


@dataclass(frozen=True, slots=True)
class Folded:
    """A text whose middle may be folded away: head and tail stay in sight. See `folding.fold`."""

    head: str
    middle: str = ""
    tail: str = ""

    @property
    def total(self) -> int:
        return len(self.head) + len(self.middle) + len(self.tail)


@dataclass(frozen=True, slots=True)
class TreeStep:
    """One step of a flattened argument tree: ``leaf``, ``open`` (a list or object), ``close``.

    Flat, so that depth costs no recursion. `inline` members of a small object stand on its line.
    """

    kind: str
    key: str | None = None
    index: int | None = None
    value: Folded | None = None
    literal: str = ""
    """The kind of value: ``string``, ``number``, ``literal``, ``object``, ``array``, ``deep``; or ``root``."""
    size: int = 0
    pointer: str = ""
    flags: Sequence[str] = ()
    inline: Sequence[TreeStep] = ()


@dataclass(frozen=True, slots=True)
class TextWarning:
    """A place where the text does not read the way it looks."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """One edited value: JSON pointer, literal before and after; None is a value that is not there.

    `aside` says what else is to be known: a text where a number was (`recast`), a number that is only
    written differently, or where no value changed the order of members or white space.
    """

    pointer: str
    was: str | None = None
    now: str | None = None
    aside: str = ""
    recast: bool = False


@dataclass(frozen=True, slots=True)
class PreviewPart:
    """One argument in a call's preview, already cut short (``[2]`` for a list of two)."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class CallLine:
    """A call in one line: in a list, and on its page as long as it is folded."""

    tool: str
    parts: Sequence[PreviewPart] = ()
    more: int = 0
    """How many arguments the preview leaves out."""


@dataclass(frozen=True, slots=True)
class CallView:
    """One pending call on the pause's page, and what the reader typed for it so far.

    `index` counts from 0 and is the ``{i}`` of the form's field names; people read `number`.
    `line` stands for it while it is folded, which it is unless `open`; without one it cannot be folded.
    """

    index: int
    id: str
    tool: str
    arguments: str
    arguments_sha256: str
    size: int
    verbatim: Folded
    steps: Sequence[TreeStep] = ()
    cut: bool = False
    """Whether the tree stops before its end; the verbatim text has all of it."""
    is_json: bool = True
    note: str = ""
    warnings: Sequence[TextWarning] = ()
    reply_with: str = ""
    line: CallLine | None = None
    open: bool = True
    # what was typed, shown again after a refusal
    decision: str = ""
    edited: str | None = None
    typed_note: str = ""
    kind: str = ""
    result: str = ""
    changes: Sequence[Change] = ()
    # faults, each shown at its field
    decision_fault: str = ""
    arguments_fault: str = ""
    result_fault: str = ""
    note_fault: str = ""
    # what stands, once decided
    outcome: str = ""
    outcome_note: str = ""

    @property
    def number(self) -> int:
        return self.index + 1

    @property
    def editor_text(self) -> str:
        return self.arguments if self.edited is None else self.edited

    @property
    def faults(self) -> list[tuple[str, str]]:
        """Anchor and label of each fault, for the list above the form."""
        places = (
            (self.decision_fault, "decision", "Decision for"),
            (self.arguments_fault, "arguments", "Arguments of"),
            (self.result_fault, "result", "Result of"),
            (self.note_fault, "note", "Note for"),
        )
        return [(f"call-{self.index}-{name}", f"{label} call {self.number}") for fault, name, label in places if fault]


@dataclass(frozen=True, slots=True)
class DecisionForm:
    """The form of one pinned pause. `kind` is its reason; only ``approval`` and ``external_tool`` have one."""

    action: str
    kind: str
    scope: str
    run_revision: int
    calls: Sequence[CallView]
    now: datetime
    deadline: Deadline | None = None
    banner: Banner | None = None
    can_open_next: bool = True
    may_approve: bool = True
    """Nobody approves what they asked for themselves; they may deny it."""

    @property
    def faults(self) -> list[tuple[str, str]]:
        return [fault for call in self.calls for fault in call.faults]

    @property
    def plain_label(self) -> str:
        """The button's words without a script: true whatever is chosen."""
        what = "decision" if self.kind == "approval" else "answer"
        count = len(self.calls)
        if count == 1:
            return f"Send the {what}"
        return f"Send both {what}s" if count == 2 else f"Send all {count} {what}s"


@dataclass(frozen=True, slots=True)
class ReceiptLink:
    kind: str
    """``admission``, ``start``, ``expiry`` or ``closure``."""
    href: str
    words: str = ""
    """What it is the receipt of, where nothing around it says so."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands once nothing can be decided here any more: the banner, the calls, the receipts.

    `kept` is what the reader had typed and was not taken, to be copied.
    """

    banner: Banner
    calls: Sequence[CallView]
    now: datetime
    receipts: Sequence[ReceiptLink] = ()
    kept: Sequence[KeptText] = ()
    next_link: Link | None = None
    digest: str = ""
    poll_href: str = ""
    """Where to ask whether a worker has picked it up; none once nothing more comes by itself."""


@dataclass(frozen=True, slots=True)
class KeptText:
    """What the reader typed and was not taken. `name` is the field's, to carry it through a sign-in."""

    label: str
    text: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Deciding:
    """Somebody who may decide; `looking` for how long they have had the page open."""

    name: str
    role: str
    looking: timedelta | None = None
    muted: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of a list of facts. `kind` says how the value is shown: text, data, digest, instant, utc, id."""

    label: str
    value: str = ""
    kind: str = "text"
    href: str = ""
    aside: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation. `calls` are its tool calls, as text."""

    number: int
    role: str
    parts: Sequence[Folded] = ()
    calls: Sequence[MessageCall] = ()
    loaded: bool = False
    boundary: bool = False
    """Whether the line "loaded history ends here" stands above it."""
    aside: str = ""


@dataclass(frozen=True, slots=True)
class MessageCall:
    tool: str
    arguments: Folded


@dataclass(frozen=True, slots=True)
class Conversation:
    """The history that the run loaded, a line, then the run's own messages."""

    messages: Sequence[Message]
    total: int
    loaded: int
    system_prompt: Folded | None = None
    earlier: int = 0
    earlier_href: str = ""
    """Gives the earlier messages as a fragment, or as a page without htmx."""
    loaded_last: bool = False
    """Whether the loaded history is all there is, so that the line stands below it."""

    @property
    def own(self) -> int:
        return self.total - self.loaded


@dataclass(frozen=True, slots=True)
class PauseNews:
    """The answer to a poll of an open form: who else looks, and whether it is over meanwhile."""

    poll_href: str
    now: datetime
    looking: Sequence[Deciding] = ()
    over: Banner | None = None


@dataclass(frozen=True, slots=True)
class PausePage:
    """One pause. Exactly one of `form`, `standing` and `read_only` says what can be done."""

    chrome: Chrome
    id: str
    title: str
    since: datetime
    crumbs: Sequence[Link]
    form: DecisionForm | None = None
    standing: Standing | None = None
    read_only: ReadOnlyCalls | None = None
    shared_note: str = ""
    deadline: Deadline | None = None
    start_by: Deadline | None = None
    people: Sequence[Deciding] = ()
    nobody: bool = False
    """Whether no approver holds a grant, so that nobody can answer."""
    bound_to: Sequence[Fact] = ()
    configuration: Sequence[Fact] = ()
    conversation: Conversation | None = None
    tool_results: Sequence[MessageCall] = ()
    next_href: str = ""
    news: PauseNews | None = None

    @property
    def tab_title(self) -> str:
        """What the browser's tab and history are told apart by: most headings are alike."""
        shown = self.form or self.standing or self.read_only
        return f"{shown.calls[0].tool}: {self.title}" if shown and shown.calls else self.title


@dataclass(frozen=True, slots=True)
class ReadOnlyCalls:
    """A pause that this reader cannot answer, and why: a peer agent's, or no role for it."""

    banner: Banner
    calls: Sequence[CallView]
    reason: str
