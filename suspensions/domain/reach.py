"""Which scopes a person's pages cover: all that the grants cover, or the part of them that was chosen.

Source: pages.md, "Lists cover all scopes that the person has grants for, or the one chosen".
"""

from __future__ import annotations

from collections.abc import Iterable

from suspensions.domain.errors import NotFound
from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope

Reach = tuple[Scope, ...]
"""Scopes of which none covers another; each covers what lies below it."""


def widest(scopes: Iterable[Scope]) -> Reach:
    """The scopes without those that another one covers, in order of their text: a row must be counted once."""
    given = sorted(set(scopes), key=lambda scope: scope.text)
    return tuple(scope for scope in given if not any(other != scope and other.covers(scope) for other in given))


def reach_of(caller: Caller, *roles: Role) -> Reach:
    """What the caller's grants cover; only those of the given roles, where some are given."""
    return widest(grant.scope for grant in caller.grants if not roles or grant.role in roles)


def narrowed(reach: Reach, chosen: Scope | None) -> Reach:
    """The part of the reach that lies at or below the chosen scope. Empty where the two do not meet."""
    if chosen is None:
        return reach
    if any(scope.covers(chosen) for scope in reach):
        return (chosen,)
    return tuple(scope for scope in reach if chosen.covers(scope))


def require_reach(reach: Reach, chosen: Scope | None) -> Reach:
    """As `narrowed`. Raises: NotFound for a chosen scope that no grant covers, as if it did not exist."""
    met = narrowed(reach, chosen)
    if chosen is not None and not met:
        raise NotFound
    return met
