"""Pausing a run, and claiming, deleting and listing pauses. Source: store.md section 3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from suspensions.domain import clock, ids
from suspensions.domain.digests import instant_or_none, sha256_hex
from suspensions.domain.errors import (
    AlreadyExists,
    InvalidId,
    InvalidRequest,
    InvalidState,
    NotSuspended,
    RunNotFound,
    SuspensionNotFound,
)
from suspensions.domain.pending import pending_text
from suspensions.domain.preview import call_preview, search_text
from suspensions.domain.scopes import Scope
from suspensions.domain.states import Action, RunState
from suspensions.domain.strict_json import dumps
from suspensions.domain.texts import invalid, require_limit
from suspensions.domain.values import (
    Actor,
    ClaimVersion,
    EventType,
    LeaseTake,
    NewSuspension,
    Reason,
    Snapshot,
    Suspension,
    SuspensionItem,
    suspension_digest,
)
from suspensions.models.fields import from_database
from suspensions.store import guards, run_rows, runs, sql, suspension_rows
from suspensions.store.progress import first_snapshot
from suspensions.store.run_rows import (
    NO_RESUME,
    UNLEASED,
    RunRow,
    Told,
    insert_event,
    link_event,
    move,
    to_run,
)
from suspensions.store.suspension_rows import SuspensionRow, to_suspension

ReasonRule = Callable[[Reason], None]


@dataclass(frozen=True, slots=True)
class Deadlines:
    """The site's default and longest deadline; None where there is none. They hold for every way in."""

    default: timedelta | None = None
    maximum: timedelta | None = None

    def apply(self, expires_at: datetime | None, now: datetime) -> datetime | None:
        """Raises: InvalidRequest beyond the maximum; it is never silently cut."""
        if expires_at is None:
            wait = self.default if self.default is not None else self.maximum
            return None if wait is None else now + wait
        if self.maximum is not None and expires_at > now + self.maximum:
            raise invalid("/expires_at", f"lies beyond the longest deadline, {self.maximum}")
        return expires_at


# -- pausing -----------------------------------------------------------------------------------------

_READ_FOR_PAUSE = (
    f"SELECT {run_rows.OPEN_SELECT}, live.id, live.claimed_at FROM run{run_rows.OPEN_JOIN}"
    " LEFT JOIN suspension live ON live.run_id = run.id AND live.retired_at IS NULL"
    " WHERE run.id = %s AND run.scope = %s"
)


def create_suspension(new: NewSuspension, deadlines: Deadlines, actor: Actor) -> Suspension:
    """Pause a run: the row, and running to paused, in one commit.

    1. Lock the run (it is made here where the request brings one and it is missing). 2. The record first: the
    same id with the same content, whatever became of it. 3. The live pause, the state, the lease. 4. A pause that
    was claimed already is retired and replaced. 5. Run, pause, continuation and event are written together.

    Raises: RunNotFound, AlreadyExists (names the live one), InvalidId, InvalidRequest, InvalidState, RunLeaseLost.
    """
    sql.require_transaction()
    sql.lock_run(new.run_id, new.scope.text)
    values = sql.fetch_one(_READ_FOR_PAUSE, (new.run_id, new.scope.text))
    if values is None and new.run is None:
        raise RunNotFound
    record = None if new.id is None else _find_record(new)
    if record is not None:
        return record
    if values is None:
        return _pause_new_run(new, deadlines, actor)
    row = run_rows.read_open_row(values)
    live_id, live_claimed_at = values[-2:]
    now = clock.now()
    suspension_id = _choose_id(new, row, now)
    _require_may_pause(row, new, live_id, live_claimed_at)
    if live_id is not None:
        # A statement of its own: two rows of one run are never live at once, not even inside a statement.
        sql.write(sql.update("suspension", {"retired_at": now, "updated_at": now}, {"id": live_id, "retired_at": None}))
    return _pause(row, new, suspension_id, deadlines.apply(new.expires_at, now), actor, now)


def _require_may_pause(row: RunRow, new: NewSuspension, live_id: str | None, live_claimed_at: Any) -> None:
    if live_id is not None and live_claimed_at is None:
        raise AlreadyExists(f"The run is paused already, by {live_id}.", existing_id=live_id)
    guards.require_allowed(Action.PAUSE, row)
    guards.require_holder(row, new.holder)


