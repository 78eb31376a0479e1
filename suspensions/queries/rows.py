"""From columns to values, for every list and read of the API. Rows never leave this layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet
from psycopg.pq import Format

from suspensions.domain.errors import MalformedJson, StoredRecordBroken
from suspensions.domain.scopes import Scope
from suspensions.domain.states import ResumeState, RunState
from suspensions.domain.strict_json import loads
from suspensions.domain.values import Event, EventType, Lease, Reason, Run, SuspensionItem
from suspensions.models.receipt_rows import read_actor

RUN_COLUMNS = (
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
    "lease_owner",
    "lease_expires_at",
    "lease_epoch",
    "resume",
    "created_by",
    "created_at",
    "updated_at",
    "started_at",
    "completed_at",
)
RUN_CONTENTS = ("runcontent__input", "runresult__output", "runresult__error")
ITEM_COLUMNS = (
    "id",
    "run_id",
    "scope",
    "reason",
    "calls",
    "agent_name",
    "expires_at",
    "created_by",
    "created_at",
    "updated_at",
    "claimed_at",
    "retired_at",
    "checkpoint_id",
    "pending_sha256",
    "continuation_sha256",
    "digest",
)
EVENT_COLUMNS = (
    "id",
    "run_id",
    "scope",
    "type",
    "at",
    "actor",
    "revision",
    "suspension_id",
    "data",
    "position",
    "previous",
    "record_sha256",
    "hash",
)


def covered_by(scope: Scope) -> dict[str, str]:
    """The condition that the scope covers a row: equality on the one column of its depth."""
    return {f"scope_{scope.depth}": scope.text}


def read(rows: QuerySet[Any], columns: Sequence[str]) -> list[dict[str, Any]]:
    """What `rows.values(*columns)` gives, in a third of the time where rows have instants.

    In the text form that Django asks PostgreSQL for, it reads each instant in Python, and the driver binary ones in C.
    """
    if connection.vendor != "postgresql":
        return list(rows.values(*columns))
    try:
        text, params = rows.values_list(*columns).query.sql_with_params()
    except EmptyResultSet:
        return []
    with connection.cursor() as cursor:
        cursor.cursor.format = Format.BINARY
        cursor.execute(text, params)
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


def to_run(row: Mapping[str, Any]) -> Run:
    """The value of RUN_COLUMNS, with RUN_CONTENTS where they were read. Raises: StoredRecordBroken."""
    owner, expires_at = row["lease_owner"], row["lease_expires_at"]
    return Run(
        id=row["id"],
        scope=Scope(row["scope"]),
        agent_id=row["agent_id"],
        agent_name=row["agent_name"],
        session_id=row["session_id"],
        state=RunState(row["state"]),
        revision=row["revision"],
        step_count=row["step_count"],
        tokens_used=row["tokens_used"],
        persona_ref=row["persona_ref"],
        metadata=bytes(row["metadata"]),
        lease=None if owner is None else Lease(owner, expires_at, row["lease_epoch"]),
        lease_epoch=row["lease_epoch"],
        created_by=read_actor(row["created_by"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        started_at=row["started_at"],
        completed_at=row["completed_at"],
        resume=None if row["resume"] is None else ResumeState(row["resume"]),
        input=_content(row, "runcontent__input"),
        output=_content(row, "runresult__output"),
        error=_content(row, "runresult__error"),
    )


def _content(row: Mapping[str, Any], name: str) -> str | None:
    """A content, empty where none is kept; None where it was not read."""
    if name not in row:
        return None
    try:
        return "" if row[name] is None else bytes(row[name]).decode()
    except UnicodeDecodeError:
        raise StoredRecordBroken from None


def to_item(row: Mapping[str, Any]) -> SuspensionItem:
    """The value of ITEM_COLUMNS. Raises: StoredRecordBroken."""
    return SuspensionItem(
        **{name: row[name] for name in ITEM_COLUMNS if name not in ("scope", "reason", "calls", "created_by")},
        scope=Scope(row["scope"]),
        reason=Reason(row["reason"]),
        calls=tuple(_read_json(row["calls"])),
        created_by=read_actor(row["created_by"]),
    )


def to_event(row: Mapping[str, Any]) -> Event:
    """The value of EVENT_COLUMNS. Raises: StoredRecordBroken."""
    return Event(
        **{name: row[name] for name in EVENT_COLUMNS if name not in ("scope", "type", "actor", "data")},
        scope=Scope(row["scope"]),
        type=EventType(row["type"]),
        actor=read_actor(row["actor"]),
        data=_read_json(row["data"]),
    )


def _read_json(content: Any) -> Any:
    try:
        return loads(bytes(content))
    except MalformedJson:
        raise StoredRecordBroken from None
