"""Hosts whose clocks are two minutes apart: what happens may come early or late, and never twice. See ADR 22."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import timedelta

import pytest

from suspensions.domain import clock
from suspensions.domain.errors import ResumeAlreadyStarted, RunLeaseLost, SuspensionExpired
from suspensions.domain.states import RunState
from suspensions.domain.values import Reason
from suspensions.operations import leases, resumes, runs
from suspensions.operations.verification import verify_receipts
from suspensions.queries.events import list_events
from tests.support.builders import admit, at, caller, fresh_scope, holder_of, make_pause, make_run, take

SKEW = timedelta(minutes=2)


def ahead() -> AbstractContextManager[None]:
    """What follows happens on a host whose clock is ahead of the others'."""
    return at(clock.now() + SKEW)


def test_a_takeover_by_a_host_that_is_ahead_fences_a_holder_that_still_felt_safe() -> None:
    scope = fresh_scope()
    run = make_run(scope, lease=take("worker-1", seconds=60))
    with ahead():
        taken, _ = leases.reclaim_lease(caller(scope), scope, run.id, take("worker-2"))
    with pytest.raises(RunLeaseLost):
        runs.finish_run(caller(scope), scope, run.id, RunState.COMPLETED, holder=holder_of(run))
    ended = runs.finish_run(caller(scope), scope, run.id, RunState.COMPLETED, holder=holder_of(taken))
    assert ended.state is RunState.COMPLETED
    assert list(verify_receipts(scope)) == []


@pytest.mark.parametrize("first", ["the start", "the expiry"])
def test_of_a_start_and_an_expiry_on_hosts_that_disagree_the_first_one_stands(first: str) -> None:
    scope = fresh_scope()
    admission = admit(make_pause(scope, Reason.AGENT_REPLY, expires_at=clock.now() + timedelta(seconds=30)))
    assert admission.start_by is not None
    version = admission.version
    about = (scope, version.run_id, version.suspension_id, admission.request_digest)
    late = at(admission.start_by + SKEW)
    if first == "the start":
        resumes.start_resume(caller(scope), *about)
        with late, pytest.raises(ResumeAlreadyStarted):
            resumes.expire_resume(caller(scope), *about)
    else:
        with late:
            resumes.expire_resume(caller(scope), *about)
        # For this host the window is still open.
        with pytest.raises(SuspensionExpired):
            resumes.start_resume(caller(scope), *about)
    assert list(verify_receipts(scope)) == []


def test_times_may_step_back_between_hosts_and_the_chain_does_not() -> None:
    scope = fresh_scope()
    run = make_run(scope)
    with ahead():
        pause = make_pause(scope, run=run)
    admit(pause)
    found = list_events(scope, run.id, None, 50).items
    times = [event.at for event in found]
    assert times != sorted(times)
    assert [event.position for event in found] == [1, 2, 3]
    assert list(verify_receipts(scope)) == []
