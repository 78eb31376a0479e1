"""People and services: made once, whoever makes them at once."""

import secrets
from functools import partial

import pytest
from django.contrib.auth import get_user_model

from suspensions.domain.access import PrincipalValue
from suspensions.domain.errors import AlreadyExists, InvalidRequest, LastAdmin, NotFound
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import SYSTEM, Actor
from suspensions.operations import access
from suspensions.queries import access as queries
from tests.concurrency.meeting import contend
from tests.support.builders import fresh_scope
from tests.support.threads import together


@pytest.fixture
def name() -> str:
    return f"p-{secrets.token_hex(6)}"


def test_a_principal_is_made_once(name: str) -> None:
    first = access.make_principal(name, by=SYSTEM)
    second = access.make_principal(name, by=SYSTEM)

    assert first == second
    assert (first.fresh, second.fresh) == (True, False)


def test_making_one_at_once_from_many_threads_makes_one(name: str) -> None:
    made = together([lambda: access.make_principal(name, by=SYSTEM)] * 5)

    assert all(isinstance(each, PrincipalValue) for each in made), made
    assert [getattr(each, "fresh", None) for each in made].count(True) == 1


def test_two_spellings_at_once_make_one(name: str) -> None:
    made = together(
        [lambda: access.make_principal(name, by=SYSTEM), lambda: access.make_principal(name.upper(), by=SYSTEM)]
    )

    assert sorted(type(each).__name__ for each in made) == ["AlreadyExists", "PrincipalValue"]


def test_a_password_lets_a_person_sign_in(name: str) -> None:
    person = access.make_principal(name, password="correct horse battery", by=SYSTEM)

    assert person.can_sign_in
    assert get_user_model().objects.get(username=name).check_password("correct horse battery")


@pytest.mark.parametrize("password", ["short", "password1234"])
def test_a_weak_password_is_refused(name: str, password: str) -> None:
    with pytest.raises(InvalidRequest):
        access.make_principal(name, password=password, by=SYSTEM)
    assert queries.find_principal(name) is None


def test_an_account_made_elsewhere_becomes_a_principal(name: str) -> None:
    get_user_model().objects.create_user(username=name)
    assert access.make_principal(name, by=SYSTEM).fresh


def test_a_grant_says_who_gave_it(name: str) -> None:
    access.make_principal(name, by=SYSTEM)
    giver = Actor("ana", "session")

    access.grant_role(name, Role.BUS, fresh_scope(), giver)

    (grant,) = queries.list_grants(name)
    assert grant.created_by == giver


def test_granting_at_once_from_many_threads_grants_once(name: str) -> None:
    access.make_principal(name, by=SYSTEM)
    scope = fresh_scope()

    given = together([lambda: access.grant_role(name, Role.AGENT, scope, SYSTEM)] * 5)

    assert [getattr(each, "fresh", each) for each in given].count(True) == 1
    assert len(queries.list_grants(name)) == 1


def test_one_token_of_a_name_is_issued_at_once(name: str) -> None:
    access.make_principal(name, service=True, by=SYSTEM)

    issued = together([lambda: access.issue_token(name, "worker", None, SYSTEM)] * 5)

    assert sorted(type(each).__name__ for each in issued) == ["AlreadyExists"] * 4 + ["str"]
    assert len(queries.list_tokens(name)) == 1


def test_renewing_a_token_leaves_one_live(name: str) -> None:
    access.make_principal(name, service=True, by=SYSTEM)

    texts = [access.renew_token(name, "worker", SYSTEM) for _ in range(3)]

    assert len(set(texts)) == 3
    live = [each for each in queries.list_tokens(name) if each.revoked_at is None]
    assert [each.prefix for each in live] == [texts[-1][: len(live[0].prefix)]]


