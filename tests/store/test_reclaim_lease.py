"""reclaim_lease: a running run whose holder is gone goes to a new owner. Source: store.md section 1."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import Forbidden, InvalidRequest, InvalidState, RunLeaseLost, RunNotFound
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Holder, Lease, LeaseTake, Progress, Run
from suspensions.operations import leases, progress
from tests.store import situations
from tests.store.rows import event_types, run_chain
from tests.store.situations import Made, Situation, name_of, run_at_epoch
from tests.store.support import HOUR, MINUTE, TICK, around, at, claim, refused, this_moment
from tests.support.builders import caller, continuation, fresh_scope, holder_of, make_pause, make_run, snapshot, take


def reclaim(made: Made, lease: LeaseTake | None = None, scope: Scope | None = None) -> tuple[Run, Progress | None]:
    return leases.reclaim_lease(
        caller(scope or made.scope), scope or made.scope, made.run_id, lease or take("worker-2")
    )


def save(made: Made, step: int = 1) -> Progress:
    assert made.holder is not None
    first = snapshot(made.run_id, made.holder.owner, continuation=continuation(step_index=step))
    return progress.save_progress(caller(made.scope), made.scope, first, made.holder)


@pytest.mark.parametrize(
    "situation", [situations.lapsed, situations.released, situations.started_and_lapsed], ids=name_of
)
def test_a_run_whose_lease_lapsed_or_was_given_up_goes_to_the_new_owner(situation: Situation) -> None:
    made = situation(fresh_scope())
    before = made.run
    with at(this_moment()) as now:
        run, _ = reclaim(made, take("worker-2", 90))

    assert run.lease == Lease("worker-2", now + timedelta(seconds=90), 2)
    assert (run.state, run.revision, run.lease_epoch) == (RunState.RUNNING, before.revision, 2)
    assert run.resume == before.resume
    assert made.run == run


def test_taking_over_is_told_of_by_one_event_that_names_both() -> None:
    made = situations.lapsed(fresh_scope())
    former = made.run.lease
    assert former is not None
    reclaim(made)
    assert event_types(made.run_id) == ["run.created", "run.lease_taken"]
    event = run_chain(made.run_id)[-1]
    data = json.loads(bytes(event["data"]))
    assert (event["revision"], data["from"]) == (1, "worker-1")
    assert (data["lease"]["owner"], data["lease"]["epoch"]) == ("worker-2", 2)
    assert data["lapsed"] == former.to_json()


def test_a_lease_that_was_given_up_had_not_lapsed() -> None:
    made = situations.released(fresh_scope())
    reclaim(made)
    assert "lapsed" not in json.loads(bytes(run_chain(made.run_id)[-1]["data"]))


def test_a_run_that_was_leased_before_its_pause_and_runs_unleased_can_be_taken() -> None:
    run = run_at_epoch(fresh_scope(), 2)
    make_pause(run.scope, run=run)
    claim(run.scope, run.id)
    taken, _ = reclaim(Made(run.scope, run.id))
    assert taken.lease_epoch == 3


def test_each_taking_grows_the_epoch_by_one() -> None:
    assert [run_at_epoch(fresh_scope(), epoch).lease_epoch for epoch in (1, 2, 5)] == [1, 2, 5]


def test_a_lease_has_lapsed_at_its_very_end() -> None:
    scope, now = fresh_scope(), this_moment()
    with at(now):
        made = Made(scope, make_run(scope, lease=take(seconds=60)).id)
    with at(now + MINUTE - TICK), refused(RunLeaseLost, scope):
        reclaim(made)
    with at(now + MINUTE):
        assert reclaim(made)[0].lease_epoch == 2


def test_the_second_taker_finds_a_live_lease() -> None:
    made = situations.lapsed(fresh_scope())
    reclaim(made)
    with refused(RunLeaseLost, made.scope):
        reclaim(made, take("worker-3"))


# -- the snapshot ------------------------------------------------------------------------------------


def test_the_taker_gets_the_last_snapshot() -> None:
    with at(this_moment() - HOUR):
        made = situations.leased(fresh_scope())
        save(made, 1)
        saved = save(made, 2)

    _, found = reclaim(made)

    assert found == saved


def test_without_a_snapshot_there_is_none() -> None:
    assert reclaim(situations.lapsed(fresh_scope()))[1] is None


def test_a_snapshot_of_an_earlier_holder_is_handed_on_until_somebody_saves_anew() -> None:
    now = this_moment()
    with at(now - HOUR):
        made = situations.leased(fresh_scope())
        saved = save(made)
    with at(now - HOUR / 2):
        reclaim(made, take("worker-2"))

    _, found = reclaim(made, take("worker-3"))

    assert found == saved


def test_a_snapshot_from_before_the_last_pause_is_not_handed_out_as_the_present_one() -> None:
    with at(this_moment() - HOUR):
        made = situations.leased(fresh_scope())
        save(made, 7)
        make_pause(made.scope, run=made.run)
        claim(made.scope, made.run_id, lease=take())

    assert reclaim(made)[1] is None


# -- refusals ----------------------------------------------------------------------------------------


def test_a_run_that_is_not_there_is_not_found() -> None:
    scope = fresh_scope()
    with refused(RunNotFound, scope):
        reclaim(Made(scope, ids.new_id(ids.RUN)))


@pytest.mark.parametrize("where", ["above", "below", "beside", "elsewhere"])
def test_a_run_of_another_scope_is_not_found(where: str) -> None:
    made = situations.lapsed(fresh_scope(2))
    other = around(made.scope)[where]
    with refused(RunNotFound, made.scope, other):
        reclaim(made, scope=other)


@pytest.mark.parametrize("situation", [situations.leased, situations.started_under_a_lease], ids=name_of)
def test_a_live_lease_is_lost_also_by_its_own_holders_name(situation: Situation) -> None:
    made = situation(fresh_scope())
    for owner in ("worker-1", "worker-2"):
        with refused(RunLeaseLost, made.scope):
            reclaim(made, take(owner))


def test_a_run_that_was_never_leased_is_not_reclaimed() -> None:
    for situation in (situations.running, situations.claimed, situations.started):
        made = situation(fresh_scope())
        with refused(RunLeaseLost, made.scope):
            reclaim(made)


@pytest.mark.parametrize(
    "situation", [situations.admitted, situations.admitted_under_a_lease, situations.overdue], ids=name_of
)
def test_an_admitted_run_that_was_not_started_goes_through_start(situation: Situation) -> None:
    made = situation(fresh_scope())
    with refused(InvalidState, made.scope):
        reclaim(made)


def test_an_admitters_lapsed_lease_gives_nobody_the_run() -> None:
    with at(this_moment() - HOUR):
        made = situations.admitted_under_a_lease(fresh_scope())
    with refused(InvalidState, made.scope):
        reclaim(made)


@pytest.mark.parametrize("half", [LeaseTake("worker-2"), LeaseTake("", seconds=60), LeaseTake("")], ids=str)
def test_half_a_lease_takes_nothing(half: LeaseTake) -> None:
    made = situations.lapsed(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        reclaim(made, half)


@pytest.mark.parametrize("seconds", [0, 3601])
def test_a_lease_out_of_range_takes_nothing(seconds: int) -> None:
    made = situations.lapsed(fresh_scope())
    with refused(InvalidRequest, made.scope):
        reclaim(made, take(seconds=seconds))


# -- fencing -----------------------------------------------------------------------------------------


def test_a_stalled_process_that_shares_its_successors_name_is_fenced() -> None:
    made = situations.lapsed(fresh_scope())
    run, _ = reclaim(made, take("worker-1"))
    assert holder_of(run) == Holder("worker-1", 2)

    with refused(RunLeaseLost, made.scope):
        save(made)


@pytest.mark.parametrize("role", [role for role in Role if role not in (Role.AGENT, Role.OPERATOR)])
def test_only_agents_and_operators_reclaim(role: Role) -> None:
    made = situations.lapsed(fresh_scope())
    with refused(Forbidden, made.scope):
        leases.reclaim_lease(caller(made.scope, role), made.scope, made.run_id, take("worker-2"))


@pytest.mark.parametrize("role", [Role.AGENT, Role.OPERATOR])
def test_agents_and_operators_reclaim(role: Role) -> None:
    made = situations.lapsed(fresh_scope())
    run, _ = leases.reclaim_lease(caller(made.scope, role), made.scope, made.run_id, take("worker-2"))
    assert run.lease_epoch == 2
