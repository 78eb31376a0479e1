"""cancel_run: a paused run is claimed first, a running one must be free or the caller's. Source: store.md section 3."""

from __future__ import annotations

import json

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import Forbidden, InvalidState, NotSuspended, RunLeaseLost, RunNotFound
from suspensions.domain.policy import Role
from suspensions.domain.run_history import result_sha256
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Holder, Reason, Run
from suspensions.operations import leases, runs
from tests.store import situations
from tests.store.rows import event_types, execute, one_row, run_chain
from tests.store.situations import Situation, name_of
from tests.store.support import MINUTE, TICK, around, at, instant_of, live_of, refused, this_moment, unchanged
from tests.support.builders import caller, fresh_scope, holder_of, make_run, take


def cancel(scope: Scope, run_id: str, reason: str = "stop", holder: Holder | None = None) -> Run:
    return runs.cancel_run(caller(scope), scope, run_id, reason, holder=holder)


def test_a_running_run_is_cancelled_with_its_reason() -> None:
    made = situations.running(fresh_scope())
    with at(this_moment()) as now:
        run = cancel(made.scope, made.run_id, "the customer called back")

    assert run.fresh
    assert (run.state, run.revision) == (RunState.CANCELLED, 2)
    assert (run.output, run.error) == ("", "the customer called back")
    assert run.completed_at == now
    assert made.run == run
    event = run_chain(made.run_id)[-1]
    assert (event["type"], event["revision"]) == ("run.cancelled", 2)
    assert json.loads(bytes(event["data"])) == {
        "reason": "the customer called back",
        "result_sha256": result_sha256(b"", b"the customer called back"),
    }


@pytest.mark.parametrize("reason", list(Reason))
def test_a_paused_run_is_claimed_first_and_grows_by_two(reason: Reason) -> None:
    made = situations.paused(fresh_scope(), reason)
    with at(this_moment()) as now:
        run = cancel(made.scope, made.run_id)

    assert (run.state, run.revision) == (RunState.CANCELLED, 4)
    assert event_types(made.run_id) == ["run.created", "run.paused", "run.claimed", "run.cancelled"]
    assert [event["revision"] for event in run_chain(made.run_id)] == [1, 2, 3, 4]
    assert made.pause is not None
    row = one_row("suspension", id=made.pause.id)
    assert instant_of(row["claimed_at"]) == instant_of(row["retired_at"]) == now


def test_a_pause_past_its_deadline_can_be_cancelled_before_the_sweep_comes() -> None:
    made = situations.paused_past_its_deadline(fresh_scope())
    assert cancel(made.scope, made.run_id).revision == 4


def test_cancelling_retires_the_pause_in_the_same_commit() -> None:
    for situation in (situations.paused, situations.claimed, situations.admitted, situations.started):
        made = situation(fresh_scope())
        cancel(made.scope, made.run_id)
        assert live_of(made.run_id) == []


@pytest.mark.parametrize("situation", [situations.admitted, situations.overdue], ids=name_of)
def test_an_admitted_run_that_nobody_started_can_be_cancelled(situation: Situation) -> None:
    made = situation(fresh_scope())
    before = made.run
    run = cancel(made.scope, made.run_id)
    assert (run.state, run.revision, run.resume) == (RunState.CANCELLED, before.revision + 1, None)


# -- the same again ----------------------------------------------------------------------------------


@pytest.mark.parametrize("situation", [situations.running, situations.paused, situations.lapsed], ids=name_of)
def test_the_same_cancel_again_is_the_same_run(situation: Situation) -> None:
    made = situation(fresh_scope())
    ended = cancel(made.scope, made.run_id)

    with unchanged(made.scope):
        for holder in (None, Holder("somebody", 4)):
            again = cancel(made.scope, made.run_id, holder=holder)
            assert again == ended
            assert not again.fresh


@pytest.mark.parametrize("reason", ["", "Stop", "stop "])
def test_a_cancel_for_another_reason_is_refused(reason: str) -> None:
    made = situations.cancelled(fresh_scope())
    with refused(InvalidState, made.scope) as refusal:
        cancel(made.scope, made.run_id, reason)
    assert refusal.value.members() == {"state": "cancelled"}


# -- refusals in their order -------------------------------------------------------------------------


def test_a_run_that_is_not_there_is_not_found() -> None:
    scope = fresh_scope()
    with refused(RunNotFound, scope):
        cancel(scope, ids.new_id(ids.RUN), holder=Holder("worker-1", 1))


