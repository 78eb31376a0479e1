"""``grant``, ``revoke`` and ``token``: what they print, and what they refuse in one line."""

import secrets
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command

from suspensions.domain.errors import Unauthenticated
from suspensions.domain.policy import Role
from suspensions.operations import access
from suspensions.queries import access as queries


def run(*words: str) -> tuple[str, str]:
    """What a command wrote to stdout and stderr."""
    out, errors = StringIO(), StringIO()
    call_command(*words, stdout=out, stderr=errors, no_color=True)
    return out.getvalue(), errors.getvalue()


def refused(*words: str) -> str:
    """The one line that a command was refused with."""
    with pytest.raises(CommandError) as refusal:
        run(*words)
    line = str(refusal.value)
    assert line
    assert "\n" not in line
    return line


@pytest.fixture
def name() -> str:
    return f"p-{secrets.token_hex(6)}"


# -- grant -------------------------------------------------------------------------------------------


def test_grant_makes_a_person_and_says_what_it_did(name: str, scope: str) -> None:
    out, errors = run("grant", name, "approver", "--scope", scope)

    assert out == f"{name} is approver at {scope}\n"
    assert "changepassword" in errors
    person = queries.find_principal(name)
    assert person is not None
    assert (person.is_service, person.can_sign_in, person.is_active) == (False, False, True)
    assert [(grant.role, grant.scope.text) for grant in queries.list_grants(name)] == [(Role.APPROVER, scope)]
    assert get_user_model().objects.get(username=name).is_superuser is False


def test_grant_makes_a_service(name: str, scope: str) -> None:
    _, errors = run("grant", name, "agent", "--scope", scope, "--service")

    service = queries.find_principal(name)
    assert service is not None and service.is_service
    assert errors == ""


def test_a_second_grant_changes_nothing(name: str, scope: str) -> None:
    run("grant", name, "agent", "--scope", scope)
    out, _ = run("grant", name, "agent", "--scope", scope)

    assert out == f"{name} is agent at {scope} already\n"
    assert len(queries.list_grants(name)) == 1


def test_grant_keeps_an_accounts_password(name: str, scope: str) -> None:
    users = get_user_model().objects
    users.create_user(username=name, password="correct horse battery")

    run("grant", name, "viewer", "--scope", scope)

    assert users.get(username=name).check_password("correct horse battery")


@pytest.mark.parametrize(
    ("role", "scope", "says"),
    [
        ("boss", "w=a", "viewer, agent, bus, approver, operator, admin"),
        ("Admin", "w=a", "is no role"),
        ("admin", "acme", "key=value"),
        ("admin", "w=a/p=b/t=c/x=d", "key=value"),
        ("admin", "", "No scope"),
    ],
)
def test_grant_refuses_what_is_no_role_or_scope(name: str, role: str, scope: str, says: str) -> None:
    assert says in refused("grant", name, role, "--scope", scope)
    assert queries.find_principal(name) is None


def test_grant_refuses_a_name_that_differs_in_case_alone(name: str, scope: str) -> None:
    run("grant", name, "approver", "--scope", scope)
    assert f"as {name}" in refused("grant", name.upper(), "approver", "--scope", scope)


def test_grant_refuses_an_accounts_name_in_other_letters(name: str, scope: str) -> None:
    get_user_model().objects.create_user(username=name.upper())
    assert name.upper() in refused("grant", name, "approver", "--scope", scope)


@pytest.mark.parametrize("bad", ["system", "SYSTEM", "with space", "näme", "\u0430na", "", "x" * 151, "a/b", "a\n"])
def test_grant_refuses_what_is_no_name(bad: str, scope: str) -> None:
    refused("grant", "--scope", scope, "--", bad, "approver")


def test_grant_does_not_turn_a_person_into_a_service(name: str, scope: str) -> None:
    run("grant", name, "approver", "--scope", scope)
    assert "is a person" in refused("grant", name, "agent", "--scope", scope, "--service")
    assert [grant.role for grant in queries.list_grants(name)] == [Role.APPROVER]


# -- revoke ------------------------------------------------------------------------------------------


@pytest.fixture
def granted(name: str, scope: str) -> str:
    """A person that is viewer and approver at the scope, and viewer below it."""
    for role, at in (("viewer", scope), ("approver", scope), ("viewer", f"{scope}/p=1")):
        run("grant", name, role, "--scope", at)
    return name


def held(name: str) -> list[tuple[str, str]]:
    return [(grant.role.value, grant.scope.text) for grant in queries.list_grants(name)]


def test_revoke_takes_one_role_at_one_scope(granted: str, scope: str) -> None:
    out, _ = run("revoke", granted, "viewer", "--scope", scope)
    assert out == f"{granted} is no longer viewer at {scope}\n"
    assert held(granted) == [("approver", scope), ("viewer", f"{scope}/p=1")]


