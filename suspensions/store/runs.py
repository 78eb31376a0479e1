"""Making, finishing and cancelling runs. Source: store.md sections 1 and 3."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from suspensions.domain import clock, ids, run_history
from suspensions.domain.digests import sha256_hex
from suspensions.domain.errors import AlreadyExists, InvalidState, NotSuspended, RunLeaseLost
from suspensions.domain.scopes import Scope
from suspensions.domain.states import OUTCOMES, Action, RunState, allows
from suspensions.domain.strict_json import dumps
from suspensions.domain.values import Actor, EventType, Holder, NewRun, Run
from suspensions.store import guards, sql
from suspensions.store.interaction_rows import resolve_open_interactions
from suspensions.store.run_rows import (
    NO_RESUME,
    UNLEASED,
    RunRow,
    Told,
    actor_text,
    find_run,
    insert_event,
    link_event,
    move,
    require_run,
    scope_columns,
    to_run,
)


def create_run(new: NewRun, actor: Actor) -> Run:
    """Make a running run at revision 1, with its lease where one is asked for.

    The same id with the same content is that run, fresh false.

    Raises: InvalidId, AlreadyExists (also where the id is taken in another scope), RunLeaseLost, InvalidRequest.
    *Source*: store.md sections 1 and 2, api.md `POST /runs`.
    """
    sql.require_transaction()
    if new.id is not None:
        found = find_run(new.id, new.scope, contents=True)
        if found is not None:
            if found.request_sha256 != new.request_sha256:
                raise AlreadyExists
            return to_run(found)
    now = clock.now()
    row = new_row(new, actor, now)
    take_first_lease(row, new, now)
    event = link_event(row, Told(EventType.RUN_CREATED, created_data(row)), actor, now, 1)
    row.event_position, row.event_hash = event.position, event.hash
    insert_run(row, new, [insert_event(event, row.id)])
    return to_run(row, fresh=True)


def new_row(new: NewRun, actor: Actor, now: datetime) -> RunRow:
    """The row of a run that is about to be made. Raises: InvalidId."""
    run_id = ids.new_id(ids.RUN) if new.id is None else ids.require_chosen_id(new.id, ids.RUN, now)
    return RunRow(
        id=run_id,
        scope=new.scope.text,
        agent_id=new.agent_id,
        agent_name=new.agent_name,
        session_id=new.session_id,
        state=RunState.RUNNING.value,
        revision=1,
        step_count=0,
        tokens_used=0,
        persona_ref=new.persona_ref,
        metadata=new.metadata,
        request_sha256=new.request_sha256,
        finish_sha256=None,
        lease_owner=None,
        lease_expires_at=None,
        lease_epoch=0,
        progress_epoch=0,
        progress_revision=0,
        created_by=actor_text(actor),
        created_at=now,
        updated_at=now,
        started_at=now,
        completed_at=None,
        last_suspension_id=None,
        admission_id=None,
        resume=None,
        admitted_at=None,
        start_by=None,
        open_interactions=0,
        event_position=0,
        event_hash=None,
        contents=(new.input.encode(), b"", b""),
    )


def take_first_lease(row: RunRow, new: NewRun, now: datetime) -> None:
    """Raises: RunLeaseLost, InvalidRequest."""
    columns, _ = guards.lease_columns(row, new.lease, now)
    for column, value in columns.items():
        setattr(row, column, value)


def insert_run(row: RunRow, new: NewRun, further: list[sql.Write]) -> None:
    """Insert the run with its input and whatever goes with it.

    An id that is taken, in another scope or by somebody who was faster, violates the primary key; the operation's
    transaction is then begun anew, and says `already_exists` where that finds no record of this scope.
    """
    columns = {name: getattr(row, name) for name in RunRow.__dataclass_fields__ if name not in ("contents", "scope")}
    writes = [sql.insert("run", {**columns, **scope_columns(new.scope)})]
    if new.input:
        writes.append(sql.insert("run_content", {"run_id": row.id, "input": new.input.encode()}))
    sql.write(*writes, *further)


def created_data(row: RunRow) -> dict[str, Any]:
    """What `run.created` tells."""
    assert row.contents is not None and row.contents[0] is not None
    lease = row.lease()
    return {
        "agent_name": row.agent_name,
        "request_sha256": row.request_sha256,
        "kept_sha256": run_history.kept_sha256(
            row.agent_id, row.session_id, row.persona_ref, row.metadata, row.contents[0]
        ),
        "lease": None if lease is None else lease.to_json(),
    }


# -- ends --------------------------------------------------------------------------------------------


def end_columns(state: RunState, now: datetime) -> dict[str, Any]:
    """What every end of a run changes: no lease, no open resume, and the time of it."""
    return {"state": state.value, "completed_at": now, **UNLEASED, **NO_RESUME}


def finish_run(
    scope: Scope, run_id: str, outcome: RunState, output: str, error: str, holder: Holder | None, actor: Actor
) -> Run:
    """End a running run as completed, failed, cancelled or incomplete. The same again is the same run.

    1. Lock the run. 2. The record first: the same end again. 3. Ended, paused, or held by an admission: said to
    whoever asks. 4. The lease. 5. Result, state, retirement and event in one commit.

    Raises: RunNotFound, InvalidState, RunLeaseLost.
    """
    sql.require_transaction()
    row = require_run(run_id, scope)
    assert outcome in OUTCOMES
    content = finish_sha256("finish", outcome.value, output, error)
    if guards.is_ended(row) and row.finish_sha256 == content:
        return to_run(row)
    guards.require_allowed(Action.FINISH, row)
    guards.require_holder(row, holder)
    now = clock.now()
    told = Told(EventType.RUN_FINISHED, {"outcome": outcome.value})
    _end(row, outcome, output, error, content, told, actor, now)
    return to_run(row, fresh=True)


def cancel_run(scope: Scope, run_id: str, reason: str, holder: Holder | None, actor: Actor) -> Run:
    """End a run as cancelled. A paused run is claimed first (+2), a running one must be free or the caller's.

    Raises: RunNotFound, InvalidState (ended), NotSuspended (lost the claim), RunLeaseLost.
    """
    sql.require_transaction()
    row = require_run(run_id, scope)
    content = finish_sha256("cancel", reason)
    if guards.is_ended(row) and row.finish_sha256 == content:
        return to_run(row)
    if not allows(Action.CANCEL, RunState(row.state)):
        raise InvalidState(row.state)
    now = clock.now()
    if row.state == RunState.PAUSED:
        _claim_to_end(row, holder, actor, now)
    else:
        _require_free(row, holder, now)
    return cancel_claimed_run(row, reason, actor, now)


def cancel_claimed_run(row: RunRow, reason: str, actor: Actor, now: datetime) -> Run:
    """End a run as cancelled that nobody else holds; `cancel_run` and the sweep have made sure of it."""
    told = Told(EventType.RUN_CANCELLED, {"reason": reason, **guards.lapsed(row, now)})
    _end(row, RunState.CANCELLED, "", reason, finish_sha256("cancel", reason), told, actor, now)
    return to_run(row, fresh=True)


DEADLINE_PASSED = "The pause's deadline passed and nobody had answered it. Nothing was run."


def fail_expired_run(row: RunRow, reason: str, actor: Actor, now: datetime) -> Run:
    """End a run that the sweep has claimed past its deadline, with the ending's reason as its error."""
    told = Told(EventType.RUN_EXPIRED, {"reason": reason})
    _end(row, RunState.FAILED, "", reason, finish_sha256("expire", reason), told, actor, now)
    return to_run(row, fresh=True)


