"""A call's arguments: read for a person's eyes, compared with an edit, checked as an edit.

Arguments are the model's text, verbatim. Nothing made here ever replaces that text: a tree is for
showing, a diff for explaining. Numbers stay as they are written, members keep their order, and a
name that stands twice keeps both its values, since each of these can hide what a call really does.

Source: the store's specification, *Pending call*, *Exactness*, *Decisions by humans*; the pages'
specification, *One pause*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice, takewhile
from typing import Final, TypeAlias

from suspensions.domain.json_as_written import (
    HALF_PAIR,
    Deep,
    Members,
    Number,
    Raw,
    Reading,
    Unreadable,
    child_pointer,
    reads_as,
    same_number,
    sendable,
    written,
)
from suspensions.domain.limits import MAX_DEPTH
from suspensions.domain.strict_json import loads

MAX_WARNINGS: Final = 100
"""So many of each kind are kept, so that a model cannot crowd out one kind by another."""
MAX_LETTERS: Final = 16 << 20
"""Of pointers at a time: below a name of millions of letters, each value has a pointer that long."""


class NodeKind(StrEnum):
    OBJECT = "object"
    ARRAY = "array"
    STRING = "string"
    NUMBER = "number"
    LITERAL = "literal"
    DEEP = "deep"  # nested beyond the limit: shown as written, and not looked into


class WarningKind(StrEnum):
    DUPLICATE = "duplicate"
    NUMBER = "number"
    HALF_PAIR = "half_pair"
    DEPTH = "depth"


class ChangeKind(StrEnum):
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    TEXT = "text"  # the whole text, where one of the two is no JSON
    ORDER = "order"
    SPACING = "spacing"  # white space, or letters spelled as escapes


@dataclass(frozen=True, slots=True)
class ArgumentsWarning:
    """Something about a value that does not read, or is not read, the way it looks."""

    kind: WarningKind
    pointer: str
    detail: str


@dataclass(frozen=True, slots=True)
class NotJson:
    """The arguments are no JSON: show the text and say so. `offset` counts characters."""

    detail: str
    offset: int | None


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two texts, by RFC 6901 pointer.

    `before` and `after` are as written, None where there is no such value. `same_value` is true for
    a number that is only written differently (1.50 and 1.5).
    """

    kind: ChangeKind
    pointer: str
    before: str | None = None
    after: str | None = None
    same_value: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """One value of the tree. Its children are made when asked for, so that a text of millions of
    values costs no more than what is shown of it.

    `key` is its name in an object, `index` its place in an array; `duplicate` is true for every
    value whose name stands more than once in its object (their pointers are equal).
    """

    pointer: str
    key: str | None = None
    index: int | None = None
    duplicate: bool = False
    raw: Raw = field(default=None, repr=False)

    @property
    def kind(self) -> NodeKind:
        match self.raw:
            case Members():
                return NodeKind.OBJECT
            case Number():
                return NodeKind.NUMBER
            case Deep():
                return NodeKind.DEEP
            case list():
                return NodeKind.ARRAY
            case str():
                return NodeKind.STRING
            case _:
                return NodeKind.LITERAL

    @property
    def length(self) -> int:
        """How many members, items, or characters; 0 for a literal."""
        match self.raw:
            case Members(pairs):
                return len(pairs)
            case list() | str():
                return len(self.raw)
            case Number(text) | Deep(text):
                return len(text)
            case _:
                return 0

    @property
    def text(self) -> str:
        """A string's characters, a number as written, a literal, a deep value as written.

        Half a surrogate pair reads as its escape: it could not be sent to a browser. Empty for
        objects and arrays.
        """
        match self.raw:
            case Members() | list():
                return ""
            case str():
                return sendable(self.raw)
            case _:
                return written(self.raw)

    @property
    def reads_as(self) -> str | None:
        """What a program that keeps numbers as doubles would make of this one, if it is another."""
        return reads_as(self.raw.lexeme) if isinstance(self.raw, Number) else None

    @property
    def children(self) -> tuple[Node, ...]:
        return tuple(self.each())

    def each(self) -> Iterator[Node]:
        """The children one by one, each made when its turn comes."""
        return _children(self.raw, self.pointer)

    def first(self, limit: int) -> tuple[Node, ...]:
        """The first children, without making the others."""
        return tuple(islice(self.each(), limit))


