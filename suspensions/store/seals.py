"""Reading what tells of removals and of what was signed, for verification: in order, however damaged.

Source: store.md section 10. Nothing here writes.
"""

from __future__ import annotations

from collections.abc import Iterator

from suspensions.domain.errors import CortexError
from suspensions.domain.heads import ChainHead
from suspensions.domain.purges import PurgeRecord
from suspensions.models.fields import read_instant
from suspensions.models.receipt_rows import read_actor
from suspensions.store import sql

BROKEN = (CortexError, ValueError, TypeError, KeyError, AttributeError)
_PURGE = "number, at, purged_by, ended_before, count, heads_sha256, previous, hash, key_id, signature"


def purge_records(*, heads: bool = True) -> Iterator[tuple[int, PurgeRecord | None, list[ChainHead]]]:
    """Every purge record in order, with the heads kept with it if wanted; None for one that no longer reads."""
    after = 0
    while True:
        row = sql.fetch_one(f"SELECT {_PURGE} FROM purge_record WHERE number > %s ORDER BY number LIMIT 1", (after,))
        if row is None:
            return
        after = row[0]
        try:
            record = PurgeRecord(
                number=row[0],
                at=read_instant(row[1]),
                purged_by=read_actor(row[2]),
                ended_before=read_instant(row[3]),
                count=row[4],
                heads_sha256=row[5],
                previous=row[6],
                hash=row[7],
                key_id=row[8],
                signature=None if row[9] is None else bytes(row[9]),
            )
        except BROKEN:
            yield after, None, []
        else:
            yield after, record, heads_of("purge_record_head", after) if heads else []


def heads_of(table: str, number: int) -> list[ChainHead]:
    """The heads kept with one record or checkpoint."""
    rows = sql.fetch_all(f"SELECT chain, position, hash FROM {table} WHERE number = %s ORDER BY chain", (number,))
    return [ChainHead(*row) for row in rows]


def stray_heads(table: str, parent: str) -> list[tuple[int, str]]:
    """Heads that belong to nothing."""
    rows = sql.fetch_all(
        f"SELECT number, chain FROM {table}"
        f" WHERE NOT EXISTS (SELECT 1 FROM {parent} WHERE {parent}.number = {table}.number) ORDER BY number, chain",
        (),
    )
    return [(row[0], row[1]) for row in rows]


def purged_but_there() -> list[tuple[int, str]]:
    """Chains that a record tells the removal of and that began before it all the same, by the record's number.

    One that began later is another run, or another question, under an id that was free again.
    """
    rows = sql.fetch_all(
        "SELECT head.number, head.chain FROM purge_record_head head"
        " JOIN purge_record ON purge_record.number = head.number"
        " JOIN event ON event.chain = head.chain AND event.position = 1 AND event.at <= purge_record.at"
        " ORDER BY head.number, head.chain",
        (),
    )
    return [(row[0], row[1]) for row in rows]