def test_revoke_without_a_scope_takes_a_role_everywhere(granted: str, scope: str) -> None:
    run("revoke", granted, "viewer")
    assert held(granted) == [("approver", scope)]


def test_revoke_without_a_role_takes_every_role_of_exactly_the_scope(granted: str, scope: str) -> None:
    run("revoke", granted, "--scope", scope)
    assert held(granted) == [("viewer", f"{scope}/p=1")]


def test_revoke_alone_takes_everything(granted: str) -> None:
    out, _ = run("revoke", granted)
    assert held(granted) == []
    assert len(out.splitlines()) == 3


def test_the_machine_may_take_the_last_admin_and_hears_how_to_make_one(name: str, scope: str) -> None:
    run("grant", name, "admin", "--scope", scope)
    out, errors = run("revoke", name, "admin")
    assert out == f"{name} is no longer admin at {scope}\n"
    assert errors == f"nobody is admin of {scope} any more; manage.py grant NAME admin --scope {scope} makes one\n"
    run("grant", name, "admin", "--scope", scope)
    run("grant", f"{name}-b", "admin", "--scope", scope)
    assert run("revoke", name, "admin")[1] == ""


def test_revoking_nothing_is_an_error(granted: str, scope: str) -> None:
    assert "nothing was revoked" in refused("revoke", granted, "bus", "--scope", scope)
    assert "nothing was revoked" in refused("revoke", granted, "approver", "--scope", f"{scope}/p=1")


def test_revoking_from_a_stranger_is_an_error(granted: str, name: str) -> None:
    assert "no account" in refused("revoke", f"{name}-x")
    assert "no account" in refused("revoke", name.upper())
    assert len(held(granted)) == 3


# -- token -------------------------------------------------------------------------------------------


@pytest.fixture
def service(name: str, scope: str) -> str:
    run("grant", name, "agent", "--scope", scope, "--service")
    return name


def test_token_prints_the_token_alone(service: str) -> None:
    out, errors = run("token", service, "--name", "worker")

    assert out.endswith("\n") and out.count("\n") == 1
    assert errors == ""
    assert access.caller_for_token(out.strip()).actor.to_json() == {"principal": service, "via": "token:worker"}
    (kept,) = queries.list_tokens(service)
    assert kept.expires_at is None
    assert out.startswith(kept.prefix) and len(kept.prefix) < 12


def test_no_two_tokens_are_alike(service: str) -> None:
    printed = {run("token", service, "--name", f"n{index}")[0] for index in range(20)}
    assert len(printed) == 20
    assert {len(each.strip()) for each in printed} == {4 + 43}


def test_token_is_told_when_it_ends(service: str) -> None:
    run("token", service, "--name", "worker", "--expires", "30d")
    (kept,) = queries.list_tokens(service)
    assert kept.expires_at is not None
    assert (kept.expires_at - kept.created_at).days == 30


def test_token_revokes(service: str) -> None:
    text = run("token", service, "--name", "worker")[0].strip()

    out, errors = run("token", service, "--name", "worker", "--revoke")

    assert (out, errors) == ("", f"the token worker of {service} is revoked\n")
    with pytest.raises(Unauthenticated):
        access.caller_for_token(text)


def test_a_revoked_name_is_free_again(service: str) -> None:
    first = run("token", service, "--name", "worker")[0].strip()
    run("token", service, "--name", "worker", "--revoke")
    second = run("token", service, "--name", "worker")[0].strip()

    assert access.caller_for_token(second).principal == service
    with pytest.raises(Unauthenticated):
        access.caller_for_token(first)


def test_token_refuses_a_live_name(service: str) -> None:
    run("token", service, "--name", "worker")
    assert "revoke it first" in refused("token", service, "--name", "worker")


def test_token_revokes_nobody_elses(service: str, scope: str) -> None:
    other = f"{service}-2"
    run("grant", other, "agent", "--scope", scope, "--service")
    text = run("token", service, "--name", "worker")[0].strip()

    assert "has no token worker" in refused("token", other, "--name", "worker", "--revoke")

    assert access.caller_for_token(text).principal == service


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--name", "worker", "--expires", "soon"], "not a duration"),
        (["--name", "worker", "--expires", "0d"], "not a duration"),
        (["--name", "worker", "--expires=-5d"], "not a duration"),
        (["--name", ""], "must have"),
        (["--name", "a\nb"], "control character"),
        (["--name", "worker", "--expires", "1d", "--revoke"], "do not go together"),
    ],
)
def test_token_refuses_what_makes_no_sense(service: str, words: list[str], says: str) -> None:
    assert says in refused("token", service, *words)
    assert queries.list_tokens(service) == ()


def test_token_refuses_a_stranger(name: str) -> None:
    assert "no account" in refused("token", name, "--name", "worker")
