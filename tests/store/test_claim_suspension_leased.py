"""claim_suspension_leased: lease and first snapshot in the transaction of the claim. Source: store.md section 3."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import (
    InvalidRequest,
    NotSuspended,
    RunConflict,
    RunLeaseLost,
    StoredRecordBroken,
    SuspensionExpired,
)
from suspensions.domain.states import RunState
from suspensions.domain.values import Ending, Lease, LeaseTake, Reason
from suspensions.operations import leases, progress, suspensions
from tests.store import situations, support
from tests.store.rows import execute, run_chain
from tests.store.situations import Situation, name_of, run_at_epoch
from tests.store.support import around, at, claim, refused, this_moment
from tests.support.builders import call, caller, continuation, fresh_scope, make_pause, snapshot, take

HALF_LEASES = [LeaseTake("worker-1"), LeaseTake("", seconds=60), LeaseTake("")]


def test_the_lease_is_taken_with_the_claim_and_grows_the_epoch() -> None:
    made = situations.paused(fresh_scope())
    with at(this_moment()) as now:
        found = claim(made.scope, made.run_id, version=made.version, lease=take("worker-1", 30))

    run = found.claimed_run
    assert run is not None
    assert run.lease == Lease("worker-1", now + timedelta(seconds=30), 1)
    assert (run.lease_epoch, run.revision) == (1, 3)
    assert made.run == run
    assert [event["type"] for event in run_chain(made.run_id)] == ["run.created", "run.paused", "run.claimed"]


def test_the_epoch_grows_beyond_every_earlier_one() -> None:
    run = run_at_epoch(fresh_scope(), 3)
    pause = make_pause(run.scope, run=run)
    found = claim(run.scope, run.id, lease=take())
    assert pause.run is not None and found.claimed_run is not None
    assert (pause.run.lease_epoch, found.claimed_run.lease_epoch) == (3, 4)


def test_a_claim_without_a_lease_leaves_the_epoch() -> None:
    run = run_at_epoch(fresh_scope(), 2)
    make_pause(run.scope, run=run)
    found = claim(run.scope, run.id)
    assert found.claimed_run is not None
    assert (found.claimed_run.lease, found.claimed_run.lease_epoch) == (None, 2)


def test_the_first_snapshot_is_written_with_the_claim() -> None:
    made = situations.paused(fresh_scope())
    first = snapshot(
        made.run_id,
        continuation=continuation(step_index=5, tokens_used=70),
        started=(call("c1", arguments='{"a": 1.0}'),),
        done=b'[{"call_id":"c0","content":"ok","outcome":"completed"}]',
        ending=Ending("expire", "nobody answered"),
    )
    with at(this_moment()) as now:
        found = claim(made.scope, made.run_id, lease=take(), first=first)

    stored = progress.get_progress(caller(made.scope), made.scope, made.run_id)
    assert (stored.owner, stored.epoch, stored.updated_at) == ("worker-1", 1, now)
    assert (stored.continuation, stored.started, stored.done) == (first.continuation.text, first.started, first.done)
    assert stored.ending == first.ending
    assert found.claimed_run is not None
    assert (found.claimed_run.step_count, found.claimed_run.tokens_used) == (5, 70)


def test_whoever_takes_over_gets_the_first_snapshot() -> None:
    made = situations.paused(fresh_scope())
    with at(this_moment() - support.HOUR):
        claim(made.scope, made.run_id, lease=take(), first=snapshot(made.run_id))

    run, found = leases.reclaim_lease(caller(made.scope), made.scope, made.run_id, take("worker-2"))

    assert run.lease_epoch == 2
    assert found is not None
    assert (found.owner, found.epoch) == ("worker-1", 1)


def test_a_caller_claims_with_lease_and_snapshot() -> None:
    made = situations.paused(fresh_scope(), Reason.EXTERNAL_TOOL)
    found = suspensions.claim_suspension(
        caller(made.scope), made.scope, made.run_id, version=made.version, lease=take(), first=snapshot(made.run_id)
    )
    assert found.claimed_run == made.run


# -- refusals in their order -------------------------------------------------------------------------


@pytest.mark.parametrize("half", HALF_LEASES, ids=str)
@pytest.mark.parametrize("situation", situations.SITUATIONS, ids=name_of)
def test_half_a_lease_is_said_first(situation: Situation, half: LeaseTake) -> None:
    made = situation(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        claim(made.scope, made.run_id, version=replace(made.version, run_revision=99), lease=half)


@pytest.mark.parametrize("half", HALF_LEASES, ids=str)
def test_half_a_lease_is_said_first_also_where_there_is_no_run(half: LeaseTake) -> None:
    scope = fresh_scope()
    with refused(RunLeaseLost, scope):
        claim(scope, ids.new_id(ids.RUN), lease=half)


@pytest.mark.parametrize("whose", ["another owner's", "another run's", "nobody's"])
@pytest.mark.parametrize(
    "situation", [situations.paused, situations.running, situations.paused_past_its_deadline], ids=name_of
)
def test_a_first_snapshot_that_is_not_the_claimers_is_said_first(situation: Situation, whose: str) -> None:
    made = situation(fresh_scope())
    first = {
        "another owner's": snapshot(made.run_id, "worker-9"),
        "another run's": snapshot(ids.new_id(ids.RUN)),
        "nobody's": snapshot(made.run_id),
    }[whose]
    lease = None if whose == "nobody's" else take()
    with refused(RunLeaseLost, made.scope):
        claim(made.scope, made.run_id, lease=lease, first=first)


def test_a_name_that_differs_in_case_is_another_owner() -> None:
    made = situations.paused(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        claim(made.scope, made.run_id, lease=take("worker-1"), first=snapshot(made.run_id, "Worker-1"))


@pytest.mark.parametrize("seconds", [0, -5, 3601])
def test_a_lease_out_of_range_is_refused(seconds: int) -> None:
    made = situations.paused(fresh_scope())
    with refused(InvalidRequest, made.scope):
        claim(made.scope, made.run_id, lease=take(seconds=seconds))


def test_with_a_whole_lease_the_claims_own_refusals_follow() -> None:
    running, late, moved = (
        situation(fresh_scope())
        for situation in (situations.running, situations.paused_past_its_deadline, situations.paused)
    )
    with refused(NotSuspended, running.scope):
        claim(running.scope, running.run_id, version=running.version, lease=take())
    with refused(SuspensionExpired, late.scope):
        claim(late.scope, late.run_id, version=late.version, lease=take(), first=snapshot(late.run_id))
    with refused(RunConflict, moved.scope):
        claim(moved.scope, moved.run_id, version=replace(moved.version, run_revision=1), lease=take())


def test_the_loser_of_a_claim_takes_no_lease_and_replaces_no_snapshot() -> None:
    made = situations.paused(fresh_scope())
    claim(made.scope, made.run_id, lease=take(), first=snapshot(made.run_id))
    with refused(NotSuspended, made.scope):
        claim(made.scope, made.run_id, lease=take("worker-2"), first=snapshot(made.run_id, "worker-2"))


@pytest.mark.parametrize("where", ["below", "beside", "elsewhere"])
def test_another_scope_takes_nothing(where: str) -> None:
    made = situations.paused(fresh_scope(2))
    other = around(made.scope)[where]
    with refused(NotSuspended, made.scope, other):
        claim(other, made.run_id, lease=take(), first=snapshot(made.run_id))


def test_an_expired_pause_is_claimed_under_a_lease_with_the_ending_that_it_was_claimed_for() -> None:
    made = situations.paused_past_its_deadline(fresh_scope())
    first = snapshot(made.run_id, ending=Ending("expire", "nobody answered"))
    found = claim(made.scope, made.run_id, version=made.version, expired_by=this_moment(), lease=take(), first=first)
    assert found.claimed_run is not None
    assert found.claimed_run.state == RunState.RUNNING
    assert progress.get_progress(caller(made.scope), made.scope, made.run_id).ending == first.ending


def test_a_broken_stored_continuation_is_an_error_and_never_a_half_restored_run() -> None:
    made = situations.paused(fresh_scope())
    assert made.pause is not None
    execute("DELETE FROM suspension_continuation WHERE suspension_id = %s", [made.pause.id])
    with refused(StoredRecordBroken, made.scope):
        claim(made.scope, made.run_id, lease=take())
