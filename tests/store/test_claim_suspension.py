"""claim_suspension: paused to running, once. Source: store.md section 3.

Races are shown elsewhere; here one claim follows the other.
"""

from __future__ import annotations

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import (
    CortexError,
    Forbidden,
    NotAgentReplyResumable,
    NotFound,
    NotSuspended,
    RequiresApproval,
    SuspensionExpired,
)
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Reason
from suspensions.operations import suspensions
from tests.store import situations
from tests.store.rows import event_types, one_row, run_chain
from tests.store.situations import Situation, name_of
from tests.store.support import HOUR, MINUTE, TICK, around, at, claim, instant_of, live_of, refused, this_moment
from tests.support.builders import caller, continuation, fresh_scope

EXTERNAL = Reason.EXTERNAL_TOOL


@pytest.mark.parametrize("reason", list(Reason))
def test_a_claim_gives_the_pause_and_the_run_that_runs_again(reason: Reason) -> None:
    made = situations.paused(fresh_scope(), reason, continuation=continuation(step_index=2))
    assert made.pause is not None
    with at(this_moment()) as now:
        found = claim(made.scope, made.run_id)

    assert found.fresh
    assert (found.id, found.digest, found.reason) == (made.pause.id, made.pause.digest, reason)
    assert (found.pending, found.continuation) == (made.pause.pending, made.pause.continuation)
    assert found.claimed_at == found.updated_at == now
    assert found.retired_at is None
    run = found.claimed_run
    assert run is not None
    assert (run.state, run.revision, run.lease, run.lease_epoch) == (RunState.RUNNING, 3, None, 0)
    assert run.updated_at == now
    assert made.run == run


def test_a_claim_leaves_the_pause_live() -> None:
    made = situations.claimed(fresh_scope())
    assert made.pause is not None
    assert live_of(made.run_id) == [made.pause.id]


def test_a_claim_is_told_of_by_one_event() -> None:
    made = situations.claimed(fresh_scope())
    event = run_chain(made.run_id)[-1]
    assert event_types(made.run_id) == ["run.created", "run.paused", "run.claimed"]
    assert made.pause is not None
    assert (event["revision"], event["suspension_id"]) == (3, made.pause.id)


def test_the_second_claim_is_refused_and_the_row_stays() -> None:
    made = situations.paused(fresh_scope())
    first = claim(made.scope, made.run_id)

    with refused(NotSuspended, made.scope) as refusal:
        claim(made.scope, made.run_id)

    assert refusal.value.members() == {"state": "running"}
    assert made.pause is not None
    assert instant_of(one_row("suspension", id=made.pause.id)["claimed_at"]) == first.claimed_at


# -- the deadline ------------------------------------------------------------------------------------


def test_an_expired_pause_is_refused_and_leaves_the_run_paused() -> None:
    made = situations.paused_past_its_deadline(fresh_scope())
    assert made.pause is not None
    with refused(SuspensionExpired, made.scope) as refusal:
        claim(made.scope, made.run_id)

    assert refusal.value.members() == {"expires_at": made.pause.expires_at}
    assert made.run.state == RunState.PAUSED


def test_a_deadline_has_passed_at_its_very_instant() -> None:
    deadline = this_moment() + HOUR
    made, other = (situations.paused(fresh_scope(), expires_at=deadline) for _ in range(2))

    with at(deadline), refused(SuspensionExpired, made.scope):
        claim(made.scope, made.run_id)
    with at(deadline - TICK):
        assert claim(other.scope, other.run_id).expires_at == deadline


def test_the_deadline_exactly_at_the_instant_that_both_sides_ask_about_goes_to_the_sweep() -> None:
    deadline = this_moment()
    made = situations.paused(fresh_scope(), expires_at=deadline)
    with at(deadline):
        with refused(SuspensionExpired, made.scope):
            claim(made.scope, made.run_id)
        assert claim(made.scope, made.run_id, expired_by=deadline).claimed_at == deadline


def test_a_tick_before_the_deadline_it_goes_to_the_claim_and_not_to_the_sweep() -> None:
    deadline = this_moment()
    made = situations.paused(fresh_scope(), expires_at=deadline)
    with at(deadline - TICK):
        with refused(NotSuspended, made.scope):
            claim(made.scope, made.run_id, expired_by=deadline - TICK)
        assert claim(made.scope, made.run_id).claimed_at == deadline - TICK


def test_a_pause_without_a_deadline_never_expires() -> None:
    made = situations.paused(fresh_scope())
    with at(this_moment() + 24 * 365 * 50 * HOUR):
        assert claim(made.scope, made.run_id).expires_at is None


