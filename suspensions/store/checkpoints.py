"""Keeping signed checkpoints, and finding what they have not covered yet. Source: store.md section 10."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from suspensions.domain.checkpoints import Checkpoint, Missing
from suspensions.domain.heads import ChainHead
from suspensions.models.fields import read_instant
from suspensions.store import sql
from suspensions.store.seals import BROKEN, heads_of

_COLUMNS = (
    "number",
    "at",
    "count",
    "heads_sha256",
    "purge_number",
    "purge_hash",
    "previous",
    "key_id",
    "hash",
    "signature",
)
_ROWS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Last:
    """The last checkpoint: its number, hash and time."""

    number: int
    hash: str | None
    at: datetime | None


def take_turn() -> None:
    """One checkpoint at a time. *Locks*: the making of checkpoints."""
    sql.require_transaction()
    sql.lock_request("checkpoint")


def last_checkpoint() -> Last:
    """Number 0 before the first."""
    row = sql.fetch_one("SELECT number, hash, at FROM checkpoint ORDER BY number DESC LIMIT 1", ())
    return Last(0, None, None) if row is None else Last(row[0], row[1], read_instant(row[2]))


def uncovered_heads(limit: int) -> list[ChainHead]:
    """Up to so many heads that no checkpoint covers as they stand now.

    Every chain is compared with what was covered, rather than what changed lately: a transaction that commits late,
    or a host whose clock is wrong, would be left out for good.
    """
    covered = (
        "(SELECT 1 FROM checkpoint_head covered WHERE covered.chain = {chain}"
        " AND covered.position = {table}.event_position AND covered.hash = {table}.event_hash)"
    )
    runs = sql.fetch_all(
        "SELECT run.id, run.event_position, run.event_hash FROM run WHERE run.event_hash IS NOT NULL"
        f" AND NOT EXISTS {covered.format(chain='run.id', table='run')} LIMIT %s",
        (limit,),
    )
    chain = "interaction.scope || %s || interaction.interaction_id"
    questions = sql.fetch_all(
        f"SELECT {chain}, interaction.event_position, interaction.event_hash FROM interaction"
        " WHERE interaction.run_id IS NULL AND interaction.event_hash IS NOT NULL"
        f" AND NOT EXISTS {covered.format(chain=chain, table='interaction')} LIMIT %s",
        ("\n", "\n", limit - len(runs)),
    )
    return [ChainHead(*row) for row in (*runs, *questions)]


def insert_checkpoint(checkpoint: Checkpoint, heads: Sequence[ChainHead]) -> None:
    """Keep the checkpoint with the heads that it covers."""
    sql.write(sql.insert("checkpoint", {column: getattr(checkpoint, column) for column in _COLUMNS}))
    rows = [(checkpoint.number, head.chain, head.position, head.hash) for head in heads]
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[first : first + _ROWS_AT_ONCE]
        sql.insert_rows("checkpoint_head", ("number", "chain", "position", "hash"), some)


# -- for verification --------------------------------------------------------------------------------


def checkpoints() -> Iterator[tuple[int, Checkpoint | None, list[ChainHead]]]:
    """Every checkpoint in order, with the heads kept with it; None for one that no longer reads."""
    after = 0
    select = f"SELECT {', '.join(_COLUMNS)} FROM checkpoint WHERE number > %s ORDER BY number LIMIT 1"
    while (row := sql.fetch_one(select, (after,))) is not None:
        after = row[0]
        try:
            members = dict(zip(_COLUMNS, row, strict=True))
            members |= {"at": read_instant(members["at"]), "signature": bytes(members["signature"])}
            checkpoint = Checkpoint(**members)
        except BROKEN:
            yield after, None, []
        else:
            yield after, checkpoint, heads_of("checkpoint_head", after)


def missing_heads(checkpoint: Checkpoint) -> list[Missing]:
    """Heads of a checkpoint that are not in their chains as they were, with the purge since then that tells of them.

    One statement, so that a purge in between is seen whole or not at all.
    """
    rows = sql.fetch_all(
        "SELECT head.chain, head.position, head.hash, event.hash, purged.number, purged.position, purged.hash"
        " FROM checkpoint_head head"
        " LEFT JOIN event ON event.chain = head.chain AND event.position = head.position"
        " LEFT JOIN purge_record_head purged ON purged.chain = head.chain AND purged.number ="
        " (SELECT MIN(number) FROM purge_record_head WHERE chain = head.chain AND number > %s)"
        " WHERE head.number = %s AND (event.hash IS NULL OR event.hash <> head.hash) ORDER BY head.chain",
        (checkpoint.purge_number, checkpoint.number),
    )
    return [
        Missing(
            ChainHead(*row[:3]),
            row[3],
            row[4],
            None if row[4] is None else ChainHead(row[0], row[5], row[6]),
        )
        for row in rows
    ]
