"""renew_lease: the holder of a running run moves its lease's end to a later instant. Source: store.md section 1."""

from __future__ import annotations

from datetime import timedelta

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import Forbidden, InvalidRequest, RunLeaseLost, RunNotFound
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Holder, Lease, LeaseTake, Run
from suspensions.operations import leases
from tests.store import situations
from tests.store.rows import event_types
from tests.store.situations import Made, Situation, name_of
from tests.store.support import HOUR, MINUTE, TICK, around, at, refused, this_moment
from tests.support.builders import caller, fresh_scope, holder_of, make_pause, make_run, take


def renew(made: Made, lease: LeaseTake | None = None, holder: Holder | None = None, scope: Scope | None = None) -> Run:
    at_scope = scope or made.scope
    who = holder or made.holder or Holder("worker-1", 1)
    return leases.renew_lease(caller(at_scope), at_scope, made.run_id, who, lease or take(who.owner, 600))


@pytest.mark.parametrize(
    "situation",
    [
        situations.leased,
        situations.lapsed,
        situations.admitted_under_a_lease,
        situations.started_under_a_lease,
        situations.started_and_lapsed,
    ],
    ids=name_of,
)
def test_the_holder_moves_the_end_and_nothing_else(situation: Situation) -> None:
    made = situation(fresh_scope())
    before, told = made.run, event_types(made.run_id)
    assert before.lease is not None
    with at(this_moment()) as now:
        run = renew(made)

    assert run.lease == Lease(before.lease.owner, now + timedelta(seconds=600), before.lease.epoch)
    assert (run.state, run.revision, run.lease_epoch) == (RunState.RUNNING, before.revision, before.lease_epoch)
    assert made.run == run
    assert event_types(made.run_id) == told, "renewals make no event"


def test_a_lease_can_be_renewed_again_and_again() -> None:
    scope, now = fresh_scope(), this_moment()
    with at(now):
        run = make_run(scope, lease=take(seconds=30))
    for seconds in (29, 58, 87):
        with at(now + timedelta(seconds=seconds)):
            run = renew(Made(scope, run.id, holder_of(run)), take(seconds=30))
            assert run.lease == Lease("worker-1", now + timedelta(seconds=seconds + 30), 1)


def test_an_instant_may_be_given() -> None:
    made = situations.leased(fresh_scope())
    end = this_moment() + 30 * MINUTE
    assert renew(made, LeaseTake("worker-1", end)).lease == Lease("worker-1", end, 1)


@pytest.mark.parametrize("earlier", [timedelta(0), TICK, timedelta(seconds=30)])
def test_a_lease_is_renewed_to_a_later_instant_only(earlier: timedelta) -> None:
    scope = fresh_scope()
    with at(this_moment()) as now:
        run = make_run(scope, lease=take(seconds=60))
        made = Made(scope, run.id, holder_of(run))
        with refused(RunLeaseLost, scope):
            renew(made, LeaseTake("worker-1", now + MINUTE - earlier))
        assert renew(made, LeaseTake("worker-1", now + MINUTE + TICK)).lease == Lease(
            "worker-1", now + MINUTE + TICK, 1
        )


@pytest.mark.parametrize("ahead", [timedelta(0), timedelta(seconds=1) - TICK, HOUR + TICK])
def test_an_end_out_of_range_is_refused(ahead: timedelta) -> None:
    made = situations.lapsed(fresh_scope())
    with at(this_moment()) as now, refused(InvalidRequest, made.scope):
        renew(made, LeaseTake("worker-1", now + ahead))


# -- refusals in their order -------------------------------------------------------------------------


def test_a_run_that_is_not_there_is_not_found() -> None:
    scope = fresh_scope()
    with refused(RunNotFound, scope):
        renew(Made(scope, ids.new_id(ids.RUN)))


@pytest.mark.parametrize("where", ["above", "below", "beside", "elsewhere"])
def test_a_run_of_another_scope_is_not_found(where: str) -> None:
    made = situations.leased(fresh_scope(2))
    other = around(made.scope)[where]
    with refused(RunNotFound, made.scope, other):
        renew(made, scope=other)


@pytest.mark.parametrize(
    "holder",
    [Holder("worker-1", 0), Holder("worker-1", 2), Holder("WORKER-1", 1), Holder("worker-2", 1), Holder("", 1)],
    ids=str,
)
@pytest.mark.parametrize("situation", [situations.leased, situations.lapsed], ids=name_of)
def test_another_owner_or_epoch_has_lost_the_lease(situation: Situation, holder: Holder) -> None:
    made = situation(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        renew(made, take(seconds=600), holder)


@pytest.mark.parametrize("holder", [Holder("", 0), Holder("worker-1", 0)], ids=str)
def test_nobody_renews_a_run_that_was_never_leased(holder: Holder) -> None:
    made = situations.running(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        renew(made, take(seconds=600), holder)


def test_a_holder_that_released_has_lost_the_lease() -> None:
    made = situations.released(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        renew(made)


def test_a_holder_that_paused_has_lost_the_lease() -> None:
    made = situations.leased(fresh_scope())
    make_pause(made.scope, run=made.run)
    with refused(RunLeaseLost, made.scope):
        renew(made)


@pytest.mark.parametrize("successor", ["worker-1", "worker-2"])
def test_a_holder_whose_run_was_taken_over_is_fenced_also_by_a_successor_of_its_own_name(successor: str) -> None:
    made = situations.lapsed(fresh_scope())
    taken, _ = leases.reclaim_lease(caller(made.scope), made.scope, made.run_id, take(successor))
    with refused(RunLeaseLost, made.scope):
        renew(made)
    assert renew(made, take(successor, 600), holder_of(taken)).lease_epoch == 2


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.AGENT])
def test_only_an_agent_renews(role: Role) -> None:
    made = situations.leased(fresh_scope())
    assert made.holder is not None
    with refused(Forbidden, made.scope):
        leases.renew_lease(caller(made.scope, role), made.scope, made.run_id, made.holder, take(seconds=600))
