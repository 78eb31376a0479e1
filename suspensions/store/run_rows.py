"""Reading a run's row and moving it, with the event that tells of it. Rows stay inside the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from suspensions.domain import ids
from suspensions.domain.errors import RunNotFound, StoredRecordBroken
from suspensions.domain.scopes import Scope
from suspensions.domain.states import ResumeState, RunState
from suspensions.domain.strict_json import dumps
from suspensions.domain.values import Actor, Event, EventType, Lease, Run, complete
from suspensions.models.fields import from_database, read_instant
from suspensions.models.receipt_rows import read_actor
from suspensions.store import sql

COLUMNS = (
    "id",
    "scope",
    "agent_id",
    "agent_name",
    "session_id",
    "state",
    "revision",
    "step_count",
    "tokens_used",
    "persona_ref",
    "metadata",
    "request_sha256",
    "finish_sha256",
    "lease_owner",
    "lease_expires_at",
    "lease_epoch",
    "progress_epoch",
    "progress_revision",
    "created_by",
    "created_at",
    "updated_at",
    "started_at",
    "completed_at",
    "last_suspension_id",
    "admission_id",
    "resume",
    "admitted_at",
    "start_by",
    "open_interactions",
    "event_position",
    "event_hash",
)
SELECT = ", ".join(f"run.{column}" for column in COLUMNS)
CONTENT_JOIN = (
    " LEFT JOIN run_content ON run_content.run_id = run.id LEFT JOIN run_result ON run_result.run_id = run.id"
)
CONTENT_SELECT = "run_content.input, run_result.output, run_result.error"
WIDTH = len(COLUMNS)

# A run that has not ended has neither output nor error, so whoever refuses ended ones need not look for them.
OPEN_SELECT = f"{SELECT}, run_content.input"
OPEN_JOIN = " LEFT JOIN run_content ON run_content.run_id = run.id"
OPEN_WIDTH = WIDTH + 1


@dataclass(slots=True)
class RunRow:
    """A locked run as it was read, by column."""

    id: str
    scope: str
    agent_id: str | None
    agent_name: str | None
    session_id: str | None
    state: str
    revision: int
    step_count: int
    tokens_used: int
    persona_ref: str
    metadata: bytes
    request_sha256: str
    finish_sha256: str | None
    lease_owner: str | None
    lease_expires_at: Any
    lease_epoch: int
    progress_epoch: int
    progress_revision: int
    created_by: str
    created_at: Any
    updated_at: Any
    started_at: Any
    completed_at: Any
    last_suspension_id: str | None
    admission_id: str | None
    resume: str | None
    admitted_at: Any
    start_by: Any
    open_interactions: int
    event_position: int
    event_hash: str | None
    contents: tuple[bytes | None, bytes | None, bytes | None] | None = field(default=None)

    def lease(self) -> Lease | None:
        if self.lease_owner is None:
            return None
        expires_at = read_instant(self.lease_expires_at)
        return Lease(self.lease_owner, expires_at, self.lease_epoch)

    def resume_state(self) -> ResumeState | None:
        return None if self.resume is None else ResumeState(self.resume)

    def held_by_admission(self) -> bool:
        """Whether an admission waits for its start, so that the run is nobody's to touch."""
        return self.resume == ResumeState.ADMITTED


def read_row(values: tuple[Any, ...]) -> RunRow:
    return RunRow(*values[:WIDTH])


def read_open_row(values: tuple[Any, ...]) -> RunRow:
    """The row of the columns in OPEN_SELECT."""
    row = read_row(values)
    row.contents = (values[WIDTH], None, None)
    return row


def find_run(run_id: str, scope: Scope, *, contents: bool = False) -> RunRow | None:
    """Lock and read the run at its exact scope; None where there is none. *Locks*: the run."""
    return _find_run("scope", run_id, scope, contents)


def find_covered_run(run_id: str, scope: Scope, *, contents: bool = False) -> RunRow | None:
    """The same for a run that the scope covers. *Locks*: the run."""
    return _find_run(prefix_column(scope), run_id, scope, contents)


def require_run(run_id: str, scope: Scope, *, contents: bool = True) -> RunRow:
    """Raises: RunNotFound, for another scope's run too. *Locks*: the run."""
    row = find_run(run_id, scope, contents=contents)
    if row is None:
        raise RunNotFound
    return row


def _find_run(scope_column: str, run_id: str, scope: Scope, contents: bool) -> RunRow | None:
    where, about = f"WHERE run.id = %s AND run.{scope_column} = %s", (run_id, scope.text)
    if not contents:
        values = sql.fetch_locked(f"SELECT {SELECT} FROM run {where}", about)
        return None if values is None else read_row(values)
    # What is joined to a locked row is read by a statement of its own, after the lock.
    sql.lock_run(run_id, scope.text, scope_column)
    values = sql.fetch_one(f"SELECT {SELECT}, {CONTENT_SELECT} FROM run{CONTENT_JOIN} {where}", about)
    if values is None:
        return None
    row = read_row(values)
    row.contents = values[WIDTH : WIDTH + 3]
    return row


