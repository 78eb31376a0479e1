"""JSON as it is written: numbers by lexeme, every name that stands twice, whatever the depth.

What `json` makes of a text loses what matters when a person has to judge it: 1.50 becomes 1.5, the
first of two equal names goes, an integer may lose its last digits in the next program. This reading
loses none of it, at the C scanner's speed.

Source: the store's specification, *Exactness*.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection
from decimal import Decimal, InvalidOperation
from math import isinf
from typing import Final, NamedTuple, TypeAlias

from suspensions.domain.limits import MAX_DEPTH
from suspensions.domain.strict_json import depth_exceeds, escape_token, syntax_fault


class Number(NamedTuple):
    """A number as written."""

    lexeme: str


class Members(NamedTuple):
    """An object: its members in the text's order, and the names that stand more than once."""

    pairs: tuple[tuple[str, Raw], ...]
    repeated: frozenset[str]


class Deep(NamedTuple):
    """A value nested beyond the limit, as written and not looked into."""

    text: str


Raw: TypeAlias = "Members | list[Raw] | str | Number | Deep | bool | None"


class Unreadable(Exception):
    """The text is no JSON."""

    def __init__(self, detail: str, offset: int | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.offset = offset


class Numbers(dict[str, Number]):
    """Numbers by lexeme, so that a million equal ones are one object."""

    def __missing__(self, lexeme: str) -> Number:
        number = self[lexeme] = Number(lexeme)
        return number


class Reading:
    """One text as read. Raises: Unreadable.

    `lexemes` holds every number as written, once; `misleads` is true where a name stands twice,
    where half a surrogate pair may stand, or where something was too deep to be looked into.
    """

    raw: Raw
    lexemes: Collection[str]
    misleads: bool

    def __init__(self, text: str) -> None:
        shallow, deep = _without_deep(text)
        self._next_deep = iter(deep)
        self.misleads = bool(deep) or "\\ud" in shallow or "\\uD" in shallow
        numbers = self.lexemes = Numbers()
        decoder = json.JSONDecoder(
            object_pairs_hook=self._members,
            parse_int=numbers.__getitem__,
            parse_float=numbers.__getitem__,
            parse_constant=self._constant,
        )
        try:
            self.raw = decoder.decode(shallow)
        except json.JSONDecodeError as error:
            fault = syntax_fault(error)
        else:
            return
        raise Unreadable(fault.detail, None if deep else fault.offset)

    def _members(self, pairs: list[tuple[str, Raw]]) -> Members:
        if len(dict(pairs)) == len(pairs):
            return Members(tuple(pairs), frozenset())
        self.misleads = True
        times = Counter(name for name, _ in pairs)
        return Members(tuple(pairs), frozenset(name for name in times if times[name] > 1))

    def _constant(self, name: str) -> Deep:
        deep = next(self._next_deep, None) if name == _DEEP_MARK else None
        if deep is None:
            raise Unreadable(f"{name} is not JSON")
        return Deep(deep)


# Stands where a deep value was cut out; a text that has one of its own is no JSON.
_DEEP_MARK: Final = "-Infinity"
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|([\]}])|-Infinity', re.DOTALL)


def _without_deep(text: str) -> tuple[str, list[str]]:
    """Cut out what nests deeper than the scanner may go. Raises: Unreadable."""
    if not depth_exceeds(text.encode(errors="surrogatepass"), MAX_DEPTH):
        return text, []
    kept: list[str] = []
    deep: list[str] = []
    depth = start = end = 0
    for match in _TOKEN.finditer(text):
        mark = text[match.start()]
        if mark == "-":
            raise Unreadable(f"{_DEEP_MARK} is not JSON", match.start())
        if mark == '"':
            continue
        depth += -1 if match[1] else 1
        if depth == MAX_DEPTH + 1 and not match[1]:
            start = match.start()
        elif depth == MAX_DEPTH and match[1]:
            kept += text[end:start], _DEEP_MARK
            end = match.end()
            deep.append(text[start:end])
    if depth > MAX_DEPTH:
        raise Unreadable("the text ends inside of a value", len(text))
    return "".join([*kept, text[end:]]), deep


def reads_as(lexeme: str) -> str | None:
    """What a program that keeps numbers as doubles would read instead.

    None where it reads the same, that is, where the shortest digits that give this double have the
    value that was written.
    """
    digits, _, exponent = lexeme.lower().partition("e")
    if len(digits) <= 15 and not exponent:
        return None
    double = float(lexeme)
    if isinf(double):
        return "infinity" if double > 0 else "-infinity"
    if double == 0:
        return "0" if digits.strip("-0.") else None
    shortest = Decimal(repr(double))
    if Decimal(lexeme) == shortest:
        return None
    whole = not exponent and "." not in digits and abs(double) < 1e21
    return str(int(shortest)) if whole else repr(double)


def same_number(one: str, other: str) -> bool:
    """Tell whether two numbers, each as written, have one value."""
    try:
        return Decimal(one) == Decimal(other)
    except InvalidOperation:  # an exponent beyond all bounds
        return False


HALF_PAIR: Final = re.compile("[\ud800-\udfff]")


def sendable(text: str) -> str:
    """The text with half surrogate pairs as escapes; a browser could not be sent them."""
    if text.isascii():
        return text
    return HALF_PAIR.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def child_pointer(pointer: str, name: str) -> str:
    """The RFC 6901 pointer of a member."""
    return f"{pointer}/{escape_token(sendable(name))}"


_quote: Final = json.JSONEncoder(ensure_ascii=False).encode


def written(raw: Raw) -> str:
    """A value as one line of JSON; numbers and deep values stay as they were written."""
    out: list[str] = []
    _write(raw, out)
    return "".join(out)


def _write(raw: Raw, out: list[str]) -> None:
    match raw:
        case Members(pairs):
            out.append("{")
            for place, (name, value) in enumerate(pairs):
                out += (", " if place else ""), sendable(_quote(name)), ": "
                _write(value, out)
            out.append("}")
        case list():
            out.append("[")
            for place, value in enumerate(raw):
                out.append(", " if place else "")
                _write(value, out)
            out.append("]")
        case Number(text) | Deep(text):
            out.append(text)
        case _:
            out.append(sendable(_quote(raw)))
