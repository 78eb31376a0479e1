"""What an admin does at the pages: people, roles, tokens and proof issuers, within the scopes that are theirs.

The commands do the same without these checks: who is at the machine needs no grant.
Source: api.md "Who calls, and in which scope".
"""

from __future__ import annotations

from datetime import timedelta

from suspensions.domain.access import GrantValue, PrincipalValue
from suspensions.domain.errors import Forbidden, NotFound
from suspensions.domain.policy import Caller, Role
from suspensions.domain.proofs import IssuerKey
from suspensions.domain.reach import reach_of
from suspensions.domain.scopes import Scope
from suspensions.domain.texts import invalid
from suspensions.operations import access, issuers
from suspensions.queries import access as queries
from suspensions.queries import issuers as issuer_queries


def make_principal(caller: Caller, name: str, *, service: bool, password: str | None) -> PrincipalValue:
    """Make an account, which may do nothing before it is granted something. Raises: Forbidden, and as `access`."""
    _require_admin(caller)
    return access.make_principal(name, service=service, password=None if service else password, by=caller.actor)


def grant_role(caller: Caller, name: str, role: Role, scope: Scope) -> GrantValue:
    """Raises: NotFound for a foreign scope or an unknown name, Forbidden."""
    caller.require(scope, Role.ADMIN)
    return access.grant_role(name, role, scope, caller.actor)


def revoke_role(caller: Caller, name: str, role: Role, scope: Scope) -> None:
    """Raises: NotFound, Forbidden; LastAdmin, since nobody could give it back at the pages."""
    caller.require(scope, Role.ADMIN)
    access.revoke_role(name, role, scope, caller.actor)


def issue_token(caller: Caller, name: str, token_name: str, expires_in: timedelta | None) -> str:
    """Make a token for a service, or for oneself, and give its text this once.

    A token is its principal: one for somebody else would let an admin decide in their name.

    Raises: Forbidden, NotFound, InvalidRequest, AlreadyExists.
    """
    principal = _require_over(caller, name)
    if not principal.is_service and name != caller.principal:
        raise invalid("/principal", "must be a service or oneself: a person's token would decide in that person's name")
    return access.issue_token(name, token_name, expires_in, caller.actor)


def revoke_token(caller: Caller, name: str, token_name: str) -> None:
    """Raises: Forbidden, NotFound."""
    if name != caller.principal:
        _require_over(caller, name)
    access.revoke_token(name, token_name, caller.actor)


def add_issuer(caller: Caller, name: str, revision: str, scope: Scope, public_key: str) -> IssuerKey:
    """Raises: NotFound, Forbidden, InvalidRequest, AlreadyExists."""
    caller.require(scope, Role.ADMIN)
    return issuers.add_issuer(caller.actor, name, revision, scope, public_key)


def revoke_issuer(caller: Caller, name: str, revision: str) -> None:
    """Revoke a revision for good. Raises: NotFound, also for one of a foreign scope; Forbidden."""
    found = issuer_queries.find_issuer(name, revision)
    if found is None:
        raise NotFound
    caller.require(found.scope, Role.ADMIN)
    issuers.revoke_issuer(caller.actor, name, revision)


def _require_admin(caller: Caller) -> None:
    if not reach_of(caller, Role.ADMIN):
        raise Forbidden((Role.ADMIN,))


def _require_over(caller: Caller, name: str) -> PrincipalValue:
    """The principal, where everything that it may do lies within the caller's reach as an admin.

    Raises: NotFound, Forbidden.
    """
    _require_admin(caller)
    principal = queries.find_principal(name)
    if principal is None:
        raise NotFound(f"There is no account {name}.")
    reach = reach_of(caller, Role.ADMIN)
    for held in queries.list_grants(name):
        if not any(scope.covers(held.scope) for scope in reach):
            raise Forbidden((Role.ADMIN,))
    return principal
