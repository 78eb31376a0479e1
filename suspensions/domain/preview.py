"""What a list shows of a call, and the words by which a call is found.

Both are made once, when a pause is stored, and are small whatever the arguments are: a list never
loads arguments. A preview is cut; nothing may be decided from it.

Source: the store's specification, *Exactness* (lists); the pages', *Queue*.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn, Protocol

import orjson

from suspensions.domain.json_as_written import Number, Numbers, sendable
from suspensions.domain.limits import MAX_DEPTH, MAX_NAME
from suspensions.domain.odd_text import safe_cut
from suspensions.domain.strict_json import depth_exceeds

MAX_MEMBERS: Final = 3
MAX_SEARCH_TEXT: Final = 4000

_ELLIPSIS: Final = "…"
_LONGEST_KEY: Final = 40
_LONGEST_SEARCH_VALUE: Final = 400
_SHORT: Final = 100_000
"""Longer texts are never read as a whole: an outline keeps little of what it reads."""


@dataclass(frozen=True, slots=True)
class PreviewMember:
    """One member of the arguments: `[2]` stands for a list of two, `{3}` for an object of three."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class CallPreview:
    """A call in one line.

    `members` are the first ones and `more` counts the others. `raw` is the start of the arguments'
    text where that is no JSON object, else None; it ends in an ellipsis where it was cut.
    """

    name: str
    members: tuple[PreviewMember, ...] = ()
    more: int = 0
    raw: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "members": [[member.key, member.value] for member in self.members],
            "more": self.more,
            "raw": self.raw,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> CallPreview:
        return cls(
            name=stored["name"],
            members=tuple(PreviewMember(key, value) for key, value in stored["members"]),
            more=stored["more"],
            raw=stored["raw"],
        )


