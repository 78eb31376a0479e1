"""get_suspension: the run's live pause, whole, changing nothing. Source: store.md section 3."""

from __future__ import annotations

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import NotFound, NotSuspended, SuspensionNotFound
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Suspension
from suspensions.operations import suspensions
from tests.store import situations
from tests.store.situations import Situation, name_of
from tests.store.support import around, refused, unchanged
from tests.support.builders import caller, fresh_scope


def get(scope: Scope, run_id: str) -> Suspension:
    return suspensions.get_suspension(caller(scope), scope, run_id)


@pytest.mark.parametrize(
    "situation",
    [
        situations.paused,
        situations.paused_past_its_deadline,
        situations.claimed,
        situations.admitted,
        situations.overdue,
        situations.started,
        situations.started_and_lapsed,
    ],
    ids=name_of,
)
def test_a_live_pause_is_given_whole_also_once_it_was_claimed(situation: Situation) -> None:
    made = situation(fresh_scope())
    assert made.pause is not None

    with unchanged(made.scope):
        found = get(made.scope, made.run_id)

    assert not found.fresh
    assert (found.run, found.claimed_run) == (None, None)
    assert (found.id, found.digest) == (made.pause.id, made.pause.digest)
    assert (found.pending, found.continuation) == (made.pause.pending, made.pause.continuation)
    assert (found.claimed_at is None) == (situation in (situations.paused, situations.paused_past_its_deadline))
    assert found.retired_at is None


@pytest.mark.parametrize(
    "situation",
    [
        situations.created,
        situations.running,
        situations.leased,
        situations.paused_without_a_live_pause,
        situations.completed,
        situations.failed,
        situations.cancelled,
        situations.incomplete,
        situations.expired,
        situations.closed,
    ],
    ids=name_of,
)
def test_a_run_without_a_live_pause_is_not_suspended(situation: Situation) -> None:
    made = situation(fresh_scope())
    with refused(NotSuspended, made.scope):
        get(made.scope, made.run_id)


def test_a_run_that_is_not_there_is_not_suspended() -> None:
    scope = fresh_scope()
    with refused(NotSuspended, scope):
        get(scope, ids.new_id(ids.RUN))


def test_a_scope_above_reads_what_it_covers() -> None:
    made = situations.paused(fresh_scope(2))
    found = get(around(made.scope)["above"], made.run_id)
    assert made.pause is not None
    assert (found.id, found.scope) == (made.pause.id, made.scope)


@pytest.mark.parametrize("where", ["below", "beside", "elsewhere"])
def test_any_other_scope_reads_nothing(where: str) -> None:
    made = situations.paused(fresh_scope(2))
    other = around(made.scope)[where]
    assert made.pause is not None
    with refused(NotSuspended, made.scope, other):
        get(other, made.run_id)
    with refused(SuspensionNotFound, made.scope, other):
        suspensions.read_suspension(caller(other), other, made.pause.id)


@pytest.mark.parametrize("role", list(Role))
def test_every_role_reads(role: Role) -> None:
    made = situations.paused(fresh_scope())
    assert suspensions.get_suspension(caller(made.scope, role), made.scope, made.run_id).run_id == made.run_id


def test_nobody_reads_a_scope_that_is_not_granted() -> None:
    made = situations.paused(fresh_scope())
    with refused(NotFound, made.scope):
        suspensions.get_suspension(caller(fresh_scope()), made.scope, made.run_id)


# -- by its own id -----------------------------------------------------------------------------------


def test_a_pause_is_found_by_its_id_live_or_retired() -> None:
    for situation in (situations.paused, situations.claimed, situations.completed, situations.closed):
        made = situation(fresh_scope())
        assert made.pause is not None
        found = suspensions.read_suspension(caller(made.scope), made.scope, made.pause.id)
        assert (found.id, found.continuation) == (made.pause.id, made.pause.continuation)
        assert (found.retired_at is not None) == (situation in (situations.completed, situations.closed))


def test_a_pause_that_is_not_there_is_not_found() -> None:
    scope = fresh_scope()
    with refused(SuspensionNotFound, scope):
        suspensions.read_suspension(caller(scope), scope, ids.new_id(ids.SUSPENSION))
