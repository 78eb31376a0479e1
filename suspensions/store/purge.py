"""Removing for good what has ended, through the one door that the triggers leave. Source: store.md section 3.

The row in `purge_window` is written and removed inside the purging transaction; the database refuses to commit it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from suspensions.domain.heads import ChainHead
from suspensions.domain.purges import PurgeRecord
from suspensions.domain.states import ENDED
from suspensions.store import sql
from suspensions.store.run_rows import actor_text

Position = tuple[Any, ...]
"""Where a batch ended: what the next one begins after."""

PAUSE_TABLES = ("suspension_continuation", "looking")
"""What a pause leaves, found by its id."""
RUN_TABLES = (
    ("resume_closure", "run_id"),
    ("resume_start_or_expiry", "run_id"),
    ("resume_admission", "run_id"),
    ("suspension", "run_id"),
    ("progress", "run_id"),
    ("run_result", "run_id"),
    ("run_content", "run_id"),
    ("interaction", "run_id"),
    ("webhook_delivery", "run_id"),
    ("event", "chain"),
)
"""What a run leaves, children before parents, and the column that bears its id."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What may be removed, locked: keys of rows, and where the batch ended (None: it was the last one)."""

    keys: list[Any]
    last: Position | None


def open_window(now: datetime) -> None:
    """Open the door, inside this transaction alone. A purge that runs meanwhile waits here for its turn."""
    sql.require_transaction()
    sql.lock_request("purge")
    sql.write(sql.insert("purge_window", {"id": 1, "opened_at": now, "closed_by_id": 0}))


def close_window() -> None:
    """Close it. A transaction that did not could not commit."""
    sql.delete("purge_window", "id = 1", ())


def lock_ended_runs(ended_before: datetime, after: Position | None, limit: int) -> Ended:
    """Runs that ended by then, oldest end first. *Locks*: them; what somebody else holds is left for another time."""
    states = sorted(str(state) for state in ENDED)
    words = f"completed_at <= %s AND {sql.among('state', states)}"
    return _lock("run", "completed_at", words, [sql.instant(ended_before), *states], after, limit)


def lock_settled_interactions(ended_before: datetime, after: Position | None, limit: int) -> Ended:
    """Interactions without a run that were resolved by then. *Locks*: them, as above."""
    words = "resolved_at <= %s AND run_id IS NULL"
    return _lock("interaction", "resolved_at", words, [sql.instant(ended_before)], after, limit)


def _lock(table: str, column: str, words: str, parameters: list[Any], after: Position | None, limit: int) -> Ended:
    sql.require_transaction()
    if after is not None:
        words += f" AND ({column}, id) > (%s, %s)"
        parameters += after
    lock = " FOR UPDATE SKIP LOCKED" if sql.is_postgresql() else ""
    rows = sql.fetch_all(
        f"SELECT id, {column} FROM {table} WHERE {words} ORDER BY {column}, id LIMIT %s{lock}", [*parameters, limit]
    )
    return Ended([row[0] for row in rows], (rows[-1][1], rows[-1][0]) if len(rows) == limit else None)


def remove_runs(run_ids: Sequence[str]) -> None:
    """Remove locked runs with everything of theirs. *Requires*: the open window."""
    pauses = f"suspension_id IN (SELECT id FROM suspension WHERE {sql.among('run_id', run_ids)})"
    for table in PAUSE_TABLES:
        sql.delete(table, pauses, run_ids)
    for table, column in RUN_TABLES:
        sql.delete(table, sql.among(column, run_ids), run_ids)
    _require_all(sql.delete("run", sql.among("id", run_ids), run_ids), run_ids)


def remove_interactions(interaction_rows: Sequence[int], chains: Sequence[str]) -> None:
    """Remove locked interactions without a run, and their chains. *Requires*: the open window."""
    sql.delete("event", sql.among("chain", chains), chains)
    _require_all(sql.delete("interaction", sql.among("id", interaction_rows), interaction_rows), interaction_rows)


def _require_all(count: int, keys: Sequence[Any]) -> None:
    """Raises: GuardFailed where a row that was locked is not there: the record would tell of more than was removed."""
    if count != len(keys):
        raise sql.GuardFailed(f"removed {count} of {len(keys)}")


def last_record() -> tuple[int, str | None]:
    """Number and hash of the last purge record; 0 and None before the first."""
    row = sql.fetch_one("SELECT number, hash FROM purge_record ORDER BY number DESC LIMIT 1", ())
    return (0, None) if row is None else (row[0], row[1])


def insert_record(record: PurgeRecord, heads: Sequence[ChainHead]) -> None:
    """Keep the record with the heads that it is about."""
    sql.write(
        sql.insert(
            "purge_record",
            {
                "number": record.number,
                "at": record.at,
                "purged_by": actor_text(record.purged_by),
                "ended_before": record.ended_before,
                "count": record.count,
                "heads_sha256": record.heads_sha256,
                "previous": record.previous,
                "hash": record.hash,
                "key_id": record.key_id,
                "signature": record.signature,
            },
        )
    )
    rows = [(record.number, head.chain, head.position, head.hash) for head in heads]
    sql.insert_rows("purge_record_head", ("number", "chain", "position", "hash"), rows)
