"""Progress snapshots, replaced whole. Source: store.md sections 1 to 3."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from suspensions.domain import clock
from suspensions.domain.errors import ProgressNotFound, RunLeaseLost
from suspensions.domain.pending import pending_text, restore_pending
from suspensions.domain.scopes import Scope
from suspensions.domain.states import Action, RunState
from suspensions.domain.values import Ending, Holder, Lease, Progress, Snapshot
from suspensions.models.fields import read_instant
from suspensions.store import guards, sql
from suspensions.store.run_rows import RunRow, find_run

_COLUMNS = "run_id, owner, epoch, continuation, started, done, ending_kind, ending_reason, updated_at"
_UPSERT = (
    f"INSERT INTO progress ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (run_id) DO UPDATE SET"
    " owner = excluded.owner, epoch = excluded.epoch, continuation = excluded.continuation,"
    " started = excluded.started, done = excluded.done, ending_kind = excluded.ending_kind,"
    " ending_reason = excluded.ending_reason, updated_at = excluded.updated_at"
)


def save_progress(scope: Scope, snapshot: Snapshot, holder: Holder) -> Progress:
    """Replace the run's snapshot, for its holder alone.

    Raises: InvalidState while an admission waits for its start; RunLeaseLost unless the run is running under exactly
    this owner and epoch (a missing run is no exception).
    """
    sql.require_transaction()
    row = find_run(snapshot.run_id, scope)
    if row is None:
        raise RunLeaseLost
    if row.held_by_admission():
        guards.require_allowed(Action.SAVE_PROGRESS, row)
    if row.state != RunState.RUNNING or snapshot.owner != holder.owner:
        raise RunLeaseLost
    guards.require_exact_holder(row, holder)
    now = clock.now()
    changes: dict[str, Any] = {"updated_at": now}
    upsert = _replace(row, snapshot, holder.epoch, row.revision, now, changes)
    guard = {"id": row.id, "state": row.state, "lease_owner": holder.owner, "lease_epoch": holder.epoch}
    sql.write(sql.update("run", changes, guard), upsert)
    return Progress(
        row.id,
        scope,
        snapshot.owner,
        holder.epoch,
        snapshot.continuation.text,
        snapshot.started,
        snapshot.done,
        snapshot.ending,
        now,
    )


def first_snapshot(
    row: RunRow, first: Snapshot | None, lease: Lease | None, now: datetime, changes: dict[str, Any], moved: int = 1
) -> list[sql.Write]:
    """The write of a lease's first snapshot, for the transaction that takes the lease; `changes` gets its share.

    The snapshot belongs to the stint of the run that begins at the revision after `moved` transitions.
    """
    if first is None or lease is None:
        return []
    return [_replace(row, first, lease.epoch, row.revision + moved, now, changes)]


def _replace(
    row: RunRow, snapshot: Snapshot, epoch: int, revision: int, now: datetime, changes: dict[str, Any]
) -> sql.Write:
    continuation = snapshot.continuation
    changes |= {"progress_epoch": epoch, "progress_revision": revision}
    if continuation.step_index is not None:
        changes["step_count"] = continuation.step_index
    if continuation.tokens_used is not None:
        changes["tokens_used"] = continuation.tokens_used
    ending = snapshot.ending
    return sql.Write(
        _UPSERT,
        (
            row.id,
            snapshot.owner,
            epoch,
            continuation.text,
            None if snapshot.started is None else pending_text(snapshot.started),
            snapshot.done,
            None if ending is None else ending.kind,
            None if ending is None else ending.reason,
            sql.instant(now),
        ),
    )


def get_progress(scope: Scope, run_id: str) -> Progress:
    """The last snapshot. Raises: ProgressNotFound."""
    found = _find(run_id, scope)
    if found is None:
        raise ProgressNotFound
    return found


def current_progress(row: RunRow) -> Progress | None:
    """The snapshot of the run's present stint, for whoever takes the run over.

    One from before the run's last pause tells of a stint that the pause's continuation has replaced.
    """
    return _find(row.id, Scope(row.scope)) if row.progress_revision == row.revision else None


def _find(run_id: str, scope: Scope) -> Progress | None:
    columns = ", ".join(f"progress.{column}" for column in _COLUMNS.split(", "))
    values = sql.fetch_one(
        f"SELECT {columns} FROM progress JOIN run ON run.id = progress.run_id WHERE run.id = %s AND run.scope = %s",
        (run_id, scope.text),
    )
    if values is None:
        return None
    _, owner, epoch, continuation, started, done, ending_kind, ending_reason, updated_at = values
    at = read_instant(updated_at)
    return Progress(
        run_id,
        scope,
        owner,
        epoch,
        bytes(continuation),
        None if started is None else restore_pending(bytes(started)),
        None if done is None else bytes(done),
        None if ending_kind is None else Ending(ending_kind, ending_reason),
        at,
    )


def delete_progress(scope: Scope, run_id: str, holder: Holder | None) -> None:
    """Remove the snapshot; deleting nothing succeeds. Raises: RunLeaseLost for another than a live lease's holder."""
    sql.require_transaction()
    row = find_run(run_id, scope)
    if row is None:
        return
    lease = row.lease()
    if lease is not None and not lease.lapsed(clock.now()):
        guards.require_holder(row, holder)
    elif holder is not None and lease is not None:
        guards.require_exact_holder(row, holder)
    sql.write(sql.Write("DELETE FROM progress WHERE run_id = %s", (run_id,), exactly=False))
