"""The queue: rows, groups, and the news that a poll brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from suspensions.pages.contexts.frame import Chrome, Deadline, Empty, Link, Search, Tab
from suspensions.pages.contexts.pause import CallLine, Folded, TextWarning


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One pause in a list. `calls` are the ones shown, `more_calls` says how many are not."""

    id: str
    href: str
    calls: Sequence[CallLine]
    reason: str
    agent: str
    run_id: str
    scope: str
    since: datetime
    situation: str
    note: str = ""
    more_calls: int = 0
    situation_icon: str = ""
    deadline: Deadline | None = None
    decidable: bool = False
    """Whether this reader may decide it: the keys ``a`` and ``d`` work on it."""
    since_word: str = "Waiting"
    pick: str = ""
    """The one tool of all its calls where it may be decided together with others of the tool."""

    @property
    def call_count(self) -> int:
        return len(self.calls) + self.more_calls

    @property
    def levels(self) -> list[str]:
        """The scope's levels, each on a line of its own."""
        return self.scope.split("/")


@dataclass(frozen=True, slots=True)
class QueueGroup:
    key: str
    title: str
    count: str
    rows: Sequence[QueueRow]


@dataclass(frozen=True, slots=True)
class GoneRow:
    """A row that the reader still sees and that left the list, with what became of it."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class QueueNews:
    """The answer to a poll: how many came, which left. It carries no row, so it can bring none back."""

    poll_href: str
    show_href: str
    since: datetime
    new_count: int = 0
    gone: Sequence[GoneRow] = ()
    counts: Mapping[str, str] = field(default_factory=dict)
    """How many there are of each by now, as finished text."""


@dataclass(frozen=True, slots=True)
class QueuePage:
    chrome: Chrome
    tabs: Sequence[Tab]
    search: Search
    groups: Sequence[QueueGroup]
    news: QueueNews
    empty: Empty | None = None
    older_href: str = ""
    bulk_href: str = ""
    """Where several that were picked are looked at together; empty where none can be."""
    bulk_scope: str = ""
    """The chosen scope, as a field: the query of a form's own address is lost where it is sent by GET."""


@dataclass(frozen=True, slots=True)
class BulkMember:
    """A member of the arguments; a text without a name is the whole of them."""

    name: str
    value: Folded


@dataclass(frozen=True, slots=True)
class BulkCall:
    """One call of a common decision. `index` counts over all of them."""

    index: int
    id: str
    arguments_sha256: str
    members: Sequence[BulkMember]
    note: str = ""


@dataclass(frozen=True, slots=True)
class BulkPause:
    index: int
    id: str
    href: str
    scope: str
    run_revision: int
    agent: str
    calls: Sequence[BulkCall]
    deadline: Deadline | None = None
    taken: bool = True
    """Whether it is ticked; not where somebody left it out before their session ended."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A pause that was selected and cannot be decided with the others, and why."""

    href: str
    what: str
    about: str
    why: str
    receipt_href: str = ""
    """Of the answer that it has already."""


@dataclass(frozen=True, slots=True)
class BulkPage:
    """Several approvals of one tool, everything that they share and everything that differs."""

    chrome: Chrome
    crumbs: Sequence[Link]
    action: str
    tool: str
    pauses: Sequence[BulkPause]
    same: Sequence[BulkMember]
    warnings: Sequence[TextWarning]
    left_out: Sequence[LeftOut]
    answered: Sequence[LeftOut] = ()
    """Those that were decided already, by whom and when: nothing is wrong with them."""
    empty: Empty | None = None
    note: str = ""

    @property
    def call_count(self) -> int:
        return sum(len(pause.calls) for pause in self.pauses)

    @property
    def taken_count(self) -> int:
        """How many calls a press decides."""
        return sum(len(pause.calls) for pause in self.pauses if pause.taken)


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What became of one pause: done, or why not."""

    href: str
    what: str
    about: str
    """What tells it from the others of its tool."""
    ok: bool
    text: str
    receipt_href: str = ""


@dataclass(frozen=True, slots=True)
class BulkResultPage:
    chrome: Chrome
    crumbs: Sequence[Link]
    title: str
    text: str
    results: Sequence[BulkResult]
    note: str = ""
    next_link: Link | None = None
