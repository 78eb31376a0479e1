"""Writing principals, grants and tokens. Source: api.md "Who calls, and in which scope"."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import Q

from suspensions.domain.errors import AlreadyExists, LastAdmin, NotFound
from suspensions.domain.failpoints import Point, reach
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.texts import invalid
from suspensions.domain.values import Actor
from suspensions.models.access import Grant, Principal, Token
from suspensions.store import sql
from suspensions.store.run_rows import actor_text


def make_principal(name: str, *, service: bool, password_hash: str) -> bool:
    """Make the account and the principal where they are missing; whether anything was made.

    An account that exists is left as it is, its password too.

    Raises: AlreadyExists where the name is taken in other letters; InvalidRequest where a person is asked to be a
    service: its sign-in would go on working.
    """
    sql.require_transaction()
    _require_free_in_any_case(name)
    found = Principal.objects.filter(name=name).first()
    if found is not None:
        if service and not found.is_service:
            raise invalid("/service", f"cannot be: {name} is a person")
        return False
    users = get_user_model().objects
    user = users.filter(username=name).first()
    if user is None:
        user = users.create(username=name, password=password_hash)
    Principal.objects.create(user=user, name=name, is_service=service)
    return True


def _require_free_in_any_case(name: str) -> None:
    """Two whose names differ in case alone would pass for each other in receipts. Raises: AlreadyExists."""
    principals = Principal.objects.filter(name__iexact=name).exclude(name=name).values_list("name", flat=True)
    accounts = (
        get_user_model().objects.filter(username__iexact=name).exclude(username=name).values_list("username", flat=True)
    )
    taken = principals.first() or accounts.first()
    if taken is not None:
        raise AlreadyExists(f"The name is taken, as {taken}.")


def require_principal(name: str) -> int:
    """The principal's key. Raises: NotFound."""
    # PostgreSQL fails on being asked for a text with a NUL in it.
    found = None if "\0" in name else Principal.objects.filter(name=name).values_list("pk", flat=True).first()
    if found is None:
        raise NotFound(f"There is no account {name}.")
    return int(found)


# -- grants ------------------------------------------------------------------------------------------


def add_grant(name: str, role: Role, scope: Scope, actor: Actor, now: datetime) -> bool:
    """Whether it was made; False where it was there. Raises: NotFound."""
    sql.require_transaction()
    _, made = Grant.objects.get_or_create(
        principal_id=require_principal(name),
        scope=scope.text,
        role=role.value,
        defaults={"created_by": actor_text(actor), "created_at": now},
    )
    return made


def remove_grants(
    name: str, role: Role | None, scope: Scope | None, *, keep_an_admin: bool = True
) -> tuple[tuple[Scope, Role], ...]:
    """Remove the grants of this role (None: any) at exactly this scope (None: any); what was removed.

    Raises: NotFound; LastAdmin where an admin's grant goes and no other person's covers its scope, unless
    `keep_an_admin` is False. Nothing is removed then: the transaction must not commit.
    """
    sql.require_transaction()
    # One revocation at a time: two admins who take each other's grant would each see the other's still there. A lock of
    # its own, since whoever closes a resume holds its grants' rows, and waits for no revocation of somebody else's.
    sql.lock_request("revoke a role")
    matching = Q(principal_id=require_principal(name))
    if role is not None:
        matching &= Q(role=role.value)
    if scope is not None:
        matching &= Q(scope=scope.text)
    # The lock makes two revocations at once agree on who removed what.
    rows = list(Grant.objects.select_for_update().filter(matching).order_by("scope", "role"))
    removed = tuple((Scope(row.scope), Role(row.role)) for row in rows)
    managed = [at for at, taken in removed if taken is Role.ADMIN and has_admin(at)] if keep_an_admin else []
    reach(Point.BEFORE_WRITE)
    Grant.objects.filter(pk__in=[row.pk for row in rows]).delete()
    for at in managed:
        if not has_admin(at):
            raise LastAdmin(name, at.text)
    return removed


def has_admin(scope: Scope) -> bool:
    """Whether an admin's grant of an active person covers the scope. A service does not count: it never signs in."""
    covering = [prefix for prefix in scope.prefixes if prefix]
    people = Grant.objects.filter(principal__is_service=False, principal__user__is_active=True)
    return people.filter(scope__in=covering, role=Role.ADMIN.value).exists()


# -- tokens ------------------------------------------------------------------------------------------


def insert_token(
    name: str, token_name: str, *, prefix: str, digest: str, expires_at: datetime | None, actor: Actor, now: datetime
) -> None:
    """Keep a new token. An expired one of the name gives way; a live one does not.

    Raises: NotFound, AlreadyExists.
    """
    sql.require_transaction()
    principal_id = require_principal(name)
    named = Token.objects.filter(principal_id=principal_id, name=token_name, revoked_at=None)
    named.filter(expires_at__lte=now).update(revoked_at=now)
    if named.exists():
        raise AlreadyExists(f"{name} has a token {token_name} already; revoke it first.")
    Token.objects.create(
        principal_id=principal_id,
        name=token_name,
        prefix=prefix,
        digest=digest,
        created_by=actor_text(actor),
        created_at=now,
        expires_at=expires_at,
    )


def revoke_token(name: str, token_name: str, now: datetime) -> None:
    """End a token, at once. Raises: NotFound where there is none of the name that is not revoked."""
    sql.require_transaction()
    named = Token.objects.filter(principal_id=require_principal(name), name=token_name, revoked_at=None)
    if "\0" in token_name or not named.update(revoked_at=now):
        raise NotFound(f"{name} has no token {token_name}.")


def touch_token(token_id: int, now: datetime, unless_since: datetime) -> None:
    """Note that a token was used, where that was not noted lately. It waits for nobody.

    A request must not wait for somebody else's lock to say something as small as this: on PostgreSQL a locked row is
    skipped, on SQLite a busy database is an error at once, which the caller forgets.
    """
    guard = "(last_used_at IS NULL OR last_used_at <= %s)"
    parameters: tuple[Any, ...] = (sql.instant(now), token_id, sql.instant(unless_since))
    with connection.cursor() as cursor:
        if sql.is_postgresql():
            cursor.execute(
                "UPDATE access_token SET last_used_at = %s WHERE id ="
                f" (SELECT id FROM access_token WHERE id = %s AND {guard} FOR UPDATE SKIP LOCKED)",
                parameters,
            )
            return
        cursor.execute("PRAGMA busy_timeout")
        patience = cursor.fetchone()[0]
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            cursor.execute(f"UPDATE access_token SET last_used_at = %s WHERE id = %s AND {guard}", parameters)
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {int(patience)}")
