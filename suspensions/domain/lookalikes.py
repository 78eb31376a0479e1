"""Letters that pass for letters of another script, where they stand in one word with it.

A word of one script reads as what it is, whatever the script. A word that mixes scripts, with a
letter that looks like one of the other script, reads as something it is not: `m\\u0430teo` is not
`mateo`. The table holds the letters that pass at a glance, not everything that is faintly alike.

Source: the pages' specification, *One pause* (look-alike characters are made visible).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

# Each pair: a letter, and the Latin letter it passes for.
_CYRILLIC: Final = (
    "\u0430a\u0435e\u043eo\u0440p\u0441c\u0443y\u0445x\u0456i\u0457i\u0458j\u0455s\u04bbh\u0501d"
    "\u051bq\u051dw\u04cfl\u0433r\u043ak\u044cb\u0475v\u04afy\u0451e\u0410A\u0412B\u0415E\u041aK"
    "\u041cM\u041dH\u041eO\u0420P\u0421C\u0422T\u0423Y\u0425X\u0405S\u0406I\u0407I\u0408J\u04c0I"
    "\u04aeY\u050cG\u051aQ\u051cW\u0474V\u0401E\u042cb"
)
_GREEK: Final = (
    "\u03b1a\u03b9i\u03bak\u03bdv\u03bfo\u03c1p\u03c5u\u03f2c\u03f3j\u0391A\u0392B\u0395E\u0396Z"
    "\u0397H\u0399I\u039aK\u039cM\u039dN\u039fO\u03a1P\u03a4T\u03a5Y\u03a7X\u03f9C\u037fJ"
)
_ARMENIAN: Final = "\u0585o\u057du\u0570h\u0578n\u0581g\u0566q\u0575j\u054fS\u0555O\u053cL\u054dU\u0561w"
_CHEROKEE: Final = (
    "\u13aaA\u13f4B\u13dfC\u13a0D\u13acE\u13c0G\u13bbH\u13a5i\u13abJ\u13e6K\u13deL\u13b7M\u13e2P"
    "\u13daS\u13a2T\u13d9V\u13d4W\u13c3Z"
)
_LATIN_KIN: Final = "\u0251a\u0261g"
# Letter-like signs, small Roman numerals, full-width and mathematical letters: each is one Latin
# letter under compatibility decomposition.
_COMPATIBLE: Final = (
    range(0x2102, 0x2150),
    range(0x2170, 0x2180),
    range(0xFF21, 0xFF5B),
    range(0x1D400, 0x1D6A6),
)


def _table() -> dict[str, str]:
    pairs = _CYRILLIC + _GREEK + _ARMENIAN + _CHEROKEE + _LATIN_KIN
    table = dict(zip(pairs[::2], pairs[1::2], strict=True))
    for letter in (chr(point) for points in _COMPATIBLE for point in points):
        plain = unicodedata.normalize("NFKC", letter)
        if len(plain) == 1 and plain.isascii() and plain.isalpha():
            table[letter] = plain
    return table


_PASSES_FOR: Final = _table()
# A class is searched letter by letter above U+FFFF, so the mathematical ones go in as one range.
_BELOW: Final = "".join(letter for letter in _PASSES_FOR if letter <= "\uffff")
_LOOKALIKE: Final = re.compile(f"[{_BELOW}\U0001d400-\U0001d6a5]")
_MIMICKED: Final = frozenset(_PASSES_FOR.values())
_LATIN: Final = re.compile("[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]")
_OTHER: Final = re.compile("[\u0370-\u03ff\u0400-\u052f\u0531-\u0587\u13a0-\u13f5]")
# Letters, digits and the accents that belong to them; no underscore.
_WORD: Final = re.compile(r"[^\W_]++(?:[\u0300-\u036f]++[^\W_]*+)*+")
_JOINERS: Final = frozenset("._@-")


def find_lookalikes(text: str) -> Iterator[tuple[int, str]]:
    """Give the places of letters that pass for others, each with the script it stands among.

    Linear in the text.
    """
    if text.isascii() or not _LOOKALIKE.search(text):
        return
    for match in _WORD.finditer(text):
        word = match[0]
        if word.isascii() or not _LOOKALIKE.search(word):
            continue
        if _LATIN.search(word):
            found = _in_mixed_word(word)
        elif _is_joined(text, match.start(), match.end()):
            found = _in_whole_word(word)
        else:
            continue
        for place, script in found:
            yield match.start() + place, script


def _in_mixed_word(word: str) -> Iterator[tuple[int, str]]:
    """The letters of the lesser script, where they pass for letters of the other."""
    latin = [match.start() for match in _LATIN.finditer(word)]
    others = _OTHER.findall(word)
    intruding = (
        len(latin) < len(others)
        and all(word[place] in _MIMICKED for place in latin)
        and not all(letter in _PASSES_FOR for letter in others)
    )
    if intruding:
        script = unicodedata.name(others[0]).partition(" ")[0].title()
        return ((place, script) for place in latin)
    return ((match.start(), "Latin") for match in _LOOKALIKE.finditer(word))


def _in_whole_word(word: str) -> Iterator[tuple[int, str]]:
    """Every letter, where all of them pass for Latin ones: the word reads as a Latin one."""
    alike = [match.start() for match in _LOOKALIKE.finditer(word)]
    all_alike = len(alike) == sum(map(str.isalpha, word))
    return ((place, "Latin") for place in alike if all_alike)


def _is_joined(text: str, start: int, end: int) -> bool:
    """Tell whether a word hangs on a Latin one, as in a host, an address or an id."""
    after = text[end : end + 2]
    if after[:1] in _JOINERS and _LATIN.match(after[1:]):
        return True
    before = text[max(0, start - 2) : start]
    return before[1:] in _JOINERS and bool(_LATIN.match(before))
