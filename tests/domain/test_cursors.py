"""Cursors: opaque, and good for their own list alone. Source: api.md "Answers"."""

from __future__ import annotations

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspensions.domain.cursors import _tag, cursor_instant, cursor_number, make_cursor, read_cursor
from suspensions.domain.errors import InvalidCursor

LIST = ("resume-admissions", "w=a", "")


def test_a_cursor_gives_back_its_key_in_its_own_list() -> None:
    assert read_cursor(make_cursor(LIST, "sus_1"), LIST, 1) == ("sus_1",)
    assert read_cursor(make_cursor(LIST, "2031", "sus_1"), LIST, 2) == ("2031", "sus_1")


def test_no_cursor_is_the_beginning() -> None:
    assert read_cursor(None, LIST, 1) is None


@pytest.mark.parametrize(
    "other",
    [
        ("resume-starts", "w=a", ""),
        ("resume-admissions", "w=b", ""),
        ("resume-admissions", "w=A", ""),
        ("resume-admissions", "w=a/p=b", ""),
        ("resume-admissions", "w=a", "started"),
        ("resume-admissions", "w=a"),
        ("resume-admissions", "", "w=a"),
        ("resume-admissionsw=a", ""),
    ],
)
def test_a_cursor_of_another_list_scope_or_filter_is_refused(other: tuple[str, ...]) -> None:
    with pytest.raises(InvalidCursor):
        read_cursor(make_cursor(other, "sus_1"), LIST, 1)


@pytest.mark.parametrize("width", [0, 1, 3])
def test_a_cursor_with_another_number_of_keys_is_refused(width: int) -> None:
    with pytest.raises(InvalidCursor):
        read_cursor(make_cursor(LIST, "a", "b"), LIST, width)


@pytest.mark.parametrize("cursor", ["", "x", "%", "é", "AAAA", "=" * 8, "a b", "\x00", "A" * 10_000])
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        read_cursor(cursor, LIST, 1)


def test_a_cursor_whose_key_was_changed_is_refused() -> None:
    whole = base64.urlsafe_b64decode(make_cursor(LIST, "sus_1") + "==")
    changed = base64.urlsafe_b64encode(whole.replace(b"sus_1", b"sus_2")).decode().rstrip("=")
    with pytest.raises(InvalidCursor):
        read_cursor(changed, LIST, 1)


@given(
    st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), min_size=1, max_size=3),
    st.lists(st.text(), min_size=1, max_size=4),
)
def test_a_cursor_travels_in_an_address_whatever_its_key_holds(key: list[str], binding: list[str]) -> None:
    cursor = make_cursor(tuple(binding), *key)

    assert re.fullmatch(r"[A-Za-z0-9_-]+", cursor)
    assert read_cursor(cursor, tuple(binding), len(key)) == tuple(key)


def test_a_made_up_key_is_refused_before_a_database_sees_it() -> None:
    for key in ("sus_\0", "sus_\ud800", "\udfff"):
        with pytest.raises(InvalidCursor):
            read_cursor(make_cursor(LIST, key), LIST, 1)
    for part in ("", "-1", "9" * 19, "\u0663"):
        with pytest.raises(InvalidCursor):
            cursor_number(part)
    with pytest.raises(InvalidCursor):
        cursor_instant("yesterday")
    assert cursor_number("42") == 42


def test_a_made_up_key_that_nests_without_end_is_refused() -> None:
    payload = "[" * 100_000
    made_up = base64.urlsafe_b64encode(f"{_tag(LIST, payload)}{payload}".encode()).decode().rstrip("=")
    with pytest.raises(InvalidCursor):
        read_cursor(made_up, LIST, 1)
