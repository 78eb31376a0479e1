"""Scopes: one text of one to three levels, and what covers what. Source: store.md section 1."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspensions.domain.errors import InvalidScope, NoScope
from suspensions.domain.scopes import Scope

_KEY = st.text(string.ascii_letters + string.digits + "_.-", min_size=1, max_size=64)
_VALUE = st.text(string.ascii_letters + string.digits + "_.:@+~-", min_size=1, max_size=128)
_LEVEL = st.builds(lambda key, value: f"{key}={value}", _KEY, _VALUE)
scopes = st.lists(_LEVEL, min_size=1, max_size=3).map("/".join).map(Scope.parse)


@pytest.mark.parametrize(
    "text",
    [
        "w=a",
        "workspace=acme/project=web",
        "a=1/b=2/c=3",
        "A_.-9=x",
        "w=_.:@+~-Z0",
        "k" * 64 + "=" + "v" * 128,
        "w=a/w=a/w=a",
    ],
)
def test_a_scope_is_one_to_three_levels_of_key_and_value(text: str) -> None:
    assert Scope.parse(text).text == str(Scope.parse(text)) == text


@pytest.mark.parametrize("text", [None, ""])
def test_no_scope_is_a_refusal_of_its_own(text: str | None) -> None:
    with pytest.raises(NoScope):
        Scope.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "a=1/b=2/c=3/d=4",
        "w",
        "w=",
        "=a",
        "w=a/",
        "/w=a",
        "w=a//p=b",
        "w=a=b",
        "w= a",
        " w=a",
        "w=a ",
        "w=a\n",
        "w=a\x00",
        "w=ä",
        "w=٣",
        "wé=a",
        "w=a%2Fb",
        "w=a,b",
        "w=*",
        "w:x=a",
        "k" * 65 + "=v",
        "k=" + "v" * 129,
        "/",
        " ",
    ],
)
def test_anything_else_is_an_invalid_scope(text: str) -> None:
    with pytest.raises(InvalidScope):
        Scope.parse(text)


def test_a_scope_covers_itself_and_everything_below_it() -> None:
    top, middle, bottom = (Scope.parse(text) for text in ("w=a", "w=a/p=b", "w=a/p=b/t=c"))

    assert [top.covers(each) for each in (top, middle, bottom)] == [True, True, True]
    assert [middle.covers(each) for each in (top, middle, bottom)] == [False, True, True]
    assert [bottom.covers(each) for each in (top, middle, bottom)] == [False, False, True]


@pytest.mark.parametrize(
    ("scope", "other"),
    [
        ("w=a", "w=ab"),
        ("w=a", "w=A"),
        ("w=a", "W=a"),
        ("w=a", "w=b"),
        ("w=a_b", "w=axb"),
        ("w=a", "w=ab/p=c"),
        ("w=a/p=b", "w=a/p=bc"),
        ("w=a/p=b", "w=a/p=B/t=c"),
        ("w=a/p=b", "w=x/p=b"),
        ("p=b", "w=a/p=b"),
        ("w=a.b", "w=axb"),
    ],
)
def test_a_scope_covers_nothing_that_only_looks_like_it(scope: str, other: str) -> None:
    assert not Scope.parse(scope).covers(Scope.parse(other))


def test_the_prefixes_are_the_scope_cut_to_one_two_and_three_levels() -> None:
    assert Scope.parse("a=1").prefixes == ("a=1", "", "")
    assert Scope.parse("a=1/b=2").prefixes == ("a=1", "a=1/b=2", "")
    assert Scope.parse("a=1/b=2/c=3").prefixes == ("a=1", "a=1/b=2", "a=1/b=2/c=3")


@given(scopes, scopes)
def test_covering_is_having_the_same_first_levels(scope: Scope, other: Scope) -> None:
    levels, others = scope.text.split("/"), other.text.split("/")
    assert scope.covers(other) == (others[: len(levels)] == levels)


@given(scopes, _LEVEL)
def test_every_scope_covers_what_lies_right_below_it(scope: Scope, level: str) -> None:
    if scope.depth < 3:
        below = Scope.parse(f"{scope.text}/{level}")
        assert scope.covers(below)
        assert not below.covers(scope)
    else:
        with pytest.raises(InvalidScope):
            Scope.parse(f"{scope.text}/{level}")
