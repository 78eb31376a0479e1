"""Previews and search words: small whatever comes in, and true to what they are made of."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from suspensions.domain.preview import (
    LONGEST_WORD,
    MAX_SEARCH_TEXT,
    CallPreview,
    PreviewMember,
    call_preview,
    search_text,
    search_words,
)
from suspensions.domain.strict_json import dumps, loads


@dataclass(frozen=True)
class Call:
    name: str
    arguments: str
    note: str | None = None


def members_of(arguments: str, limit: int = 160) -> list[tuple[str, str]]:
    return [(m.key, m.value) for m in call_preview("tool", arguments, limit).members]


# --- the preview ---------------------------------------------------------------------------------


def test_the_first_three_members_are_shown_and_the_others_counted() -> None:
    arguments = (
        '{"reservation_id": "HX5M2T", "flights": [{"a": 1}, {"b": 2}], "who": {"x": 1, "y": [], '
        '"z": null}, "cabin": "economy", "bags": 2}'
    )
    assert call_preview("update_flights", arguments) == CallPreview(
        "update_flights",
        (
            PreviewMember("reservation_id", "HX5M2T"),
            PreviewMember("flights", "[2]"),
            PreviewMember("who", "{3}"),
        ),
        more=2,
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("7300000000000000019", "7300000000000000019"),
        ("1.50", "1.50"),
        ("-0", "-0"),
        ("1e400", "1e400"),
        ("true", "true"),
        ("null", "null"),
        ('""', ""),
        ("[]", "[0]"),
        ("{}", "{0}"),
        ('"[2]"', "[2]"),
        (r'"\ud83e\udde9"', "\U0001f9e9"),
        (r'"\ud83e"', r"\ud83e"),
        ('"m\u0430teo\u200b"', "m\u0430teo\u200b"),
        (r'"a\u0000b\n"', "a\x00b\n"),
    ],
)
def test_a_value_is_shown_as_it_is(value: str, shown: str) -> None:
    assert members_of(f'{{"k":{value}}}') == [("k", shown)]


def test_a_name_that_stands_twice_is_shown_twice() -> None:
    assert members_of('{"amount":10,"to":"acct-1","amount":9000}') == [
        ("amount", "10"),
        ("to", "acct-1"),
        ("amount", "9000"),
    ]


def test_an_empty_object_has_no_members() -> None:
    assert call_preview("noop", "{}") == CallPreview("noop")


def test_a_long_value_ends_in_an_ellipsis_and_leaves_room_for_the_others() -> None:
    shown = members_of(json.dumps({"sql": "x" * 10_000, "n": 5, "s": "y" * 10_000}))
    assert [key for key, _ in shown] == ["sql", "n", "s"]
    assert shown[0][1] == "x" * 49 + "…"
    assert shown[1][1] == "5"
    assert shown[2][1].endswith("y…")
    assert sum(len(key) + len(value) for key, value in shown) <= 160


def test_a_cut_does_not_split_an_emoji() -> None:
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    (shown,) = members_of(json.dumps({"k": family * 100}))
    assert shown[1].removesuffix("…").replace(family, "") == ""


@pytest.mark.parametrize(
    "arguments",
    ["", "rm -rf /", "[1,2]", '"text"', "5", "null", '{"a":1', '{"a":NaN}', '{"a":1}}', "{'a':1}",
     "\ufeff{}", '{"a":' + "[" * 64 + "]" * 64 + "}"],
)  # fmt: skip
def test_what_is_no_readable_object_is_shown_as_text(arguments: str) -> None:
    preview = call_preview("tool", arguments)
    assert preview.members == ()
    assert preview.more == 0
    assert preview.raw == arguments


def test_a_long_text_is_cut() -> None:
    assert call_preview("tool", "x" * 1_000).raw == "x" * 159 + "…"


@given(st.text(st.characters(), max_size=300), st.text(st.characters(), max_size=400))
@example("\ud800", "\ud800")
@example("tool", '{"\\ud800":"\\udc00"}')
def test_any_call_has_a_small_preview_that_can_be_stored_and_sent(name: str, arguments: str) -> None:
    preview = call_preview(name, arguments)
    text = dumps(preview.to_json())
    assert CallPreview.from_json(loads(text)) == preview
    assert len(preview.raw or "") <= 160
    assert sum(len(m.key) + len(m.value) for m in preview.members) <= 160


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=200) | st.integers(),
        max_size=6,
    ),
    st.integers(12, 300),
)
def test_a_preview_keeps_to_its_limit_and_shows_beginnings(arguments: dict[str, str | int], limit: int) -> None:
    preview = call_preview("tool", json.dumps(arguments), limit)
    assert len(preview.members) + preview.more == len(arguments)
    assert sum(len(m.key) + len(m.value) for m in preview.members) <= limit
    for member, (key, value) in zip(preview.members, arguments.items(), strict=False):
        assert key.startswith(member.key.removesuffix("…"))
        assert str(value).startswith(member.value.removesuffix("…"))


HUGE = {
    "text": '{"sql":"' + "x" * (8 << 20) + '"}',
    "escapes": '{"sql":"' + r"\n" * (4 << 20) + '"}',
    "members": "{" + ",".join(f'"k{n}":{n}' for n in range(200_000)) + "}",
    "objects": '{"a":[' + '{"b":1},' * (1 << 18) + "0]}",
    "key": '{"' + "k" * (8 << 20) + '":1}',
    "digits": '{"n":' + "9" * (8 << 20) + "}",
    "deep": '{"a":' + "[" * (4 << 20) + "]" * (4 << 20) + "}",
    "quotes": '{"' + r"\"" * (4 << 20),
    "spaces": '{"a":' + " " * (8 << 20) + "1}",
    "no json": "rm " * (2 << 20),
}


@pytest.mark.parametrize("arguments", HUGE.values(), ids=HUGE)
def test_huge_arguments_have_small_previews_in_linear_time(arguments: str) -> None:
    """A quadratic reading would take hours; the bound only tells the two apart."""
    began = time.process_time()
    preview = call_preview("tool", arguments)
    words = search_text([Call("tool", arguments)])
    assert time.process_time() - began < 20
    assert len(dumps(preview.to_json())) < 2_000
    assert len(words) <= MAX_SEARCH_TEXT


def test_all_of_ten_thousand_members_are_counted() -> None:
    arguments = "{" + ",".join(f'"k{n}":{n}' for n in range(10_000)) + "}"
    assert call_preview("tool", arguments).more == 9_997


# --- the words -----------------------------------------------------------------------------------


def test_tools_notes_and_values_are_searched_in_lower_case() -> None:
    calls = [
        Call("Send_Mail", '{"to":"Ana@Example.org","n":[7300000000000000019,{"deep":"Straße"}]}'),
        Call("Send_Mail", r'{"body":"Line 1\nLINE\u00a02 \"x\"","ok":true}', note="As ASKED\tby Kim"),
    ]
    assert search_text(calls) == (
        "send mail as asked by kim ana example org 7300000000000000019 straße line 1 line 2 x"
    )


def test_member_names_are_not_values() -> None:
    assert search_text([Call("t", '{"secret_key" : "v1", "list": ["v2"], "a:b": "v3:"}')]) == "t v1 v2 v3"


def test_what_is_no_json_is_searched_as_text() -> None:
    assert search_text([Call("shell", "rm -rf '/tmp/5'\n \"x\":1")]) == "shell rm rf tmp 5 x 1"


def test_deep_arguments_are_searched_as_text() -> None:
    assert "needle" in search_text([Call("t", "[" * 70 + '"needle"' + "]" * 70)])


def test_a_long_value_leaves_room_for_the_next() -> None:
    text = search_text([Call("t", json.dumps({"body": "word " * 10_000, "id": "HX5M2T"}))])
    assert text.endswith(" hx5m2t")


def test_every_call_gets_its_share_and_every_tool_is_found() -> None:
    calls = [
        Call(f"tool_{n}", json.dumps({"id": f"id{n}", "body": "word " * 1_000}), note=f"note{n}") for n in range(128)
    ]
    text = search_text(calls)
    assert len(text) <= MAX_SEARCH_TEXT
    assert all(f"tool {n} " in text and f"note{n} " in text and f" id{n} " in f"{text} " for n in range(128))


@given(
    st.lists(
        st.builds(
            Call,
            st.text(st.characters(), max_size=20),
            st.text(st.characters(), max_size=60) | st.text().map(json.dumps),
            st.none() | st.text(st.characters(), max_size=20),
        ),
        max_size=4,
    )
)
@example([Call("\x00", "\x00", "\ud800")])
@example([Call("\u0130" * 3_000, "{}")])
@example([Call("t", '{"a":"' + r"\ud83e\udde9" * 500 + '"}')])
@example([Call("t", '{"a":"x' + r"\ud83e\udde9" * 500 + '"}')])
@example([Call("t", '{"a":"' + r"\\" * 5_000 + '"}')])
@example([Call("t", '{"a":"x' + r"\\" * 5_000 + '"}')])
def test_any_calls_have_bounded_words_without_what_a_database_refuses(calls: list[Call]) -> None:
    text = search_text(calls)
    assert len(text) <= MAX_SEARCH_TEXT
    assert "\x00" not in text
    text.encode()
    assert text == " ".join(search_text([Call(text, "{}")]).split(" ")) or not text


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
@example("a\u1680b")
def test_what_a_person_types_finds_what_was_stored(value: str) -> None:
    stored = search_text([Call("tool", json.dumps({"v": value}))])
    assert all(f" {phrase}" in f" {stored}" for phrase in search_words(value))


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ("update_reservation_flights", "reservation"),
        ("update_reservation_flights", "reservation_fl"),
        ("updateReservation", "reservation"),
        ("updateReservation", "updateRes"),
        ("2031-05-16", "05-16"),
        ("ana@example.org", "example.org"),
        ("请取消预订", "取消"),
        ("ยกเลิกการจอง", "การจอง"),
        ("x" * 1_000, "x" * 900),
        ("🎉 party", "🎉"),
    ],
)
def test_a_part_of_a_word_is_found_where_a_person_sees_one_begin(stored: str, typed: str) -> None:
    (phrase,) = search_words(typed)
    assert f" {phrase}" in f" {search_text([Call(stored, '{}')])}"


def test_no_word_is_longer_than_an_index_takes() -> None:
    text = search_text([Call("t", "é" * 3_000)])
    assert max(map(len, text.split(" "))) == LONGEST_WORD


def test_a_query_is_words_each_once() -> None:
    assert search_words("  Ana\x00 ANA \u00a0 Kim\n") == ("ana", "kim")
    assert search_words("cancel_res 5%") == ("cancel res", "5")
    assert search_words("") == search_words("% _ '") == ()
