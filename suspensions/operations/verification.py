"""Verifying receipts and chains: every digest and every link recomputed. Source: operate.md `verify_receipts`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from suspensions.domain.scopes import Scope
from suspensions.domain.verification import Finding, Stored, verify_chain
from suspensions.operations.transactions import in_transaction
from suspensions.store import evidence


def verify_receipts(scope: Scope | None = None, since: datetime | None = None) -> Iterator[Finding]:
    """Each row that was changed, removed, reordered or invented, named; nothing where all is whole.

    Removal of a whole run, or of a chain's tail together with its head, shows only against a signed checkpoint.
    """
    for stored in evidence.stored_runs(scope, since):
        # A writer between two of the reads looks like damage, so whatever fails is looked at again under the lock.
        if verify_chain(stored):
            yield from verify_chain(in_transaction(evidence.stored_run, stored.chain))
    for stored in evidence.stored_interactions(scope):
        yield from verify_chain(stored)
    if scope is None and since is None:
        for chain in evidence.headless_chains():
            yield from verify_chain(Stored(chain, None, ()))
            yield Finding("run", chain, chain, "was removed; what it left is still there")
