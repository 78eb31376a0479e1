"""Strict JSON: what comes in, what is stored, and what is hashed.

One reading for every way in (request bodies, edits, imports), so that the reviewer's tool and the
worker's parser can never read the same bytes as two different things.

The C scanner of `json` reads; what it lets through is caught by hooks and by scans that are linear
in the text. Where a fault lies is worked out only once there is a fault.

Source: the store's specification, *Exactness* and *Digests*.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Collection, Iterator
from hashlib import sha256
from itertools import accumulate
from math import isfinite
from typing import Any, Final, NoReturn, TypeAlias

import orjson
import rfc8785

from suspensions.domain.errors import MalformedJson
from suspensions.domain.limits import MAX_DEPTH, MAX_SAFE_INTEGER

MAX_DIGITS: Final = 4300

_LONGEST_NAME_SHOWN: Final = 60
_LONGEST_POINTER: Final = 1000


class NotCanonical(ValueError):
    """The value has no canonical form: our own mistake, never a caller's."""


# --- reading -------------------------------------------------------------------------------------


def loads(data: bytes | str, *, max_depth: int = MAX_DEPTH) -> Any:
    """Read one strict JSON text (RFC 8259, UTF-8).

    Refused beyond what the RFC refuses: a byte order mark, NaN and Infinity (also by overflow), a
    member name that stands twice in one object, half a surrogate pair, more than `max_depth` levels
    (the outermost container is level 1), an integer of more than 4,300 digits.

    Raises: MalformedJson, for every fault.
    """
    text = _checked_text(data, max_depth)
    # Where Python's own limit is ours, the scanner may make integers without a hook.
    python_counts = sys.get_int_max_str_digits() == MAX_DIGITS
    return _decoded(_READ if python_counts else _READ_COUNTING_DIGITS, text)


def depth_exceeds(raw: bytes, limit: int) -> bool:
    """Tell whether a UTF-8 JSON text nests deeper than `limit`, without building anything.

    Linear in the text, whatever it holds. Where the text is not JSON, the answer is right for the
    part in front of the first fault, which is all that a scanner would ever enter.
    """
    if raw.count(b"[") + raw.count(b"{") <= limit:
        return False
    if b"\\" in raw:
        # Escaped backslashes go first: then a backslash before a quote always escapes it.
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Two quotes with nothing in between leave inside and outside as they were, so they may go,
    # even where they belong to two strings.
    marks = raw.translate(None, _NO_MARK).replace(b'""', b"")
    if b'"' in marks:
        marks = _STRING_OF_MARKS.sub(b"", marks)
    steps = memoryview(marks.translate(_STEPS)).cast("b")
    return max(accumulate(steps), default=0) > limit


def escape_token(name: str) -> str:
    """Write a member name as one reference token of an RFC 6901 pointer."""
    return name.replace("~", "~0").replace("/", "~1")


# --- writing -------------------------------------------------------------------------------------


def dumps(value: object) -> bytes:
    """Write UTF-8 JSON text: members in arrival order, no spaces, non-ASCII unescaped.

    Raises: MalformedJson, where the value cannot be written so that it reads back equal (half a
    surrogate pair, a number that is no finite double).
    """
    try:
        if _is_plain(value):
            return orjson.dumps(value)
    except orjson.JSONEncodeError:
        pass  # half a surrogate pair, or deeper than orjson goes
    fault = "half a surrogate pair cannot be written as UTF-8"
    try:
        return _WRITE(value).encode()
    except UnicodeEncodeError:
        pass
    except ValueError as error:
        fault = f"the value cannot be written as JSON: {error}"
    raise MalformedJson(fault)


def canonical(value: object) -> bytes:
    """Write the canonical form of a small object (RFC 8785), for digests.

    Objects of ASCII names, texts and safe integers take a shortcut through `orjson`, which writes the
    same bytes ten times as fast as `json` (names of ASCII sort alike by code point and by UTF-16 unit, and
    both escape the same characters). Everything else goes to the library.

    Raises: NotCanonical, for integers beyond 2^53 - 1, no finite doubles, half surrogate pairs.
    """
    try:
        if _is_plain(value):
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        pass  # half a surrogate pair, or deeper than orjson goes: the library says which
    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type]
    except ValueError as error:
        fault = str(error)
    raise NotCanonical(fault)


def content_digest(data: bytes | str, *, without: Collection[str] = (), at: str = "") -> str:
    """Hash a JSON text so that the same content, however laid out, gives the same digest.

    Members count in any order; arrays in theirs; numbers as written (1, 1.0 and 1.00 are three);
    texts by their characters, whether escaped or literal, and composed letters differ from
    decomposed ones. `without` names what does not count: a member of the outermost object
    (`lease`), or a pointer to a member further down (`/run/lease`). `at` is a pointer to the one member
    to be hashed, as if it were the whole text; missing members count as null.

    Raises: MalformedJson, exactly where `loads` does.
    """
    content: Any = _decoded(_READ_AS_WRITTEN, _checked_text(data, MAX_DEPTH))
    for token in at.split("/")[1:]:
        content = content.get(_token(token)) if isinstance(content, dict) else None
    for name in without:
        _drop(content, name)
    return sha256(_WRITE_CONTENT(content).encode("ascii")).hexdigest()


