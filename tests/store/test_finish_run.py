"""finish_run: a running run ends, once. Source: store.md section 3."""

from __future__ import annotations

import json
from typing import Any

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import Forbidden, InvalidState, RunLeaseLost, RunNotFound
from suspensions.domain.policy import Role
from suspensions.domain.run_history import result_sha256
from suspensions.domain.scopes import Scope
from suspensions.domain.states import OUTCOMES, RunState
from suspensions.domain.values import Holder, Run
from suspensions.operations import leases, runs
from tests.store import situations, support
from tests.store.rows import event_types, one_row, run_chain
from tests.store.situations import Situation, name_of
from tests.store.support import around, at, live_of, read_run, refused, this_moment, unchanged
from tests.support.builders import caller, fresh_scope, holder_of, take

COMPLETED = RunState.COMPLETED


def finish(scope: Scope, run_id: str, outcome: RunState = COMPLETED, **more: Any) -> Run:
    return runs.finish_run(caller(scope), scope, run_id, outcome, **more)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_run_ends_with_its_outcome_output_and_error(outcome: RunState) -> None:
    made = situations.running(fresh_scope())
    with at(this_moment()) as now:
        run = finish(made.scope, made.run_id, outcome, output="seat 14C", error="no aisle seat")

    assert run.fresh
    assert (run.state, run.revision) == (outcome, 2)
    assert (run.output, run.error) == ("seat 14C", "no aisle seat")
    assert run.completed_at == run.updated_at == now
    assert made.run == run


def test_output_and_error_may_be_empty() -> None:
    made = situations.running(fresh_scope())
    run = finish(made.scope, made.run_id)
    assert (run.output, run.error) == ("", "")
    assert made.run == run


def test_an_end_is_told_of_by_one_event() -> None:
    made = situations.running(fresh_scope())

    finish(made.scope, made.run_id, RunState.FAILED)

    event = run_chain(made.run_id)[-1]
    assert event_types(made.run_id) == ["run.created", "run.finished"]
    said = {"outcome": "failed", "result_sha256": result_sha256(b"", b"")}
    assert (event["revision"], json.loads(bytes(event["data"]))) == (2, said)


def test_an_end_clears_the_lease_and_keeps_the_epoch() -> None:
    made = situations.leased(fresh_scope())
    run = finish(made.scope, made.run_id, holder=made.holder)
    assert (run.lease, run.lease_epoch) == (None, 1)
    assert made.run == run


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_end_retires_the_claimed_pause_in_the_same_commit(outcome: RunState) -> None:
    made = situations.claimed(fresh_scope())
    assert made.pause is not None
    with at(this_moment()) as now:
        finish(made.scope, made.run_id, outcome)

    row = one_row("suspension", id=made.pause.id)
    assert support.instant_of(row["retired_at"]) == support.instant_of(row["updated_at"]) == now
    assert live_of(made.run_id) == []


# -- the same again ----------------------------------------------------------------------------------


@pytest.mark.parametrize("situation", [situations.running, situations.leased], ids=name_of)
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_the_same_end_again_is_the_same_run_whoever_asks(outcome: RunState, situation: Situation) -> None:
    made = situation(fresh_scope())
    ended = finish(made.scope, made.run_id, outcome, output="x", error="y", holder=made.holder)

    with unchanged(made.scope):
        for holder in (made.holder, None, Holder("somebody", 9)):
            again = finish(made.scope, made.run_id, outcome, output="x", error="y", holder=holder)
            assert again == ended
            assert not again.fresh


@pytest.mark.parametrize(
    "other",
    [
        {"outcome": RunState.FAILED, "output": "x", "error": "y"},
        {"outcome": RunState.INCOMPLETE, "output": "x", "error": "y"},
        {"outcome": COMPLETED, "output": "", "error": "y"},
        {"outcome": COMPLETED, "output": "x", "error": ""},
        {"outcome": COMPLETED, "output": "xy", "error": ""},
        {"outcome": COMPLETED, "output": "y", "error": "x"},
    ],
)
def test_another_end_of_an_ended_run_is_refused(other: dict[str, Any]) -> None:
    made = situations.running(fresh_scope())
    finish(made.scope, made.run_id, output="x", error="y")

    with refused(InvalidState, made.scope) as refusal:
        finish(made.scope, made.run_id, **other)
    assert refusal.value.members() == {"state": "completed"}


def test_a_cancel_is_not_the_same_as_finishing_as_cancelled() -> None:
    made = situations.running(fresh_scope())
    runs.cancel_run(caller(made.scope), made.scope, made.run_id, "stop")

    with refused(InvalidState, made.scope):
        finish(made.scope, made.run_id, RunState.CANCELLED, error="stop")