def _find_record(new: NewSuspension) -> Suspension | None:
    found = sql.fetch_one("SELECT scope, run_id, request_sha256 FROM suspension WHERE id = %s", (new.id,))
    if found is None:
        return None
    if found != (new.scope.text, new.run_id, new.request_sha256):
        raise AlreadyExists
    assert new.id is not None
    return read_suspension(new.scope, new.id, with_run=True)


def _choose_id(new: NewSuspension, row: RunRow, now: datetime) -> str:
    """Ids of one run only grow, so that "latest" is a fact. Raises: InvalidId."""
    if new.id is None:
        return ids.new_id_after(ids.SUSPENSION, row.last_suspension_id)
    chosen = ids.require_chosen_id(new.id, ids.SUSPENSION, now)
    if row.last_suspension_id is not None and chosen <= row.last_suspension_id:
        raise InvalidId("A chosen suspension id must be greater than every earlier one of its run.")
    return chosen


def _pause_new_run(new: NewSuspension, deadlines: Deadlines, actor: Actor) -> Suspension:
    """Make the run and pause it in one commit: created at revision 1, paused at 2."""
    assert new.run is not None
    now = clock.now()
    made = replace(new.run, id=new.run_id)
    row = runs.new_row(made, actor, now)
    runs.take_first_lease(row, made, now)
    if new.holder is not None:
        guards.require_exact_holder(row, new.holder)
    suspension_id = _choose_id(new, row, now)
    expires_at = deadlines.apply(new.expires_at, now)
    created = link_event(row, Told(EventType.RUN_CREATED, runs.created_data(row)), actor, now, 1)
    row.event_position, row.event_hash = created.position, created.hash
    runs.insert_run(row, made, [insert_event(created, row.id)])
    return _pause(row, new, suspension_id, expires_at, actor, now)


def _pause(
    row: RunRow, new: NewSuspension, suspension_id: str, expires_at: datetime | None, actor: Actor, now: datetime
) -> Suspension:
    pending = pending_text(new.pending)
    continuation = new.continuation
    pending_sha256, continuation_sha256 = sha256_hex(pending), sha256_hex(continuation.text)
    digest = suspension_digest(
        suspension_id, row.id, new.scope, new.reason, pending_sha256, continuation_sha256, expires_at
    )
    changes = {
        "state": RunState.PAUSED.value,
        "step_count": row.step_count if continuation.step_index is None else continuation.step_index,
        "tokens_used": row.tokens_used if continuation.tokens_used is None else continuation.tokens_used,
        "last_suspension_id": suspension_id,
        **UNLEASED,
        **NO_RESUME,
    }
    calls, words = dumps(_previews(new)), search_text(new.pending)
    checkpoint_id = ids.new_id(ids.CHECKPOINT) if new.reason is Reason.APPROVAL else None
    data = {
        "reason": new.reason.value,
        "calls": len(new.pending),
        "expires_at": instant_or_none(expires_at),
        "digest": digest,
        "checkpoint_id": checkpoint_id,
        "shown_sha256": suspension_rows.shown_sha256(calls, words, row.agent_name),
    }
    suspension = SuspensionRow(
        id=suspension_id,
        run_id=row.id,
        scope=new.scope.text,
        reason=new.reason.value,
        pending=pending,
        pending_sha256=pending_sha256,
        continuation_sha256=continuation_sha256,
        digest=digest,
        checkpoint_id=checkpoint_id,
        expires_at=expires_at,
        created_by=run_rows.actor_text(actor),
        created_at=now,
        updated_at=now,
        claimed_at=None,
        retired_at=None,
    )
    # An imported run may be paused without a live pause: it gets the row, and no transition happens.
    revisions = 0 if row.state == RunState.PAUSED else 1
    sql.write(
        *move(row, changes, Told(EventType.RUN_PAUSED, data, suspension_id), actor, now, revisions=revisions),
        _insert_suspension(suspension, row, new, calls, words),
        sql.insert("suspension_continuation", {"suspension_id": suspension_id, "body": continuation.text}),
    )
    return to_suspension(suspension, continuation.text, run=to_run(row), fresh=True)


def _previews(new: NewSuspension) -> list[dict[str, Any]]:
    return [
        {"id": call.id, "name": call.name, "note": call.note, **call_preview(call.name, call.arguments).to_json()}
        for call in new.pending
    ]


