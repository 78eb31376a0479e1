"""People, services, their grants and tokens, as values. Source: api.md "Who calls, and in which scope"."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.texts import invalid, require_identifier
from suspensions.domain.values import SYSTEM, Actor

MAX_TOKEN_NAME = 64
_NAME = re.compile(r"[A-Za-z0-9_.@+-]{1,150}", re.ASCII)


@dataclass(frozen=True, slots=True)
class PrincipalValue:
    """A person or a service. Its name stands in receipts, so it never changes."""

    name: str
    is_service: bool
    is_active: bool
    can_sign_in: bool
    """Whether it has a password at all."""
    display_name: str = ""
    fresh: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class GrantValue:
    """A role at a scope, and who gave it."""

    principal: str
    scope: Scope
    role: Role
    created_by: Actor
    created_at: datetime
    fresh: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class TokenValue:
    """A token without its text, which nobody has but whom it was shown to."""

    principal: str
    name: str
    prefix: str
    created_by: Actor
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None

    def is_live(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


def require_principal_name(value: object) -> str:
    """A name of ASCII letters, digits and `_.@+-`. Raises: InvalidRequest.

    Letters of other scripts that look alike would let two accounts pass for one; `system` is who the sweeper is
    in events and receipts.
    """
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise invalid("/name", "must be 1 to 150 of the characters A-Z a-z 0-9 _ . @ + -")
    if value.lower() == SYSTEM.principal:
        raise invalid("/name", "is reserved for the system itself")
    return value


def require_token_name(value: object) -> str:
    """Raises: InvalidRequest."""
    return require_identifier(value, "/token_name", longest=MAX_TOKEN_NAME)