@dataclass(frozen=True, slots=True)
class ArgumentsTree:
    """Arguments that are JSON. `more_warnings` counts those beyond the first hundred of their kind."""

    root: Node
    warnings: tuple[ArgumentsWarning, ...] = ()
    more_warnings: int = 0


def parse_arguments(text: str) -> ArgumentsTree | NotJson:
    """Read a call's arguments for showing, with everything about them that misleads.

    Unlike a body, arguments may repeat a name, hold any number and nest at will: all of it is shown
    and warned of. What nests deeper than 64 levels is kept as written and not looked into.
    """
    try:
        reading = Reading(text)
    except Unreadable as fault:
        return NotJson(fault.detail, fault.offset)
    kept: list[ArgumentsWarning] = []
    counts: Counter[WarningKind] = Counter()
    letters: Counter[WarningKind] = Counter()
    for kind, way, detail in _warnings(reading):
        counts[kind] += 1
        if counts[kind] <= MAX_WARNINGS and letters[kind] <= MAX_LETTERS:
            kept.append(ArgumentsWarning(kind, _pointer(way), detail))
            letters[kind] += len(kept[-1].pointer)
    return ArgumentsTree(Node("", raw=reading.raw), tuple(kept), counts.total() - len(kept))


def _children(raw: Raw, pointer: str) -> Iterator[Node]:
    if isinstance(raw, Members):
        for name, value in raw.pairs:
            yield Node(
                child_pointer(pointer, name),
                key=sendable(name),
                duplicate=name in raw.repeated,
                raw=value,
            )
    elif isinstance(raw, list):
        for index, value in enumerate(raw):
            yield Node(f"{pointer}/{index}", index=index, raw=value)


# How to reach a value: the way to what holds it, then a name or a place. A pointer is made of the few
# that are kept alone; made of all, a long name would be copied for each of a million values below it.
_Way: TypeAlias = "tuple[_Way, str | int] | None"
_Found: TypeAlias = tuple[WarningKind, _Way, str]


def _pointer(way: _Way) -> str:
    tokens: list[str] = []
    while way:
        way, token = way
        tokens.append(f"/{token}" if isinstance(token, int) else child_pointer("", token))
    return "".join(reversed(tokens))


def _warnings(reading: Reading) -> Iterator[_Found]:
    """Walk the tree, unless nothing that was read can give a warning."""
    odd = {lexeme: other for lexeme in reading.lexemes if (other := reads_as(lexeme))}
    if odd or reading.misleads:
        yield from _warnings_at(reading.raw, None, odd)


def _warnings_at(raw: Raw, way: _Way, odd: Mapping[str, str]) -> Iterator[_Found]:
    """The warnings of one value and of all below it, in the order of the text."""
    match raw:
        case Members(pairs, repeated):
            times = Counter(name for name, _ in pairs if name in repeated)
            for name, value in pairs:
                place = (way, name)
                if count := times.pop(name, 0):
                    detail = f"this name stands {count} times: programs differ in which they read"
                    yield WarningKind.DUPLICATE, place, detail
                if HALF_PAIR.search(name):
                    yield WarningKind.HALF_PAIR, place, _HALF_PAIR_DETAIL
                yield from _warnings_at(value, place, odd)
        case list():
            for index, value in enumerate(raw):
                if isinstance(value, list | Members | Deep | str) or (
                    isinstance(value, Number) and value.lexeme in odd
                ):
                    yield from _warnings_at(value, (way, index), odd)
        case Number(lexeme) if lexeme in odd:
            yield WarningKind.NUMBER, way, _number_detail(lexeme, odd[lexeme])
        case str() if HALF_PAIR.search(raw):
            yield WarningKind.HALF_PAIR, way, _HALF_PAIR_DETAIL
        case Deep():
            detail = f"nested deeper than {MAX_DEPTH} levels: shown as written, not looked into"
            yield WarningKind.DEPTH, way, detail


_HALF_PAIR_DETAIL: Final = "holds half a surrogate pair, which programs read differently"


def _number_detail(lexeme: str, other: str) -> str:
    if other in ("infinity", "-infinity"):
        what = "beyond the largest double"
    elif lexeme.lstrip("-").isdigit():
        what = "over 2^53"
    else:
        what = "written with more digits than some programs keep"
    return f"{what}: some programs would read it as {other}"


# --- edits ---------------------------------------------------------------------------------------