def _insert_suspension(
    suspension: SuspensionRow, row: RunRow, new: NewSuspension, calls: bytes, words: str
) -> sql.Write:
    columns = {name: getattr(suspension, name) for name in suspension_rows.COLUMNS if name != "scope"}
    return sql.insert(
        "suspension",
        {
            **columns,
            **run_rows.scope_columns(new.scope),
            "agent_name": row.agent_name,
            "calls": calls,
            "search_text": words,
            "request_sha256": new.request_sha256,
        },
    )


# -- reading -----------------------------------------------------------------------------------------

_READ_WHOLE = (
    f"SELECT {suspension_rows.SELECT}, suspension_continuation.body FROM suspension{suspension_rows.CONTINUATION_JOIN}"
)


def get_suspension(scope: Scope, run_id: str) -> Suspension:
    """The run's live pause, whole. Raises: NotSuspended."""
    column = run_rows.prefix_column(scope)
    values = sql.fetch_one(
        f"{_READ_WHOLE} WHERE suspension.run_id = %s AND suspension.{column} = %s AND suspension.retired_at IS NULL",
        (run_id, scope.text),
    )
    return _whole(values, NotSuspended())


def read_suspension(scope: Scope, suspension_id: str, *, with_run: bool = False) -> Suspension:
    """A pause by its id, live or retired. Raises: SuspensionNotFound."""
    column = run_rows.prefix_column(scope)
    values = sql.fetch_one(
        f"{_READ_WHOLE} WHERE suspension.id = %s AND suspension.{column} = %s", (suspension_id, scope.text)
    )
    found = _whole(values, SuspensionNotFound())
    if not with_run:
        return found
    row = run_rows.require_run(found.run_id, found.scope)
    return replace(found, run=to_run(row))


def lock_run_of(scope: Scope, suspension_id: str) -> str:
    """Lock the run of a pause at its exact scope, live or retired; its id. *Locks*: the run.

    Raises: SuspensionNotFound.
    """
    values = sql.fetch_locked(
        "SELECT id FROM run WHERE id = (SELECT run_id FROM suspension WHERE id = %s AND scope = %s)",
        (suspension_id, scope.text),
    )
    if values is None:
        raise SuspensionNotFound
    return str(values[0])


def _whole(values: tuple[Any, ...] | None, missing: Exception) -> Suspension:
    row = None if values is None else suspension_rows.read_row(values)
    if row is None or values is None:
        raise missing
    return to_suspension(row, values[-1])


# -- claims ------------------------------------------------------------------------------------------

# The body is joined only while the pause can be claimed, so that losers of a race do not load it.
_READ_FOR_CLAIM = (
    f"SELECT {run_rows.OPEN_SELECT}, {suspension_rows.SELECT}, suspension_continuation.body FROM run"
    f"{run_rows.OPEN_JOIN}"
    " LEFT JOIN suspension ON suspension.run_id = run.id AND suspension.retired_at IS NULL"
    " LEFT JOIN suspension_continuation"
    " ON suspension_continuation.suspension_id = suspension.id AND suspension.claimed_at IS NULL"
)


def claim(
    scope: Scope,
    run_id: str,
    actor: Actor,
    *,
    version: ClaimVersion | None = None,
    expired_by: datetime | None = None,
    lease: LeaseTake | None = None,
    first: Snapshot | None = None,
    rule: ReasonRule | None = None,
) -> tuple[Suspension, RunRow]:
    """Claim the run's live pause: paused to running, with lease and first snapshot in the same commit.

    1. Another's snapshot. 2. Lock the run that the scope covers. 3. An instant in the future, half a lease.
    4. The claim's refusals: with `expired_by` every miss is the same. 5. The reason's rule. 6. The stored pause is
    the one that was saved; one that is claimed to be ended need not be. 7. Run, pause and event are written together.

    Without `expired_by` only a pause that has not expired is claimed, with it only one whose deadline had passed
    by then: the two split every pause between them.

    Raises: RunLeaseLost, InvalidRequest, NotSuspended, RunConflict, SuspensionExpired, what `rule` raises, and
    StoredRecordBroken.
    """
    sql.require_transaction()
    guards.require_first_matches(first, lease, run_id)
    column = run_rows.prefix_column(scope)
    sql.lock_run(run_id, scope.text, column)
    values = sql.fetch_one(f"{_READ_FOR_CLAIM} WHERE run.id = %s AND run.{column} = %s", (run_id, scope.text))
    now = clock.now()
    if expired_by is not None and expired_by > now:
        raise invalid("/expired_by", "may not lie in the future")
    if values is None:
        if lease is not None:
            lease.until(now)
        raise NotSuspended
    row = run_rows.read_open_row(values)
    lease_columns, taken = guards.lease_columns(row, lease, now)
    suspension = suspension_rows.read_row(values[run_rows.OPEN_WIDTH :])
    if suspension is None or suspension.claimed_at is not None:
        raise NotSuspended(row.state)
    _require_claimable(row, suspension, version, expired_by, now)
    if rule is not None:
        rule(Reason(suspension.reason))
    if expired_by is None:
        suspension_rows.require_as_saved(suspension, values[-1])
    data = {"lease": None if taken is None else taken.to_json(), "expired_by": instant_or_none(expired_by)}
    told = Told(EventType.RUN_CLAIMED, data, suspension.id)
    changes = {"state": RunState.RUNNING.value, **lease_columns}
    snapshot = first_snapshot(row, first, taken, now, changes)
    sql.write(*move(row, changes, told, actor, now), _mark_claimed(suspension, now), *snapshot)
    return to_suspension(suspension, values[-1], claimed_run=to_run(row), fresh=True), row


