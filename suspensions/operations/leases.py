"""Leases, and taking runs over."""

from __future__ import annotations

from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Holder, LeaseTake, Progress, Run, Snapshot
from suspensions.operations.transactions import in_transaction
from suspensions.store import leases


def renew_lease(caller: Caller, scope: Scope, run_id: str, holder: Holder, take: LeaseTake) -> Run:
    """Raises: RunNotFound, RunLeaseLost, InvalidRequest."""
    caller.require(scope, Role.AGENT)
    return in_transaction(leases.renew_lease, scope, run_id, holder, take)


def release_lease(caller: Caller, scope: Scope, run_id: str, holder: Holder) -> Run:
    """Raises: RunNotFound, RunLeaseLost."""
    caller.require(scope, Role.AGENT)
    return in_transaction(leases.release_lease, scope, run_id, holder, caller.actor)


def reclaim_lease(caller: Caller, scope: Scope, run_id: str, take: LeaseTake) -> tuple[Run, Progress | None]:
    """Raises: RunNotFound, InvalidState, RunLeaseLost, InvalidRequest."""
    caller.require(scope, Role.AGENT, Role.OPERATOR)
    return in_transaction(leases.reclaim_lease, scope, run_id, take, caller.actor)


def claim_continuation(
    caller: Caller, scope: Scope, run_id: str, take: LeaseTake, first: Snapshot | None = None
) -> Run:
    """Raises: RunLeaseLost, RunNotFound, InvalidState, InvalidRequest."""
    caller.require(scope, Role.AGENT)
    return in_transaction(leases.claim_continuation, scope, run_id, take, first, caller.actor)
