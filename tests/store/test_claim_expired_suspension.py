"""claim_expired_suspension: the sweep's claim, for pauses past their deadline alone. Source: store.md section 3."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import Forbidden, InvalidRequest, NotSuspended, RunConflict
from suspensions.domain.policy import Role
from suspensions.domain.states import RunState
from suspensions.domain.values import Reason
from suspensions.operations import suspensions
from tests.store import situations
from tests.store.situations import Situation, name_of
from tests.store.support import HOUR, MINUTE, TICK, around, at, claim, refused, this_moment
from tests.support.builders import caller, fresh_scope, take


@pytest.mark.parametrize("reason", list(Reason))
def test_a_pause_past_its_deadline_is_claimed_whatever_its_reason(reason: Reason) -> None:
    deadline = this_moment() - HOUR
    made = situations.paused(fresh_scope(), reason, expires_at=deadline)
    with at(this_moment()) as now:
        found = claim(made.scope, made.run_id, expired_by=now - MINUTE)

    assert found.fresh
    assert found.claimed_at == now
    assert found.claimed_run is not None
    assert (found.claimed_run.state, found.claimed_run.revision) == (RunState.RUNNING, 3)
    assert made.run == found.claimed_run


def test_it_is_the_given_instant_and_not_the_present_that_the_deadline_is_held_against() -> None:
    deadline = this_moment() - HOUR
    made = situations.paused(fresh_scope(), expires_at=deadline)

    with refused(NotSuspended, made.scope):
        claim(made.scope, made.run_id, expired_by=deadline - TICK)
    assert claim(made.scope, made.run_id, expired_by=deadline).fresh


def test_an_instant_in_the_future_is_refused() -> None:
    made = situations.paused(fresh_scope(), expires_at=this_moment() + MINUTE)
    with at(this_moment()) as now, refused(InvalidRequest, made.scope):
        claim(made.scope, made.run_id, expired_by=now + HOUR)


@pytest.mark.parametrize(
    "situation",
    [situations.paused, situations.running, situations.completed, situations.paused_past_its_deadline],
    ids=name_of,
)
def test_an_instant_in_the_future_is_refused_whatever_the_run(situation: Situation) -> None:
    made = situation(fresh_scope())
    with at(this_moment()) as now:
        with refused(InvalidRequest, made.scope):
            claim(made.scope, made.run_id, expired_by=now + TICK)
        with refused(InvalidRequest, made.scope):
            claim(made.scope, ids.new_id(ids.RUN), expired_by=now + TICK)


def test_the_present_instant_may_be_given() -> None:
    with at(this_moment()) as now:
        made = situations.paused(fresh_scope(), expires_at=now)
        assert claim(made.scope, made.run_id, expired_by=now).claimed_at == now


# -- every miss is the same --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "situation",
    [situation for situation in situations.SITUATIONS if situation is not situations.paused_past_its_deadline],
    ids=name_of,
)
def test_every_miss_is_not_suspended(situation: Situation) -> None:
    made = situation(fresh_scope())
    with refused(NotSuspended, made.scope):
        claim(made.scope, made.run_id, expired_by=this_moment())


def test_a_run_that_is_not_there_is_a_miss_like_any() -> None:
    scope = fresh_scope()
    with refused(NotSuspended, scope):
        claim(scope, ids.new_id(ids.RUN), expired_by=this_moment())


def test_the_second_sweep_is_a_miss() -> None:
    made = situations.paused_past_its_deadline(fresh_scope())
    claim(made.scope, made.run_id, expired_by=this_moment())
    with refused(NotSuspended, made.scope):
        claim(made.scope, made.run_id, expired_by=this_moment())


@pytest.mark.parametrize("where", ["below", "beside", "elsewhere"])
def test_another_scopes_run_is_a_miss(where: str) -> None:
    made = situations.paused_past_its_deadline(fresh_scope(2))
    other = around(made.scope)[where]
    with refused(NotSuspended, made.scope, other):
        claim(other, made.run_id, expired_by=this_moment())


def test_a_broader_scope_claims_it() -> None:
    made = situations.paused_past_its_deadline(fresh_scope(2))
    assert claim(around(made.scope)["above"], made.run_id, expired_by=this_moment()).scope == made.scope


def test_a_pin_is_asked_before_the_deadline() -> None:
    made = situations.paused_past_its_deadline(fresh_scope())
    with refused(RunConflict, made.scope):
        claim(made.scope, made.run_id, expired_by=this_moment(), version=replace(made.version, run_revision=1))
    assert claim(made.scope, made.run_id, expired_by=this_moment(), version=made.version, lease=take()).fresh


# -- who may -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", list(Reason))
def test_an_operator_claims_expired_pauses_of_every_reason(reason: Reason) -> None:
    made = situations.paused(fresh_scope(), reason, expires_at=this_moment() - MINUTE)
    operator = caller(made.scope, Role.OPERATOR)
    found = suspensions.claim_suspension(operator, made.scope, made.run_id, expired_by=this_moment())
    assert found.claimed_run == made.run


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.OPERATOR])
def test_only_an_operator_claims_expired_pauses(role: Role) -> None:
    made = situations.paused_past_its_deadline(fresh_scope())
    with refused(Forbidden, made.scope):
        suspensions.claim_suspension(caller(made.scope, role), made.scope, made.run_id, expired_by=this_moment())
