"""claim_continuation_leased: an incomplete run is taken up again under a lease. Source: store.md sections 1 and 3."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import Forbidden, InvalidRequest, InvalidState, RunLeaseLost, RunNotFound
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Lease, LeaseTake, Run
from suspensions.operations import leases, progress, runs
from tests.store import situations
from tests.store.rows import event_types, run_chain
from tests.store.situations import Situation, name_of, run_at_epoch
from tests.store.support import around, at, refused, this_moment
from tests.support.builders import caller, continuation, fresh_scope, holder_of, snapshot, take

HALF_LEASES = [LeaseTake("worker-1"), LeaseTake("", seconds=60), LeaseTake("")]


def claim(scope: Scope, run_id: str, lease: LeaseTake | None = None, **more: Any) -> Run:
    return leases.claim_continuation(caller(scope), scope, run_id, lease or take(), **more)


def test_an_incomplete_run_runs_again_under_the_lease() -> None:
    made = situations.incomplete(fresh_scope())
    before = made.run
    with at(this_moment()) as now:
        run = claim(made.scope, made.run_id, take("worker-2", 30))

    assert run.fresh
    assert (run.state, run.revision) == (RunState.RUNNING, before.revision + 1)
    assert run.lease == Lease("worker-2", now + timedelta(seconds=30), 1)
    assert (run.completed_at, run.updated_at) == (None, now)
    assert made.run == run
    assert event_types(made.run_id)[-2:] == ["run.finished", "run.claimed"]
    assert run_chain(made.run_id)[-1]["revision"] == run.revision


def test_the_epoch_grows_beyond_every_earlier_one() -> None:
    run = run_at_epoch(fresh_scope(), 3)
    runs.finish_run(caller(run.scope), run.scope, run.id, RunState.INCOMPLETE, holder=holder_of(run))
    assert claim(run.scope, run.id).lease_epoch == 4


def test_the_first_snapshot_is_written_with_it() -> None:
    made = situations.incomplete(fresh_scope())
    run = claim(made.scope, made.run_id, first=snapshot(made.run_id, continuation=continuation(step_index=8)))
    stored = progress.get_progress(caller(made.scope), made.scope, made.run_id)
    assert (stored.owner, stored.epoch) == ("worker-1", 1)
    assert run.step_count == 8


def test_the_second_claim_is_refused() -> None:
    made = situations.incomplete(fresh_scope())
    claim(made.scope, made.run_id)
    with refused(InvalidState, made.scope) as refusal:
        claim(made.scope, made.run_id, take("worker-2"))
    assert refusal.value.members() == {"state": "running"}


# -- refusals in their order -------------------------------------------------------------------------


@pytest.mark.parametrize("half", HALF_LEASES, ids=str)
@pytest.mark.parametrize("situation", [situations.incomplete, situations.running, situations.closed], ids=name_of)
def test_half_a_lease_is_said_first(situation: Situation, half: LeaseTake) -> None:
    made = situation(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        claim(made.scope, made.run_id, half)
    with refused(RunLeaseLost, made.scope):
        claim(made.scope, ids.new_id(ids.RUN), half)


@pytest.mark.parametrize("situation", [situations.incomplete, situations.running], ids=name_of)
def test_a_first_snapshot_of_another_owner_or_run_is_said_first(situation: Situation) -> None:
    made = situation(fresh_scope())
    for first in (snapshot(made.run_id, "worker-9"), snapshot(ids.new_id(ids.RUN))):
        with refused(RunLeaseLost, made.scope):
            claim(made.scope, made.run_id, first=first)


@pytest.mark.parametrize("seconds", [0, 3601])
def test_a_lease_out_of_range_is_refused(seconds: int) -> None:
    made = situations.incomplete(fresh_scope())
    with refused(InvalidRequest, made.scope):
        claim(made.scope, made.run_id, take(seconds=seconds))


def test_a_run_that_is_not_there_is_not_found() -> None:
    scope = fresh_scope()
    with refused(RunNotFound, scope):
        claim(scope, ids.new_id(ids.RUN))


@pytest.mark.parametrize("where", ["below", "beside", "elsewhere"])
def test_a_run_of_another_scope_is_not_found(where: str) -> None:
    made = situations.incomplete(fresh_scope(2))
    other = around(made.scope)[where]
    with refused(RunNotFound, made.scope, other):
        claim(other, made.run_id)


def test_a_broader_scope_takes_it_up_and_leaves_the_runs_scope() -> None:
    made = situations.incomplete(fresh_scope(2))
    run = claim(around(made.scope)["above"], made.run_id)
    assert (run.scope, made.run.state) == (made.scope, RunState.RUNNING)


@pytest.mark.parametrize(
    "situation",
    [situation for situation in situations.SITUATIONS if situation is not situations.incomplete],
    ids=name_of,
)
def test_any_other_run_is_refused_the_ones_closed_with_proof_too(situation: Situation) -> None:
    made = situation(fresh_scope())
    with refused(InvalidState, made.scope) as refusal:
        claim(made.scope, made.run_id)
    assert refusal.value.members() == {"state": str(made.run.state)}


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.AGENT])
def test_only_an_agent_takes_runs_up_again(role: Role) -> None:
    made = situations.incomplete(fresh_scope())
    with refused(Forbidden, made.scope):
        leases.claim_continuation(caller(made.scope, role), made.scope, made.run_id, take())
