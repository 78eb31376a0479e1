"""The ports as typed protocols. Source: store.md section 6.

Settings name an implementation of each by dotted path: CLOSURE_AUTHORIZER and CLOSURE_FENCE. The authorizer runs before
the transaction opens, so that a slow one holds no lock; the fence locks and reads again what it rests on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from suspensions.domain.policy import Caller
from suspensions.domain.values import Closure, ClosureRequest


class ClosureAuthorizer(Protocol):
    """Authenticates actor, issuer, issuer revision and proof contents bound to this exact request."""

    def authorize_resume_closure(self, caller: Caller, request: ClosureRequest, proof: bytes) -> None:
        """Raises: ClosureDenied. Called on a retry too: a stored receipt or a hash is no permission."""


class ClosureFence(Protocol):
    """Holds the actor's grants, the issuer and the run through one synchronous callback, in one transaction."""

    def with_resume_closure(
        self, caller: Caller, request: ClosureRequest, proof: bytes, close: Callable[[], Closure]
    ) -> Closure:
        """Call `close` once, inside a durable transaction, and give its receipt. Raises: ClosureDenied."""


def closure_authorizer() -> ClosureAuthorizer:
    """The authorizer that the settings name."""
    authorizer: ClosureAuthorizer = import_string(settings.CLOSURE_AUTHORIZER)()
    return authorizer


def closure_fence() -> ClosureFence:
    """The fence that the settings name."""
    fence: ClosureFence = import_string(settings.CLOSURE_FENCE)()
    return fence
