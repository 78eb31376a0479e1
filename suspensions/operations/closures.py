"""Closing an uncertain resume with proof. Source: store.md section 6."""

from __future__ import annotations

import logging
from time import monotonic

from django.db import OperationalError

from suspensions.closing.ports import closure_authorizer, closure_fence
from suspensions.domain import refusals
from suspensions.domain.digests import RECORD, digest, same_digest
from suspensions.domain.errors import ClosureDenied, ClosureTimeout, CortexError
from suspensions.domain.policy import Caller, Role
from suspensions.domain.proofs import Dispatch
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Closure, ClosureRequest, Page
from suspensions.operations.transactions import TIMED_OUT, Finished, sqlstate, with_attempts
from suspensions.store import closures, fencing

logger = logging.getLogger(__name__)

LONGEST_CLOSE = 30.0
"""Seconds on the monotonic clock after which nothing commits any more."""


def freeze_closure(caller: Caller, request: ClosureRequest) -> tuple[ClosureRequest, str]:
    """The request and its digest: structure only, nothing is granted. Raises: Forbidden, NotFound."""
    caller.require(request.scope, Role.OPERATOR)
    return request, request.digest()


def list_holders(caller: Caller, scope: Scope, run_id: str, suspension_id: str) -> tuple[Dispatch, ...]:
    """Every worker that held the run since its admission, whom a proof must name. Raises: Forbidden, NotFound."""
    caller.require(scope, Role.OPERATOR)
    return fencing.dispatch_history(scope, run_id, suspension_id)


def validate_closure(closure: Closure) -> bool:
    """Whether a receipt is whole: its digest and its record. It grants nothing."""
    return same_digest(closure.request.digest(), closure.request_digest) and same_digest(
        digest(RECORD, closure.record()), closure.record_sha256
    )


def close_resume(caller: Caller, request: ClosureRequest, proof: bytes) -> Closure:
    """End an uncertain start as incomplete: authorizer, then fence, then store; on a repeat all three again.

    Raises: Forbidden, ClosureDenied, ClosureTimeout, and as `store.closures.close_resume`.
    """
    caller.require(request.scope, Role.OPERATOR)
    deadline = monotonic() + LONGEST_CLOSE

    def once(finished: Finished) -> Closure:
        def close() -> Closure:
            closure = closures.close_resume(request, proof, caller.actor)
            # The last look before the commit: after it nothing may be written any more.
            _require_time(deadline)
            finished()
            return closure

        _require_time(deadline)
        return closure_fence().with_resume_closure(caller, request, proof, close)

    try:
        closure_authorizer().authorize_resume_closure(caller, request, proof)
        return with_attempts(once)
    except ClosureDenied as denied:
        # The reason is for whoever runs this installation, not for a stranger's response.
        logger.warning("closure denied: %s", denied.reason, extra={"run_id": request.version.run_id})
        refusals.count(denied)
        raise
    except CortexError as refusal:
        refusals.count(refusal)
        raise
    except OperationalError as error:
        if sqlstate(error) in TIMED_OUT:
            raise ClosureTimeout from error
        raise


def _require_time(deadline: float) -> None:
    if monotonic() > deadline:
        raise ClosureTimeout


def get_closure(caller: Caller, scope: Scope, run_id: str, suspension_id: str) -> Closure:
    """Raises: ResumeClosureNotFound."""
    caller.require(scope)
    return closures.get_closure(scope, run_id, suspension_id)


def list_closures(caller: Caller, scope: Scope, cursor: str | None, limit: int) -> Page[Closure]:
    """Raises: InvalidCursor, InvalidLimit."""
    caller.require(scope)
    return closures.list_closures(scope, cursor, limit)
