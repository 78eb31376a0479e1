"""Progress snapshots."""

from __future__ import annotations

from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Holder, Progress, Snapshot
from suspensions.operations.transactions import in_transaction
from suspensions.store import progress


def save_progress(caller: Caller, scope: Scope, snapshot: Snapshot, holder: Holder) -> Progress:
    """Raises: InvalidState, RunLeaseLost."""
    caller.require(scope, Role.AGENT)
    return in_transaction(progress.save_progress, scope, snapshot, holder)


def get_progress(caller: Caller, scope: Scope, run_id: str) -> Progress:
    """Raises: ProgressNotFound."""
    caller.require(scope)
    return progress.get_progress(scope, run_id)


def delete_progress(caller: Caller, scope: Scope, run_id: str, holder: Holder | None = None) -> None:
    """Raises: RunLeaseLost."""
    caller.require(scope, Role.AGENT)
    in_transaction(progress.delete_progress, scope, run_id, holder)
