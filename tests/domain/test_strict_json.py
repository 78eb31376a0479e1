"""Strict JSON: what is refused and where, what comes back exactly, what is the same content."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from suspensions.domain.errors import MalformedJson
from suspensions.domain.strict_json import (
    MAX_DIGITS,
    NotCanonical,
    canonical,
    content_digest,
    depth_exceeds,
    dumps,
    loads,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
INTEGERS = st.integers() | st.integers(-(10**60), 10**60)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | INTEGERS | DOUBLES | TEXTS
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def fault_of(data: bytes | str, **limits: int) -> MalformedJson:
    with pytest.raises(MalformedJson) as caught:
        loads(data, **limits)
    return caught.value


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def same(left: Any, right: Any) -> bool:
    """Equal, and of one type, with the sign of zero."""
    return left == right and repr(left) == repr(right)


# --- what is accepted ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        (" \t\r\n[] \n", []),
        ("0", 0),
        ("false", False),
        ('""', ""),
        ("null", None),
        ('{"b":1,"a":[1,2]}', {"b": 1, "a": [1, 2]}),
        (r'"\ud83e\udde9"', "🧩"),
        (r'"\\ud800"', "\\ud800"),
        (r'"\u0000"', "\x00"),
        ('"e\u0301"', "e\u0301"),
        ('"\\u2028\u2029"', "\u2028\u2029"),
        ("5e-324", 5e-324),
        ("1e-400", 0.0),
        ("-0.0", -0.0),
        ('{"a":{"x":1},"b":{"x":1}}', {"a": {"x": 1}, "b": {"x": 1}}),
    ],
)
def test_a_strict_text_gives_its_value(text: str, value: object) -> None:
    assert same(loads(text), value)
    assert same(loads(text.encode()), value)


def test_members_keep_their_order() -> None:
    assert list(loads('{"b":1,"a":2,"c":3}')) == ["b", "a", "c"]


def test_negative_zero_stays_equal() -> None:
    assert loads("-0") == 0
    assert dumps(loads("-0")) == b"0"


@pytest.mark.parametrize("digits", [19, 40, MAX_DIGITS])
@pytest.mark.parametrize("sign", ["", "-"])
def test_an_integer_comes_back_with_every_digit(digits: int, sign: str) -> None:
    text = sign + "1234567890" * (digits // 10) + "7" * (digits % 10)
    assert dumps(loads(f"[{text}]")) == f"[{text}]".encode()


@given(VALUES)
def test_what_is_written_reads_back_equal(value: object) -> None:
    assert same(loads(dumps(value)), value)


@given(VALUES)
def test_text_and_bytes_read_alike(value: object) -> None:
    text = json.dumps(value, indent=1)
    assert same(loads(text), value)
    assert same(loads(text.encode()), value)


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["", "  ", "{", "[1,]", '{"a":1,}', "{'a':1}", "[1 2]", '{"a" 1}', "01", "1.", ".5", "+1",
     "--1", "0x10", "1e", "tru", "True", "nul", '"a', '"\t"', '"\\x41"', '"\\u12g4"', '"\\',
     "[] []", "// no", "[1]\x00", "\x00", "\v1", "\uff11", "\u0663", "\u00a01", "-", "[", "]",
     "{]", '{"a"}', "{1:2}"],
)  # fmt: skip
def test_what_is_no_json_is_refused_with_an_offset(text: str) -> None:
    offset = fault_of(text).offset
    assert offset is not None
    assert 0 <= offset <= len(text)


@pytest.mark.parametrize(
    ("text", "offset"),
    [("[1e400, x", 8), ('{"a":1,"a":2', 12), ('\\"' + "[" * 99, 0), ('[\\"' + "[" * 2_000, 1)],
)
def test_where_there_are_two_faults_a_syntax_error_is_told(text: str, offset: int) -> None:
    assert fault_of(text).offset == offset


def test_the_offset_counts_characters() -> None:
    assert fault_of('["🧩é", x]').offset == 7


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b'["\xff"]', 2),
        ('["é'.encode() + b'\xc3"]', 3),
        (b'"\xed\xa0\x80"', 1),  # a surrogate as UTF-8
        (b'"\xc0\x80"', 1),  # NUL in two bytes
        (b'"\xf4\x90\x80\x80"', 1),  # beyond U+10FFFF
        (b'["\xf0\x9f\xa7', 2),
        ("[1]".encode("utf-16"), 0),
        ("[1]".encode("utf-16-be"), 0),
    ],
)
def test_what_is_no_utf8_is_refused(data: bytes, offset: int) -> None:
    assert fault_of(data).offset == offset


@pytest.mark.parametrize("data", ["\ufeff{}", b"\xef\xbb\xbf{}"])
def test_a_byte_order_mark_is_refused(data: bytes | str) -> None:
    fault = fault_of(data)
    assert fault.offset == 0
    assert "byte order mark" in fault.detail


def test_u_feff_inside_a_text_is_kept() -> None:
    assert loads('"\ufeff"') == "\ufeff"


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("NaN", ""),
        ("[1,Infinity]", "/1"),
        ('{"a":{"b":-Infinity}}', "/a/b"),
        ("1e400", ""),
        ('{"a":[0,-1e400]}', "/a/1"),
        ("[" + "9" * 400 + ".0]", "/0"),
        ("[" + "9" * 308 + "e5]", "/0"),
    ],
)
def test_a_number_that_is_no_finite_double_is_refused(text: str, pointer: str) -> None:
    assert fault_of(text).pointer == pointer


@pytest.mark.parametrize("sign", ["", "-"])
def test_an_integer_of_4301_digits_is_refused(sign: str) -> None:
    assert fault_of('{"n":[' + sign + "1" * 4301 + "]}").pointer == "/n/0"


@pytest.mark.parametrize("limit", [0, 1000, 9999])
def test_the_digits_allowed_do_not_hang_on_the_process(limit: int) -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(limit)
    try:
        assert fault_of("[" + "1" * 4301 + "]").pointer == "/0"
        assert loads("[" + "1" * 999 + "]") == [(10**999 - 1) // 9]
        if limit == 1000:
            assert fault_of("[" + "1" * 4300 + "]").pointer == "/0"
        else:
            assert loads("[" + "1" * 4300 + "]") == [(10**4300 - 1) // 9]
    finally:
        sys.set_int_max_str_digits(before)


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ('{"amount":10,"to":"acct-1","amount":9000}', "/amount"),
        ('{"a":[{},{"b":1,"b":1}]}', "/a/1/b"),
        (r'{"a":1,"\u0061":2}', "/a"),
        ('{"":1,"":2}', "/"),
        ('{"a/b~c":{"x":1,"x":2}}', "/a~1b~0c/x"),
        ('{"a":1,"a":{"b":1,"b":2}}', "/a"),
        ('{"\\u0000":1,"\\u0000":1}', "/\x00"),
    ],
)
def test_a_name_that_stands_twice_is_refused_with_its_pointer(text: str, pointer: str) -> None:
    assert fault_of(text).pointer == pointer


def test_names_that_differ_in_composition_are_two() -> None:
    assert len(loads('{"\u00e9":1,"e\u0301":2}')) == 2


def test_a_fault_never_quotes_a_giant_name() -> None:
    name = "k" * 1_000_000
    fault = fault_of(f'{{"a":{{"{name}":1,"{name}":2}}}}')
    assert fault.pointer == "/a"
    assert len(fault.detail) < 200


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        (r'"\ud800"', 1),
        (r'"\uDC00"', 1),
        (r'"\ud83e\ud83e\udde9"', 1),
        (r'"\udde9\ud83e"', 1),
        (r'{"\ud800":1}', 2),
        (r'["\\\ud800"]', 4),
        (r'["\\ud800","\ud83e\udde9\udde9"]', 24),
        ('"\ud800"', 1),
        (r'"\ud83e\\udde9"', 1),
    ],
)
def test_half_a_surrogate_pair_is_refused(text: str, offset: int) -> None:
    assert fault_of(text).offset == offset


@given(st.lists(st.sampled_from([r"\ud83e", r"\udde9", r"\\", r"\"", "u", "d83e", r"\u00e9", "a"])))
def test_half_pairs_are_found_exactly(parts: list[str]) -> None:
    text = '"' + "".join(parts) + '"'
    plain = json.loads(text)
    if any("\ud800" <= character <= "\udfff" for character in plain):
        fault_of(text)
        with pytest.raises(MalformedJson):
            content_digest(text)
    else:
        assert loads(text) == plain


# --- depth ---------------------------------------------------------------------------------------


def test_64_levels_pass_and_65_do_not() -> None:
    assert dumps(loads(nested(64))) == nested(64).encode()
    assert fault_of(nested(65)).offset == 64
    assert fault_of('{"a":' * 64 + "[]" + "}" * 64).offset == 64 * 5


@pytest.mark.parametrize("levels", [65, 101, 2_000, 1_000_000])
@pytest.mark.parametrize("closed", [True, False])
def test_every_depth_beyond_the_limit_is_refused_alike(levels: int, closed: bool) -> None:
    fault = fault_of("[" * levels + "]" * (levels * closed))
    assert (fault.detail, fault.offset) == ("nested deeper than 64 levels", 64)


@pytest.mark.parametrize(
    "text",
    ['["' + "[" * 500 + '"]', '["\\"' + "[" * 500 + '"]', r'["\\","' + "[{" * 300 + '"]',
     "[" + ",".join(["[]"] * 500) + "]", "[" + '"[","]",' * 500 + "1]",
     r'["\\\"' + "[" * 99 + '"]'],
)  # fmt: skip
def test_brackets_in_strings_and_side_by_side_are_no_depth(text: str) -> None:
    assert loads(text) == json.loads(text)


@pytest.mark.parametrize("text", ['["' + "[" * 99, '["\\', "]" * 99 + "[" * 99, '"\\"' + "[" * 99])
def test_broken_texts_full_of_brackets_are_refused(text: str) -> None:
    fault_of(text)


def true_depth(text: str) -> int:
    """The depth by a plain walk over the characters."""
    depth = deepest = 0
    inside = escaped = False
    for character in text:
        if inside:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                inside = False
        elif character == '"':
            inside = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


@given(VALUES, st.integers(0, 6))
@example(["[[[[", {"]": '"\\['}], 1)
def test_the_depth_scan_agrees_with_a_plain_walk(value: object, limit: int) -> None:
    text = json.dumps(value)
    assert depth_exceeds(text.encode(), limit) == (true_depth(text) > limit)


@given(st.lists(st.sampled_from(['"', "\\", "[", "]", "{", "}", "a", ","]), max_size=30))
def test_no_soup_of_marks_gets_past_the_depth_scan(soup: list[str]) -> None:
    """Whatever a scanner can enter in front of the first fault is counted."""
    text = "".join(soup)
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        valid = text[: error.pos]
        if not error.msg.startswith("Unterminated") and true_depth(valid) > 2:
            assert depth_exceeds(text.encode(), 2)
    else:
        assert depth_exceeds(text.encode(), 2) == (true_depth(text) > 2)


# --- nothing else ever comes out -----------------------------------------------------------------


@given(st.binary(max_size=40) | st.text(max_size=40))
@example("\ud800")
@example(b'{"a":NaN,"a":1e400}')
def test_any_input_gives_a_value_or_the_one_fault(data: bytes | str) -> None:
    try:
        value = loads(data)
    except MalformedJson:
        fault = fault_of(data)
        assert fault.pointer is not None or fault.offset is not None
        with pytest.raises(MalformedJson):
            content_digest(data)
    else:
        assert same(loads(dumps(value)), value)
        content_digest(data)


def test_a_fault_does_not_carry_the_body_along() -> None:
    for data in (b'["\xff', b"[1", b"[1e400]", b'{"a":1,"a":2}', b'["\\ud800"]', b"[" * 99):
        fault = fault_of(data)
        assert fault.__context__ is None
        assert fault.__cause__ is None


def test_a_body_of_8_mib_comes_back_whole() -> None:
    body = b'{"blob":"' + b"x" * 8_388_000 + b'"}'
    assert dumps(loads(body)) == body


# --- writing -------------------------------------------------------------------------------------


def test_writing_escapes_what_json_demands_and_nothing_else() -> None:
    written = dumps({"b": '\x00\x1f\n"\\/', "a": "é🧩\u2028\x7f"})
    assert written == '{"b":"\\u0000\\u001f\\n\\"\\\\/","a":"é🧩\u2028\x7f"}'.encode()


@pytest.mark.parametrize("value", ["\ud800", {"\udc00": 1}, [math.nan], math.inf])
def test_what_could_not_be_read_back_is_not_written(value: object) -> None:
    with pytest.raises(MalformedJson):
        dumps(value)


def test_an_integer_that_could_not_be_read_back_is_not_written() -> None:
    with pytest.raises(MalformedJson):
        dumps(10**MAX_DIGITS)


# --- canonical -----------------------------------------------------------------------------------

SAFE = st.integers(-(2**53) + 1, 2**53 - 1)
PLAIN_LEAVES = st.none() | st.booleans() | SAFE | TEXTS
PLAIN = st.recursive(
    PLAIN_LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(max_codepoint=127), max_size=8), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(PLAIN)
@example({"\x7f": "\x7f\x80\u2028\u2029/\b\f\n\r\t\x00\x1f", "": [], "B": {}, "a": -0})
def test_the_shortcut_writes_what_the_library_writes(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(
    st.recursive(
        PLAIN_LEAVES | DOUBLES,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=5),
        max_leaves=20,
    )
)
@example({"\ufb01": 1, "\U0001f9e9": 2})  # another order by code point than by UTF-16 unit
@example([1.0, 1e21, 1e-7, 333333333.33333329])
def test_canonical_is_what_the_library_writes_for_every_value(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("value", [2**53, -(2**53), math.nan, math.inf, "\ud800", {"\ud800": 1}])
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(NotCanonical):
        canonical({"a": [value]})


# --- same content --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"b":1,"a":[1,2]}', '{ "a":[1,2],\n"b":1 }'),
        (r'"\ud83e\udde9"', '"🧩"'),
        (r'{"\u0061":"\/"}', '{"a":"/"}'),
        ('{"a":{"y":1.50,"x":-0}}', '{"a":{"x":-0,"y":1.50}}'),
    ],
)
def test_the_same_content_gives_one_digest(one: str, other: str) -> None:
    assert content_digest(one) == content_digest(other.encode())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":[1,2]}', '{"a":[2,1]}'),
        ("1", "1.0"),
        ("1.0", "1.00"),
        ("1e2", "1E2"),
        ("100", "1e2"),
        ("0", "-0"),
        ("1.5", '"1.5"'),
        ("1", '"1"'),
        ("1", "true"),
        ("0.1", "0.1000000000000000055511151231257827"),
        ("9007199254740993", "9007199254740992"),
        ('"\u00e9"', '"e\u0301"'),
        ('{"a":null}', "{}"),
        ("[[1],2]", "[[1,2]]"),
        ('["a","b"]', '["a,b"]'),
    ],
)
def test_other_content_gives_another_digest(one: str, other: str) -> None:
    assert content_digest(one) != content_digest(other)


@given(st.permutations([("a", "1.0"), ("b", '{"x":[],"y":2}'), ("é", "null"), ("", '"1.0"')]))
def test_the_order_of_members_never_counts(members: list[tuple[str, str]]) -> None:
    text = "{" + ",".join(f'"{name}" : {value}' for name, value in members) + "}"
    assert content_digest(text) == content_digest('{"":"1.0","a":1.0,"b":{"y":2,"x":[]},"é":null}')


def test_what_is_left_out_does_not_count() -> None:
    bare = content_digest('{"id":"r","run":{"input":"x"}}')
    leased = '{"id":"r","lease":{"owner":"w"},"run":{"input":"x","lease":{"owner":"w"}}}'
    assert content_digest(leased, without=("lease", "/run/lease")) == bare
    assert content_digest(leased, without=("lease",)) != bare
    assert content_digest(leased) != bare
    assert content_digest('{"lease":1}', without=("lease",)) == content_digest("{}")


@pytest.mark.parametrize("text", ["[1]", '"lease"', '{"run":[1]}', '{"run":null}', "{}"])
def test_leaving_out_what_is_not_there_changes_nothing(text: str) -> None:
    assert content_digest(text, without=("lease", "/run/lease")) == content_digest(text)


@pytest.mark.parametrize(
    ("text", "at", "part"),
    [
        ('{"run":{"b":1.0,"a":[]}}', "/run", '{"a":[],"b":1.0}'),
        ('{"a/b":{"c":"x"}}', "/a~1b/c", '"x"'),
        ('{"a":1}', "/b", "null"),
        ("[1]", "/0/x", "null"),
        ('{"a":1}', "", '{"a":1}'),
    ],
)
def test_one_member_can_be_hashed_as_if_it_were_the_whole(text: str, at: str, part: str) -> None:
    assert content_digest(text, at=at) == content_digest(part)


class Wordy(str):
    """Prints itself in another way than it encodes."""

    __slots__ = ()


@pytest.mark.parametrize("value", [{"a": (1, 2)}, {"a": Wordy("x")}, {Wordy("a"): 1}, [True, 1]])
def test_what_only_looks_plain_is_left_to_the_library(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)
