"""One run with its life and its drawing, and the list of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from suspensions.pages.contexts.frame import Banner, Chrome, Deadline, Empty, Link, Search
from suspensions.pages.contexts.pause import CallLine, Fact, Folded, ReceiptLink


@dataclass(frozen=True, slots=True)
class LifeEvent:
    """One line of a run's life. `line` is how the way to the next one is drawn: solid, gap, lost."""

    at: datetime
    icon: str
    title: str
    text: str = ""
    tone: str = ""
    revision: str = ""
    line: str = ""
    receipt: ReceiptLink | None = None
    link: Link | None = None


@dataclass(frozen=True, slots=True)
class Drawing:
    """A run over time as numbers for an SVG. Made by `drawing.draw`."""

    width: int
    height: int
    words: str
    ticks: Sequence[Tick]
    bars: Sequence[Bar]
    pins: Sequence[Pin]
    now_x: float | None = None
    fine: bool = False
    """Whether the axis needs seconds."""

    @property
    def now_text_x(self) -> float:
        return (self.now_x or 0) - 4


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the axis. `show`: whether its time has room beside it."""

    x: float
    at: datetime
    show: bool = True

    @property
    def text_x(self) -> float:
        return self.x + 4


_LONG = 300.0
"""About as much of a drawing as a phone shows at once."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of time in one of the two lanes. `label` is empty where it would not fit."""

    kind: str
    x: float
    y: float
    width: float
    label: str = ""
    title: str = ""

    @property
    def text_x(self) -> float:
        return self.x + 7

    @property
    def end_x(self) -> float | None:
        """Where its label ends that is said again, for a place too narrow to show both ends of so long a bar."""
        return self.x + self.width - 7 if self.label and self.width > _LONG else None

    @property
    def text_y(self) -> float:
        return self.y + 19.5


@dataclass(frozen=True, slots=True)
class Pin:
    """A receipt: a stem at its instant, and a box that may stand a little aside."""

    x: float
    box_x: float
    width: float
    label: str

    @property
    def text_x(self) -> float:
        return self.box_x + 6.5


@dataclass(frozen=True, slots=True)
class WorkItem:
    """A call of the progress snapshot: ``completed``, ``failed``, ``denied`` or ``handed out``."""

    tool: str
    outcome: str


@dataclass(frozen=True, slots=True)
class LeaseView:
    owner: str
    expires_at: datetime
    epoch: int
    lapsed: bool = False

    @property
    def until(self) -> Deadline:
        return Deadline(self.expires_at, verb="lapses")


@dataclass(frozen=True, slots=True)
class CancelView:
    """Cancelling, with what it will do. Without an `action` it is not possible now, and `why_not` says why.

    `instead` is what should be done first: cancelling says nothing of a resume that is uncertain, and proves nothing.
    """

    text: str
    action: str = ""
    scope: str = ""
    why_not: str = ""
    instead: Link | None = None
    possible_from: datetime | None = None


@dataclass(frozen=True, slots=True)
class RunPage:
    chrome: Chrome
    id: str
    title: str
    state: str
    revision: int
    since: datetime
    events: Sequence[LifeEvent]
    facts: Sequence[Fact]
    crumbs: Sequence[Link] = ()
    drawing: Drawing | None = None
    lease: LeaseView | None = None
    progress_at: datetime | None = None
    progress: Sequence[WorkItem] = ()
    cancel: CancelView | None = None
    older_href: str = ""
    texts: Sequence[NamedText] = ()
    banner: Banner | None = None


@dataclass(frozen=True, slots=True)
class NamedText:
    """A content of the run (input, output, error), as text."""

    label: str
    text: Folded
    size: int


@dataclass(frozen=True, slots=True)
class RunRow:
    id: str
    href: str
    agent: str
    state: str
    """The run's, or `uncertain` for a running one of whose resume nothing more is heard."""
    revision: int
    scope: str
    created_at: datetime
    updated_at: datetime
    text: str = ""
    """What happened last."""
    calls: Sequence[CallLine] = ()
    """What its latest pause asks or asked, as far as the row shows it."""
    more_calls: int = 0


@dataclass(frozen=True, slots=True)
class RunsPage:
    chrome: Chrome
    search: Search
    rows: Sequence[RunRow]
    empty: Empty | None = None
    older_href: str = ""
