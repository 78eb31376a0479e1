"""Who may do what, where. Source: api.md "Who calls, and in which scope"."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from suspensions.domain.errors import Forbidden, NotFound
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Actor


class Role(StrEnum):
    """No role contains another; each one also reads."""

    VIEWER = "viewer"
    AGENT = "agent"
    BUS = "bus"
    APPROVER = "approver"
    OPERATOR = "operator"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Grant:
    """A role at a scope; it covers the scopes below it."""

    scope: Scope
    role: Role


@dataclass(frozen=True, slots=True)
class Caller:
    """A principal as signed in now, with all its grants."""

    principal: str
    via: str
    grants: tuple[Grant, ...]
    display_name: str = ""

    @property
    def actor(self) -> Actor:
        return Actor(self.principal, self.via)

    def roles_at(self, scope: Scope) -> frozenset[Role]:
        """The roles of all grants that cover the scope."""
        return frozenset(grant.role for grant in self.grants if grant.scope.covers(scope))

    def require(self, scope: Scope, *roles: Role) -> frozenset[Role]:
        """The caller's roles at the scope, where one of `roles` is among them (none given: any role).

        Raises: NotFound where no grant covers the scope, as if it did not exist; Forbidden for the wrong role.
        """
        held = self.roles_at(scope)
        if not held:
            raise NotFound
        if roles and not held.intersection(roles):
            raise Forbidden(tuple(roles))
        return held

    @property
    def only_scope(self) -> Scope | None:
        """The one scope that all grants name; None where they name none or several."""
        scopes = {grant.scope for grant in self.grants}
        return scopes.pop() if len(scopes) == 1 else None


def same_principal(left: str, right: str) -> bool:
    """Names that differ only in case are one principal: a lookalike account must not approve its own request."""
    return left.casefold() == right.casefold()
