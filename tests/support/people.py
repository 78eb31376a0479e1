"""People who sign in, for tests of the pages."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.test import Client

from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import SYSTEM
from suspensions.operations import access
from tests.support.passwords import quick_hash

PASSWORD = "correct horse battery staple"


@dataclass(frozen=True)
class Person:
    """An account with its principal, and a browser of its own that is signed in."""

    name: str
    client: Client

    @property
    def caller(self) -> Caller:
        return access.caller_for_user(get_user_model().objects.get(username=self.name))


def make_person(
    scope: Scope | str, *roles: Role, name: str = "", display: str = "", password: str | None = None
) -> Person:
    """A person with the roles at the scope (none given: approver and operator), signed in.

    Only who signs in by hand needs a password.
    """
    at = scope if isinstance(scope, Scope) else Scope.parse(scope)
    username = name or f"u-{secrets.token_hex(5)}"
    access.make_principal(username, by=SYSTEM)
    for role in roles or (Role.APPROVER, Role.OPERATOR):
        access.grant_role(username, role, at, SYSTEM)
    user = get_user_model().objects.get(username=username)
    user.first_name, _, user.last_name = display.partition(" ")
    if password is not None:
        user.password = quick_hash(password)
    user.save()
    client = Client()
    client.force_login(user, "django.contrib.auth.backends.ModelBackend")
    return Person(username, client)
