"""Who somebody is, and what they may do: read anew at every request. Source: api.md "Who calls"."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.hashers import is_password_usable
from django.db import connection

from suspensions.domain.access import GrantValue, PrincipalValue, TokenValue
from suspensions.domain.policy import Grant, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Actor
from suspensions.models.access import Grant as GrantRow
from suspensions.models.access import Principal, Token
from suspensions.models.fields import from_database


@dataclass(frozen=True, slots=True)
class Standing:
    """A principal as it stands now: whether its account is active, and all its grants."""

    name: str
    display_name: str
    is_active: bool
    grants: tuple[Grant, ...]


@dataclass(frozen=True, slots=True)
class FoundToken:
    """A token that was presented, and its principal."""

    id: int
    name: str
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    standing: Standing

    def is_live(self, now: datetime) -> bool:
        if self.revoked_at is not None or not self.standing.is_active:
            return False
        return self.expires_at is None or self.expires_at > now


_STANDING = "principal.name, auth_user.first_name, auth_user.last_name, auth_user.is_active, held.scope, held.role"
_JOINS = (
    " JOIN auth_user ON auth_user.id = principal.user_id"
    " LEFT JOIN access_grant held ON held.principal_id = principal.user_id"
)


def find_standing(user_id: int) -> Standing | None:
    """The principal behind an account, in one query; None where the account has none."""
    rows = _fetch(f"SELECT {_STANDING} FROM principal{_JOINS} WHERE principal.user_id = %s", (user_id,))
    return _to_standing(rows) if rows else None


def find_token(digest: str) -> FoundToken | None:
    """A token by the digest of its text, with its principal and its grants, in one query."""
    rows = _fetch(
        f"SELECT {_STANDING}, access_token.id, access_token.name, access_token.expires_at,"
        " access_token.last_used_at, access_token.revoked_at FROM access_token"
        f" JOIN principal ON principal.user_id = access_token.principal_id{_JOINS} WHERE access_token.digest = %s",
        (digest,),
    )
    if not rows:
        return None
    token_id, name, *instants = rows[0][6:]
    expires_at, last_used_at, revoked_at = map(from_database, instants)
    return FoundToken(token_id, name, expires_at, last_used_at, revoked_at, _to_standing(rows))


def _to_standing(rows: Sequence[tuple[Any, ...]]) -> Standing:
    name, first_name, last_name, is_active = rows[0][:4]
    grants = tuple(Grant(Scope(row[4]), Role(row[5])) for row in rows if row[4] is not None)
    return Standing(name, f"{first_name} {last_name}".strip(), bool(is_active), grants)


def _fetch(statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


# -- lists -------------------------------------------------------------------------------------------


def find_principal(name: str) -> PrincipalValue | None:
    # PostgreSQL fails on being asked for a text with a NUL in it.
    if "\0" in name:
        return None
    row = Principal.objects.select_related("user").filter(name=name).first()
    return None if row is None else to_principal(row)


def list_principals() -> tuple[PrincipalValue, ...]:
    """Everybody, by name."""
    return tuple(to_principal(row) for row in Principal.objects.select_related("user").order_by("name"))


def list_grants(principal: str | None = None, scope: Scope | None = None) -> tuple[GrantValue, ...]:
    """Grants by principal, scope and role; of one principal, or at exactly one scope, where asked for."""
    rows = GrantRow.objects.select_related("principal").order_by("principal__name", "scope", "role")
    if principal is not None:
        rows = rows.filter(principal__name=principal)
    if scope is not None:
        rows = rows.filter(scope=scope.text)
    return tuple(to_grant(row) for row in rows)


def list_tokens(principal: str | None = None) -> tuple[TokenValue, ...]:
    """Tokens, live or not, newest first; of one principal where asked for."""
    rows = Token.objects.select_related("principal").order_by("-created_at", "-id")
    if principal is not None:
        rows = rows.filter(principal__name=principal)
    return tuple(to_token(row) for row in rows)


def find_live_token(principal: str, name: str) -> TokenValue | None:
    """The token of this name that is not revoked: what `GET /me` tells of the token in use."""
    rows = Token.objects.select_related("principal")
    row = rows.filter(principal__name=principal, name=name, revoked_at=None).first()
    return None if row is None else to_token(row)


def names_with_role(scope: Scope, role: Role) -> tuple[str, ...]:
    """The active principals that hold a role where it covers the scope, by name: who may decide a pause there."""
    covering = {prefix for prefix in scope.prefixes if prefix}
    held = GrantRow.objects.filter(scope__in=covering, role=role.value, principal__user__is_active=True)
    return tuple(held.order_by("principal__name").values_list("principal__name", flat=True).distinct())


# -- rows to values ----------------------------------------------------------------------------------


def to_principal(row: Principal, *, fresh: bool = False) -> PrincipalValue:
    user = row.user
    return PrincipalValue(
        name=row.name,
        is_service=row.is_service,
        is_active=user.is_active,
        can_sign_in=is_password_usable(user.password),
        display_name=user.get_full_name(),
        fresh=fresh,
    )


def to_grant(row: GrantRow) -> GrantValue:
    created_by = _to_actor(row.created_by)
    return GrantValue(row.principal.name, Scope(row.scope), Role(row.role), created_by, row.created_at)


def to_token(row: Token) -> TokenValue:
    return TokenValue(
        principal=row.principal.name,
        name=row.name,
        prefix=row.prefix,
        created_by=_to_actor(row.created_by),
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
    )


def _to_actor(text: str) -> Actor:
    return Actor(**json.loads(text))
