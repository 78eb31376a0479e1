"""A proof names whoever held the run since its admission, by whatever road the run came to them.

Source: store.md section 6, "naming at least every worker that held the run since its admission".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from suspensions.domain import clock
from suspensions.domain.errors import ClosureDenied
from suspensions.domain.states import RunState
from suspensions.domain.values import LeaseTake, Reason, Run
from suspensions.operations import closures, leases, runs, suspensions
from tests.closing.test_proof import LATER, Trouble, make_trouble
from tests.support.builders import at, caller, holder_of, make_pause, take
from tests.support.proofs import sign

OTHER = "worker-2"


def _claimed(trouble: Trouble, lease: LeaseTake | None, principal: str = "") -> Run:
    """The started worker pauses for an outside call, and another one claims that."""
    assert trouble.start.claimed_run is not None
    make_pause(trouble.scope, Reason.EXTERNAL_TOOL, run=trouble.start.claimed_run)
    who = caller(trouble.scope, principal=principal)
    claimed = suspensions.claim_suspension(
        who, trouble.scope, trouble.admission.version.run_id, lease=lease
    ).claimed_run
    assert claimed is not None
    return claimed


def _continued(trouble: Trouble, lease: LeaseTake | None) -> Run:
    """The started worker gives up, and another one takes the incomplete run up again."""
    run = trouble.start.claimed_run
    assert run is not None and lease is not None
    who = caller(trouble.scope)
    runs.finish_run(who, trouble.scope, run.id, RunState.INCOMPLETE, holder=holder_of(run))
    return leases.claim_continuation(who, trouble.scope, run.id, lease)


def _reclaimed(trouble: Trouble, lease: LeaseTake | None) -> Run:
    run = trouble.start.claimed_run
    assert run is not None and lease is not None
    with at(clock.now() + timedelta(seconds=30)):
        return leases.reclaim_lease(caller(trouble.scope), trouble.scope, run.id, lease)[0]


@pytest.mark.parametrize("taken_over", [_claimed, _continued, _reclaimed])
def test_whoever_took_the_run_over_must_be_named(taken_over: Callable[[Trouble, LeaseTake | None], Run]) -> None:
    trouble = make_trouble()
    run = taken_over(trouble, take(OTHER, seconds=1))
    with at(clock.now() + LATER):
        request = replace(trouble.request(), run_revision=run.revision)
        with pytest.raises(ClosureDenied) as denied:
            closures.close_resume(trouble.operator, *sign(request, trouble.issuer, "worker-1"))
        assert "leaves out 1 worker" in denied.value.reason
        assert closures.close_resume(trouble.operator, *sign(request, trouble.issuer, "worker-1", OTHER)).fresh


def test_an_unleased_claim_counts_as_its_principal() -> None:
    trouble = make_trouble()
    run = _claimed(trouble, None, principal="tool-runner")
    with at(clock.now() + LATER):
        request = replace(trouble.request(), run_revision=run.revision)
        with pytest.raises(ClosureDenied):
            closures.close_resume(trouble.operator, *sign(request, trouble.issuer, "worker-1"))
        workers = ("worker-1", "principal:tool-runner")
        assert closures.close_resume(trouble.operator, *sign(request, trouble.issuer, *workers)).fresh
