"""Keeping, answering and resolving single questions to a human. Source: store.md section 5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from suspensions.domain import clock, interactions
from suspensions.domain.cursors import cursor_instant, cursor_number, make_cursor, read_cursor
from suspensions.domain.digests import INTERACTION, digest, sha256_hex
from suspensions.domain.errors import (
    InteractionConflict,
    InteractionNotFound,
    InteractionResolved,
    InvalidRequest,
    InvalidState,
    RunNotFound,
)
from suspensions.domain.instants import format_instant
from suspensions.domain.scopes import Scope
from suspensions.domain.states import ENDED
from suspensions.domain.strict_json import content_digest, dumps
from suspensions.domain.texts import require_limit
from suspensions.domain.values import Actor, EventType, Interaction, NewInteraction, Page
from suspensions.models.fields import read_instant
from suspensions.store import run_rows, sql
from suspensions.store.interaction_rows import (
    LIST_SELECT,
    SELECT,
    InteractionRow,
    change,
    kept_sha256,
    link_own_event,
    resolution,
    to_interaction,
)
from suspensions.store.run_rows import RunRow, Told, actor_text, insert_event, move, scope_columns


@dataclass(slots=True)
class Held:
    """A locked interaction, and its run where it names one (locked first)."""

    row: InteractionRow
    run: RunRow | None


def find_held(scope: Scope, interaction_id: str) -> Held | None:
    """Lock the run if any, then the interaction; None where it does not exist."""
    where = "scope = %s AND interaction_id = %s"
    known = sql.fetch_one(f"SELECT run_id FROM interaction WHERE {where}", (scope.text, interaction_id))
    if known is None:
        return None
    run = None if known[0] is None else run_rows.find_run(known[0], scope)
    lock = " FOR UPDATE" if sql.is_postgresql() else ""
    values = sql.fetch_one(f"SELECT {SELECT} FROM interaction WHERE {where}{lock}", (scope.text, interaction_id))
    return None if values is None else Held(InteractionRow(*values), run)


def _require(scope: Scope, interaction_id: str) -> Held:
    sql.require_transaction()
    held = find_held(scope, interaction_id)
    if held is None:
        raise InteractionNotFound
    return held


def save_interaction(new: NewInteraction, content_sha256: str, actor: Actor) -> Interaction:
    """Keep a question. The same content again is the record.

    Raises: NotSingletonSuspension, RunNotFound, InvalidState (the run has ended), InteractionResolved,
    InteractionConflict.
    """
    sql.require_transaction()
    interactions.require_singleton(interactions.restore(new.assistant), new.tool_use_id)
    run = None
    if new.run_id is not None:
        run = run_rows.find_run(new.run_id, new.scope)
        if run is None:
            raise RunNotFound
    held = find_held(new.scope, new.interaction_id)
    if held is not None:
        return _require_same(held.row, content_sha256)
    if run is not None and run.state in ENDED:
        raise InvalidState(run.state)
    return _insert(new, content_sha256, run, actor)


def _require_same(row: InteractionRow, content_sha256: str) -> Interaction:
    if row.resolved_at is not None:
        raise InteractionResolved
    if row.content_sha256 != content_sha256:
        raise InteractionConflict
    return to_interaction(row)


def _insert(new: NewInteraction, content_sha256: str, run: RunRow | None, actor: Actor) -> Interaction:
    now = clock.now()
    members = {
        "interaction_id": new.interaction_id,
        "tool_use_id": new.tool_use_id,
        "content_sha256": content_sha256,
    }
    row = InteractionRow(
        id=0,
        scope=new.scope.text,
        interaction_id=new.interaction_id,
        run_id=new.run_id,
        origin_run_id=new.origin_run_id,
        session_id=new.session_id,
        tool_use_id=new.tool_use_id,
        tool_name=new.tool_name,
        content_sha256=content_sha256,
        digest=digest(INTERACTION, members),
        created_by=actor_text(actor),
        created_at=now if new.created_at is None else min(new.created_at, now),
        answer=None,
        answer_sha256=None,
        answered_by=None,
        answered_at=None,
        resolved_at=None,
        resolved_by=None,
        event_position=0,
        event_hash=None,
        tool_input=new.tool_input,
        assistant=new.assistant,
        messages=new.messages,
    )
    data = {"interaction_id": new.interaction_id, "digest": row.digest, "kept_sha256": kept_sha256(row)}
    told = Told(EventType.INTERACTION_SAVED, data)
    if run is None:
        event = link_own_event(row, told, actor, now)
        row.event_position, row.event_hash = event.position, event.hash
        tell = [insert_event(event, row.chain)]
    else:
        tell = move(run, {"open_interactions": run.open_interactions + 1}, told, actor, now, revisions=0)
    columns = {name: getattr(row, name) for name in InteractionRow.__dataclass_fields__ if name not in ("id", "scope")}
    sql.write(*tell, sql.insert("interaction", {**columns, **scope_columns(new.scope)}))
    return to_interaction(row, fresh=True)


def load_interaction(scope: Scope, interaction_id: str) -> Interaction:
    """An unresolved question, whole. Raises: InteractionNotFound, InteractionResolved."""
    found = read_interaction(scope, interaction_id)
    if found.resolved:
        raise InteractionResolved
    return found


def read_interaction(scope: Scope, interaction_id: str) -> Interaction:
    """A question with its history, resolved or not. Raises: InteractionNotFound."""
    values = sql.fetch_one(
        f"SELECT {SELECT} FROM interaction WHERE scope = %s AND interaction_id = %s", (scope.text, interaction_id)
    )
    if values is None:
        raise InteractionNotFound
    return to_interaction(InteractionRow(*values))


def answer_interaction(scope: Scope, interaction_id: str, result: Any, actor: Actor) -> Interaction:
    """Keep a human's answer; it stays retryable until somebody resolves.

    Raises: InteractionNotFound, InteractionResolved, ToolResultMismatch, InteractionConflict.
    """
    held = _require(scope, interaction_id)
    row = held.row
    if row.resolved_at is not None:
        raise InteractionResolved
    interactions.require_result(result, row.tool_use_id)
    text = dumps(result)
    answer_sha256 = content_digest(text)
    if row.answer is not None:
        if row.answer_sha256 != answer_sha256:
            raise InteractionConflict("Another answer was given already.")
        return to_interaction(row)
    now = clock.now()
    changes = {
        "answer": text,
        "answer_sha256": answer_sha256,
        "answered_by": actor_text(actor),
        "answered_at": now,
    }
    data = {"interaction_id": interaction_id, "answer_sha256": sha256_hex(text)}
    change(row, held.run, changes, Told(EventType.INTERACTION_ANSWERED, data), actor, now)
    return to_interaction(row, fresh=True)


def resume_messages(scope: Scope, interaction_id: str, result: Any) -> list[Any]:
    """What to resume with, without marking anything. A result of None takes the kept answer.

    Raises: InteractionNotFound, InteractionResolved, ToolResultMismatch, InteractionConflict, InvalidRequest.
    """
    return _messages(_require(scope, interaction_id).row, result)


def resolve_interaction(scope: Scope, interaction_id: str, result: Any, actor: Actor) -> list[Any]:
    """The same, and mark resolved in one transaction, once only. Raises: as `resume_messages`."""
    held = _require(scope, interaction_id)
    messages = _messages(held.row, result)
    resolve_held(held, actor)
    return messages


def mark_resolved(scope: Scope, interaction_id: str, actor: Actor) -> None:
    """Mark a question settled by another road; a second time succeeds. Raises: InteractionNotFound."""
    held = _require(scope, interaction_id)
    if held.row.resolved_at is None:
        resolve_held(held, actor)


def resolve_held(held: Held, actor: Actor) -> None:
    now = clock.now()
    told = Told(EventType.INTERACTION_RESOLVED, {"interaction_id": held.row.interaction_id})
    change(held.row, held.run, resolution(actor, now), told, actor, now)


def _messages(row: InteractionRow, result: Any) -> list[Any]:
    if row.resolved_at is not None:
        raise InteractionResolved
    if result is not None:
        interactions.require_result(result, row.tool_use_id)
        if row.answer is not None and content_digest(dumps(result)) != row.answer_sha256:
            raise InteractionConflict("Another answer was given already.")
    elif row.answer is None:
        raise InvalidRequest("There is neither a result nor a kept answer.")
    else:
        result = interactions.restore(bytes(row.answer))
    assert row.assistant is not None
    messages = None if row.messages is None else interactions.restore(bytes(row.messages))
    return interactions.build_resume_messages(interactions.restore(bytes(row.assistant)), messages, result)


def list_interactions(scope: Scope, cursor: str | None, limit: int, *, resolved: bool = False) -> Page[Interaction]:
    """Questions that the scope covers, newest first, open ones or with the resolved. No contents are loaded.

    Raises: InvalidCursor, InvalidLimit.
    """
    require_limit(limit)
    binding = ("interactions", scope.text, str(resolved))
    after = read_cursor(cursor, binding, 2)
    where = f"{run_rows.prefix_column(scope)} = %s"
    parameters: list[Any] = [scope.text]
    if not resolved:
        where += " AND resolved_at IS NULL"
    if after is not None:
        at = sql.instant(cursor_instant(after[0]))
        where += " AND created_at <= %s AND (created_at < %s OR id < %s)"
        parameters += [at, at, cursor_number(after[1])]
    rows = sql.fetch_all(
        f"SELECT {LIST_SELECT} FROM interaction WHERE {where} ORDER BY created_at DESC, id DESC LIMIT %s",
        (*parameters, limit + 1),
    )
    found = [InteractionRow(*values) for values in rows[:limit]]
    following = None
    if len(rows) > limit:
        created_at = read_instant(found[-1].created_at)
        following = make_cursor(binding, format_instant(created_at), str(found[-1].id))
    return Page(tuple(to_interaction(row) for row in found), following)