def test_a_grant_or_token_needs_its_principal(name: str) -> None:
    for attempt in (
        lambda: access.grant_role(name, Role.AGENT, fresh_scope(), SYSTEM),
        lambda: access.revoke_role(name, None, None, SYSTEM),
        lambda: access.issue_token(name, "worker", None, SYSTEM),
        lambda: access.revoke_token(name, "worker", SYSTEM),
    ):
        with pytest.raises(NotFound):
            attempt()


# -- the last admin ----------------------------------------------------------------------------------


def make_admin(name: str, scope: Scope, *, service: bool = False) -> str:
    access.make_principal(name, service=service, by=SYSTEM)
    access.grant_role(name, Role.ADMIN, scope, SYSTEM)
    return name


def test_the_last_admin_of_a_scope_stays(name: str) -> None:
    scope = fresh_scope()
    make_admin(name, scope)
    # None of these manages access in all of the scope: a part, another role, a service, an account that is closed.
    make_admin(f"{name}-part", Scope.parse(f"{scope}/p=1"))
    make_admin(f"{name}-service", scope, service=True)
    make_admin(f"{name}-closed", scope)
    access.grant_role(f"{name}-part", Role.OPERATOR, scope, SYSTEM)
    get_user_model().objects.filter(username=f"{name}-closed").update(is_active=False)

    for role, at in ((Role.ADMIN, scope), (None, scope), (Role.ADMIN, None), (None, None)):
        with pytest.raises(LastAdmin, match=f"{name} is the last admin of {scope.text}"):
            access.revoke_role(name, role, at, SYSTEM)
    assert access.caller_for_user(get_user_model().objects.get(username=name)).roles_at(scope) == {Role.ADMIN}
    assert access.has_admin(scope)


def test_an_admin_goes_where_another_covers_the_scope(name: str) -> None:
    wide = fresh_scope()
    scope = Scope.parse(f"{wide}/p=1")
    make_admin(f"{name}-above", wide)
    make_admin(name, scope)

    assert access.revoke_role(name, Role.ADMIN, scope, SYSTEM) == ((scope, Role.ADMIN),)


def test_whoever_manages_nothing_is_no_last_admin(name: str) -> None:
    """A service's or a closed account's grant is no way to manage access, so nothing is lost with it."""
    scope = fresh_scope()
    make_admin(name, scope, service=True)
    assert access.revoke_role(name, None, None, SYSTEM) == ((scope, Role.ADMIN),)


def test_two_admins_who_take_each_others_grant_leave_one(name: str) -> None:
    scope = fresh_scope()
    names = [make_admin(f"{name}-{each}", scope) for each in "ab"]
    calls = [partial(access.revoke_role, each, Role.ADMIN, scope, SYSTEM) for each in names]

    outcomes = contend(calls, alone=True)

    assert sorted(str(outcome.code) for outcome in outcomes) == ["None", "invalid_state"]
    assert access.has_admin(scope)


def test_a_name_in_other_letters_is_another(name: str) -> None:
    access.make_principal(name, by=SYSTEM)
    with pytest.raises(AlreadyExists):
        access.make_principal(name.upper(), by=SYSTEM)
    with pytest.raises(NotFound):
        access.grant_role(name.upper(), Role.ADMIN, fresh_scope(), SYSTEM)


def test_who_holds_a_role_is_found_by_covering(name: str) -> None:
    scope = fresh_scope()
    below = Scope.parse(f"{scope}/p=1")
    for suffix, at in (("a", scope), ("b", below), ("c", Scope.parse(f"{scope}/p=12"))):
        access.make_principal(f"{name}-{suffix}", by=SYSTEM)
        access.grant_role(f"{name}-{suffix}", Role.APPROVER, at, SYSTEM)
    access.grant_role(f"{name}-c", Role.VIEWER, scope, SYSTEM)

    assert queries.names_with_role(below, Role.APPROVER) == (f"{name}-a", f"{name}-b")
    get_user_model().objects.filter(username=f"{name}-a").update(is_active=False)
    assert queries.names_with_role(below, Role.APPROVER) == (f"{name}-b",)
