"""Ports of closing that let everything through, for tests that look at the store's own refusals.

Settings name them by dotted path: CLOSURE_AUTHORIZER and CLOSURE_FENCE.
"""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

from suspensions.domain.errors import ClosureDenied
from suspensions.domain.policy import Caller
from suspensions.domain.values import Closure, ClosureRequest

PERMISSIVE_AUTHORIZER = "tests.support.closing.PermissiveAuthorizer"
PERMISSIVE_FENCE = "tests.support.closing.PermissiveFence"
DENYING_AUTHORIZER = "tests.support.closing.DenyingAuthorizer"
DENYING_FENCE = "tests.support.closing.DenyingFence"


class PermissiveAuthorizer:
    """Grants everything to everybody."""

    def authorize_resume_closure(self, caller: Caller, request: ClosureRequest, proof: bytes) -> None:
        """Say nothing against it."""


class PermissiveFence:
    """Holds nothing but the transaction."""

    def with_resume_closure(
        self, caller: Caller, request: ClosureRequest, proof: bytes, close: Callable[[], Closure]
    ) -> Closure:
        """Close in one durable transaction."""
        with transaction.atomic(durable=True):
            return close()


class DenyingAuthorizer(PermissiveAuthorizer):
    """Refuses everything, with a reason that is nobody else's business."""

    def authorize_resume_closure(self, caller: Caller, request: ClosureRequest, proof: bytes) -> None:
        """Raises: ClosureDenied, always."""
        raise ClosureDenied("The key was revoked.")


class DenyingFence(PermissiveFence):
    """Refuses once it holds what it locks."""

    def with_resume_closure(
        self, caller: Caller, request: ClosureRequest, proof: bytes, close: Callable[[], Closure]
    ) -> Closure:
        """Raises: ClosureDenied, always, after the store has done its part in the same transaction."""
        with transaction.atomic(durable=True):
            close()
            raise ClosureDenied("A new holder appeared.")
