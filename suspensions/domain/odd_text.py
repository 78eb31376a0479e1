"""Characters that hide, reorder or imitate: found, named, and shown in place.

What a person approves must read the way it is. Joiners inside emoji, variation selectors where they
belong, and marks inside right-to-left or joining scripts are how those are written, and stay.
Nothing here changes a text: the parts joined again are the text.

Source: the pages' specification, *One pause* and *Queue*.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from heapq import merge
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from suspensions.domain.lookalikes import find_lookalikes


class OddKind(StrEnum):
    CONTROL = "control"
    LINE = "line"
    BIDI = "bidi"
    HIDDEN = "hidden"
    VARIATION = "variation"
    TAG = "tag"
    NONCHARACTER = "noncharacter"
    PRIVATE = "private"
    HALF_PAIR = "half_pair"
    LOOKALIKE = "lookalike"


class Segment(NamedTuple):
    """A part of a text; where `odd` is set, `label` is what to show in its place."""

    text: str
    odd: OddKind | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class OddCharacter:
    index: int
    codepoint: str
    name: str
    kind: OddKind


@dataclass(frozen=True, slots=True)
class Folded:
    """A long text's two ends, and how many characters lie between."""

    head: str
    hidden_count: int
    tail: str


def segments(text: str) -> tuple[Segment, ...]:
    """Split a text where odd characters stand; a run of one kind is one part.

    The parts joined are the text. Linear in the text.
    """
    return tuple(_segments(text))


def odd_characters(text: str, limit: int | None = None) -> tuple[OddCharacter, ...]:
    """Every odd character in order, or the first `limit` of them."""
    return tuple(
        OddCharacter(index, codepoint(text[index]), name_of(text[index]), kind)
        for index, kind, _ in islice(_odd(text), limit)
    )


def is_plain(text: str) -> bool:
    """Tell whether a text has nothing odd in it."""
    return next(_odd(text), None) is None


def warning(text: str) -> str | None:
    """One line that counts and names what is odd in a text, or None.

    As in: 1 look-alike, U+0430 CYRILLIC SMALL LETTER A among Latin letters; 1 hidden, U+200B ZERO
    WIDTH SPACE at the end.
    """
    tallies: dict[tuple[OddKind, str], _Tally] = {}
    for index, kind, among in _odd(text):
        tally = tallies.get((kind, among))
        if tally is None:
            tally = tallies[kind, among] = _Tally(index)
        tally.count += 1
        tally.characters[text[index]] = None
    parts = (tally.sentence(kind, among, text) for (kind, among), tally in tallies.items())
    return "; ".join(parts) or None


def codepoint(character: str) -> str:
    return f"U+{ord(character):04X}"


def name_of(character: str) -> str:
    """The character's Unicode name, or what it is where it has none."""
    name = unicodedata.name(character, "") or _CONTROL_NAMES.get(character, "")
    kind = _kind_of(character)
    return name or _NAMELESS.get(kind or OddKind.HIDDEN, "UNASSIGNED")


# --- folding -------------------------------------------------------------------------------------

FEWEST_HIDDEN: Final = 20
MOST_GROWN: Final = 32


def fold(text: str, head: int = 120, tail: int = 60) -> Folded | None:
    """Keep both ends of a long text in sight; None where there is too little to fold away.

    The dangerous end of a long value must not be the part that is cut off. Neither cut falls inside
    of what reads as one character; each end grows a little rather than that.
    """
    if len(text) - head - tail < FEWEST_HIDDEN:
        return None
    start, end = head, len(text) - tail
    for _ in range(MOST_GROWN):
        if start < end and _reads_as_one(text, start):
            start += 1
        if start < end and _reads_as_one(text, end):
            end -= 1
    return Folded(text[:start], end - start, text[end:]) if start < end else None


def safe_cut(text: str, length: int) -> str:
    """The first `length` characters, fewer where the cut would split what reads as one."""
    if len(text) <= length:
        return text
    end = length
    while end > max(0, length - MOST_GROWN) and _reads_as_one(text, end):
        end -= 1
    return text[: end or length]


def _reads_as_one(text: str, place: int) -> bool:
    """Tell whether what stands in front of a place and behind it reads as one character."""
    if not 0 < place < len(text):
        return False
    left, right = text[place - 1], text[place]
    if right.isascii():
        return right == "\n" and left == "\r"
    if _FLAG_LETTER.match(right):
        first = place
        while first > max(0, place - 2 * MOST_GROWN) and _FLAG_LETTER.match(text[first - 1]):
            first -= 1
        return (place - first) % 2 == 1
    return (
        unicodedata.category(right) in {"Mn", "Mc", "Me"}
        or (left == "\u200d" and bool(_PICTURE_LETTER.match(right)))
        or bool(_CONTINUES.match(right))
        or bool(_HANGUL_TAIL.match(right) and _HANGUL.match(left))
        or ("\ud800" <= left <= "\udbff" and "\udc00" <= right <= "\udfff")
    )


