"""Removing for good what ended long ago, and keeping a record of it. Source: operate.md `purge`; docs/adr/0030."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from suspensions.domain import clock
from suspensions.domain.heads import ChainHead, heads_sha256
from suspensions.domain.purges import PurgeRecord
from suspensions.domain.values import Actor
from suspensions.domain.verification import Finding, Stored, verify_chain
from suspensions.operations.transactions import in_transaction
from suspensions.store import evidence
from suspensions.store import purge as store
from suspensions.store.purge import Ended, Position

BATCH = 100

log = structlog.stdlib.get_logger("cortex.purge")


@dataclass(slots=True)
class PurgeReport:
    """What one purge did. `kept` names what should have gone and stays, because it does not verify."""

    runs: int = 0
    interactions: int = 0
    records: int = 0
    kept: list[Finding] = field(default_factory=list)


def never() -> bool:
    return False


@dataclass(slots=True)
class _Purge:
    """One purge: who asked for it, up to which end, signed with which key."""

    actor: Actor
    ended_before: datetime
    key: Ed25519PrivateKey | None
    limit: int

    def runs(self, after: Position | None) -> _Batch:
        ended = store.lock_ended_runs(self.ended_before, after, self.limit)
        batch = _Batch(ended)
        batch.look(evidence.stored_locked_runs(ended.keys) if ended.keys else ())
        if batch.heads:
            store.remove_runs([head.chain for head in batch.heads])
        return batch

    def interactions(self, after: Position | None) -> _Batch:
        ended = store.lock_settled_interactions(self.ended_before, after, self.limit)
        batch = _Batch(ended)
        batch.look(evidence.stored_locked_interactions(ended.keys) if ended.keys else ())
        if batch.heads:
            store.remove_interactions(batch.keys, [head.chain for head in batch.heads])
        return batch

    def in_window(self, remove: Callable[[Position | None], _Batch], after: Position | None) -> _Batch:
        """One batch, in one transaction.

        1. Open the window: one purge at a time. 2. Lock what has ended. 3. Leave whatever does not verify: a purge
        must not be how damage disappears. 4. Remove the rest. 5. Record it. 6. Close the window, or nothing commits.
        """
        now = clock.now()
        store.open_window(now)
        batch = remove(after)
        if batch.heads:
            number, previous = store.last_record()
            record = PurgeRecord(
                number=number + 1,
                at=now,
                purged_by=self.actor,
                ended_before=self.ended_before,
                count=len(batch.heads),
                heads_sha256=heads_sha256(batch.heads),
                previous=previous,
            ).sealed(self.key)
            store.insert_record(record, batch.heads)
            batch.record = record
        store.close_window()
        return batch


@dataclass(slots=True)
class _Batch:
    ended: Ended
    keys: list[int] = field(default_factory=list)
    heads: list[ChainHead] = field(default_factory=list)
    kept: list[Finding] = field(default_factory=list)
    record: PurgeRecord | None = None

    def look(self, chains: Iterable[Stored]) -> None:
        """Tell what is whole, and may go, from what stays."""
        for key, stored in zip(self.ended.keys, chains, strict=True):
            findings = verify_chain(stored)
            if findings:
                self.kept += findings
                continue
            assert stored.head is not None and stored.head.hash is not None
            self.keys.append(key)
            self.heads.append(ChainHead(stored.chain, stored.head.position, stored.head.hash))


def purge(
    actor: Actor,
    older_than: timedelta,
    *,
    key: Ed25519PrivateKey | None = None,
    limit: int = BATCH,
    asked_to_stop: Callable[[], bool] = never,
) -> PurgeReport:
    """Remove runs that ended longer ago, with everything of theirs, and interactions without a run resolved by then.

    In batches of `limit`, each with its record in its own commit, so that an end in between leaves whole batches.
    """
    work = _Purge(actor, clock.now() - older_than, key, limit)
    report = PurgeReport()
    for name, remove in (("runs", work.runs), ("interactions", work.interactions)):
        after: Position | None = None
        while not asked_to_stop():
            batch = in_transaction(partial(work.in_window, remove), after)
            setattr(report, name, getattr(report, name) + len(batch.heads))
            report.kept += batch.kept
            if batch.record is not None:
                report.records += 1
                log.info("purged", number=batch.record.number, hash=batch.record.hash, **{name: batch.record.count})
            after = batch.ended.last
            if after is None:
                break
    return report