class SearchableCall(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> str: ...
    @property
    def note(self) -> str | None: ...


def call_preview(name: str, arguments: str, limit: int = 160) -> CallPreview:
    """Show a call's name and the first members of its arguments, in about `limit` characters.

    Numbers are shown as written, a name that stands twice is shown twice. Characters are kept as
    they are, odd ones too; half a surrogate pair, which no page could carry, becomes its escape.
    """
    shown_name = _cut(sendable(name), MAX_NAME)
    try:
        outline = _Outline(arguments)
    except _NoJson:
        outline = None
    if outline is None or not isinstance(outline.value, _Object):
        return CallPreview(shown_name, raw=_cut(sendable(arguments[: 2 * limit]), limit))
    members: list[PreviewMember] = []
    left = limit
    for place, (key, value) in enumerate(outline.members):
        share = left // (len(outline.members) - place)
        shown_key = _cut(sendable(key[: 2 * _LONGEST_KEY]), min(_LONGEST_KEY, share // 2))
        shown_value = _cut(_short(value, share), share - len(shown_key))
        members.append(PreviewMember(shown_key, shown_value))
        left -= len(shown_key) + len(shown_value)
    return CallPreview(shown_name, tuple(members), more=outline.value.size - len(members))


def search_text(calls: Iterable[SearchableCall]) -> str:
    """The words of tools, notes and argument values: lower case, no punctuation, one space apart, bounded.

    Tools come first and then notes, so that they are found whatever the arguments hold; what room
    is left is shared among the calls. A tool is found by each part of a name like `sendMail` as well.
    """
    listed = list(calls)
    words = _Words(MAX_SEARCH_TEXT)
    for name in dict.fromkeys(call.name for call in listed):
        words.add(name)
        parts = _HUMP.sub(" ", name)
        if parts != name:
            words.add(parts)
    for note in dict.fromkeys(call.note for call in listed if call.note):
        words.add(note[:_LONGEST_SEARCH_VALUE])
    for place, call in enumerate(listed):
        share = words.left // (len(listed) - place)
        own = _Words(share)
        for value in _values(call.arguments):
            if not own.add(value):
                break
        words.add(own.text)
    return words.text


def search_words(query: str) -> tuple[str, ...]:
    """What a person typed, in the form of `search_text`: all of these must be in it.

    What was typed without a space stays together: `cancel_res` is the one phrase `cancel res`.
    """
    phrases = (_normal(typed) for typed in query[:MAX_SEARCH_TEXT].split())
    return tuple(dict.fromkeys(phrase for phrase in phrases if phrase))


# --- the preview ---------------------------------------------------------------------------------


class _Object(NamedTuple):
    """An object by its size alone: what lies in it is let go while reading."""

    size: int


class _NoJson(Exception):
    """The text is no JSON, or too deep to be read."""


class _Outline:
    """A value of which little is kept; the members are the outermost object's first ones.

    Raises: _NoJson.
    """

    def __init__(self, arguments: str) -> None:
        if depth_exceeds(arguments.encode(errors="surrogatepass"), MAX_DEPTH):
            raise _NoJson
        self.members: list[tuple[str, Any]] = []
        numbers = Numbers()
        decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_int=numbers.__getitem__,
            parse_float=numbers.__getitem__,
            parse_constant=self._constant,
        )
        try:
            self.value = decoder.decode(arguments)
        except json.JSONDecodeError:
            pass
        else:
            return
        raise _NoJson

    def _object(self, pairs: list[tuple[str, Any]]) -> _Object:
        self.members = pairs[:MAX_MEMBERS]  # the outermost object is the last to end
        return _Object(len(pairs))

    def _constant(self, _name: str) -> NoReturn:
        raise _NoJson


def _short(value: Any, length: int) -> str:
    match value:
        case _Object(size):
            return f"{{{size}}}"
        case list():
            return f"[{len(value)}]"
        case Number(lexeme):
            return lexeme
        case str():
            return sendable(value[: length + 1])
        case _:
            return json.dumps(value)


def _cut(text: str, length: int) -> str:
    """At most `length` characters, the last an ellipsis where something was cut off."""
    if len(text) <= length:
        return text
    return safe_cut(text, max(0, length - 1)) + _ELLIPSIS


# --- the words -----------------------------------------------------------------------------------

LONGEST_WORD: Final = 200
"""An index refuses a word without an end, so a longer one is several."""

# Whatever is no letter, digit or sign: blanks, punctuation in its blocks, half a surrogate pair.
_BETWEEN: Final = re.compile(
    "[\x00-/:-@\\[-`{-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\u1680\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f"
    "\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\ud800-\udfff]+"
)
# Scripts that put no space between words: each letter is a word, and a phrase is found wherever it stands.
_UNSPACED: Final = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
)
_SPACES: Final = re.compile(" +")
_ENDLESS: Final = re.compile(rf"([^ ]{{{LONGEST_WORD}}})(?=[^ ])")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Group 1 is a string that is no member name, group 2 a number; the last branch passes names over.
_VALUE: Final = re.compile(r'"((?:[^"\\]++|\\.)*+)"(?!\s*+:)|(-?[0-9][0-9.eE+-]*+)|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


_WHOLE_ESCAPES: Final = re.compile(r"(?:[^\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*+", re.DOTALL)


class _Words:
    """Words one after the other, up to a bound, without a cut inside of a word where possible."""

    def __init__(self, bound: int) -> None:
        self._parts: list[str] = []
        self.left = bound

    def add(self, text: str) -> bool:
        """Add what fits; False once nothing more will."""
        words = _normal(text)
        room = self.left - bool(self._parts)
        if len(words) > room:
            words = words[: max(room, 0)].rpartition(" ")[0] or words[: max(room, 0)]
        if words:
            self.left -= len(words) + bool(self._parts)
            self._parts.append(words)
        return self.left > 1

    @property
    def text(self) -> str:
        return " ".join(self._parts)


def _normal(text: str) -> str:
    words = _BETWEEN.sub(" ", text.lower())
    if not words.isascii():
        words = _SPACES.sub(" ", _UNSPACED.sub(r" \1 ", words))
    words = words.strip(" ")
    return words if len(words) <= LONGEST_WORD else _ENDLESS.sub(r"\1 ", words)


def _values(arguments: str) -> Iterator[str]:
    """The strings and numbers of a JSON text in order, each bounded; else the text's beginning."""
    if not _is_json(arguments):
        yield arguments[:MAX_SEARCH_TEXT]
        return
    for match in _VALUE.finditer(arguments):
        if match[1]:
            yield _unescaped(match[1][: 6 * _LONGEST_SEARCH_VALUE])[:_LONGEST_SEARCH_VALUE]
        elif match[2]:
            yield match[2][:_LONGEST_SEARCH_VALUE]


def _is_json(text: str) -> bool:
    """Whether an outline can be made of it: a stricter reader tells sooner of most texts that are short."""
    if len(text) <= _SHORT and not depth_exceeds(text.encode(errors="surrogatepass"), MAX_DEPTH):
        try:
            orjson.loads(text)
        except orjson.JSONDecodeError:
            pass
        else:
            return True
    try:
        _Outline(text)
    except _NoJson:
        return False
    return True


def _unescaped(inside: str) -> str:
    """What a JSON string says, which may have been cut in the middle of an escape."""
    if "\\" not in inside:
        return inside
    whole = _WHOLE_ESCAPES.match(inside)
    said: str = json.loads(f'"{whole[0] if whole else ""}"')
    return said