def _claim_to_end(row: RunRow, holder: Holder | None, actor: Actor, now: datetime) -> None:
    """Only a claim moves a paused run, so cancel claims first.

    Raises: NotSuspended; RunLeaseLost for whoever says to hold the run, since nobody holds a paused one.
    """
    live = sql.fetch_one(
        "SELECT id FROM suspension WHERE run_id = %s AND retired_at IS NULL AND claimed_at IS NULL", (row.id,)
    )
    if live is None:
        raise NotSuspended(row.state)
    if holder is not None:
        guards.require_exact_holder(row, holder)
    told = Told(EventType.RUN_CLAIMED, {"to": "cancel"}, suspension_id=live[0])
    sql.write(
        *move(row, {"state": RunState.RUNNING.value}, told, actor, now),
        sql.update("suspension", {"claimed_at": now, "updated_at": now}, {"id": live[0], "claimed_at": None}),
    )


def _require_free(row: RunRow, holder: Holder | None, now: datetime) -> None:
    """Raises: RunLeaseLost while somebody else holds a live lease."""
    lease = row.lease()
    if holder is not None:
        guards.require_exact_holder(row, holder)
    elif lease is not None and not lease.lapsed(now):
        raise RunLeaseLost("A worker holds the run's lease; only it may cancel before the lease lapses.")


def _end(
    row: RunRow, state: RunState, output: str, error: str, content: str, told: Told, actor: Actor, now: datetime
) -> None:
    resolve_open_interactions(row, now)
    told.data = {**told.data, "result_sha256": run_history.result_sha256(output.encode(), error.encode())}
    changes = {**end_columns(state, now), "finish_sha256": content}
    sql.write(*move(row, changes, told, actor, now), retire_live(row, now), *write_result(row, output, error))


def write_result(row: RunRow, output: str, error: str) -> list[sql.Write]:
    """Keep output and error; a run that was continued after it was incomplete gets the new ones."""
    assert row.contents is not None
    kept = {"output": output.encode(), "error": error.encode()}
    had_result = row.contents[1] is not None
    row.contents = (row.contents[0], kept["output"], kept["error"])
    if had_result:
        return [sql.update("run_result", kept, {"run_id": row.id})]
    return [sql.insert("run_result", {"run_id": row.id, **kept})] if output or error else []


def retire_live(row: RunRow, now: datetime) -> sql.Write:
    """Retire the run's live pause, if there is one, in the commit that ends the run."""
    return sql.update(
        "suspension", {"retired_at": now, "updated_at": now}, {"run_id": row.id, "retired_at": None}, exactly=False
    )


def finish_sha256(*content: str) -> str:
    """What makes two ends the same; the parts as a JSON list, so that no two lists read alike."""
    return sha256_hex(dumps(list(content)))
