"""Who is calling: by session and by token, read anew each time."""

import secrets
from contextlib import AbstractContextManager, closing
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test.utils import CaptureQueriesContext

from suspensions.domain import clock
from suspensions.domain.errors import Forbidden, NotFound, Unauthenticated
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import SYSTEM
from suspensions.operations import access
from suspensions.queries import access as queries
from tests.support.builders import fresh_scope
from tests.support.threads import together

Users = get_user_model().objects


@pytest.fixture
def name() -> str:
    """A principal's name that no other test has."""
    return f"p-{secrets.token_hex(6)}"


@pytest.fixture
def service(name: str) -> str:
    """A service without grants."""
    return access.make_principal(name, service=True, by=SYSTEM).name


@pytest.fixture
def token(service: str) -> str:
    return access.issue_token(service, "worker", None, SYSTEM)


def at(moment: datetime) -> AbstractContextManager[None]:
    return clock.use_clock(lambda: moment)


# -- tokens ------------------------------------------------------------------------------------------


def test_a_token_names_its_principal_and_itself(service: str, token: str) -> None:
    scope = fresh_scope()
    access.grant_role(service, Role.AGENT, scope, SYSTEM)

    caller = access.caller_for_token(token)

    assert caller.actor.to_json() == {"principal": service, "via": "token:worker"}
    assert caller.roles_at(scope) == {Role.AGENT}


def test_a_token_without_grants_reaches_nothing(token: str) -> None:
    caller = access.caller_for_token(token)

    assert caller.grants == ()
    with pytest.raises(NotFound):
        caller.require(fresh_scope())


def test_a_grant_covers_below_and_no_name_that_merely_begins_alike(service: str, token: str) -> None:
    access.grant_role(service, Role.AGENT, Scope.parse(f"w={service}_x/p=1"), SYSTEM)

    caller = access.caller_for_token(token)

    assert caller.roles_at(Scope.parse(f"w={service}_x/p=1/t=2")) == {Role.AGENT}
    for elsewhere in (f"w={service}_x", f"w={service}_x/p=12", f"w={service}ax/p=1", f"w={service}_X/p=1"):
        assert caller.roles_at(Scope.parse(elsewhere)) == frozenset()


@pytest.mark.parametrize("role", Role)
def test_no_role_contains_another(service: str, token: str, role: Role) -> None:
    scope = fresh_scope()
    access.grant_role(service, role, scope, SYSTEM)

    caller = access.caller_for_token(token)

    for other in Role:
        if other is not role:
            with pytest.raises(Forbidden):
                caller.require(scope, other)


def test_grants_are_read_anew_at_every_call(service: str, token: str) -> None:
    scope = fresh_scope()
    access.grant_role(service, Role.APPROVER, scope, SYSTEM)
    assert access.caller_for_token(token).roles_at(scope) == {Role.APPROVER}

    access.revoke_role(service, Role.APPROVER, scope, SYSTEM)

    assert access.caller_for_token(token).roles_at(scope) == frozenset()


def test_a_known_token_costs_one_query(service: str, token: str) -> None:
    for _ in range(3):
        access.grant_role(service, Role.AGENT, fresh_scope(), SYSTEM)
    access.caller_for_token(token)

    with CaptureQueriesContext(connection) as seen:
        caller = access.caller_for_token(token)

    assert len(caller.grants) == 3
    assert len(seen) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ctx_",
        "ctx_" + "A" * 43,
        "ctx_" + "A" * 42 + "\ud800",
        "ctx_" + "A" * 42 + "\n",
        "ctx_" + "A" * 42 + "é",
        "Bearer ctx_" + "A" * 43,
        "x" * 100_000,
    ],
)
def test_an_unknown_text_is_refused(text: str) -> None:
    with pytest.raises(Unauthenticated):
        access.caller_for_token(text)


def test_a_token_in_other_letters_is_another_token(token: str) -> None:
    for other in (token.swapcase(), token.lower(), token.upper(), token + " ", " " + token, token[:-1]):
        with pytest.raises(Unauthenticated):
            access.caller_for_token(other)


