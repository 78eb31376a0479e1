"""Odd text: what hides, reorders or imitates is found and named; real writing is left alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from suspensions.domain.odd_text import (
    FEWEST_HIDDEN,
    MOST_GROWN,
    Folded,
    OddCharacter,
    OddKind,
    fold,
    is_plain,
    odd_characters,
    safe_cut,
    segments,
    warning,
)

MATEO = "m\u0430teo_fuentes_4471"
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
ENGLAND = "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in "gbeng") + "\U000e007f"
NORWAY = "\U0001f1f3\U0001f1f4"


def kinds(text: str) -> list[OddKind]:
    return [found.kind for found in odd_characters(text)]


def shown(text: str) -> str:
    """The text as a page shows it: labels in brackets, in place of what is odd."""
    return "".join(f"[{part.label}]" if part.odd else part.text for part in segments(text))


# --- what is odd ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a\x00b", OddKind.CONTROL),
        ("a\x1b[31mb", OddKind.CONTROL),
        ("a\x7fb", OddKind.CONTROL),
        ("a\x85b", OddKind.CONTROL),
        ("a\rb", OddKind.CONTROL),
        ("\u00e9\rb", OddKind.CONTROL),
        ("a\u2028b", OddKind.LINE),
        ("a\u2029b", OddKind.LINE),
        ("a\u202eb", OddKind.BIDI),
        ("a\u2066b", OddKind.BIDI),
        ("a\u200eb", OddKind.BIDI),
        ("a\u061cb", OddKind.BIDI),
        ("a\u200bb", OddKind.HIDDEN),
        ("a\u200db", OddKind.HIDDEN),
        ("a\u200cb", OddKind.HIDDEN),
        ("a\u00adb", OddKind.HIDDEN),
        ("a\u2060b", OddKind.HIDDEN),
        ("a\ufeffb", OddKind.HIDDEN),
        ("a\u3164b", OddKind.HIDDEN),
        ("a\u2800b", OddKind.HIDDEN),
        ("a\U0001d173b", OddKind.HIDDEN),
        ("a\U000e01f0b", OddKind.HIDDEN),
        ("a\ufe0fb", OddKind.VARIATION),
        ("1\ufe0f", OddKind.VARIATION),
        ("a\U000e0100b", OddKind.VARIATION),
        ("a\u180bb", OddKind.VARIATION),
        ("a\U000e0041b", OddKind.TAG),
        ("a\U000e0001b", OddKind.TAG),
        ("a\ufdd0b", OddKind.NONCHARACTER),
        ("a\uffffb", OddKind.NONCHARACTER),
        ("a\U0001fffeb", OddKind.NONCHARACTER),
        ("a\U0010ffffb", OddKind.NONCHARACTER),
        ("a\ue000b", OddKind.PRIVATE),
        ("a\U000f0000b", OddKind.PRIVATE),
        ("a\U0010fffdb", OddKind.PRIVATE),
        ("a\ud800b", OddKind.HALF_PAIR),
        ("m\u0430teo", OddKind.LOOKALIKE),
        ("p\u0430y.example", OddKind.LOOKALIKE),
        ("v\u03bfid", OddKind.LOOKALIKE),
        ("\uff50ay", OddKind.LOOKALIKE),
        ("\U0001d429ay", OddKind.LOOKALIKE),
        ("p\u0251y", OddKind.LOOKALIKE),
        ("\u0578ame", OddKind.LOOKALIKE),
        ("\u13a0og", OddKind.LOOKALIKE),
        ("\u212aelvin", OddKind.LOOKALIKE),
    ],
)
def test_an_odd_character_is_found(text: str, kind: OddKind) -> None:
    assert kinds(text) == [kind]
    assert not is_plain(text)


def test_a_character_is_named_with_its_place() -> None:
    assert odd_characters("rm -rf ~/\u202etxt.eton\u200b\x00") == (
        OddCharacter(9, "U+202E", "RIGHT-TO-LEFT OVERRIDE", OddKind.BIDI),
        OddCharacter(18, "U+200B", "ZERO WIDTH SPACE", OddKind.HIDDEN),
        OddCharacter(19, "U+0000", "NULL", OddKind.CONTROL),
    )


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("\x01", "CONTROL CHARACTER"),
        ("\ue000", "PRIVATE USE"),
        ("\ufdd0", "NONCHARACTER"),
        ("\ud800", "SURROGATE"),
        ("\u2065", "UNASSIGNED"),
        ("\U000e0002", "UNASSIGNED TAG"),
    ],
)
def test_what_has_no_name_is_named_by_what_it_is(character: str, name: str) -> None:
    assert odd_characters(f"a{character}")[0].name == name


def test_the_first_few_can_be_had_alone() -> None:
    assert [found.index for found in odd_characters("\u200b" * 1000, limit=2)] == [0, 1]


@pytest.mark.parametrize(
    ("text", "indexes"),
    [
        ("\U0001f600\u200d", [1]),  # a joiner that joins nothing
        ("a\u200d\U0001f600", [1]),
        ("\U0001f600\ufe0f\ufe0f", [2]),  # bytes smuggled behind an emoji
        ("\U0001f600\U000e0100", [1]),
        ("\U0001f3f4\U000e0068\U000e0069\U000e007f", [1, 2, 3]),  # a flag of no country
        (ENGLAND + "\U000e0041", [7]),
        ("\u0645\u200c\u200c\u0647", [1, 2]),  # two in a row shape nothing
        ("\u0645\u200c", [1]),
        ("\u05e9\u200f\u200f", [2]),
        ("\u845b\U000e0100\U000e0100", [2]),
    ],
)
def test_what_belongs_once_does_not_belong_twice_or_elsewhere(text: str, indexes: list[int]) -> None:
    assert [found.index for found in odd_characters(text)] == indexes


# --- what is not ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain text,\twith a tab\nand lines\r\nof both kinds",
        "caf\u00e9 e\u0301 \u00a0 na\u00efve I\u011fd\u0131r \u0141\u00f3d\u017a",
        FAMILY,
        f"x{FAMILY}y",
        "\u2764\ufe0f\u200d\U0001f525 \u2601\ufe0f \u260e\ufe0e",
        "\U0001f44d\U0001f3fd \U0001f575\U0001f3fd\u200d\u2642\ufe0f",
        "1\ufe0f\u20e3 #\ufe0f\u20e3",
        f"{NORWAY} {ENGLAND}",
        "\u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440",
        "IT-\u043a\u043e\u043c\u043f\u0430\u043d\u0438\u044f user_\u0438\u043c\u044f",
        "\u0441\u043e\u0441\u043e",  # a whole word, by itself
        "\u041f\u0435\u0442\u0440 writes \u0441 Anna",
        "\u03ba\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1",
        "5 \u03a9m \u03bcm \u0394t \u03c0r",
        "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, with a non-joiner
        "\u0647\u200d",
        "\u0915\u094d\u200d\u0937 \u0926\u094d\u200c\u0927",  # Devanagari
        "\u05e9\u05dc\u05d5\u05dd!\u200f ok",
        "C++\u200e \u05e9\u05dc\u05d5\u05dd",
        "\u845b\U000e0100\u57ce \u2229\ufe00",
        "\u1820\u180b\u1821",
        "\u2801\u2800\u2803",
        "\uff21\uff22\uff23 ABC\u30c6\u30b9\u30c8",
        "\U0001d41a\U0001d41b",
        "\U00020000\U00031350",
        "\U0001fae8",  # an emoji newer than this Python's tables
    ],
)
def test_real_writing_is_left_alone(text: str) -> None:
    assert kinds(text) == []
    assert is_plain(text)
    assert warning(text) is None
    assert shown(text) == text


def test_the_intruder_is_the_letter_of_the_lesser_script() -> None:
    assert shown("\u043fa\u0441\u043f\u043e\u0440\u0442") == ("\u043f[a U+0061]\u0441\u043f\u043e\u0440\u0442")
    assert warning("\u043fa\u0441\u043f\u043e\u0440\u0442") == (
        "1 look-alike, U+0061 LATIN SMALL LETTER A among Cyrillic letters"
    )


@pytest.mark.parametrize("text", ["\u0441\u043e\u0441\u043e.com", "admin@\u0441\u043e\u0441\u043e", "x_\u0430\u0441"])
def test_a_word_that_reads_as_latin_is_odd_where_it_hangs_on_latin(text: str) -> None:
    assert set(kinds(text)) == {OddKind.LOOKALIKE}


# --- how it is shown -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "page"),
    [
        (MATEO, "m[\u0430 U+0430]teo_fuentes_4471"),
        ("fare.\u200b", "fare.[U+200B]"),
        ("\u202ea", "[U+202E]a"),
        ("a" + "\u200b" * 50 + "b", "a[U+200B \u00d750]b"),
        ("a\u200b\ufeffb", "a[U+200B U+FEFF]b"),
        ("\u200b\ufeff\u2060\u200b\u00ad", "[U+200B U+FEFF U+2060 +2 more]"),
        ("a\x00\u202e\u200b", "a[U+0000][U+202E][U+200B]"),
        ("p\u0430\u0443", "p[\u0430\u0443 U+0430 U+0443]"),
    ],
)
def test_odd_characters_are_shown_in_place(text: str, page: str) -> None:
    assert shown(text) == page


TRICKS = "a\u0430\u200b\u200d\u202e\ufe0f\U0001f600\r\n\x00\ud800 _.\U000e0067\u0645"


@given(st.text(st.characters()) | st.text(st.sampled_from(TRICKS)))
@example(MATEO)
@example("\U0001f3f4" + "\U000e0067" * 5)
def test_the_parts_joined_are_the_text(text: str) -> None:
    parts = segments(text)
    assert "".join(part.text for part in parts) == text
    assert all(part.text for part in parts)
    assert all(bool(part.odd) == bool(part.label) for part in parts)
    odd = sum(len(part.text) for part in parts if part.odd)
    assert odd == len(odd_characters(text))
    assert (warning(text) is None) == (odd == 0) == is_plain(text)


@given(st.text(st.characters()))
def test_what_a_page_shows_can_be_sent(text: str) -> None:
    shown(text).encode()
    (warning(text) or "").encode()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (MATEO, "1 look-alike, U+0430 CYRILLIC SMALL LETTER A among Latin letters"),
        ("any fare.\u200b", "1 hidden, U+200B ZERO WIDTH SPACE at the end"),
        ("\ufefffare", "1 hidden, U+FEFF ZERO WIDTH NO-BREAK SPACE at the start"),
        ("fa\u200bre", "1 hidden, U+200B ZERO WIDTH SPACE"),
        ("\u200ba\u200b", "2 hidden, U+200B ZERO WIDTH SPACE"),
        (
            "p\u0430\u200by\u200b",
            "1 look-alike, U+0430 CYRILLIC SMALL LETTER A among Latin letters; 2 hidden, U+200B ZERO WIDTH SPACE",
        ),
        ("a\x00\x01b", "2 control characters, U+0000 NULL, U+0001 CONTROL CHARACTER"),
        (
            "\u200ba\ufeffb\u2060c\u00add",
            "4 hidden, U+200B ZERO WIDTH SPACE, U+FEFF ZERO WIDTH NO-BREAK SPACE, U+2060 WORD JOINER and 1 more",
        ),
        ("a" + "\u200bb" * 1234, "1,234 hidden, U+200B ZERO WIDTH SPACE"),
        ("\u200b", "1 hidden, U+200B ZERO WIDTH SPACE"),
    ],
)
def test_a_warning_counts_and_names(text: str, line: str) -> None:
    assert warning(text) == line


# --- folding -------------------------------------------------------------------------------------


def test_a_short_text_is_not_folded() -> None:
    assert fold("x" * 199) is None
    assert fold("x" * 200) == Folded("x" * 120, 20, "x" * 60)
    assert fold("") is None


def test_the_dangerous_end_stays_in_sight() -> None:
    text = "select 1 /*" + "x" * 9_900 + "*/; drop table t"
    folded = fold(text)
    assert folded is not None
    assert folded.head.startswith("select 1 /*")
    assert folded.tail.endswith("*/; drop table t")
    assert len(folded.head) + folded.hidden_count + len(folded.tail) == len(text)


@pytest.mark.parametrize(
    "cluster",
    [FAMILY, NORWAY, ENGLAND, "\U0001f44d\U0001f3fd", "e\u0301\u0323", "\u1112\u1161\u11ab",
     "\uac00\u11a8", "\r\n", "\u0915\u094d\u200d", "1\ufe0f\u20e3", "\ud83e\udde9"],
)  # fmt: skip
@pytest.mark.parametrize("shift", range(8))
def test_no_cut_falls_inside_of_one_character(cluster: str, shift: int) -> None:
    text = "x" * shift + cluster * 100
    folded = fold(text, head=20, tail=20)
    assert folded is not None
    assert (len(folded.head) - shift) % len(cluster) == 0
    assert len(folded.tail) % len(cluster) == 0
    assert (len(safe_cut(text, 20)) - shift) % len(cluster) == 0


@given(st.text(max_size=120), st.integers(0, 20), st.integers(0, 20))
def test_a_fold_loses_nothing(text: str, head: int, tail: int) -> None:
    folded = fold(text, head, tail)
    if folded is None:
        assert len(text) - head - tail < FEWEST_HIDDEN + 2 * MOST_GROWN
    else:
        assert text.startswith(folded.head)
        assert text.endswith(folded.tail)
        assert len(folded.head) + folded.hidden_count + len(folded.tail) == len(text)
        assert folded.hidden_count > 0


def test_a_cluster_without_end_is_cut_all_the_same() -> None:
    folded = fold("e" + "\u0301" * 10_000)
    assert folded is not None
    assert folded.hidden_count > 9_000
    assert len(safe_cut("e" + "\u0301" * 10_000, 100)) in range(60, 101)


@given(st.text(), st.integers(0, 30))
def test_a_safe_cut_is_a_start_of_bounded_length(text: str, length: int) -> None:
    cut = safe_cut(text, length)
    assert text.startswith(cut)
    assert len(cut) <= length


# --- large texts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["x" * (1 << 19) + "\u0430", "a\u0430" * (1 << 16), "\u200b" * (1 << 18), "\x00" * (1 << 19),
     "\U0001f469\u200d" * (1 << 16), "a" + "\ufe0f" * (1 << 18), "\u05e9\u200f" * (1 << 16),
     "e" + "\u0301" * (1 << 19), "\U0001f1f3" * (1 << 16), "\u0430" * (1 << 17) + ".a"],
)  # fmt: skip
def test_large_texts_take_linear_time(text: str) -> None:
    """A quadratic search would take hours; the bound only tells the two apart."""
    began = time.process_time()
    segments(text)
    warning(text)
    fold(text)
    assert time.process_time() - began < 20
