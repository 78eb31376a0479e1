"""An operation is one durable transaction of its own: it neither borrows one nor leaves half of one behind."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.db.transaction import TransactionManagementError

from suspensions.domain.states import RunState
from suspensions.domain.values import SYSTEM, Reason
from suspensions.store import leases, progress, runs, starts, suspensions
from tests.concurrency import requests
from tests.concurrency.consistency import footprint
from tests.concurrency.outcomes import Call
from tests.support.builders import caller, fresh_scope, holder_of, make_pause, new_run, snapshot, take


def test_inside_somebody_elses_transaction_nothing_claims_to_be_durable() -> None:
    """Its receipt would count only after the outermost commit, which it does not see."""
    scope = fresh_scope()
    pause = make_pause(scope)
    before = footprint(scope)
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        requests.decide(pause, caller(scope))()
    assert footprint(scope) == before


def _store_functions() -> dict[str, Call]:
    scope = fresh_scope()
    run = requests.leased_run(scope)
    paused = make_pause(scope, Reason.EXTERNAL_TOOL)
    holder = holder_of(run)
    return {
        "create run": lambda: runs.create_run(new_run(scope), SYSTEM),
        "claim": lambda: suspensions.claim(scope, paused.run_id, SYSTEM),
        "start next": lambda: starts.start_next(scope, take(), SYSTEM),
        "save progress": lambda: progress.save_progress(scope, snapshot(run.id), holder),
        "release": lambda: leases.release_lease(scope, run.id, holder, SYSTEM),
        "finish": lambda: runs.finish_run(scope, run.id, RunState.COMPLETED, "", "", holder, SYSTEM),
    }


def test_the_store_writes_nothing_outside_a_transaction() -> None:
    for name, call in _store_functions().items():
        assert not connection.in_atomic_block
        with pytest.raises(TransactionManagementError):
            call()
            pytest.fail(f"{name} wrote without a transaction")