def test_a_revoked_token_ends_at_once(service: str, token: str) -> None:
    access.revoke_token(service, "worker", SYSTEM)

    with pytest.raises(Unauthenticated):
        access.caller_for_token(token)


def test_a_token_ends_exactly_at_its_expiry(service: str) -> None:
    made = datetime(2031, 5, 1, 12, tzinfo=UTC)
    with at(made):
        text = access.issue_token(service, "short", timedelta(days=30), SYSTEM)

    with at(made + timedelta(days=30) - timedelta(microseconds=1)):
        access.caller_for_token(text)
    with at(made + timedelta(days=30)), pytest.raises(Unauthenticated):
        access.caller_for_token(text)


def test_a_token_of_an_inactive_account_is_refused(service: str, token: str) -> None:
    Users.filter(username=service).update(is_active=False)

    with pytest.raises(Unauthenticated):
        access.caller_for_token(token)


def test_every_refusal_reads_the_same(service: str, token: str) -> None:
    access.revoke_token(service, "worker", SYSTEM)
    said = set()
    for text in (token, "ctx_" + "A" * 43, "nonsense"):
        with pytest.raises(Unauthenticated) as refusal:
            access.caller_for_token(text)
        said.add(str(refusal.value))
    assert len(said) == 1


# -- last use ----------------------------------------------------------------------------------------


def last_use(service: str) -> datetime | None:
    (found,) = queries.list_tokens(service)
    return found.last_used_at


def test_a_use_is_noted_once_a_minute(service: str, token: str) -> None:
    first = datetime(2031, 5, 1, 12, tzinfo=UTC)
    assert last_use(service) is None
    with at(first):
        access.caller_for_token(token)
    with at(first + timedelta(seconds=59)):
        access.caller_for_token(token)
    assert last_use(service) == first

    with at(first + timedelta(seconds=60)):
        access.caller_for_token(token)

    assert last_use(service) == first + timedelta(seconds=60)


def test_a_refused_token_leaves_no_trace_of_use(service: str, token: str) -> None:
    access.revoke_token(service, "worker", SYSTEM)
    with pytest.raises(Unauthenticated):
        access.caller_for_token(token)
    assert last_use(service) is None


def test_a_busy_row_or_database_neither_fails_nor_holds_up_the_request(service: str, token: str) -> None:
    holder = connection.copy()
    with closing(holder):
        holder.set_autocommit(False)
        with holder.cursor() as cursor:
            # On SQLite this is the one write lock, on PostgreSQL the token's own row.
            cursor.execute("UPDATE access_token SET prefix = prefix WHERE name = 'worker'")
            caller = access.caller_for_token(token)
        holder.rollback()

    assert caller.principal == service
    assert last_use(service) is None


# -- sessions ----------------------------------------------------------------------------------------


def test_a_person_calls_by_session(name: str) -> None:
    scope = fresh_scope()
    access.make_principal(name, password="correct horse battery", by=SYSTEM)
    access.grant_role(name, Role.APPROVER, scope, SYSTEM)
    Users.filter(username=name).update(first_name="Ana", last_name="Lind")

    caller = access.caller_for_user(Users.get(username=name))

    assert (caller.principal, caller.via, caller.display_name) == (name, "session", "Ana Lind")
    assert caller.roles_at(scope) == {Role.APPROVER}


def test_an_account_without_a_principal_holds_no_grants(name: str) -> None:
    caller = access.caller_for_user(Users.create(username=name, is_superuser=True))
    assert caller.grants == ()


def test_an_account_made_inactive_meanwhile_holds_no_grants(name: str) -> None:
    access.make_principal(name, by=SYSTEM)
    access.grant_role(name, Role.ADMIN, fresh_scope(), SYSTEM)
    user = Users.get(username=name)
    Users.filter(username=name).update(is_active=False)

    assert user.is_active
    assert access.caller_for_user(user).grants == ()


def test_nobody_signed_in_holds_no_grants() -> None:
    assert access.caller_for_user(AnonymousUser()).grants == ()


def test_many_at_once_with_one_token_are_all_let_in(service: str, token: str) -> None:
    callers = together([lambda: access.caller_for_token(token)] * 6)
    assert {getattr(each, "principal", each) for each in callers} == {service}
