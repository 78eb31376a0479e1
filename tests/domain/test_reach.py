"""Which scopes a person's pages cover."""

import pytest

from suspensions.domain.errors import NotFound
from suspensions.domain.policy import Caller, Grant, Role
from suspensions.domain.reach import narrowed, reach_of, require_reach, widest
from suspensions.domain.scopes import Scope


def scopes(*texts: str) -> tuple[Scope, ...]:
    return tuple(Scope.parse(text) for text in texts)


def test_a_scope_below_another_one_is_left_out() -> None:
    assert widest(scopes("w=a/p=b", "w=a", "w=ab", "w=a/p=b/t=c", "w=b/p=a")) == scopes("w=a", "w=ab", "w=b/p=a")


def test_only_the_grants_of_a_role_count_where_one_is_asked_for() -> None:
    grants = tuple(Grant(scope, role) for scope, role in zip(scopes("w=a", "w=b"), Role, strict=False))
    caller = Caller("dana", "session", grants)
    assert reach_of(caller) == scopes("w=a", "w=b")
    assert reach_of(caller, Role.VIEWER) == scopes("w=a")


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        (None, ("w=a", "w=b/p=c")),
        ("w=a/p=x", ("w=a/p=x",)),
        ("w=b", ("w=b/p=c",)),
        ("w=b/p=c", ("w=b/p=c",)),
        ("w=c", ()),
        ("w=A", ()),
    ],
)
def test_a_chosen_scope_narrows_the_reach_from_either_side(chosen: str | None, left: tuple[str, ...]) -> None:
    reach = scopes("w=a", "w=b/p=c")
    assert narrowed(reach, Scope.parse(chosen) if chosen else None) == scopes(*left)


def test_a_chosen_scope_that_no_grant_covers_is_not_there() -> None:
    with pytest.raises(NotFound):
        require_reach(scopes("w=a"), Scope.parse("w=b"))
    assert require_reach((), None) == ()
