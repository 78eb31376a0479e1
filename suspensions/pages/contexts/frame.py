"""Values of the frame around every page, and pieces that several pages share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class NavItem:
    """A link of the top bar. `count` is finished text such as ``1,000+``; empty shows none."""

    label: str
    href: str
    current: bool = False
    count: str = ""
    alert: bool = False
    counts: str = ""
    """What is counted, by which a poll's answer finds the count to bring up to date."""


@dataclass(frozen=True, slots=True)
class Chrome:
    """What the frame around a page needs: who is signed in, where they are, how they like it."""

    now: datetime
    person: str = ""
    scope: str = ""
    nav: Sequence[NavItem] = ()
    theme: str = ""
    """Empty follows the system; else ``light`` or ``dark``."""
    single_keys: bool = True
    zone: str = "UTC"
    home_href: str = "/"
    profile_href: str = ""
    sign_out_href: str = ""
    toasts: Sequence[str] = ()
    """What was done just now, each told once."""


@dataclass(frozen=True, slots=True)
class Banner:
    """Something to know before going on. `alert` only where it answers a press.

    `text` and `aside` are written by the product; a model's words go into `quotes`.
    """

    tone: str
    """``info``, ``soon``, ``stop`` or ``good``: the colour and, by it, the sign."""
    title: str
    text: str = ""
    aside: str = ""
    icon: str = ""
    alert: bool = False
    at: datetime | None = None
    calls: Sequence[CallOutcome] = ()
    links: Sequence[Link] = ()

    @property
    def sign(self) -> str:
        """The icon that carries the tone for those who do not see the colour."""
        return self.icon or _TONE_SIGNS[self.tone]


_TONE_SIGNS = {"info": "arrow-up", "soon": "triangle-alert", "stop": "triangle-alert", "good": "check"}


@dataclass(frozen=True, slots=True)
class Link:
    label: str
    href: str
    primary: bool = False
    key: str = ""
    """The single key that follows it, shown beside the label: ``n`` for the next in the queue."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What stands for one call: number, tool, and the outcome in a word (``denied``)."""

    number: int
    tool: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Tab:
    label: str
    href: str
    count: str = ""
    current: bool = False
    alert: bool = False
    counts: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    value: str
    label: str
    selected: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """A choice of the filter line; the first option is the one that filters nothing."""

    name: str
    label: str
    options: Sequence[Option]

    @property
    def on(self) -> bool:
        return any(option.selected and option.value for option in self.options)


@dataclass(frozen=True, slots=True)
class Search:
    """The filter line of a list. `kept` are parameters that a search must not lose, such as the tab."""

    action: str
    query: str = ""
    placeholder: str = "Search"
    label: str = "Search"
    filters: Sequence[Filter] = ()
    kept: Sequence[tuple[str, str]] = ()
    words: bool = True
    """Whether the list can be searched by words at all."""
    instead: Link | None = None
    """Where to look by words, if not here."""

    @property
    def on(self) -> int:
        """How many filters are in force."""
        return sum(one.on for one in self.filters)

    @property
    def active(self) -> bool:
        return bool(self.query) or self.on > 0

    @property
    def clear_href(self) -> str:
        return self.action


@dataclass(frozen=True, slots=True)
class Empty:
    """What stands where a list has no rows: never an empty table."""

    title: str
    text: str
    link: Link | None = None
    other: Link | None = None


@dataclass(frozen=True, slots=True)
class Deadline:
    """An instant that something must have happened by. `verb` says what else: ``fails``."""

    at: datetime
    verb: str = "fails"
    after: str = ""
    """Words after the time left, such as ``to start``."""