def test_a_run_that_was_taken_up_again_ends_anew_and_with_new_results() -> None:
    made = situations.incomplete(fresh_scope())
    before = made.run
    taken = leases.claim_continuation(caller(made.scope), made.scope, made.run_id, take())

    ended = finish(made.scope, made.run_id, RunState.INCOMPLETE, output="done", holder=holder_of(taken))

    assert ended.fresh
    assert ended.revision == before.revision + 2
    again = leases.claim_continuation(caller(made.scope), made.scope, made.run_id, take())
    last = finish(made.scope, made.run_id, output="more", error="!", holder=holder_of(again))
    assert (last.output, last.error) == ("more", "!")
    assert made.run == last


# -- refusals in their order -------------------------------------------------------------------------


def test_a_run_that_is_not_there_is_not_found() -> None:
    scope = fresh_scope()
    with refused(RunNotFound, scope):
        finish(scope, ids.new_id(ids.RUN), holder=Holder("worker-1", 1))


@pytest.mark.parametrize("where", ["above", "below", "beside", "elsewhere"])
def test_a_run_of_another_scope_is_not_found(where: str) -> None:
    made = situations.leased(fresh_scope(2))
    other = around(made.scope)[where]
    with refused(RunNotFound, made.scope, other):
        finish(other, made.run_id, holder=made.holder)


@pytest.mark.parametrize("holder", [None, Holder("worker-1", 1), Holder("somebody", 7), Holder("", 0)], ids=str)
@pytest.mark.parametrize(
    "situation",
    [
        situations.created,
        situations.paused,
        situations.paused_past_its_deadline,
        situations.paused_without_a_live_pause,
        situations.admitted,
        situations.admitted_under_a_lease,
        situations.overdue,
        situations.completed,
        situations.failed,
        situations.cancelled,
        situations.closed,
        situations.expired,
    ],
    ids=name_of,
)
def test_a_run_that_does_not_run_freely_is_refused_whoever_asks(situation: Situation, holder: Holder | None) -> None:
    made = situation(fresh_scope())
    with refused(InvalidState, made.scope) as refusal:
        finish(made.scope, made.run_id, RunState.CANCELLED, error="mine", holder=holder)
    assert refusal.value.members() == {"state": str(made.run.state)}


def test_the_holder_of_an_admitted_run_cannot_throw_the_answer_away_by_ending_it() -> None:
    made = situations.admitted_under_a_lease(fresh_scope())
    with refused(InvalidState, made.scope):
        finish(made.scope, made.run_id, holder=made.holder)


@pytest.mark.parametrize(
    "holder",
    [None, Holder("worker-1", 0), Holder("worker-1", 2), Holder("Worker-1", 1), Holder("worker-2", 1), Holder("", 1)],
    ids=str,
)
@pytest.mark.parametrize(
    "situation", [situations.leased, situations.lapsed, situations.started_and_lapsed], ids=name_of
)
def test_a_leased_run_ends_for_its_holder_alone(situation: Situation, holder: Holder | None) -> None:
    made = situation(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        finish(made.scope, made.run_id, holder=holder)


@pytest.mark.parametrize("situation", [situations.lapsed, situations.started_and_lapsed], ids=name_of)
def test_a_holder_whose_lease_lapsed_and_was_not_taken_over_still_ends_the_run(situation: Situation) -> None:
    made = situation(fresh_scope())
    assert finish(made.scope, made.run_id, holder=made.holder).state == COMPLETED


@pytest.mark.parametrize("successor", ["worker-1", "worker-2"])
def test_a_holder_whose_run_was_taken_over_is_fenced_also_by_a_successor_of_its_own_name(successor: str) -> None:
    made = situations.lapsed(fresh_scope())
    taken, _ = leases.reclaim_lease(caller(made.scope), made.scope, made.run_id, take(successor))

    with refused(RunLeaseLost, made.scope):
        finish(made.scope, made.run_id, holder=made.holder)

    assert finish(made.scope, made.run_id, holder=holder_of(taken)).state == COMPLETED


def test_an_unleased_run_ends_without_a_holder() -> None:
    for situation in (situations.running, situations.released, situations.claimed):
        made = situation(fresh_scope())
        assert finish(made.scope, made.run_id).state == COMPLETED


def test_a_holder_of_a_lease_that_is_no_longer_there_is_fenced() -> None:
    made = situations.released(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        finish(made.scope, made.run_id, holder=made.holder)


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.AGENT])
def test_only_an_agent_ends_runs(role: Role) -> None:
    made = situations.running(fresh_scope())
    with refused(Forbidden, made.scope):
        runs.finish_run(caller(made.scope, role), made.scope, made.run_id, COMPLETED)
    assert read_run(made.scope, made.run_id).state == RunState.RUNNING
