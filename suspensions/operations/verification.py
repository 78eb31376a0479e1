"""Verifying receipts and chains: every digest and every link recomputed. Source: operate.md `verify_receipts`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from suspensions.domain.purges import RECORDS, verify_record
from suspensions.domain.scopes import Scope
from suspensions.domain.verification import Finding, Stored, verify_chain
from suspensions.operations.checkpoints import verify_checkpoints
from suspensions.operations.transactions import in_transaction
from suspensions.store import evidence, seals


def verify_receipts(
    scope: Scope | None = None,
    since: datetime | None = None,
    *,
    public_keys: Sequence[Ed25519PublicKey] = (),
    checkpoint: str | None = None,
) -> Iterator[Finding]:
    """Each row that was changed, removed, reordered or invented, named; nothing where all is whole.

    Removal of a whole run, or of a chain's tail together with its head, shows only against a signed checkpoint, for
    which see `verify_checkpoints`. They span all scopes: with a scope or a time they are left out.
    """
    for stored in evidence.stored_runs(scope, since):
        # A writer between two of the reads looks like damage, so whatever fails is looked at again under the lock.
        if verify_chain(stored):
            yield from verify_chain(in_transaction(evidence.stored_run, stored.chain))
    for stored in evidence.stored_interactions(scope):
        if verify_chain(stored):
            yield from verify_chain(in_transaction(evidence.stored_interaction, stored.chain))
    if scope is None and since is None:
        for chain in evidence.headless_chains():
            yield from verify_chain(Stored(chain, None, ()))
            yield Finding("run", chain, chain, "was removed; what it left is still there")
        yield from verify_purges()
        yield from verify_checkpoints(public_keys, checkpoint)


def verify_purges() -> Iterator[Finding]:
    """Purge records: each whole, linked to the one before, and about chains that are gone."""
    number, previous = 0, None
    for number_there, record, heads in seals.purge_records():
        if record is None:
            yield Finding("purge", str(number_there), RECORDS, "cannot be read any more")
            number, previous = number_there, None
            continue
        yield from verify_record(record, heads, number + 1, previous)
        number, previous = record.number, record.hash
    for number_there, chain in seals.stray_heads("purge_record_head", "purge_record"):
        yield Finding("purge", str(number_there), chain, "was removed; a head that it was about is still there")
    for number_there, chain in seals.purged_but_there():
        yield Finding("purge", str(number_there), chain, "tells of the removal of a chain that is still there")
