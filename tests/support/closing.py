"""Ports of closing that let everything through, for tests that look at the store's own refusals.

Settings name them by dotted path: CLOSURE_AUTHORIZER and CLOSURE_FENCE.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.db import transaction

from suspensions.domain.errors import ClosureDenied
from suspensions.domain.policy import Caller
from suspensions.domain.values import Admission, Closure, ClosureRequest, Start

PERMISSIVE_AUTHORIZER = "tests.support.closing.PermissiveAuthorizer"
PERMISSIVE_FENCE = "tests.support.closing.PermissiveFence"
DENYING_AUTHORIZER = "tests.support.closing.DenyingAuthorizer"
DENYING_FENCE = "tests.support.closing.DenyingFence"

PROOF = b"header.claims.signature"


def closure_request(admission: Admission, started: Start, now: datetime, **changes: Any) -> ClosureRequest:
    """A closure request in which everything is right but for the changes; its proof is `PROOF`."""
    members: dict[str, Any] = {
        "schema_version": 1,
        "scope": admission.scope,
        "version": admission.version,
        "admission_digest": admission.request_digest,
        "start_digest": started.digest,
        "run_revision": admission.claimed_revision,
        "actor": "ops",
        "issuer": "datacentre",
        "issuer_revision": "3",
        "proof_ref": f"proof of {admission.version.suspension_id}",
        "proof_digest": sha256(PROOF).hexdigest(),
        "observed_at": now,
        "expires_at": now + timedelta(hours=1),
    }
    return ClosureRequest(**{**members, **changes})


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