def prefix_column(scope: Scope) -> str:
    """The column whose equality with the scope's text means that the scope covers a row."""
    return f"scope_{scope.depth}"


def scope_columns(scope: Scope) -> dict[str, str]:
    one, two, three = scope.prefixes
    return {"scope": scope.text, "scope_1": one, "scope_2": two, "scope_3": three}


# -- moving a run -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Told:
    """An event to be written with a transition or a receipt."""

    type: EventType
    data: Mapping[str, Any]
    suspension_id: str | None = None
    record_sha256: str | None = None
    id: str = ""


def move(
    row: RunRow, changes: Mapping[str, Any], told: Told, actor: Actor, now: datetime, *, revisions: int = 1
) -> list[sql.Write]:
    """The writes that change a locked run and tell of it; the row in hand is brought up to date.

    The update's WHERE repeats the state, revision, lease and chain position that were read, so that a write
    without the lock finds no row instead of making history twice, or taking what was just renewed.
    """
    guard = {
        "id": row.id,
        "state": row.state,
        "revision": row.revision,
        "lease_epoch": row.lease_epoch,
        "lease_expires_at": row.lease_expires_at,
        "event_position": row.event_position,
    }
    revision = row.revision + revisions
    event = link_event(row, told, actor, now, revision)
    columns = {
        "revision": revision,
        "updated_at": now,
        **changes,
        "event_position": event.position,
        "event_hash": event.hash,
    }
    for column, value in columns.items():
        setattr(row, column, value)
    return [sql.update("run", columns, guard), insert_event(event, row.id)]


def link_event(row: RunRow, told: Told, actor: Actor, now: datetime, revision: int) -> Event:
    """The next link of the run's chain, hashed over the one before."""
    return chained(
        Event(
            id=told.id or ids.new_id(ids.EVENT),
            run_id=row.id,
            scope=Scope(row.scope),
            type=told.type,
            at=now,
            actor=actor,
            revision=revision,
            suspension_id=told.suspension_id,
            data=told.data,
            position=row.event_position + 1,
            previous=row.event_hash,
            record_sha256=told.record_sha256,
        )
    )


def chained(event: Event) -> Event:
    """The event with its own hash."""
    return complete(event, hash=event.compute_hash())


def insert_event(event: Event, chain: str) -> sql.Write:
    return sql.insert(
        "event",
        {
            "id": event.id,
            "chain": chain,
            "run_id": event.run_id,
            **scope_columns(event.scope),
            "type": str(event.type),
            "at": event.at,
            "actor": actor_text(event.actor),
            "revision": event.revision,
            "suspension_id": event.suspension_id,
            "data": dumps(dict(event.data)),
            "position": event.position,
            "previous": event.previous,
            "record_sha256": event.record_sha256,
            "hash": event.hash,
        },
    )


UNLEASED: Mapping[str, Any] = {"lease_owner": None, "lease_expires_at": None}
NO_RESUME: Mapping[str, Any] = {"admission_id": None, "resume": None, "admitted_at": None, "start_by": None}


# -- values -----------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def actor_text(actor: Actor) -> str:
    return dumps(actor.to_json()).decode()


def read_contents(row: RunRow) -> tuple[str | None, ...]:
    """Input, output and error as texts; None each where they were not read. Raises: StoredRecordBroken."""
    if row.contents is None:
        return (None, None, None)
    try:
        return tuple("" if content is None else bytes(content).decode() for content in row.contents)
    except UnicodeDecodeError:
        raise StoredRecordBroken from None


def to_run(row: RunRow, *, fresh: bool = False) -> Run:
    """The frozen value of a row. Raises: StoredRecordBroken where a stored content is no UTF-8."""
    contents = read_contents(row)
    created_at, updated_at = read_instant(row.created_at), read_instant(row.updated_at)
    return Run(
        id=row.id,
        scope=Scope(row.scope),
        agent_id=row.agent_id,
        agent_name=row.agent_name,
        session_id=row.session_id,
        state=RunState(row.state),
        revision=row.revision,
        step_count=row.step_count,
        tokens_used=row.tokens_used,
        persona_ref=row.persona_ref,
        metadata=bytes(row.metadata),
        lease=row.lease(),
        lease_epoch=row.lease_epoch,
        created_by=read_actor(row.created_by),
        created_at=created_at,
        updated_at=updated_at,
        started_at=from_database(row.started_at),
        completed_at=from_database(row.completed_at),
        input=contents[0],
        output=contents[1],
        error=contents[2],
        resume=row.resume_state(),
        fresh=fresh,
    )
