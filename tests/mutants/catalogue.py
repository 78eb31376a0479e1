"""Every mutant, by what it takes away."""

from __future__ import annotations

from tests.mutants import access, answers, database, leases, lists, locks, pages, reading, receipts, runs, webhooks
from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *locks.MUTANTS,
    *runs.MUTANTS,
    *leases.MUTANTS,
    *answers.MUTANTS,
    *receipts.MUTANTS,
    *database.MUTANTS,
    *reading.MUTANTS,
    *pages.MUTANTS,
    *webhooks.MUTANTS,
    *lists.MUTANTS,
    *access.MUTANTS,
)
