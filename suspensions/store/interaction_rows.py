"""Interactions' rows, and their events: in their run's chain, or in a chain of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from suspensions.domain import ids
from suspensions.domain.digests import sha256_hex
from suspensions.domain.instants import format_instant
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import dumps
from suspensions.domain.values import SYSTEM, Actor, Event, EventType, Interaction
from suspensions.models.fields import from_database, read_instant
from suspensions.models.receipt_rows import read_actor
from suspensions.store import sql
from suspensions.store.run_rows import RunRow, Told, actor_text, chained, insert_event, move

COLUMNS = (
    "id",
    "scope",
    "interaction_id",
    "run_id",
    "origin_run_id",
    "session_id",
    "tool_use_id",
    "tool_name",
    "content_sha256",
    "digest",
    "created_by",
    "created_at",
    "answer",
    "answer_sha256",
    "answered_by",
    "answered_at",
    "resolved_at",
    "resolved_by",
    "event_position",
    "event_hash",
    "tool_input",
    "assistant",
    "messages",
)
SELECT = ", ".join(COLUMNS)
# Lists load no contents: `answer` and what follows `event_hash` are left out.
LIST_SELECT = ", ".join(
    column if column not in ("answer", "tool_input", "assistant", "messages") else f"NULL AS {column}"
    for column in COLUMNS
)


@dataclass(slots=True)
class InteractionRow:
    """An interaction as it was read, by column."""

    id: int
    scope: str
    interaction_id: str
    run_id: str | None
    origin_run_id: str | None
    session_id: str | None
    tool_use_id: str
    tool_name: str | None
    content_sha256: str
    digest: str
    created_by: str
    created_at: Any
    answer: bytes | None
    answer_sha256: str | None
    answered_by: str | None
    answered_at: Any
    resolved_at: Any
    resolved_by: str | None
    event_position: int
    event_hash: str | None
    tool_input: bytes | None
    assistant: bytes | None
    messages: bytes | None

    @property
    def chain(self) -> str:
        """The chain of an interaction without a run: neither part may hold a newline, so no two read alike."""
        return f"{self.scope}\n{self.interaction_id}"


def kept_sha256(row: InteractionRow) -> str:
    """A digest over what is kept once of a question, which its event binds; the content's own is of what was sent."""
    contents = [
        None if each is None else sha256_hex(bytes(each)) for each in (row.tool_input, row.assistant, row.messages)
    ]
    created_at = format_instant(read_instant(row.created_at))
    return sha256_hex(dumps([row.origin_run_id, row.session_id, row.tool_name, created_at, *contents]))


def to_interaction(row: InteractionRow, *, fresh: bool = False) -> Interaction:
    created_at = read_instant(row.created_at)
    return Interaction(
        scope=Scope(row.scope),
        interaction_id=row.interaction_id,
        session_id=row.session_id,
        run_id=row.run_id,
        origin_run_id=row.origin_run_id,
        tool_use_id=row.tool_use_id,
        tool_name=row.tool_name,
        tool_input=None if row.tool_input is None else bytes(row.tool_input),
        assistant=None if row.assistant is None else bytes(row.assistant),
        messages=None if row.messages is None else bytes(row.messages),
        content_sha256=row.content_sha256,
        digest=row.digest,
        created_by=read_actor(row.created_by),
        created_at=created_at,
        answer=None if row.answer is None else bytes(row.answer),
        answered_by=None if row.answered_by is None else read_actor(row.answered_by),
        answered_at=from_database(row.answered_at),
        resolved=row.resolved_at is not None,
        resolved_at=from_database(row.resolved_at),
        resolved_by=None if row.resolved_by is None else read_actor(row.resolved_by),
        fresh=fresh,
    )


def change(
    row: InteractionRow, run: RunRow | None, changes: Mapping[str, Any], told: Told, actor: Actor, now: datetime
) -> None:
    """Change a locked interaction and tell of it, in its run's chain where it names a run."""
    guard = {"id": row.id, "resolved_at": row.resolved_at, "event_position": row.event_position}
    if run is not None:
        opened = -1 if told.type is EventType.INTERACTION_RESOLVED else 0
        tell = move(run, {"open_interactions": run.open_interactions + opened}, told, actor, now, revisions=0)
        sql.write(*tell, sql.update("interaction", dict(changes), guard))
    else:
        event = link_own_event(row, told, actor, now)
        columns = {**changes, "event_position": event.position, "event_hash": event.hash}
        sql.write(insert_event(event, row.chain), sql.update("interaction", columns, guard))
        row.event_position, row.event_hash = event.position, event.hash
    for column, value in changes.items():
        setattr(row, column, value)


def link_own_event(row: InteractionRow, told: Told, actor: Actor, now: datetime) -> Event:
    """The next link of the chain of an interaction without a run."""
    return chained(
        Event(
            id=told.id or ids.new_id(ids.EVENT),
            run_id=None,
            scope=Scope(row.scope),
            type=told.type,
            at=now,
            actor=actor,
            revision=None,
            suspension_id=None,
            data=told.data,
            position=row.event_position + 1,
            previous=row.event_hash,
            record_sha256=told.record_sha256,
        )
    )


def resolution(actor: Actor, now: datetime) -> dict[str, Any]:
    return {"resolved_at": now, "resolved_by": actor_text(actor)}


def resolve_open_interactions(row: RunRow, now: datetime) -> None:
    """A run that ends resolves its open questions by *system*: nobody waits for their answers any more."""
    if not row.open_interactions:
        return
    found = sql.fetch_all(
        f"SELECT {SELECT} FROM interaction WHERE run_id = %s AND resolved_at IS NULL ORDER BY id", (row.id,)
    )
    for values in found:
        interaction = InteractionRow(*values)
        data = {"interaction_id": interaction.interaction_id, "by": "end of the run"}
        told = Told(EventType.INTERACTION_RESOLVED, data)
        change(interaction, row, resolution(SYSTEM, now), told, SYSTEM, now)