@pytest.mark.parametrize("where", ["above", "below", "beside", "elsewhere"])
def test_a_run_of_another_scope_is_not_found(where: str) -> None:
    made = situations.paused(fresh_scope(2))
    other = around(made.scope)[where]
    with refused(RunNotFound, made.scope, other):
        cancel(other, made.run_id)


@pytest.mark.parametrize("holder", [None, Holder("somebody", 7)], ids=str)
@pytest.mark.parametrize(
    "situation",
    [
        situations.created,
        situations.completed,
        situations.failed,
        situations.incomplete,
        situations.expired,
        situations.closed,
    ],
    ids=name_of,
)
def test_an_ended_run_is_refused_whoever_asks(situation: Situation, holder: Holder | None) -> None:
    made = situation(fresh_scope())
    with refused(InvalidState, made.scope) as refusal:
        cancel(made.scope, made.run_id, holder=holder)
    assert refusal.value.members() == {"state": str(made.run.state)}


@pytest.mark.parametrize("holder", [None, Holder("somebody", 7)], ids=str)
def test_a_paused_run_without_a_live_pause_is_a_lost_claim_before_any_lease(holder: Holder | None) -> None:
    made = situations.paused_without_a_live_pause(fresh_scope())
    with refused(NotSuspended, made.scope):
        cancel(made.scope, made.run_id, holder=holder)


def test_nobody_holds_a_paused_run() -> None:
    run = make_run(fresh_scope(), lease=take())
    made = situations.paused(run.scope, run=run)
    with refused(RunLeaseLost, made.scope):
        cancel(made.scope, made.run_id, holder=holder_of(run))


@pytest.mark.parametrize("situation", [situations.leased, situations.started_under_a_lease], ids=name_of)
def test_a_run_under_a_live_lease_is_its_holders_alone_to_cancel(situation: Situation) -> None:
    made = situation(fresh_scope())
    for holder in (None, Holder("worker-1", 9), Holder("worker-2", 1), Holder("", 1)):
        with refused(RunLeaseLost, made.scope):
            cancel(made.scope, made.run_id, holder=holder)

    assert cancel(made.scope, made.run_id, holder=made.holder).state == RunState.CANCELLED


def test_an_admitted_run_under_a_live_lease_is_its_holders_to_cancel() -> None:
    made = situations.admitted_under_a_lease(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        cancel(made.scope, made.run_id)
    assert cancel(made.scope, made.run_id, holder=made.holder).state == RunState.CANCELLED


def test_a_lease_binds_until_it_lapses_and_at_its_end_it_has() -> None:
    scope, now = fresh_scope(), this_moment()
    with at(now):
        run = make_run(scope, lease=take(seconds=60))

    with at(now + MINUTE - TICK), refused(RunLeaseLost, scope):
        cancel(scope, run.id)
    with at(now + MINUTE):
        assert cancel(scope, run.id).state == RunState.CANCELLED


def test_a_lapsed_holder_still_cancels_its_run() -> None:
    made = situations.lapsed(fresh_scope())
    assert cancel(made.scope, made.run_id, holder=made.holder).state == RunState.CANCELLED


def test_a_fenced_holder_cancels_nothing_also_once_its_successor_lapsed() -> None:
    made = situations.lapsed(fresh_scope())
    leases.reclaim_lease(caller(made.scope), made.scope, made.run_id, take("worker-1"))
    execute("UPDATE run SET lease_expires_at = %s WHERE id = %s", [this_moment() - MINUTE, made.run_id])
    with refused(RunLeaseLost, made.scope):
        cancel(made.scope, made.run_id, holder=made.holder)


# -- who may -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", [Role.VIEWER, Role.BUS, Role.APPROVER, Role.ADMIN])
def test_other_roles_cancel_nothing(role: Role) -> None:
    made = situations.leased(fresh_scope())
    with refused(Forbidden, made.scope):
        runs.cancel_run(caller(made.scope, role), made.scope, made.run_id, "stop", holder=made.holder)


def test_an_agent_cancels_only_what_it_holds() -> None:
    made = situations.leased(fresh_scope())
    agent = caller(made.scope, Role.AGENT)
    with refused(Forbidden, made.scope):
        runs.cancel_run(agent, made.scope, made.run_id, "stop")
    assert runs.cancel_run(agent, made.scope, made.run_id, "stop", holder=made.holder).state == RunState.CANCELLED


def test_an_agent_that_names_a_lease_which_nobody_holds_cancels_nothing() -> None:
    made = situations.running(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        runs.cancel_run(caller(made.scope, Role.AGENT), made.scope, made.run_id, "stop", holder=Holder("worker-1", 0))
