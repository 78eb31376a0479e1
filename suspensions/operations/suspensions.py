"""Pausing runs, and claiming and deleting pauses."""

from __future__ import annotations

from datetime import datetime

from suspensions.domain import decisions
from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import (
    ClaimVersion,
    LeaseTake,
    NewSuspension,
    Snapshot,
    Suspension,
    SuspensionItem,
)
from suspensions.operations.site import deadlines
from suspensions.operations.transactions import in_transaction
from suspensions.store import suspensions


def create_suspension(caller: Caller, new: NewSuspension) -> Suspension:
    """Pause a run, making it where the request brings one. Raises: as `store.suspensions.create_suspension`."""
    caller.require(new.scope, Role.AGENT)
    return in_transaction(suspensions.create_suspension, new, deadlines(), caller.actor)


def claim_suspension(
    caller: Caller,
    scope: Scope,
    run_id: str,
    *,
    version: ClaimVersion | None = None,
    expired_by: datetime | None = None,
    lease: LeaseTake | None = None,
    first: Snapshot | None = None,
) -> Suspension:
    """Claim a pause: an agent takes external-tool pauses alone, an operator any that has expired.

    Raises: as `store.suspensions.claim`, then RequiresApproval and NotAgentReplyResumable.
    """
    caller.require(scope, Role.AGENT if expired_by is None else Role.OPERATOR)
    rule = decisions.require_plain_claim if expired_by is None else None
    claimed, _ = in_transaction(
        suspensions.claim,
        scope,
        run_id,
        caller.actor,
        version=version,
        expired_by=expired_by,
        lease=lease,
        first=first,
        rule=rule,
    )
    return claimed


def delete_suspension(caller: Caller, scope: Scope, run_id: str, suspension_id: str | None = None) -> None:
    """Retire a pause that was fully handled. Raises: as `store.suspensions.delete_suspension`."""
    caller.require(scope, Role.AGENT)
    in_transaction(suspensions.delete_suspension, scope, run_id, suspension_id)


def get_suspension(caller: Caller, scope: Scope, run_id: str) -> Suspension:
    """The run's live pause, whole. Raises: NotSuspended."""
    caller.require(scope)
    return suspensions.get_suspension(scope, run_id)


def read_suspension(caller: Caller, scope: Scope, suspension_id: str) -> Suspension:
    """A pause by its id, live or retired. Raises: SuspensionNotFound."""
    caller.require(scope)
    return suspensions.read_suspension(scope, suspension_id)


def list_expired(caller: Caller, scope: Scope, now: datetime, limit: int) -> tuple[SuspensionItem, ...]:
    """Pauses whose deadline had passed. Raises: InvalidLimit, InvalidRequest."""
    caller.require(scope, Role.OPERATOR)
    return suspensions.list_expired(scope, now, limit)
