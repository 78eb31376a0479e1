"""Signing what the chains end in, and holding them against what was signed. Source: store.md section 10; ADR 31."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from suspensions.domain import clock, keys
from suspensions.domain.checkpoints import CHECKPOINTS, Checkpoint, verify_checkpoint, verify_missing
from suspensions.domain.heads import heads_sha256
from suspensions.domain.purges import PurgeRecord
from suspensions.domain.verification import Finding
from suspensions.operations.transactions import in_transaction
from suspensions.store import checkpoints as store
from suspensions.store import purge, seals

MOST_HEADS = 50_000
"""Heads of one checkpoint; more are covered by the ones that follow it at once."""
EVERY = timedelta(days=1)

log = structlog.stdlib.get_logger("cortex.checkpoints")


def has_checkpoints() -> bool:
    """Whether anything was ever signed here."""
    return store.last_checkpoint().number > 0


def make_checkpoints(key: Ed25519PrivateKey, most: int = MOST_HEADS) -> list[Checkpoint]:
    """Sign the heads that changed since the last checkpoint, and that one's hash; one at least, also where none did.

    A checkpoint is as good as what is kept of it elsewhere: its number and hash go to the log.
    """
    made: list[Checkpoint] = []
    while not made or made[-1].count == most:
        made.append(_told(in_transaction(_make, key, most)))
    return made


def make_checkpoints_if_due(key: Ed25519PrivateKey) -> list[Checkpoint]:
    """The same, unless the last one is younger than a day; several sweepers agree on who does it."""
    made = in_transaction(_make_if_due, key, MOST_HEADS)
    if made is None:
        return []
    _told(made)
    return [made, *(make_checkpoints(key) if made.count == MOST_HEADS else ())]


def _make_if_due(key: Ed25519PrivateKey, most: int) -> Checkpoint | None:
    store.take_turn()
    last = store.last_checkpoint().at
    if last is not None and last > clock.now() - EVERY:
        return None
    return _make(key, most)


def _make(key: Ed25519PrivateKey, most: int) -> Checkpoint:
    store.take_turn()
    last = store.last_checkpoint()
    purge_number, purge_hash = purge.last_record()
    heads = store.uncovered_heads(most)
    checkpoint = Checkpoint(
        number=last.number + 1,
        at=clock.now(),
        count=len(heads),
        heads_sha256=heads_sha256(heads),
        purge_number=purge_number,
        purge_hash=purge_hash,
        previous=last.hash,
        key_id=keys.key_id(key.public_key()),
    ).signed(key)
    store.insert_checkpoint(checkpoint, heads)
    return checkpoint


def _told(checkpoint: Checkpoint) -> Checkpoint:
    log.info("checkpoint", number=checkpoint.number, hash=checkpoint.hash, chains=checkpoint.count)
    return checkpoint


# -- verification ------------------------------------------------------------------------------------


def verify_checkpoints(public_keys: Sequence[Ed25519PublicKey] = (), expected: str | None = None) -> Iterator[Finding]:
    """What was signed and is not there, or not as it was; and what is wrong with the checkpoints themselves.

    Without public keys signatures are not looked at: whoever owns the database could have made the checkpoints anew.
    `expected` is the hash of one that must be there: the newest could have been removed.
    """
    given = {keys.key_id(key): key for key in public_keys}
    records = {record.number: record for _, record, _ in seals.purge_records(heads=False) if record is not None}
    number, previous, found = 0, None, expected is None
    for number_there, checkpoint, heads in store.checkpoints():
        if checkpoint is None:
            yield Finding("checkpoint", str(number_there), CHECKPOINTS, "cannot be read any more")
            number, previous = number_there, None
            continue
        yield from verify_checkpoint(checkpoint, heads, number + 1, previous, given)
        yield from _verify_purge_named(checkpoint, records)
        for missing in store.missing_heads(checkpoint):
            yield from verify_missing(checkpoint, missing, records, given)
        number, previous = checkpoint.number, checkpoint.hash
        found = found or checkpoint.hash == expected
    for number_there, chain in seals.stray_heads("checkpoint_head", "checkpoint"):
        yield Finding("checkpoint", str(number_there), chain, "was removed; a head that it covered is still there")
    if not found:
        yield Finding("checkpoint", str(expected), CHECKPOINTS, "is not there")
    elif given and number == 0:
        yield Finding("checkpoint", "1", CHECKPOINTS, "is not there: nothing was ever signed, or all of it was removed")


def _verify_purge_named(checkpoint: Checkpoint, records: dict[int, PurgeRecord]) -> Iterator[Finding]:
    record = records.get(checkpoint.purge_number)
    if (None if record is None else record.hash) != checkpoint.purge_hash:
        detail = f"purge record {checkpoint.purge_number}, which it names, is not there or not as it was"
        yield Finding("checkpoint", str(checkpoint.number), CHECKPOINTS, detail)
