"""Who holds a running run: renewing, releasing and taking over. Source: store.md section 1, "Lease"."""

from __future__ import annotations

from suspensions.domain import clock
from suspensions.domain.errors import InvalidState, RunLeaseLost, RunNotFound
from suspensions.domain.scopes import Scope
from suspensions.domain.states import Action, RunState, allows
from suspensions.domain.values import Actor, EventType, Holder, LeaseTake, Progress, Run, Snapshot
from suspensions.store import guards, run_rows, sql
from suspensions.store.progress import current_progress, first_snapshot
from suspensions.store.run_rows import UNLEASED, Told, move, to_run


def renew_lease(scope: Scope, run_id: str, holder: Holder, take: LeaseTake) -> Run:
    """Move the lease's end to a later instant; also where it lapsed, as long as nobody took over.

    Raises: RunNotFound, RunLeaseLost, InvalidRequest.
    """
    sql.require_transaction()
    row = run_rows.require_run(run_id, scope)
    if row.state != RunState.RUNNING:
        raise RunLeaseLost
    guards.require_exact_holder(row, holder)
    now = clock.now()
    until = take.until(now)
    lease = row.lease()
    assert lease is not None
    if until <= lease.expires_at:
        raise RunLeaseLost("A lease is renewed to a later instant only.")
    guard = {"id": row.id, "state": row.state, "lease_owner": holder.owner, "lease_epoch": holder.epoch}
    sql.write(sql.update("run", {"lease_expires_at": until, "updated_at": now}, guard))
    row.lease_expires_at, row.updated_at = until, now
    return to_run(row, fresh=True)


def release_lease(scope: Scope, run_id: str, holder: Holder, actor: Actor) -> Run:
    """Give the lease up; a second release succeeds and changes nothing.

    Raises: RunNotFound, RunLeaseLost.
    """
    sql.require_transaction()
    row = run_rows.require_run(run_id, scope)
    if row.lease_owner is None and row.lease_epoch == holder.epoch and holder.owner:
        return to_run(row)
    guards.require_exact_holder(row, holder)
    told = Told(EventType.RUN_LEASE_RELEASED, {"owner": holder.owner, "epoch": holder.epoch})
    sql.write(*move(row, UNLEASED, told, actor, clock.now(), revisions=0))
    return to_run(row, fresh=True)


def reclaim_lease(scope: Scope, run_id: str, take: LeaseTake, actor: Actor) -> tuple[Run, Progress | None]:
    """Take over a running run whose lease lapsed or was given up; one winner. The caller gets its snapshot.

    Raises: RunNotFound, InvalidState while an admission waits for its start, RunLeaseLost (a live lease, a run that
    is not running or was never leased), InvalidRequest.
    """
    sql.require_transaction()
    row = run_rows.require_run(run_id, scope)
    if row.held_by_admission():
        guards.require_allowed(Action.RECLAIM, row)
    now = clock.now()
    lease = row.lease()
    if row.state != RunState.RUNNING or row.lease_epoch == 0 or (lease is not None and not lease.lapsed(now)):
        raise RunLeaseLost
    columns, taken = guards.lease_columns(row, take, now)
    assert taken is not None
    told = Told(
        EventType.RUN_LEASE_TAKEN, {"lease": taken.to_json(), "from": row.lease_owner, **guards.lapsed(row, now)}
    )
    sql.write(*move(row, columns, told, actor, now, revisions=0))
    return to_run(row, fresh=True), current_progress(row)


def claim_continuation(scope: Scope, run_id: str, take: LeaseTake, first: Snapshot | None, actor: Actor) -> Run:
    """Take an incomplete run up again under a lease: incomplete to running. Never one that was closed with proof.

    Raises: RunLeaseLost, RunNotFound, InvalidState, InvalidRequest.
    """
    sql.require_transaction()
    guards.require_first_matches(first, take, run_id)
    row = run_rows.find_covered_run(run_id, scope, contents=True)
    now = clock.now()
    if row is None:
        take.until(now)
        raise RunNotFound
    columns, taken = guards.lease_columns(row, take, now)
    if not allows(Action.CLAIM_CONTINUATION, RunState(row.state)):
        raise InvalidState(row.state)
    # The receipt itself is asked: an imported run may have one without the run's own mark of it.
    if sql.fetch_one("SELECT 1 FROM resume_closure WHERE run_id = %s LIMIT 1", (row.id,)) is not None:
        raise InvalidState(row.state, "The run was closed with proof; nothing continues it.")
    assert taken is not None
    changes = {"state": RunState.RUNNING.value, "completed_at": None, "finish_sha256": None, **columns}
    snapshot = first_snapshot(row, first, taken, now, changes)
    told = Told(EventType.RUN_CLAIMED, {"lease": taken.to_json(), "continuation": True})
    sql.write(*move(row, changes, told, actor, now), *snapshot)
    return to_run(row, fresh=True)
