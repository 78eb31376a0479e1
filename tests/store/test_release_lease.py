"""release_lease: the holder gives the run up, once. Source: store.md section 1."""

from __future__ import annotations

import json

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import Forbidden, RunLeaseLost, RunNotFound
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Holder, Run
from suspensions.operations import leases, runs
from tests.store import situations
from tests.store.rows import event_types, run_chain
from tests.store.situations import Made, Situation, name_of
from tests.store.support import around, refused, unchanged
from tests.support.builders import caller, fresh_scope, holder_of, make_pause, take


def release(made: Made, holder: Holder | None = None, scope: Scope | None = None) -> Run:
    who = holder or made.holder or Holder("worker-1", 1)
    return leases.release_lease(caller(scope or made.scope), scope or made.scope, made.run_id, who)


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
def test_the_holder_gives_the_run_up_and_it_runs_on_unleased(situation: Situation) -> None:
    made = situation(fresh_scope())
    before = made.run

    run = release(made)

    assert (run.lease, run.lease_epoch) == (None, before.lease_epoch)
    assert (run.state, run.revision) == (RunState.RUNNING, before.revision)
    assert made.run == run


def test_a_release_is_told_of_by_one_event() -> None:
    made = situations.leased(fresh_scope())
    release(made)
    assert event_types(made.run_id) == ["run.created", "run.lease_released"]
    event = run_chain(made.run_id)[-1]
    assert (event["revision"], json.loads(bytes(event["data"]))) == (1, {"owner": "worker-1", "epoch": 1})


def test_a_second_release_succeeds_and_changes_nothing() -> None:
    made = situations.leased(fresh_scope())
    first = release(made)
    with unchanged(made.scope):
        second = release(made)
    assert second == first
    assert not second.fresh


def test_after_it_only_a_lease_that_is_there_binds_the_others() -> None:
    made = situations.released(fresh_scope())
    assert runs.finish_run(caller(made.scope), made.scope, made.run_id, RunState.COMPLETED).state == RunState.COMPLETED
    other = situations.released(fresh_scope())
    assert make_pause(other.scope, run=other.run).run is not None


def test_after_it_somebody_else_may_take_the_run() -> None:
    made = situations.released(fresh_scope())
    run, _ = leases.reclaim_lease(caller(made.scope), made.scope, made.run_id, take("worker-2"))
    assert run.lease is not None
    assert (run.lease.owner, run.lease.epoch) == ("worker-2", 2)


# -- refusals in their order -------------------------------------------------------------------------


def test_a_run_that_is_not_there_is_not_found() -> None:
    scope = fresh_scope()
    with refused(RunNotFound, scope):
        release(Made(scope, ids.new_id(ids.RUN)))


@pytest.mark.parametrize("where", ["above", "below", "beside", "elsewhere"])
def test_a_run_of_another_scope_is_not_found(where: str) -> None:
    made = situations.leased(fresh_scope(2))
    other = around(made.scope)[where]
    with refused(RunNotFound, made.scope, other):
        release(made, scope=other)


@pytest.mark.parametrize(
    "holder",
    [Holder("worker-1", 0), Holder("worker-1", 2), Holder("WORKER-1", 1), Holder("worker-2", 1), Holder("", 1)],
    ids=str,
)
@pytest.mark.parametrize("situation", [situations.leased, situations.lapsed], ids=name_of)
def test_another_owner_or_epoch_releases_nothing(situation: Situation, holder: Holder) -> None:
    made = situation(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        release(made, holder)


@pytest.mark.parametrize("holder", [Holder("", 0), Holder("worker-1", 1)], ids=str)
def test_nobody_releases_a_run_that_was_never_leased(holder: Holder) -> None:
    made = situations.running(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        release(made, holder)


@pytest.mark.parametrize("successor", ["worker-1", "worker-2"])
def test_a_holder_whose_run_was_taken_over_takes_the_lease_from_nobody(successor: str) -> None:
    made = situations.lapsed(fresh_scope())
    taken, _ = leases.reclaim_lease(caller(made.scope), made.scope, made.run_id, take(successor))
    with refused(RunLeaseLost, made.scope):
        release(made)
    release(made, holder_of(taken))
    with refused(RunLeaseLost, made.scope):
        release(made)


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.AGENT])
def test_only_an_agent_releases(role: Role) -> None:
    made = situations.leased(fresh_scope())
    assert made.holder is not None
    with refused(Forbidden, made.scope):
        leases.release_lease(caller(made.scope, role), made.scope, made.run_id, made.holder)
