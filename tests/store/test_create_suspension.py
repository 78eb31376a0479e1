"""create_suspension: running to paused, once for each id. Source: store.md sections 1 to 3."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from suspensions.domain import ids
from suspensions.domain.errors import (
    AlreadyExists,
    Forbidden,
    InvalidId,
    InvalidRequest,
    InvalidState,
    RunLeaseLost,
    RunNotFound,
)
from suspensions.domain.policy import Role
from suspensions.domain.states import RunState
from suspensions.domain.values import Holder, LeaseTake, NewSuspension, Reason, Suspension
from suspensions.operations import leases, runs, suspensions
from tests.store import situations, support
from tests.store.rows import event_types, one_row, rows, run_chain
from tests.store.situations import Made, Situation, name_of
from tests.store.support import HOUR, MINUTE, around, at, claim, instant_of, live_of, refused, this_moment, unchanged
from tests.support.builders import (
    call,
    caller,
    continuation,
    fresh_scope,
    holder_of,
    make_run,
    new_run,
    new_suspension,
    take,
)

MILLISECOND = timedelta(milliseconds=1)


def pause(made: Made, reason: Reason = Reason.APPROVAL, **more: Any) -> Suspension:
    return suspensions.create_suspension(caller(made.scope), new_suspension(made.scope, made.run_id, reason, **more))


def create(new: NewSuspension) -> Suspension:
    return suspensions.create_suspension(caller(new.scope), new)


# -- what it does ------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", list(Reason))
def test_a_running_run_pauses_with_what_was_given(reason: Reason) -> None:
    made = situations.running(fresh_scope(2))
    body = continuation(step_index=3, tokens_used=1200, system_prompt="Be kind.")
    reply = {"reply_with": "reply-1"} if reason is Reason.AGENT_REPLY else {}
    pending = (call("b", note="sure?", **reply), call("a", "refund", '{"amount":10}', **reply))
    with at(this_moment()) as now:
        found = pause(made, reason, pending=pending, continuation=body, expires_at=now + HOUR)

    assert found.fresh
    assert ids.require_id(found.id, ids.SUSPENSION)
    assert (found.run_id, found.scope, found.reason) == (made.run_id, made.scope, reason)
    assert found.pending == pending
    assert found.continuation == body.text
    assert found.expires_at == now + HOUR
    assert found.created_at == found.updated_at == now
    assert (found.claimed_at, found.retired_at) == (None, None)
    assert found.created_by.via == "token:test"
    assert suspensions.get_suspension(caller(made.scope), made.scope, made.run_id) == found
    run = found.run
    assert run is not None
    assert (run.state, run.revision) == (RunState.PAUSED, 2)
    assert (run.step_count, run.tokens_used) == (3, 1200)
    assert made.run == run


def test_only_an_approval_has_a_checkpoint() -> None:
    for reason in Reason:
        found = situations.paused(fresh_scope(), reason).pause
        assert found is not None
        if reason is Reason.APPROVAL:
            assert ids.require_id(found.checkpoint_id, ids.CHECKPOINT)
        else:
            assert found.checkpoint_id is None


def test_a_pause_is_told_of_by_one_event() -> None:
    made = situations.paused(fresh_scope())
    event = run_chain(made.run_id)[-1]
    assert event_types(made.run_id) == ["run.created", "run.paused"]
    assert made.pause is not None
    assert (event["revision"], event["suspension_id"]) == (2, made.pause.id)


def test_a_continuation_without_counters_leaves_the_runs_own() -> None:
    made = situations.running(fresh_scope())
    pause(made, continuation=continuation(step_index=4, tokens_used=50))
    claim(made.scope, made.run_id)

    found = pause(made)

    assert found.run is not None
    assert (found.run.step_count, found.run.tokens_used) == (4, 50)


def test_pausing_clears_the_lease_and_keeps_the_epoch() -> None:
    made = situations.leased(fresh_scope())
    found = pause(made, holder=made.holder)
    assert found.run is not None
    assert (found.run.lease, found.run.lease_epoch) == (None, 1)
    assert made.run == found.run


def test_a_run_that_is_paused_without_a_live_pause_just_gets_the_row() -> None:
    made = situations.paused_without_a_live_pause(fresh_scope())
    assert made.pause is not None
    found = pause(made)
    assert found.run is not None
    assert (found.run.state, found.run.revision) == (RunState.PAUSED, 2)
    assert found.id > made.pause.id
    assert live_of(made.run_id) == [found.id]
    assert claim(made.scope, made.run_id).id == found.id


# -- one live pause ----------------------------------------------------------------------------------


@pytest.mark.parametrize("situation", [situations.claimed, situations.started], ids=name_of)
def test_the_next_pause_replaces_one_that_was_claimed(situation: Situation) -> None:
    made = situation(fresh_scope())
    assert made.pause is not None
    with at(this_moment()) as now:
        found = pause(made)

    assert live_of(made.run_id) == [found.id]
    row = one_row("suspension", id=made.pause.id)
    assert instant_of(row["retired_at"]) == instant_of(row["updated_at"]) == now
    history = suspensions.read_suspension(caller(made.scope), made.scope, made.pause.id)
    assert (history.retired_at, history.continuation) == (now, made.pause.continuation)


def test_a_pause_after_a_started_resume_forgets_that_resume() -> None:
    made = situations.started(fresh_scope())
    found = pause(made)
    assert found.run is not None
    assert found.run.resume is None
    assert claim(made.scope, made.run_id).claimed_run is not None


@pytest.mark.parametrize("situation", [situations.paused, situations.paused_past_its_deadline], ids=name_of)
def test_a_second_pause_of_a_paused_run_is_refused_and_names_the_live_one(situation: Situation) -> None:
    made = situation(fresh_scope())
    assert made.pause is not None
    with refused(AlreadyExists, made.scope) as refusal:
        pause(made)
    assert refusal.value.members() == {"suspension_id": made.pause.id}
    assert made.pause.id in refusal.value.detail


# -- a pause that makes its run ----------------------------------------------------------------------


def with_run(scope: Any, **more: Any) -> NewSuspension:
    run_id = ids.new_id(ids.RUN)
    lease = more.pop("lease", None)
    return new_suspension(scope, run_id, run=new_run(scope, id=run_id, agent_name="booker", lease=lease), **more)


def test_a_pause_can_bring_its_run_which_is_created_and_paused_in_one_commit() -> None:
    new = with_run(fresh_scope(2))

    found = create(new)

    assert found.run is not None
    assert (found.run.id, found.run.agent_name) == (new.run_id, "booker")
    assert (found.run.state, found.run.revision) == (RunState.PAUSED, 2)
    assert [(event["type"], event["revision"]) for event in run_chain(new.run_id)] == [
        ("run.created", 1),
        ("run.paused", 2),
    ]
    assert claim(new.scope, new.run_id).pending == found.pending


def test_a_run_that_is_there_is_paused_as_it_is() -> None:
    scope = fresh_scope()
    run = make_run(scope, input="first")
    found = create(new_suspension(scope, run.id, run=new_run(scope, id=run.id, input="second")))
    assert found.run is not None
    assert (found.run.revision, found.run.input) == (2, "first")


def test_a_lease_of_the_brought_run_counts_and_is_cleared_by_the_pause() -> None:
    found = create(with_run(fresh_scope(), lease=take()))
    assert found.run is not None
    assert (found.run.lease, found.run.lease_epoch) == (None, 1)


@pytest.mark.parametrize(
    ("faulty", "error"),
    [
        ({"lease": LeaseTake("worker-1")}, RunLeaseLost),
        ({"lease": LeaseTake("worker-1", seconds=0)}, InvalidRequest),
        ({"holder": Holder("worker-1", 1)}, RunLeaseLost),
        ({"id": "sus_" + "0" * 26}, InvalidId),
    ],
)
def test_a_refused_pause_makes_no_run(faulty: dict[str, Any], error: type[Any]) -> None:
    new = with_run(fresh_scope(), **faulty)
    with refused(error, new.scope):
        create(new)
    assert rows("SELECT id FROM run WHERE id = %s", [new.run_id]) == []


def test_a_deadline_beyond_the_longest_makes_no_run(settings: Settings) -> None:
    settings.MAX_DEADLINE = HOUR
    new = with_run(fresh_scope(), expires_at=this_moment() + 2 * HOUR)
    with refused(InvalidRequest, new.scope):
        create(new)


@pytest.mark.parametrize("where", ["above", "below", "beside", "elsewhere"])
def test_a_brought_run_whose_id_is_taken_in_another_scope_is_refused(where: str) -> None:
    made = situations.running(fresh_scope(2))
    other = around(made.scope)[where]
    new = new_suspension(other, made.run_id, run=new_run(other, id=made.run_id))
    with refused(AlreadyExists, made.scope, other) as refusal:
        create(new)
    assert refusal.value.members() == {}


# -- the same again ----------------------------------------------------------------------------------


def retired(made: Made) -> None:
    claim(made.scope, made.run_id)
    suspensions.delete_suspension(caller(made.scope), made.scope, made.run_id)


def finished(made: Made) -> None:
    claim(made.scope, made.run_id)
    runs.finish_run(caller(made.scope), made.scope, made.run_id, RunState.COMPLETED)


def replaced(made: Made) -> None:
    claim(made.scope, made.run_id)
    pause(made)


def leased_again(made: Made) -> None:
    claim(made.scope, made.run_id, lease=take("somebody"))


def nothing(made: Made) -> None:
    """The pause stays as it is."""


@pytest.mark.parametrize("later", [nothing, retired, finished, replaced, leased_again])
def test_the_same_id_with_the_same_content_is_that_record_whatever_became_of_it(later: Any) -> None:
    made = situations.leased(fresh_scope())
    new = new_suspension(made.scope, made.run_id, id=ids.new_id(ids.SUSPENSION), holder=made.holder)
    first = create(new)
    later(made)

    with unchanged(made.scope):
        again = create(new)
        by_nobody = create(replace(new, holder=None))

    assert not again.fresh
    assert again == by_nobody
    assert (again.id, again.digest, again.pending, again.continuation, again.created_at) == (
        first.id,
        first.digest,
        first.pending,
        first.continuation,
        first.created_at,
    )
    assert again.run == made.run


def test_the_same_pause_that_brought_its_run_is_that_record() -> None:
    new = with_run(fresh_scope(), id=ids.new_id(ids.SUSPENSION))
    first = create(new)
    with unchanged(new.scope):
        again = create(new)
    assert (again, again.fresh) == (first, False)


def test_the_same_content_under_no_id_is_another_pause() -> None:
    made = situations.running(fresh_scope())
    first = pause(made)
    claim(made.scope, made.run_id)
    assert pause(made).id > first.id


@pytest.mark.parametrize(
    "other",
    [
        {"pending": (call("other"),)},
        {"continuation": continuation(step_index=9)},
        {"expires_at": support.ANCIENT},
        {"reason": Reason.EXTERNAL_TOOL},
    ],
    ids=lambda other: next(iter(other)),
)
def test_the_same_id_with_other_content_is_refused(other: dict[str, Any]) -> None:
    made = situations.running(fresh_scope())
    chosen = ids.new_id(ids.SUSPENSION)
    pause(made, id=chosen)
    with refused(AlreadyExists, made.scope) as refusal:
        pause(made, id=chosen, **other)
    assert refusal.value.members() == {}


def test_the_same_id_for_another_run_is_refused() -> None:
    made = situations.running(fresh_scope())
    other = situations.running(made.scope)
    new = new_suspension(made.scope, made.run_id, id=ids.new_id(ids.SUSPENSION))
    create(new)
    with refused(AlreadyExists, made.scope):
        create(replace(new, run_id=other.run_id))


@pytest.mark.parametrize("where", ["above", "below", "beside", "elsewhere"])
def test_the_very_same_request_in_another_scope_is_another_one_and_finds_no_record(where: str) -> None:
    new = with_run(fresh_scope(2), id=ids.new_id(ids.SUSPENSION))
    create(new)
    other = around(new.scope)[where]
    assert new.run is not None
    with refused(AlreadyExists, new.scope, other) as refusal:
        create(replace(new, scope=other, run=replace(new.run, scope=other)))
    assert refusal.value.members() == {}


@pytest.mark.parametrize("where", ["above", "below", "beside", "elsewhere"])
def test_an_id_taken_in_another_scope_is_refused_with_the_same_words_and_shows_nothing(where: str) -> None:
    made = situations.running(fresh_scope(2))
    chosen = ids.new_id(ids.SUSPENSION)
    pause(made, id=chosen)
    with refused(AlreadyExists, made.scope) as own:
        pause(made, id=chosen, pending=(call("other"),))
    theirs = situations.running(around(made.scope)[where])

    with refused(AlreadyExists, made.scope, theirs.scope) as foreign:
        pause(theirs, id=chosen)

    assert (foreign.value.detail, foreign.value.members()) == (own.value.detail, own.value.members())


# -- chosen ids --------------------------------------------------------------------------------------


def test_a_client_may_choose_an_id_up_to_five_minutes_ahead() -> None:
    made = situations.running(fresh_scope())
    with at(this_moment().replace(microsecond=0)) as now:
        chosen = ids.id_at(ids.SUSPENSION, now + 5 * MINUTE, sequence=hash(made.run_id))
        assert pause(made, id=chosen).id == chosen


def test_an_id_further_ahead_is_refused() -> None:
    made = situations.running(fresh_scope())
    with at(this_moment().replace(microsecond=0)) as now, refused(InvalidId, made.scope):
        pause(made, id=ids.id_at(ids.SUSPENSION, now + 5 * MINUTE + MILLISECOND))


@pytest.mark.parametrize("chosen", ["", "sus_1", ids.id_at(ids.RUN, support.ANCIENT), "sus_" + "0" * 26])
def test_an_id_that_is_no_suspension_id_of_version_7_is_refused(chosen: str) -> None:
    made = situations.running(fresh_scope())
    with refused(InvalidId, made.scope):
        pause(made, id=chosen)


def test_a_server_made_id_is_greater_than_a_chosen_one_that_lies_ahead() -> None:
    made = situations.running(fresh_scope())
    chosen = ids.id_at(ids.SUSPENSION, this_moment() + 4 * MINUTE, sequence=hash(made.run_id))
    pause(made, id=chosen)
    claim(made.scope, made.run_id)
    first = pause(made)
    claim(made.scope, made.run_id)
    second = pause(made)

    assert chosen < first.id < second.id
    assert first.id[:14] == chosen[:14], "the larger of now and the latest plus one"


def test_a_chosen_id_must_be_greater_than_every_earlier_one_of_its_run() -> None:
    made = situations.running(fresh_scope())
    now = this_moment()
    early, middle, late = (
        ids.id_at(ids.SUSPENSION, now + offset * MINUTE, sequence=hash(made.run_id)) for offset in (-2, 0, 2)
    )
    pause(made, id=middle)
    claim(made.scope, made.run_id)
    pause(made, id=late)
    claim(made.scope, made.run_id)
    suspensions.delete_suspension(caller(made.scope), made.scope, made.run_id)

    with refused(InvalidId, made.scope):
        pause(made, id=early)
    with refused(InvalidId, made.scope):
        pause(made, id=ids.id_at(ids.SUSPENSION, now + MINUTE))
    # The same id and content is the record before any of this is asked.
    assert pause(made, id=middle).id == middle

    assert pause(situations.running(made.scope), id=early).id == early, "another run has its own order"


# -- refusals in their order -------------------------------------------------------------------------


def test_a_run_that_is_not_there_is_not_found_before_the_id_is_looked_at() -> None:
    made = situations.running(fresh_scope())
    chosen = ids.new_id(ids.SUSPENSION)
    pause(made, id=chosen)
    missing = Made(made.scope, ids.new_id(ids.RUN))
    for faulty in ({}, {"id": chosen}, {"id": "sus_"}, {"holder": Holder("worker-1", 1)}):
        with refused(RunNotFound, made.scope):
            pause(missing, **faulty)


@pytest.mark.parametrize("where", ["above", "below", "beside", "elsewhere"])
def test_a_run_of_another_scope_is_not_found(where: str) -> None:
    made = situations.running(fresh_scope(2))
    other = around(made.scope)[where]
    with refused(RunNotFound, made.scope, other):
        pause(Made(other, made.run_id))


def test_a_taken_id_is_said_before_the_state_and_the_lease() -> None:
    made = situations.completed(fresh_scope())
    assert made.pause is not None
    with refused(AlreadyExists, made.scope):
        pause(made, id=made.pause.id, holder=Holder("somebody", 7))


@pytest.mark.parametrize("situation", [situations.paused, situations.paused_past_its_deadline], ids=name_of)
def test_a_live_pause_is_said_before_the_lease(situation: Situation) -> None:
    made = situation(fresh_scope())
    with refused(AlreadyExists, made.scope):
        pause(made, holder=Holder("somebody", 7))


@pytest.mark.parametrize("holder", [None, Holder("worker-1", 1), Holder("somebody", 7)], ids=str)
@pytest.mark.parametrize(
    "situation",
    [
        situations.created,
        situations.admitted,
        situations.admitted_under_a_lease,
        situations.overdue,
        situations.completed,
        situations.failed,
        situations.cancelled,
        situations.incomplete,
        situations.expired,
        situations.closed,
    ],
    ids=name_of,
)
def test_the_state_is_said_before_the_lease(situation: Situation, holder: Holder | None) -> None:
    made = situation(fresh_scope())
    with refused(InvalidState, made.scope) as refusal:
        pause(made, holder=holder)
    assert refusal.value.members() == {"state": str(made.run.state)}


def test_the_holder_of_an_admitted_run_cannot_throw_the_answer_away_by_pausing_again() -> None:
    made = situations.admitted_under_a_lease(fresh_scope())
    with refused(InvalidState, made.scope):
        pause(made, holder=made.holder)


@pytest.mark.parametrize(
    "holder",
    [None, Holder("worker-1", 0), Holder("worker-1", 2), Holder("Worker-1", 1), Holder("worker-2", 1), Holder("", 1)],
    ids=str,
)
@pytest.mark.parametrize(
    "situation", [situations.leased, situations.lapsed, situations.started_under_a_lease], ids=name_of
)
def test_a_leased_run_pauses_for_its_holder_alone(situation: Situation, holder: Holder | None) -> None:
    made = situation(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        pause(made, holder=holder)


def test_a_holder_whose_lease_lapsed_and_was_not_taken_over_still_pauses() -> None:
    made = situations.lapsed(fresh_scope())
    assert pause(made, holder=made.holder).fresh


@pytest.mark.parametrize("successor", ["worker-1", "worker-2"])
def test_a_holder_whose_run_was_taken_over_is_fenced_also_by_a_successor_of_its_own_name(successor: str) -> None:
    made = situations.lapsed(fresh_scope())
    taken, _ = leases.reclaim_lease(caller(made.scope), made.scope, made.run_id, take(successor))
    with refused(RunLeaseLost, made.scope):
        pause(made, holder=made.holder)
    assert pause(made, holder=holder_of(taken)).fresh


# -- deadlines ---------------------------------------------------------------------------------------


def test_without_settings_a_pause_without_a_deadline_has_none() -> None:
    assert pause(situations.running(fresh_scope())).expires_at is None


def test_the_default_deadline_holds_where_none_was_given(settings: Settings) -> None:
    settings.DEFAULT_DEADLINE = HOUR
    with at(this_moment()) as now:
        assert pause(situations.running(fresh_scope())).expires_at == now + HOUR
        assert pause(situations.running(fresh_scope()), expires_at=now + MINUTE).expires_at == now + MINUTE
        assert create(with_run(fresh_scope())).expires_at == now + HOUR


def test_a_deadline_at_the_longest_is_taken_and_one_beyond_it_is_never_cut(settings: Settings) -> None:
    settings.MAX_DEADLINE = HOUR
    made = situations.running(fresh_scope())
    with at(this_moment()) as now:
        with refused(InvalidRequest, made.scope):
            pause(made, expires_at=now + HOUR + support.TICK)
        assert pause(made, expires_at=now + HOUR).expires_at == now + HOUR


def test_where_only_a_longest_deadline_is_set_no_pause_waits_for_ever(settings: Settings) -> None:
    settings.MAX_DEADLINE = HOUR
    with at(this_moment()) as now:
        assert pause(situations.running(fresh_scope())).expires_at == now + HOUR


def test_the_default_does_not_make_the_same_request_another_content(settings: Settings) -> None:
    made = situations.running(fresh_scope())
    new = new_suspension(made.scope, made.run_id, id=ids.new_id(ids.SUSPENSION))
    first = create(new)
    settings.DEFAULT_DEADLINE = MINUTE
    with unchanged(made.scope):
        assert create(new) == first


def test_a_past_deadline_is_accepted_and_expires_at_once(settings: Settings) -> None:
    settings.MAX_DEADLINE = HOUR
    found = pause(situations.running(fresh_scope()), expires_at=support.ANCIENT)
    assert found.expires_at == support.ANCIENT
    assert claim(found.scope, found.run_id, expired_by=this_moment()).id == found.id


# -- who may -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.AGENT])
def test_only_an_agent_pauses_runs(role: Role) -> None:
    made = situations.running(fresh_scope())
    with refused(Forbidden, made.scope):
        suspensions.create_suspension(caller(made.scope, role), new_suspension(made.scope, made.run_id))