_FLAG_LETTER: Final = re.compile("[\U0001f1e6-\U0001f1ff]")
_CONTINUES: Final = re.compile("[\u200c\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
_HANGUL: Final = re.compile("[\u1100-\u11ff\ua960-\ua97c\uac00-\ud7fb]")
_HANGUL_TAIL: Final = re.compile("[\u1160-\u11ff\ud7b0-\ud7fb]")


# --- finding -------------------------------------------------------------------------------------

_LOW: Final = {
    OddKind.CONTROL: "\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\r",
    OddKind.LINE: "\u2028\u2029",
    OddKind.BIDI: "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",
    OddKind.HIDDEN: (
        "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\u2800"
        "\u3164\ufeff\uffa0\ufff0-\ufffb"
    ),
    OddKind.VARIATION: "\u180b-\u180d\u180f\ufe00-\ufe0f",
    OddKind.TAG: "",
    OddKind.NONCHARACTER: "\ufdd0-\ufdef\ufffe\uffff",
    OddKind.PRIVATE: "\ue000-\uf8ff",
    OddKind.HALF_PAIR: "\ud800-\udfff",
}
_HIGH: Final = {
    OddKind.HIDDEN: ("\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"),
    OddKind.VARIATION: "\U000e0100-\U000e01ef",
    OddKind.TAG: "\U000e0000-\U000e007f",
    OddKind.NONCHARACTER: "".join(
        chr(plane + last) for plane in range(0x10000, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF)
    ),
    OddKind.PRIVATE: "\U000f0000-\U000ffffd\U00100000-\U0010fffd",
}
_CLASSES: Final = {kind: re.compile(f"[{_LOW[kind]}{_HIGH.get(kind, '')}]") for kind in _LOW}
# What calls for a closer look. Above U+FFFF a class is searched range by range, so that those are
# few and wide here; what they hold too much of turns out to have no kind.
_SUSPECT: Final = re.compile(
    f"[{''.join(_LOW.values())}\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U0001fffe-\U0001ffff\U0002fffe-\U0010ffff]"
)
# A carriage return is a line end in front of a line feed, and a trick elsewhere.
_ASCII_SUSPECT: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")

_PICTURE: Final = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf"
    "\u2934\u2935\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001faff]"
)
_PICTURE_AS_SHOWN: Final = f"{_PICTURE}(?:[\ufe0e\ufe0f]|[\U0001f3fb-\U0001f3ff])?"
# The flags of England, Scotland and Wales are the only ones spelled with tags.
_TAG_FLAG: Final = "\U0001f3f4\U000e0067\U000e0062(?:{})\U000e007f".format(
    "|".join("".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("eng", "sct", "wls"))
)
_PICTURE_LETTER: Final = re.compile(_PICTURE)
_EMOJI: Final = re.compile(f"{_TAG_FLAG}|[0-9#*]\ufe0f\u20e3|{_PICTURE_AS_SHOWN}(?:\u200d{_PICTURE_AS_SHOWN})*+")
_PART_OF_EMOJI: Final = re.compile("[\u200d\ufe0e\ufe0f\U000e0020-\U000e007f]")


# Where, what kind, and among which script's letters it passes for one of them.
_Hit: TypeAlias = tuple[int, OddKind, str]


def _odd(text: str) -> Iterator[_Hit]:
    """Every odd character, in order."""
    if text.isascii():
        for match in _ASCII_SUSPECT.finditer(text):
            yield match.start(), OddKind.CONTROL, ""
        return
    alike = ((index, OddKind.LOOKALIKE, script) for index, script in find_lookalikes(text))
    yield from merge(_suspects(text), alike)


def _suspects(text: str) -> Iterator[_Hit]:
    emoji = _EMOJI.finditer(text) if _PART_OF_EMOJI.search(text) else iter(())
    sequence = next(emoji, None)
    for match in _SUSPECT.finditer(text):
        index = match.start()
        while sequence is not None and sequence.end() <= index:
            sequence = next(emoji, None)
        if sequence is not None and sequence.start() <= index:
            continue
        kind = _kind_of(match[0])
        if kind is not None and not _belongs(text, index, kind):
            yield index, kind, ""


@lru_cache(maxsize=4096)
def _kind_of(character: str) -> OddKind | None:
    return next((kind for kind, ranges in _CLASSES.items() if ranges.match(character)), None)


# --- where odd characters belong -----------------------------------------------------------------

_DIRECTION_MARKS: Final = frozenset("\u061c\u200e\u200f")
_JOINING: Final = re.compile(
    "[\u0620-\u074f\u0750-\u077f\u07c0-\u07ff\u0840-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17ff"
    "\u1800-\u18af\u1b00-\u1bff\ua840-\ua877\ua880-\ua8ff\ua980-\ua9df\uaa60-\uaaff\ufb50-\ufdcf"
    "\ufdf0-\ufdff\ufe70-\ufefc\U00010ac0-\U00010aff\U00010b80-\U00010baf\U00010d00-\U00010d3f"
    "\U00011000-\U000114ff\U0001e900-\U0001e95f]"
)
_SELECTED: Final = (  # what a variation selector may follow, and which
    (re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]"),
     re.compile("[\ufe00-\ufe02\U000e0100-\U000e01ef]")),
    (re.compile("[\u2200-\u22ff\u2a00-\u2aff\u1000-\u109f\uaa60-\uaa7f\ua840-\ua877]"),
     re.compile("\ufe00")),
    (re.compile("[\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f]"),
     re.compile("[\ufe00\ufe01]")),
    (re.compile("[\u1807\u1820-\u18aa]"), re.compile("[\u180b-\u180d\u180f]")),
)  # fmt: skip
_BRAILLE: Final = re.compile("[\u2801-\u28ff]")
_NEAR: Final = 12


