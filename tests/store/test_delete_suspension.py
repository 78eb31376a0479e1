"""delete_suspension: a pause that was fully handled leaves every operation. Source: store.md sections 2 and 3."""

from __future__ import annotations

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import Forbidden, InvalidState, NotSuspended
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.operations import resumes, suspensions
from tests.store import situations
from tests.store.rows import event_types, one_row
from tests.store.situations import Situation, name_of
from tests.store.support import around, at, claim, instant_of, live_of, refused, this_moment
from tests.support.builders import caller, fresh_scope, make_pause


def delete(scope: Scope, run_id: str, suspension_id: str | None = None) -> None:
    suspensions.delete_suspension(caller(scope), scope, run_id, suspension_id)


RETIRABLE = [situations.claimed, situations.started, situations.started_under_a_lease, situations.started_and_lapsed]


@pytest.mark.parametrize("situation", RETIRABLE, ids=name_of)
def test_a_handled_pause_is_retired_and_the_run_stays_as_it_is(situation: Situation) -> None:
    made = situation(fresh_scope())
    before = made.run
    assert made.pause is not None
    with at(this_moment()) as now:
        delete(made.scope, made.run_id)

    assert live_of(made.run_id) == []
    row = one_row("suspension", id=made.pause.id)
    assert instant_of(row["retired_at"]) == instant_of(row["updated_at"]) == now
    assert made.run == before


def test_retiring_takes_it_from_every_operation_and_history_still_shows_it() -> None:
    made = situations.claimed(fresh_scope())
    assert made.pause is not None
    delete(made.scope, made.run_id)

    with refused(NotSuspended, made.scope):
        suspensions.get_suspension(caller(made.scope), made.scope, made.run_id)
    with refused(NotSuspended, made.scope):
        claim(made.scope, made.run_id)
    history = suspensions.read_suspension(caller(made.scope), made.scope, made.pause.id)
    assert history.retired_at is not None
    assert history.continuation == made.pause.continuation


def test_the_admission_and_the_start_survive_it() -> None:
    made = situations.started(fresh_scope())
    delete(made.scope, made.run_id)
    who, version = caller(made.scope), made.version
    assert resumes.get_admission(who, made.scope, made.run_id, version.suspension_id) == made.admission
    assert resumes.get_start(who, made.scope, made.run_id, version.suspension_id) == made.start


def test_it_makes_no_event() -> None:
    made = situations.claimed(fresh_scope())
    before = event_types(made.run_id)
    delete(made.scope, made.run_id)
    assert event_types(made.run_id) == before


def test_with_its_id_the_live_pause_is_retired() -> None:
    made = situations.claimed(fresh_scope())
    assert made.pause is not None
    delete(made.scope, made.run_id, made.pause.id)
    assert live_of(made.run_id) == []


def test_with_an_id_it_never_removes_a_later_pause() -> None:
    made = situations.claimed(fresh_scope())
    assert made.pause is not None
    later = make_pause(made.scope, run=made.run)
    claim(made.scope, made.run_id)

    with refused(NotSuspended, made.scope):
        delete(made.scope, made.run_id, made.pause.id)
    assert live_of(made.run_id) == [later.id]


def test_the_second_delete_is_not_suspended() -> None:
    made = situations.claimed(fresh_scope())
    delete(made.scope, made.run_id)
    with refused(NotSuspended, made.scope):
        delete(made.scope, made.run_id)


# -- refusals in their order -------------------------------------------------------------------------


def test_a_run_that_is_not_there_is_not_suspended() -> None:
    scope = fresh_scope()
    with refused(NotSuspended, scope):
        delete(scope, ids.new_id(ids.RUN))


@pytest.mark.parametrize(
    "situation",
    [
        situations.running,
        situations.leased,
        situations.paused_without_a_live_pause,
        situations.completed,
        situations.closed,
    ],
    ids=name_of,
)
def test_a_run_without_a_live_pause_is_not_suspended(situation: Situation) -> None:
    made = situation(fresh_scope())
    with refused(NotSuspended, made.scope):
        delete(made.scope, made.run_id)


@pytest.mark.parametrize("situation", [situations.paused, situations.admitted, situations.claimed], ids=name_of)
def test_another_pauses_id_is_not_suspended_before_the_state_is_looked_at(situation: Situation) -> None:
    made = situation(fresh_scope())
    with refused(NotSuspended, made.scope):
        delete(made.scope, made.run_id, ids.new_id(ids.SUSPENSION))


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    "situation",
    [
        situations.paused,
        situations.paused_past_its_deadline,
        situations.admitted,
        situations.admitted_under_a_lease,
        situations.overdue,
    ],
    ids=name_of,
)
def test_a_pause_that_still_decides_is_refused(situation: Situation, named: bool) -> None:
    made = situation(fresh_scope())
    assert made.pause is not None
    with refused(InvalidState, made.scope) as refusal:
        delete(made.scope, made.run_id, made.pause.id if named else None)
    assert refusal.value.members() == {"state": str(made.run.state)}


@pytest.mark.parametrize("where", ["below", "beside", "elsewhere"])
def test_another_scope_removes_nothing(where: str) -> None:
    made = situations.claimed(fresh_scope(2))
    other = around(made.scope)[where]
    assert made.pause is not None
    for suspension_id in (None, made.pause.id):
        with refused(NotSuspended, made.scope, other):
            delete(other, made.run_id, suspension_id)


def test_a_broader_scope_retires_what_it_covers() -> None:
    made = situations.claimed(fresh_scope(2))
    delete(around(made.scope)["above"], made.run_id)
    assert live_of(made.run_id) == []
    assert made.run.state == RunState.RUNNING


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.AGENT])
def test_only_an_agent_deletes_pauses(role: Role) -> None:
    made = situations.claimed(fresh_scope())
    with refused(Forbidden, made.scope):
        suspensions.delete_suspension(caller(made.scope, role), made.scope, made.run_id)
