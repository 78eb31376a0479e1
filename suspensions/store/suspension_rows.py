"""Reading a pause's row, whole or as a list item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from suspensions.domain.digests import sha256_hex
from suspensions.domain.errors import MalformedJson, StoredRecordBroken
from suspensions.domain.pending import restore_pending
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import dumps, loads
from suspensions.domain.values import Reason, Run, Suspension, SuspensionItem
from suspensions.models.fields import from_database, read_instant
from suspensions.models.receipt_rows import read_actor

COLUMNS = (
    "id",
    "run_id",
    "scope",
    "reason",
    "pending",
    "pending_sha256",
    "continuation_sha256",
    "digest",
    "checkpoint_id",
    "expires_at",
    "created_by",
    "created_at",
    "updated_at",
    "claimed_at",
    "retired_at",
)
SELECT = ", ".join(f"suspension.{column}" for column in COLUMNS)
WIDTH = len(COLUMNS)

ITEM_COLUMNS = tuple("calls" if column == "pending" else column for column in COLUMNS)
ITEM_SELECT = ", ".join(f"suspension.{column}" for column in (*ITEM_COLUMNS, "agent_name"))

CONTINUATION_JOIN = " LEFT JOIN suspension_continuation ON suspension_continuation.suspension_id = suspension.id"


@dataclass(slots=True)
class SuspensionRow:
    """A pause as it was read, by column."""

    id: str
    run_id: str
    scope: str
    reason: str
    pending: bytes
    pending_sha256: str
    continuation_sha256: str
    digest: str
    checkpoint_id: str | None
    expires_at: Any
    created_by: str
    created_at: Any
    updated_at: Any
    claimed_at: Any
    retired_at: Any


def read_row(values: tuple[Any, ...]) -> SuspensionRow | None:
    """None where an outer join found no pause."""
    return None if values[0] is None else SuspensionRow(*values[:WIDTH])


def require_as_saved(row: SuspensionRow, continuation: bytes | None) -> None:
    """What is about to be continued is what was checked when it was saved.

    Asked before a claim is written: found out later, the run would be claimed and nobody could continue it.
    Raises: StoredRecordBroken.
    """
    if (
        continuation is None
        or sha256_hex(bytes(continuation)) != row.continuation_sha256
        or sha256_hex(bytes(row.pending)) != row.pending_sha256
    ):
        raise StoredRecordBroken("A stored pause is not the one that was saved.")


def to_suspension(
    row: SuspensionRow,
    continuation: bytes | None,
    *,
    run: Run | None = None,
    claimed_run: Run | None = None,
    fresh: bool = False,
) -> Suspension:
    """The frozen value. Raises: StoredRecordBroken where the continuation is gone or pending calls do not decode."""
    if continuation is None:
        raise StoredRecordBroken("A stored continuation is missing.")
    created_at, updated_at = read_instant(row.created_at), read_instant(row.updated_at)
    return Suspension(
        id=row.id,
        run_id=row.run_id,
        scope=Scope(row.scope),
        reason=Reason(row.reason),
        pending=restore_pending(bytes(row.pending)),
        continuation=bytes(continuation),
        expires_at=from_database(row.expires_at),
        created_by=read_actor(row.created_by),
        created_at=created_at,
        updated_at=updated_at,
        claimed_at=from_database(row.claimed_at),
        retired_at=from_database(row.retired_at),
        checkpoint_id=row.checkpoint_id,
        pending_sha256=row.pending_sha256,
        continuation_sha256=row.continuation_sha256,
        digest=row.digest,
        run=run,
        claimed_run=claimed_run,
        fresh=fresh,
    )


def shown_sha256(calls: bytes, words: str, agent_name: str | None) -> str:
    """A digest over what lists show of a pause and find it by, which its event binds."""
    return sha256_hex(dumps([calls.decode(), words, agent_name]))


def to_item(values: tuple[Any, ...]) -> SuspensionItem:
    """A list item of the columns in ITEM_SELECT. Raises: StoredRecordBroken."""
    columns = dict(zip((*ITEM_COLUMNS, "agent_name"), values, strict=True))
    created_at, updated_at = read_instant(columns["created_at"]), read_instant(columns["updated_at"])
    try:
        calls = tuple(loads(bytes(columns["calls"])))
    except MalformedJson:
        raise StoredRecordBroken("A stored preview could not be read.") from None
    return SuspensionItem(
        id=columns["id"],
        run_id=columns["run_id"],
        scope=Scope(columns["scope"]),
        reason=Reason(columns["reason"]),
        calls=calls,
        agent_name=columns["agent_name"],
        expires_at=from_database(columns["expires_at"]),
        created_by=read_actor(columns["created_by"]),
        created_at=created_at,
        updated_at=updated_at,
        claimed_at=from_database(columns["claimed_at"]),
        retired_at=from_database(columns["retired_at"]),
        checkpoint_id=columns["checkpoint_id"],
        pending_sha256=columns["pending_sha256"],
        continuation_sha256=columns["continuation_sha256"],
        digest=columns["digest"],
    )