def check_edit(text: str) -> None:
    """Refuse an edit that is not strict JSON, by the rules for bodies.

    Any JSON value will do, also an empty object, null, false or zero.
    Raises: MalformedJson, with pointer or offset.
    """
    loads(text)


def normalise_typed(text: str) -> str:
    """Text typed in a browser: line ends become LF, spaces stay.

    Browsers send CR LF for every line end; without this, the same text by browser and by REST would
    be two texts of two lengths.
    """
    return text.replace("\r\n", "\n").replace("\r", "\n")


def diff(original: str, edited: str) -> tuple[Change, ...]:
    """What an edit changed, by pointer, and nothing that it did not change.

    Where no value differs but the texts do, the answer says so: `order` for each object whose
    members stand in another order, else one `spacing`. Where a text is no JSON, the whole text is
    the change.
    """
    if original == edited:
        return ()
    try:
        before, after = Reading(original).raw, Reading(edited).raw
    except Unreadable:
        return (Change(ChangeKind.TEXT, "", original, edited),)
    comparison = _Comparison()
    comparison.compare(before, after, "")
    if comparison.changes or comparison.orders:
        return tuple(comparison.changes or comparison.orders)
    return (Change(ChangeKind.SPACING, ""),)


class _Comparison:
    """Two trees side by side: the changes, and the objects that differ in order alone."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.orders: list[Change] = []

    def compare(self, before: Raw, after: Raw, pointer: str) -> None:
        if before == after:
            return
        if isinstance(before, Members) and isinstance(after, Members):
            self._compare_members(before, after, pointer)
        elif isinstance(before, list) and isinstance(after, list):
            self._compare_items(before, after, pointer)
        else:
            same_value = (
                isinstance(before, Number) and isinstance(after, Number) and same_number(before.lexeme, after.lexeme)
            )
            self._note(ChangeKind.CHANGED, pointer, before, after, same_value=same_value)

    def _compare_members(self, before: Members, after: Members, pointer: str) -> None:
        old, new = _by_name(before), _by_name(after)
        for name in {**old, **new}:
            place = child_pointer(pointer, name)
            self._compare_values(old.get(name, []), new.get(name, []), place)
        common = [name for name in old if name in new]
        if common != [name for name in new if name in old] or (before.repeated and _names(before) != _names(after)):
            self.orders.append(Change(ChangeKind.ORDER, pointer))

    def _compare_values(self, old: list[Raw], new: list[Raw], place: str) -> None:
        """The values of one name: one each, but for a name that stands more than once."""
        for value, other in zip(old, new, strict=False):
            self.compare(value, other, place)
        for value in old[len(new) :]:
            self._note(ChangeKind.REMOVED, place, value, None)
        for value in new[len(old) :]:
            self._note(ChangeKind.ADDED, place, None, value)

    def _compare_items(self, before: list[Raw], after: list[Raw], pointer: str) -> None:
        """Items by place; where the lengths differ, what is equal at the end is not a change."""
        tail = 0
        if len(before) != len(after):
            head = _common_head(before, after)
            shorter = min(len(before), len(after)) - head
            tail = min(shorter, _common_head(before[::-1], after[::-1]))
        old, new = before[: len(before) - tail], after[: len(after) - tail]
        for index, (value, other) in enumerate(zip(old, new, strict=False)):
            self.compare(value, other, f"{pointer}/{index}")
        for index in range(len(new), len(old)):
            self._note(ChangeKind.REMOVED, f"{pointer}/{index}", old[index], None)
        for index in range(len(old), len(new)):
            self._note(ChangeKind.ADDED, f"{pointer}/{index}", None, new[index])

    def _note(
        self,
        kind: ChangeKind,
        pointer: str,
        before: Raw,
        after: Raw,
        *,
        same_value: bool = False,
    ) -> None:
        old = None if kind is ChangeKind.ADDED else written(before)
        new = None if kind is ChangeKind.REMOVED else written(after)
        self.changes.append(Change(kind, pointer, old, new, same_value))


def _names(members: Members) -> list[str]:
    return [name for name, _ in members.pairs]


def _by_name(members: Members) -> dict[str, list[Raw]]:
    values: dict[str, list[Raw]] = {}
    for name, value in members.pairs:
        values.setdefault(name, []).append(value)
    return values


def _common_head(one: list[Raw], other: list[Raw]) -> int:
    pairs = zip(one, other, strict=False)
    same = takewhile(lambda pair: pair[0] == pair[1], pairs)
    return sum(1 for _ in same)