# -- refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("situation", [situations.running, situations.completed, situations.created], ids=name_of)
def test_a_run_without_a_pause_is_not_suspended_and_not_expired(situation: Situation) -> None:
    made = situation(fresh_scope())
    with refused(NotSuspended, made.scope) as refusal:
        claim(made.scope, made.run_id)
    assert refusal.value.members() == {"state": str(made.run.state)}


def test_a_paused_run_without_a_live_pause_is_not_suspended() -> None:
    made = situations.paused_without_a_live_pause(fresh_scope())
    with refused(NotSuspended, made.scope):
        claim(made.scope, made.run_id)


def test_a_claimed_pause_past_its_deadline_is_not_suspended_and_not_expired() -> None:
    deadline = this_moment() + MINUTE
    made = situations.paused(fresh_scope(), expires_at=deadline)
    claim(made.scope, made.run_id)
    with at(deadline + HOUR), refused(NotSuspended, made.scope):
        claim(made.scope, made.run_id)


def test_a_run_that_is_not_there_is_not_suspended() -> None:
    scope = fresh_scope()
    with refused(NotSuspended, scope) as refusal:
        claim(scope, ids.new_id(ids.RUN))
    assert refusal.value.members() == {}


# -- scopes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["below", "beside", "elsewhere"])
def test_the_other_scopes_run_id_gives_nothing_and_changes_nothing(where: str) -> None:
    made = situations.paused(fresh_scope(2))
    other = around(made.scope)[where]
    with refused(NotSuspended, made.scope, other) as refusal:
        claim(other, made.run_id)
    assert refusal.value.members() == {}


def test_a_claim_from_a_broader_scope_leaves_the_runs_scope_as_it_was() -> None:
    made = situations.paused(fresh_scope(3))
    top = Scope.parse(made.scope.prefixes[0])

    found = claim(top, made.run_id)

    assert found.scope == made.scope
    assert found.claimed_run is not None
    assert found.claimed_run.scope == made.scope
    assert made.run.state == RunState.RUNNING
    assert {event["scope"] for event in run_chain(made.run_id)} == {made.scope.text}
    row = one_row("run", id=made.run_id)
    assert [row[f"scope_{cut}"] for cut in (1, 2, 3)] == list(made.scope.prefixes)


# -- the plain claim of a caller ---------------------------------------------------------------------


def test_an_agent_claims_an_external_tool_pause() -> None:
    made = situations.paused(fresh_scope(), EXTERNAL)
    found = suspensions.claim_suspension(caller(made.scope, Role.AGENT), made.scope, made.run_id)
    assert found.claimed_run == made.run


@pytest.mark.parametrize(
    ("reason", "error"), [(Reason.APPROVAL, RequiresApproval), (Reason.AGENT_REPLY, NotAgentReplyResumable)]
)
def test_an_agent_claims_no_pause_that_waits_for_somebody_else(reason: Reason, error: type[CortexError]) -> None:
    made = situations.paused(fresh_scope(), reason)
    for roles in ((Role.AGENT,), tuple(Role)):
        with refused(error, made.scope):
            suspensions.claim_suspension(caller(made.scope, *roles), made.scope, made.run_id)


@pytest.mark.parametrize("reason", [Reason.APPROVAL, Reason.AGENT_REPLY])
def test_who_may_answer_is_said_after_the_claims_own_refusals(reason: Reason) -> None:
    late = situations.paused(fresh_scope(), reason, expires_at=this_moment() - MINUTE)
    with refused(SuspensionExpired, late.scope):
        suspensions.claim_suspension(caller(late.scope), late.scope, late.run_id)
    gone = situations.paused(fresh_scope(), reason)
    claim(gone.scope, gone.run_id)
    with refused(NotSuspended, gone.scope):
        suspensions.claim_suspension(caller(gone.scope), gone.scope, gone.run_id)


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.AGENT])
def test_only_an_agent_makes_a_plain_claim(role: Role) -> None:
    made = situations.paused(fresh_scope(), EXTERNAL)
    with refused(Forbidden, made.scope):
        suspensions.claim_suspension(caller(made.scope, role), made.scope, made.run_id)


def test_nobody_claims_in_a_scope_that_is_not_granted() -> None:
    made = situations.paused(fresh_scope(), EXTERNAL)
    with refused(NotFound, made.scope):
        suspensions.claim_suspension(caller(fresh_scope()), made.scope, made.run_id)
