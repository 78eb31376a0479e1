"""Ports that refuse: what stands in the place of an authorizer and a fence that nobody has chosen."""

from __future__ import annotations

from collections.abc import Callable

from suspensions.domain.errors import ClosureDenied
from suspensions.domain.policy import Caller
from suspensions.domain.values import Closure, ClosureRequest


class RefusingAuthorizer:
    """Grants nothing to anybody."""

    def authorize_resume_closure(self, caller: Caller, request: ClosureRequest, proof: bytes) -> None:
        """Raises: ClosureDenied, always."""
        raise ClosureDenied("No closure authorizer is set up.")


class RefusingFence:
    """Lets nothing through, also where an authorizer would."""

    def with_resume_closure(
        self, caller: Caller, request: ClosureRequest, proof: bytes, close: Callable[[], Closure]
    ) -> Closure:
        """Raises: ClosureDenied, always."""
        raise ClosureDenied("No closure fence is set up.")
