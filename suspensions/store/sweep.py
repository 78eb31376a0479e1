"""What a sweeper looks for, across all scopes: ids only, in an order that it can go on from.

Process infrastructure alone: no request reaches these. Nothing here decides; what is found is claimed, expired or
finished by operations that lock the run and look again. Only ids are read, so that a row whose content no longer
decodes does not stand in the way of those behind it.

Source: store.md section 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from suspensions.domain import clock
from suspensions.domain.errors import InvalidState, ProgressNotFound, RunLeaseLive
from suspensions.domain.scopes import Scope
from suspensions.domain.states import Action
from suspensions.domain.values import Actor, Ending, Run
from suspensions.store import guards, runs, sql
from suspensions.store.run_rows import RunRow, require_run

Position = tuple[Any, ...]
"""Where a batch ended: what the next one begins after."""


@dataclass(frozen=True, slots=True)
class Due:
    """A run that may be due. `request_digest` is there for an admitted resume alone."""

    run_id: str
    scope: Scope
    suspension_id: str | None = None
    request_digest: str = ""


def expired_pauses(now: datetime, after: Position | None, limit: int) -> tuple[tuple[Due, ...], Position | None]:
    """Waiting pauses whose deadline has passed, earliest first, id breaks ties; and where this batch ended."""
    beyond, more = _beyond("suspension.expires_at, suspension.id", after)
    rows = sql.fetch_all(
        "SELECT suspension.expires_at, suspension.id, run.id, run.scope"
        " FROM suspension JOIN run ON run.id = suspension.run_id"
        " WHERE suspension.retired_at IS NULL AND suspension.claimed_at IS NULL AND run.state = 'paused'"
        f" AND suspension.expires_at <= %s{beyond} ORDER BY suspension.expires_at, suspension.id LIMIT %s",
        (sql.instant(now), *more, limit),
    )
    return tuple(Due(row[2], Scope(row[3]), row[1]) for row in rows), _last(rows, 2, limit)


def overdue_resumes(now: datetime, after: Position | None, limit: int) -> tuple[tuple[Due, ...], Position | None]:
    """Admitted resumes that nobody started in time, most overdue first; and where this batch ended."""
    beyond, more = _beyond("run.start_by, run.id", after)
    rows = sql.fetch_all(
        "SELECT run.start_by, run.id, run.scope, run.admission_id, resume_admission.request_digest FROM run"
        " JOIN resume_admission ON resume_admission.suspension_id = run.admission_id"
        f" WHERE run.resume = 'admitted' AND run.start_by <= %s{beyond} ORDER BY run.start_by, run.id LIMIT %s",
        (sql.instant(now), *more, limit),
    )
    return tuple(Due(row[1], Scope(row[2]), row[3], row[4]) for row in rows), _last(rows, 2, limit)


def abandoned_endings(now: datetime, after: Position | None, limit: int) -> tuple[tuple[Due, ...], Position | None]:
    """Running runs whose worker recorded an ending and then let its lease lapse, or gave it up, without writing it."""
    beyond, more = _beyond("progress.run_id", after)
    rows = sql.fetch_all(
        "SELECT progress.run_id, run.scope FROM progress JOIN run ON run.id = progress.run_id"
        " WHERE progress.ending_kind IS NOT NULL AND run.state = 'running' AND run.lease_epoch > 0"
        " AND run.progress_revision = run.revision AND (run.resume IS NULL OR run.resume <> 'admitted')"
        f" AND (run.lease_expires_at IS NULL OR run.lease_expires_at <= %s){beyond}"
        " ORDER BY progress.run_id LIMIT %s",
        (sql.instant(now), *more, limit),
    )
    return tuple(Due(row[0], Scope(row[1])) for row in rows), _last(rows, 1, limit)


def _beyond(columns: str, after: Position | None) -> tuple[str, Position]:
    if after is None:
        return "", ()
    return f" AND ({columns}) > ({', '.join(['%s'] * len(after))})", after


def _last(rows: Sequence[tuple[Any, ...]], width: int, limit: int) -> Position | None:
    """The last row's place in the order; None where the batch was not full, and so the last one."""
    return tuple(rows[-1][:width]) if len(rows) == limit else None


# -- acting --------------------------------------------------------------------------------------------


def try_lock(due: Due) -> bool:
    """Lock the run unless somebody holds it: a sweeper leaves it to them and goes on. *Locks*: the run.

    On SQLite whoever is here holds the one write lock already.
    """
    sql.require_transaction()
    if not sql.is_postgresql():
        return True
    locking = "SELECT 1 FROM run WHERE id = %s AND scope = %s FOR UPDATE SKIP LOCKED"
    return sql.fetch_one(locking, (due.run_id, due.scope.text)) is not None


def finish_ending(scope: Scope, run_id: str, actor: Actor) -> Run:
    """Write the end that a worker recorded in its progress and did not come to write.

    1. Lock the run. 2. It still runs, and no admission waits for its start. 3. The ending is of the run's present
    stint. 4. No live lease: a worker that renewed meanwhile writes it itself. 5. The end, as the worker would have.

    Raises: RunNotFound, InvalidState, ProgressNotFound, RunLeaseLive.
    """
    sql.require_transaction()
    row = require_run(run_id, scope)
    guards.require_allowed(Action.FINISH, row)
    ending = _ending_of(row)
    now = clock.now()
    lease = row.lease()
    if lease is not None and not lease.lapsed(now):
        raise RunLeaseLive
    if row.lease_epoch == 0:
        raise InvalidState(row.state, "No worker ever held the run.")
    if ending.kind == "cancel":
        return runs.cancel_claimed_run(row, ending.reason or "", actor, now)
    return runs.fail_expired_run(row, ending.reason or runs.DEADLINE_PASSED, actor, now)


def _ending_of(row: RunRow) -> Ending:
    """Raises: ProgressNotFound."""
    found = sql.fetch_one("SELECT ending_kind, ending_reason FROM progress WHERE run_id = %s", (row.id,))
    if found is None or found[0] is None or row.progress_revision != row.revision:
        raise ProgressNotFound
    return Ending(found[0], found[1])
