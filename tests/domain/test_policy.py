"""Who may do what, where. Source: api.md "Who calls, and in which scope"."""

from __future__ import annotations

from itertools import permutations

import pytest

from suspensions.domain.errors import Forbidden, NotFound
from suspensions.domain.policy import Caller, Grant, Role, same_principal
from suspensions.domain.scopes import Scope

TOP, MIDDLE, BOTTOM = (Scope.parse(text) for text in ("w=a", "w=a/p=b", "w=a/p=b/t=c"))
BESIDE = Scope.parse("w=a/p=bc")


def kim(*grants: tuple[Scope, Role]) -> Caller:
    return Caller("kim", "session", tuple(Grant(scope, role) for scope, role in grants))


def test_the_roles_are_the_contracts() -> None:
    assert [str(role) for role in Role] == ["viewer", "agent", "bus", "approver", "operator", "admin"]


def test_a_grant_covers_the_scopes_below_its_own_and_no_other() -> None:
    caller = kim((MIDDLE, Role.AGENT))

    assert caller.roles_at(MIDDLE) == caller.roles_at(BOTTOM) == {Role.AGENT}
    assert caller.roles_at(TOP) == caller.roles_at(BESIDE) == frozenset()


def test_grants_add_up_down_the_tree() -> None:
    caller = kim((TOP, Role.VIEWER), (MIDDLE, Role.AGENT), (BOTTOM, Role.APPROVER), (BESIDE, Role.ADMIN))

    assert caller.roles_at(TOP) == {Role.VIEWER}
    assert caller.roles_at(MIDDLE) == {Role.VIEWER, Role.AGENT}
    assert caller.roles_at(BOTTOM) == {Role.VIEWER, Role.AGENT, Role.APPROVER}


@pytest.mark.parametrize(("held", "needed"), list(permutations(Role, 2)))
def test_no_role_contains_another(held: Role, needed: Role) -> None:
    with pytest.raises(Forbidden) as refusal:
        kim((TOP, held)).require(TOP, needed)
    assert refusal.value.roles == (needed,)
    assert str(needed) in refusal.value.detail


@pytest.mark.parametrize("role", list(Role))
def test_every_role_reads(role: Role) -> None:
    assert kim((TOP, role)).require(MIDDLE) == {role}


@pytest.mark.parametrize("role", list(Role))
def test_a_scope_that_no_grant_covers_is_as_if_it_did_not_exist(role: Role) -> None:
    with pytest.raises(NotFound):
        kim((MIDDLE, role)).require(TOP, role)
    with pytest.raises(NotFound):
        kim().require(TOP)


def test_one_of_several_roles_is_enough_and_a_refusal_names_them_all() -> None:
    caller = kim((TOP, Role.OPERATOR))

    assert caller.require(TOP, Role.AGENT, Role.OPERATOR) == {Role.OPERATOR}
    with pytest.raises(Forbidden) as refusal:
        caller.require(TOP, Role.AGENT, Role.BUS)
    assert refusal.value.members() == {"roles": ["agent", "bus"]}


def test_the_working_scope_may_be_left_out_where_all_grants_name_one() -> None:
    assert kim((TOP, Role.AGENT), (TOP, Role.VIEWER)).only_scope == TOP
    assert kim((TOP, Role.AGENT), (MIDDLE, Role.AGENT)).only_scope is None
    assert kim().only_scope is None


@pytest.mark.parametrize(("left", "right"), [("ana", "Ana"), ("ANA", "ana"), ("straße", "STRASSE"), ("kim", "kim")])
def test_names_that_differ_only_in_case_are_one_principal(left: str, right: str) -> None:
    assert same_principal(left, right)


@pytest.mark.parametrize(("left", "right"), [("ana", "anna"), ("ana", "ana "), ("", "ana")])
def test_other_names_are_other_principals(left: str, right: str) -> None:
    assert not same_principal(left, right)


def test_an_actor_tells_the_principal_and_how_it_signed_in() -> None:
    assert kim().actor.to_json() == {"principal": "kim", "via": "session"}