# --- the scans in front of the scanner -----------------------------------------------------------

_NO_MARK: Final = bytes(sorted(set(range(256)) - set(b'"[]{}')))
_STEPS: Final = bytes.maketrans(b"[{]}", bytes((1, 1, 255, 255)))
_STRING_OF_MARKS: Final = re.compile(rb'"[^"]*"?')
# The closing quote is optional, or a text with a string that never ends would be searched again
# from each of its quotes: quadratic.
_STRING_OR_BRACKET: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|([\]}])', re.DOTALL)
# Good escapes are passed over in runs; group 1 is half a pair.
_HALF_PAIR_ESCAPE: Final = re.compile(
    r"(?:\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}){1,1000}"
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_HALF_PAIR: Final = re.compile("[\ud800-\udfff]")


def _checked_text(data: bytes | str, max_depth: int) -> str:
    """Give the text, once it is UTF-8 without a mark, not too deep, and free of half pairs."""
    text, raw = _text_and_bytes(data)
    if text.startswith("\ufeff"):
        raise MalformedJson("a byte order mark in front of the text", offset=0)
    if depth_exceeds(raw, max_depth):
        offset = _where_too_deep(text, max_depth)
        # None: not JSON well in front of that depth, as the scanner will say.
        if offset is not None:
            raise MalformedJson(f"nested deeper than {max_depth} levels", offset=offset)
    if "\\ud" in text or "\\uD" in text:
        for match in _HALF_PAIR_ESCAPE.finditer(text):
            if match[1] is not None:
                raise MalformedJson("half a surrogate pair", offset=match.start())
    return text


def _text_and_bytes(data: bytes | str) -> tuple[str, bytes]:
    if isinstance(data, str):
        try:
            return data, data.encode()
        except UnicodeEncodeError as error:
            fault, offset = "half a surrogate pair", error.start
    else:
        try:
            return data.decode(), data
        except UnicodeDecodeError as error:
            fault, offset = "not valid UTF-8", len(data[: error.start].decode())
    raise MalformedJson(fault, offset=offset)


def _where_too_deep(text: str, limit: int) -> int | None:
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        if text[match.start()] == '"':
            continue
        depth += -1 if match[1] else 1
        if depth > limit:
            return match.start()
    return None


# --- the scanner, its hooks, and its faults ------------------------------------------------------


class _Suspect(Exception):
    """A hook met a fault: read again, slowly, to say where."""


class _Fault:
    """Stands in a tree where a value is at fault; `member` names the member within it."""

    __slots__ = ("detail", "member")

    def __init__(self, detail: str, member: str | None = None) -> None:
        self.detail = detail
        self.member = member


def _decoded(decoder: json.JSONDecoder, text: str) -> Any:
    """Run a decoder; turn whatever goes wrong into the one fault with its place.

    The raise stands outside of the `except`, or the body would live on in the error's context and
    could end in a log.
    """
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as error:
        fault = syntax_fault(error)
    except (_Suspect, ValueError):
        fault = _located_fault(text)
    else:
        return value
    raise fault


def _located_fault(text: str) -> MalformedJson:
    """Read with markers instead of values at fault, then walk to the first of them."""
    try:
        tree = _READ_MARKING.decode(text)
    except json.JSONDecodeError as error:
        return syntax_fault(error)
    fault, path = next(_faults(tree, ()))
    return MalformedJson(fault.detail, pointer=_pointer(path, fault.member))


_Path: TypeAlias = tuple[str | int, ...]


def _faults(value: Any, path: _Path) -> Iterator[tuple[_Fault, _Path]]:
    if isinstance(value, _Fault):
        yield value, path
    elif isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in entries:
            if isinstance(item, _Fault | dict | list):
                yield from _faults(item, (*path, key))


def _pointer(path: _Path, member: str | None) -> str:
    """Write a pointer; one that would be too long to send ends at the last level that fits."""
    tokens = [*path] if member is None else [*path, member]
    pointer = ""
    for token in tokens:
        longer = f"{pointer}/{escape_token(str(token))}"
        if len(longer) > _LONGEST_POINTER:
            break
        pointer = longer
    return pointer


_SYNTAX: Final = {
    "Expecting value": "a value is missing",
    "Expecting property name enclosed in double quotes": "a quoted member name is missing",
    "Expecting ':' delimiter": "a colon is missing after the member name",
    "Expecting ',' delimiter": "a comma or the closing bracket is missing",
    "Illegal trailing comma before end of object": "a comma in front of the closing bracket",
    "Illegal trailing comma before end of array": "a comma in front of the closing bracket",
    "Unterminated string starting at": "a string is not closed",
    "Invalid control character at": "a control character stands unescaped in a string",
    "Invalid \\escape": "an escape that JSON does not know",
    "Invalid \\uXXXX escape": "\\u without four hexadecimal digits",
    "Extra data": "more text after the end of the value",
}


def syntax_fault(error: json.JSONDecodeError) -> MalformedJson:
    """Say in our words what the scanner stumbled over, and where."""
    if not error.doc.strip(" \t\n\r"):
        return MalformedJson("the text is empty", offset=error.pos)
    known = _SYNTAX.get(error.msg.rstrip(": "), "not JSON")
    return MalformedJson(f"{known}, at line {error.lineno}, column {error.colno}", offset=error.pos)


def _double(lexeme: str) -> float:
    value = float(lexeme)
    if not isfinite(value):
        raise _Suspect
    return value


def _integer(lexeme: str) -> int:
    if len(lexeme) > MAX_DIGITS and len(lexeme.lstrip("-")) > MAX_DIGITS:
        raise _Suspect
    return int(lexeme)


def _refused_constant(_name: str) -> NoReturn:
    raise _Suspect


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Suspect
    return members


def _marked_double(lexeme: str) -> float | _Fault:
    value = float(lexeme)
    return value if isfinite(value) else _Fault("a number beyond the largest double")


def _marked_integer(lexeme: str) -> int | _Fault:
    if len(lexeme.lstrip("-")) > MAX_DIGITS:
        return _Fault(f"an integer of more than {MAX_DIGITS:,} digits")
    try:
        return int(lexeme)
    except ValueError:
        return _Fault("an integer of more digits than this process is set to read")


def _marked_constant(name: str) -> _Fault:
    return _Fault(f"{name} is not JSON")


def _marked_object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Fault:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            shown = name[:_LONGEST_NAME_SHOWN] + "…" * (len(name) > _LONGEST_NAME_SHOWN)
            quoted = json.dumps(shown, ensure_ascii=False)
            return _Fault(f"the member name {quoted} stands twice in one object", name)
        seen.add(name)
    return dict(pairs)


# No text of a document begins like this, since half a surrogate pair never passes the scans: so no
# content can pass itself off as a number as written.
_AS_WRITTEN: Final = chr(0xD800)


def _double_as_written(lexeme: str) -> str:
    _double(lexeme)
    return _AS_WRITTEN + lexeme


def _integer_as_written(lexeme: str) -> int | str:
    # An integer's lexeme is its canonical one, but for this.
    return _AS_WRITTEN + lexeme if lexeme == "-0" else _integer(lexeme)


def _decoder(
    double: Callable[[str], Any],
    integer: Callable[[str], Any],
    constant: Callable[[str], Any] = _refused_constant,
    members: Callable[[list[tuple[str, Any]]], Any] = _object,
) -> json.JSONDecoder:
    return json.JSONDecoder(
        parse_float=double,
        parse_int=integer,
        parse_constant=constant,
        object_pairs_hook=members,
    )


_READ: Final = _decoder(_double, int)
_READ_COUNTING_DIGITS: Final = _decoder(_double, _integer)
_READ_AS_WRITTEN: Final = _decoder(_double_as_written, _integer_as_written)
_READ_MARKING: Final = _decoder(_marked_double, _marked_integer, _marked_constant, _marked_object)

_WRITE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_WRITE_CONTENT: Final = json.JSONEncoder(
    ensure_ascii=True, separators=(",", ":"), allow_nan=False, sort_keys=True
).encode


_PLAIN_LEAVES = frozenset({str, bool, type(None)})


def _is_plain(value: object) -> bool:
    """Tell whether `orjson` and RFC 8785 are known to write this value alike.

    Exact types only: a subclass may print itself in a way of its own.
    """
    kind = type(value)
    if kind is dict:
        members: dict[object, object] = value  # type: ignore[assignment]
        for name, item in members.items():
            if type(name) is not str or not name.isascii():
                return False
            if type(item) not in _PLAIN_LEAVES and not _is_plain(item):
                return False
        return True
    if kind is list:
        return all(map(_is_plain, value))  # type: ignore[call-overload]
    if kind is int:
        return -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER  # type: ignore[operator]
    return kind in _PLAIN_LEAVES


def _drop(content: Any, name: str) -> None:
    *parents, last = name.removeprefix("/").split("/") if name.startswith("/") else [name]
    for parent in parents:
        content = content.get(_token(parent)) if isinstance(content, dict) else None
    if isinstance(content, dict):
        content.pop(_token(last) if name.startswith("/") else last, None)


def _token(escaped: str) -> str:
    return escaped.replace("~1", "/").replace("~0", "~")
