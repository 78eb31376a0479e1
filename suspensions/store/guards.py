"""Checks that several operations make of a locked run, each in one place and one wording."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from suspensions.domain.errors import (
    InvalidState,
    NotSuspended,
    RunConflict,
    RunLeaseLost,
    SuspensionExpired,
)
from suspensions.domain.states import ENDED, Action, RunState, allows
from suspensions.domain.values import ClaimVersion, Holder, Lease, LeaseTake, Snapshot
from suspensions.models.fields import from_database
from suspensions.store.run_rows import RunRow


def require_allowed(action: Action, row: RunRow) -> None:
    """Raises: InvalidState."""
    if allows(action, RunState(row.state), row.resume_state()):
        return
    if row.held_by_admission():
        raise InvalidState(row.state, "An admission waits for its start; only start, expire and cancel move the run.")
    raise InvalidState(row.state)


def is_ended(row: RunRow) -> bool:
    return row.state in ENDED


def require_holder(row: RunRow, holder: Holder | None) -> None:
    """A leased run moves for its holder alone, also when the lease has lapsed and was not taken over.

    A holder of a lease that is no longer there is fenced as well: somebody ended it. Raises: RunLeaseLost.
    """
    if holder is None:
        if row.lease_owner is not None:
            raise RunLeaseLost
        return
    require_exact_holder(row, holder)


def require_exact_holder(row: RunRow, holder: Holder) -> None:
    """Raises: RunLeaseLost unless the lease is there under this owner and epoch; an empty owner never matches."""
    if not holder.owner or row.lease_owner != holder.owner or row.lease_epoch != holder.epoch:
        raise RunLeaseLost


def require_first_matches(first: Snapshot | None, lease: LeaseTake | None, run_id: str) -> None:
    """A first snapshot belongs to the lease that is taken with it. Raises: RunLeaseLost."""
    if first is not None and (lease is None or first.owner != lease.owner or first.run_id != run_id):
        raise RunLeaseLost("The first snapshot is another owner's or another run's.")


def require_pinned(row: RunRow, live_id: str | None, version: ClaimVersion) -> None:
    """The pinned claim's refusals but the deadline. Raises: NotSuspended, RunConflict."""
    if row.state != RunState.PAUSED or live_id is None:
        raise NotSuspended(row.state)
    if live_id != version.suspension_id or row.revision != version.run_revision:
        raise RunConflict(row.state, row.revision)


def require_not_expired(expires_at: Any, now: datetime) -> None:
    """The deadline exactly at this instant has passed: it goes to the sweep. Raises: SuspensionExpired."""
    deadline = from_database(expires_at)
    if deadline is not None and deadline <= now:
        raise SuspensionExpired(deadline)


def lapsed(row: RunRow, now: datetime) -> dict[str, Any]:
    """What an event tells of a lease that lapsed and ends with it: renewals make none, so nothing else tells when."""
    lease = row.lease()
    return {} if lease is None or not lease.lapsed(now) else {"lapsed": lease.to_json()}


def lease_columns(row: RunRow, take: LeaseTake | None, now: datetime) -> tuple[dict[str, Any], Lease | None]:
    """What taking a lease changes on the run: owner, end, and an epoch that grows and never falls.

    Raises: RunLeaseLost, InvalidRequest (see `LeaseTake.until`).
    """
    if take is None:
        return {}, None
    lease = Lease(take.owner, take.until(now), row.lease_epoch + 1)
    return {"lease_owner": lease.owner, "lease_expires_at": lease.expires_at, "lease_epoch": lease.epoch}, lease