def _belongs(text: str, index: int, kind: OddKind) -> bool:
    """Tell whether a character is how its neighbours are written, and no trick."""
    character, before, after = text[index], text[index - 1 : index], text[index + 1 : index + 2]
    if character == "\r":
        return after == "\n"
    if character in "\u200c\u200d":
        between = _joins(before) and _joins(after)
        return between or (character == "\u200d" and _joins(before) and not after.isalnum())
    if character in _DIRECTION_MARKS:
        return before not in _DIRECTION_MARKS and _near_right_to_left(text, index)
    if kind is OddKind.VARIATION:
        return any(base.match(before) and which.match(character) for base, which in _SELECTED)
    if character == "\u2800":
        return bool(_BRAILLE.match(before) or _BRAILLE.match(after))
    return False


def _joins(character: str) -> bool:
    return bool(_JOINING.match(character)) and unicodedata.category(character)[0] in "LM"


def _near_right_to_left(text: str, index: int) -> bool:
    around = text[max(0, index - _NEAR) : index] + text[index + 1 : index + 1 + _NEAR]
    return any(unicodedata.bidirectional(letter) in {"R", "AL"} and letter.isalpha() for letter in around)


# --- showing -------------------------------------------------------------------------------------

_MOST_NAMED: Final = 3


def _segments(text: str) -> Iterator[Segment]:
    start = end = 0  # of the run in hand
    running: OddKind | None = None
    for index, kind, _ in _odd(text):
        if index != end or kind is not running:
            if running is not None:
                yield _segment(text[start:end], running)
            if index > end:
                yield Segment(text[end:index])
            start, running = index, kind
        end = index + 1
    if running is not None:
        yield _segment(text[start:end], running)
    if end < len(text):
        yield Segment(text[end:])


def _segment(run: str, kind: OddKind) -> Segment:
    """Name the code points; what can be seen is shown as well."""
    if len(run) == 1:
        label = codepoint(run)
    elif run == run[0] * len(run):
        label = f"{codepoint(run[0])} \u00d7{len(run)}"
    else:
        label = " ".join(map(codepoint, run[:_MOST_NAMED]))
        if len(run) > _MOST_NAMED:
            label += f" +{len(run) - _MOST_NAMED} more"
    return Segment(run, kind, f"{run} {label}" if kind is OddKind.LOOKALIKE else label)


_WORDS: Final = {
    OddKind.CONTROL: ("control character", "control characters"),
    OddKind.LINE: ("line separator", "line separators"),
    OddKind.BIDI: ("direction control", "direction controls"),
    OddKind.HIDDEN: ("hidden", "hidden"),
    OddKind.VARIATION: ("stray variation selector", "stray variation selectors"),
    OddKind.TAG: ("hidden tag", "hidden tags"),
    OddKind.NONCHARACTER: ("non-character", "non-characters"),
    OddKind.PRIVATE: ("private-use character", "private-use characters"),
    OddKind.HALF_PAIR: ("half of a surrogate pair", "halves of surrogate pairs"),
    OddKind.LOOKALIKE: ("look-alike", "look-alikes"),
}
_NAMELESS: Final = {
    OddKind.CONTROL: "CONTROL CHARACTER",
    OddKind.HIDDEN: "UNASSIGNED",
    OddKind.TAG: "UNASSIGNED TAG",
    OddKind.NONCHARACTER: "NONCHARACTER",
    OddKind.PRIVATE: "PRIVATE USE",
    OddKind.HALF_PAIR: "SURROGATE",
}
_CONTROL_NAMES: Final = {
    "\x00": "NULL",
    "\x07": "BELL",
    "\x08": "BACKSPACE",
    "\x0b": "LINE TABULATION",
    "\x0c": "FORM FEED",
    "\r": "CARRIAGE RETURN",
    "\x1b": "ESCAPE",
    "\x7f": "DELETE",
    "\x85": "NEXT LINE",
}


class _Tally:
    """How often a kind was met, which characters of it, and where first."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.count = 0
        self.characters: dict[str, None] = {}

    def sentence(self, kind: OddKind, among: str, text: str) -> str:
        named = [f"{codepoint(c)} {name_of(c)}" for c in islice(self.characters, _MOST_NAMED)]
        more = len(self.characters) - len(named)
        names = ", ".join(named) + (f" and {more} more" if more else "")
        where = f" among {among} letters" if among else ""
        if self.count == 1 and not among and len(text) > 1:
            if self.first == len(text) - 1:
                where = " at the end"
            elif self.first == 0:
                where = " at the start"
        return f"{self.count:,} {_WORDS[kind][self.count > 1]}, {names}{where}"
