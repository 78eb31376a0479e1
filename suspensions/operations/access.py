"""People and services: who is calling, and giving and taking roles and tokens.

Nothing is kept between requests: a grant, a token or an account that was taken away counts at the next act.

The operations that give and take ask for an actor, not for a caller: whoever calls them has checked the authority
(an admin's, at the pages) or has it by being at the machine (the commands).

Source: api.md "Who calls, and in which scope".
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import DatabaseError

from suspensions.domain import clock
from suspensions.domain.access import GrantValue, PrincipalValue, require_principal_name, require_token_name
from suspensions.domain.errors import AlreadyExists, Unauthenticated
from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.texts import invalid
from suspensions.domain.values import Actor
from suspensions.operations.transactions import in_transaction
from suspensions.queries import access as queries
from suspensions.store import access as store

LAST_USE_EVERY = timedelta(minutes=1)
OPENING = "ctx_"
SHOWN = len(OPENING) + 6
"""How much of a token is kept to tell it from others; the 37 characters that are not still hold 222 bits."""

_TOKEN = re.compile(rf"{OPENING}[A-Za-z0-9_-]{{43}}", re.ASCII)

log = structlog.stdlib.get_logger("cortex.people")


# -- who is calling ----------------------------------------------------------------------------------


def caller_for_user(user: Any) -> Caller:
    """The caller behind a signed-in account; without a principal, or inactive, it holds no grants."""
    if not user.is_authenticated:
        return Caller("", "session", ())
    standing = queries.find_standing(user.pk)
    if standing is None or not standing.is_active:
        return Caller(user.get_username(), "session", ())
    return Caller(standing.name, "session", standing.grants, standing.display_name)


def caller_for_token(text: str) -> Caller:
    """The caller behind a bearer token.

    Raises: Unauthenticated for a token that is unknown, expired, revoked or of an inactive account, all in the same
    words.
    """
    if not _TOKEN.fullmatch(text):
        raise Unauthenticated
    found = queries.find_token(token_digest(text))
    now = clock.now()
    if found is None or not found.is_live(now):
        raise Unauthenticated
    if found.last_used_at is None or found.last_used_at <= now - LAST_USE_EVERY:
        _note_use(found.id, now)
    standing = found.standing
    return Caller(standing.name, f"token:{found.name}", standing.grants, standing.display_name)


def _note_use(token_id: int, now: datetime) -> None:
    """Note the use; a request never fails for want of it."""
    try:
        store.touch_token(token_id, now, now - LAST_USE_EVERY)
    except DatabaseError as error:
        log.debug("last use of a token was not noted", reason=type(error).__name__)


def token_digest(text: str) -> str:
    """What is stored in place of a token.

    One round of SHA-256, on purpose: a slow hash protects what people choose, by making guesses dear. A token is 256
    random bits, which no number of guesses finds, so that a slow hash would only cost every request its time.
    """
    return hashlib.sha256(text.encode()).hexdigest()


# -- principals --------------------------------------------------------------------------------------


def make_principal(name: str, *, service: bool = False, password: str | None = None, by: Actor) -> PrincipalValue:
    """The principal of this name, made with its account where it is missing (then `fresh`).

    A principal that exists is left as it is, its password too. Without a password it cannot sign in.

    Raises: InvalidRequest for a name or password that will not do, or where a person is asked to be a service;
    AlreadyExists where the name is taken in other letters.
    """
    require_principal_name(name)
    if password is not None:
        _require_good_password(password)
    # Hashed out here: it takes a while on purpose, and SQLite has one write lock for all.
    password_hash = make_password(password)

    def make() -> PrincipalValue:
        made = store.make_principal(name, service=service, password_hash=password_hash)
        found = queries.find_principal(name)
        assert found is not None
        return replace(found, fresh=made)

    principal = in_transaction(make)
    if principal.fresh:
        log.info("account made", principal=name, service=service, by=by.principal)
    return principal


def _require_good_password(password: str) -> None:
    """Raises: InvalidRequest."""
    try:
        validate_password(password)
    except ValidationError as error:
        raise invalid("/password", "will not do: " + " ".join(error.messages)) from None


# -- grants ------------------------------------------------------------------------------------------


def grant_role(name: str, role: Role, scope: Scope, by: Actor) -> GrantValue:
    """Give a role at a scope and all below it; a grant that is there stays as it is (`fresh` tells).

    Raises: NotFound.
    """

    def grant() -> GrantValue:
        made = store.add_grant(name, role, scope, by, clock.now())
        held = next(each for each in queries.list_grants(name, scope) if each.role is role)
        return replace(held, fresh=made)

    value = in_transaction(grant)
    if value.fresh:
        log.info("role granted", principal=name, role=role.value, scope=scope.text, by=by.principal)
    return value


def revoke_role(
    name: str, role: Role | None, scope: Scope | None, by: Actor, *, keep_an_admin: bool = True
) -> tuple[tuple[Scope, Role], ...]:
    """Take a role (None: every role) at exactly this scope (None: every scope); what was taken, maybe nothing.

    A grant at a wider scope still covers this one: only what was granted here is taken here. Without `keep_an_admin`
    the last admin of a scope goes too, which is for whoever can grant without being one.

    Raises: NotFound, LastAdmin.
    """
    removed = in_transaction(store.remove_grants, name, role, scope, keep_an_admin=keep_an_admin)
    for at, taken in removed:
        log.info("role revoked", principal=name, role=taken.value, scope=at.text, by=by.principal)
    return removed


def has_admin(scope: Scope) -> bool:
    """Whether a person can manage access in the scope."""
    return store.has_admin(scope)


# -- tokens ------------------------------------------------------------------------------------------


def issue_token(name: str, token_name: str, expires_in: timedelta | None, by: Actor) -> str:
    """Make a token and give its text, this once: only a digest of it is kept.

    Raises: NotFound, InvalidRequest, AlreadyExists while a live token has this name.
    """
    require_token_name(token_name)
    if expires_in is not None and expires_in <= timedelta(0):
        raise invalid("/expires_in", "must lie ahead")
    text = OPENING + secrets.token_urlsafe(32)

    def issue() -> None:
        now = clock.now()
        store.insert_token(
            name,
            token_name,
            prefix=text[:SHOWN],
            digest=token_digest(text),
            expires_at=None if expires_in is None else _later(now, expires_in),
            actor=by,
            now=now,
        )

    in_transaction(issue)
    log.info("token issued", principal=name, token=token_name, by=by.principal)
    return text


def _later(now: datetime, wait: timedelta) -> datetime:
    try:
        return now + wait
    except OverflowError:
        raise invalid("/expires_in", "lies too far ahead") from None


def revoke_token(name: str, token_name: str, by: Actor) -> None:
    """End a token, at once. Raises: NotFound."""
    in_transaction(lambda: store.revoke_token(name, token_name, clock.now()))
    log.info("token revoked", principal=name, token=token_name, by=by.principal)


def renew_token(name: str, token_name: str, by: Actor) -> str:
    """Make a token in place of the one of this name, where there is one; give its text. Raises: as `issue_token`."""
    for _ in range(2):
        try:
            return issue_token(name, token_name, None, by)
        except AlreadyExists:
            revoke_token(name, token_name, by)
    return issue_token(name, token_name, None, by)