def _require_claimable(
    row: RunRow, suspension: SuspensionRow, version: ClaimVersion | None, expired_by: datetime | None, now: datetime
) -> None:
    if version is not None:
        guards.require_pinned(row, suspension.id, version)
    elif row.state != RunState.PAUSED:
        raise NotSuspended(row.state)
    if expired_by is None:
        guards.require_not_expired(suspension.expires_at, now)
        return
    deadline = from_database(suspension.expires_at)
    if deadline is None or deadline > expired_by:
        raise NotSuspended(row.state)


def _mark_claimed(suspension: SuspensionRow, now: datetime) -> sql.Write:
    guard = {"id": suspension.id, "claimed_at": None, "retired_at": None}
    suspension.claimed_at, suspension.updated_at = now, now
    return sql.update("suspension", {"claimed_at": now, "updated_at": now}, guard)


# -- deleting and listing ----------------------------------------------------------------------------


def delete_suspension(scope: Scope, run_id: str, suspension_id: str | None) -> None:
    """Retire the run's live pause once it was fully handled. With an id it never removes a later pause.

    Raises: NotSuspended; InvalidState while the run is paused or its admission is neither started, expired nor closed.
    """
    sql.require_transaction()
    row = run_rows.find_covered_run(run_id, scope)
    live = (
        None
        if row is None
        else sql.fetch_one("SELECT id FROM suspension WHERE run_id = %s AND retired_at IS NULL", (run_id,))
    )
    if row is None or live is None or suspension_id not in (None, live[0]):
        raise NotSuspended
    if row.state == RunState.PAUSED or row.held_by_admission():
        raise InvalidState(row.state, "The pause still decides what may become of the run.")
    now = clock.now()
    sql.write(sql.update("suspension", {"retired_at": now, "updated_at": now}, {"id": live[0], "retired_at": None}))


def list_expired(scope: Scope, now: datetime, limit: int) -> tuple[SuspensionItem, ...]:
    """Live pauses of paused runs whose deadline had passed by `now`, earliest deadline first, id breaks ties.

    Raises: InvalidLimit, InvalidRequest where `now` lies in the future.
    """
    return _list_expired(now, limit, f" AND suspension.{run_rows.prefix_column(scope)} = %s", scope.text)


def list_expired_across_scopes(now: datetime, limit: int) -> tuple[SuspensionItem, ...]:
    """The same from every scope, for process infrastructure alone: a name of its own, so that no request gets here
    by leaving its scope out. What is found is then claimed under its own scope.

    Raises: InvalidLimit, InvalidRequest where `now` lies in the future.
    """
    return _list_expired(now, limit, "")


def _list_expired(now: datetime, limit: int, where: str, *parameters: str) -> tuple[SuspensionItem, ...]:
    require_limit(limit)
    if now > clock.now():
        raise InvalidRequest("now may not lie in the future.")
    rows = sql.fetch_all(
        f"SELECT {suspension_rows.ITEM_SELECT} FROM suspension JOIN run ON run.id = suspension.run_id"
        " WHERE suspension.retired_at IS NULL AND suspension.claimed_at IS NULL AND run.state = 'paused'"
        f" AND suspension.expires_at <= %s{where}"
        " ORDER BY suspension.expires_at, suspension.id LIMIT %s",
        (sql.instant(now), *parameters, limit),
    )
    return tuple(suspension_rows.to_item(values) for values in rows)
