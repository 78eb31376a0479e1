"""Progress: one snapshot of a run, for its holder alone, replaced whole. Source: store.md sections 2 and 3."""

from __future__ import annotations

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import Forbidden, InvalidState, NotFound, ProgressNotFound, RunLeaseLost
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Ending, Holder, Progress, Snapshot
from suspensions.operations import leases, progress, runs
from tests.store import situations
from tests.store.rows import event_types, execute, rows
from tests.store.situations import Made, Situation, name_of
from tests.store.support import MINUTE, around, at, refused, this_moment, unchanged
from tests.support.builders import call, caller, continuation, fresh_scope, holder_of, make_pause, snapshot, take


def save(made: Made, first: Snapshot | None = None, holder: Holder | None = None) -> Progress:
    who = holder or made.holder or Holder("worker-1", 1)
    saved = first or snapshot(made.run_id, who.owner)
    return progress.save_progress(caller(made.scope), made.scope, saved, who)


def get(made: Made, scope: Scope | None = None) -> Progress:
    return progress.get_progress(caller(scope or made.scope), scope or made.scope, made.run_id)


def delete(made: Made, holder: Holder | None = None, scope: Scope | None = None) -> None:
    progress.delete_progress(caller(scope or made.scope), scope or made.scope, made.run_id, holder)


# -- saving ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "situation",
    [situations.leased, situations.lapsed, situations.started_under_a_lease, situations.started_and_lapsed],
    ids=name_of,
)
def test_the_holder_of_a_running_run_saves_also_once_its_lease_lapsed(situation: Situation) -> None:
    made = situation(fresh_scope())
    before, told = made.run, event_types(made.run_id)
    first = snapshot(
        made.run_id,
        continuation=continuation(step_index=4, tokens_used=900),
        started=(call("c2", note="mind"),),
        done=b'[{"call_id":"c1","content":"x","error":"y","outcome":"failed"}]',
        ending=Ending("cancel"),
    )
    with at(this_moment()) as now:
        saved = save(made, first)

    assert saved == Progress(
        made.run_id,
        made.scope,
        "worker-1",
        1,
        first.continuation.text,
        first.started,
        first.done,
        first.ending,
        now,
    )
    assert get(made) == saved
    run = made.run
    assert (run.step_count, run.tokens_used) == (4, 900)
    assert (run.state, run.revision, run.lease) == (before.state, before.revision, before.lease)
    assert event_types(made.run_id) == told, "progress makes no event"


def test_a_snapshot_replaces_the_one_before_whole() -> None:
    made = situations.leased(fresh_scope())
    save(made, snapshot(made.run_id, started=(call(),), done=b"[]", ending=Ending("expire", "late")))

    save(made, snapshot(made.run_id, continuation=continuation(step_index=2)))

    found = get(made)
    assert (found.started, found.done, found.ending) == (None, None, None)
    assert found.continuation == continuation(step_index=2).text
    assert len(rows("SELECT * FROM progress WHERE run_id = %s", [made.run_id])) == 1


def test_an_empty_list_is_not_an_absent_one() -> None:
    made = situations.leased(fresh_scope())
    save(made, snapshot(made.run_id, started=(), done=b"[]"))
    assert (get(made).started, get(made).done) == ((), b"[]")


def test_a_snapshot_outlives_its_run_and_its_pauses() -> None:
    made = situations.leased(fresh_scope())
    saved = save(made)
    make_pause(made.scope, run=made.run)
    assert get(made) == saved
    runs.cancel_run(caller(made.scope), made.scope, made.run_id, "stop")
    assert get(made) == saved


# -- refusals of saving ------------------------------------------------------------------------------


def test_a_run_that_is_not_there_is_a_lost_lease() -> None:
    scope = fresh_scope()
    with refused(RunLeaseLost, scope):
        save(Made(scope, ids.new_id(ids.RUN)))


@pytest.mark.parametrize("where", ["above", "below", "beside", "elsewhere"])
def test_a_run_of_another_scope_is_a_lost_lease(where: str) -> None:
    made = situations.leased(fresh_scope(2))
    other = around(made.scope)[where]
    with refused(RunLeaseLost, made.scope, other):
        save(Made(other, made.run_id, made.holder))


@pytest.mark.parametrize(
    "holder",
    [Holder("worker-1", 0), Holder("worker-1", 2), Holder("WORKER-1", 1), Holder("worker-2", 1), Holder("", 1)],
    ids=str,
)
@pytest.mark.parametrize("situation", [situations.leased, situations.lapsed], ids=name_of)
def test_another_owner_or_epoch_saves_nothing(situation: Situation, holder: Holder) -> None:
    made = situation(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        save(made, holder=holder)


@pytest.mark.parametrize("situation", [situations.running, situations.released, situations.claimed], ids=name_of)
@pytest.mark.parametrize("epoch", [0, 1])
def test_an_empty_owner_never_matches_not_even_a_run_without_a_lease(situation: Situation, epoch: int) -> None:
    made = situation(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        save(made, holder=Holder("", epoch))


def test_a_snapshot_of_another_owner_than_the_holder_is_a_lost_lease() -> None:
    made = situations.leased(fresh_scope())
    with refused(RunLeaseLost, made.scope):
        save(made, snapshot(made.run_id, "worker-2"))


@pytest.mark.parametrize("successor", ["worker-1", "worker-2"])
def test_a_holder_whose_run_was_taken_over_is_fenced_also_by_a_successor_of_its_own_name(successor: str) -> None:
    made = situations.lapsed(fresh_scope())
    save(made)
    taken, _ = leases.reclaim_lease(caller(made.scope), made.scope, made.run_id, take(successor))
    with refused(RunLeaseLost, made.scope):
        save(made)
    assert save(made, holder=holder_of(taken)).epoch == 2


@pytest.mark.parametrize("holder", [Holder("bus-1", 1), Holder("somebody", 9), Holder("", 0)], ids=str)
@pytest.mark.parametrize(
    "situation", [situations.admitted, situations.admitted_under_a_lease, situations.overdue], ids=name_of
)
def test_an_admitted_run_that_was_not_started_is_said_before_the_lease(situation: Situation, holder: Holder) -> None:
    made = situation(fresh_scope())
    with refused(InvalidState, made.scope):
        save(made, holder=holder)


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.AGENT])
def test_only_an_agent_saves(role: Role) -> None:
    made = situations.leased(fresh_scope())
    assert made.holder is not None
    with refused(Forbidden, made.scope):
        progress.save_progress(caller(made.scope, role), made.scope, snapshot(made.run_id), made.holder)


# -- reading -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("situation", [situations.running, situations.leased, situations.completed], ids=name_of)
def test_without_a_snapshot_there_is_none(situation: Situation) -> None:
    made = situation(fresh_scope())
    with refused(ProgressNotFound, made.scope):
        get(made)


@pytest.mark.parametrize("where", ["above", "below", "beside", "elsewhere"])
def test_a_snapshot_is_read_at_its_exact_scope_alone(where: str) -> None:
    made = situations.leased(fresh_scope(2))
    save(made)
    other = around(made.scope)[where]
    with refused(ProgressNotFound, made.scope, other):
        get(made, other)


@pytest.mark.parametrize("role", list(Role))
def test_every_role_reads(role: Role) -> None:
    made = situations.leased(fresh_scope())
    save(made)
    assert progress.get_progress(caller(made.scope, role), made.scope, made.run_id).owner == "worker-1"


# -- deleting ----------------------------------------------------------------------------------------


def test_a_snapshot_is_deleted_by_the_holder() -> None:
    made = situations.leased(fresh_scope())
    save(made)
    delete(made, made.holder)
    with refused(ProgressNotFound, made.scope):
        get(made)


@pytest.mark.parametrize("situation", [situations.running, situations.released, situations.completed], ids=name_of)
def test_deleting_nothing_succeeds(situation: Situation) -> None:
    made = situation(fresh_scope())
    with unchanged(made.scope):
        delete(made)


def test_deleting_in_a_run_that_is_not_there_succeeds() -> None:
    scope = fresh_scope()
    with unchanged(scope):
        delete(Made(scope, ids.new_id(ids.RUN)))
        delete(Made(scope, ids.new_id(ids.RUN)), Holder("worker-1", 1))


@pytest.mark.parametrize("holder", [None, Holder("worker-1", 2), Holder("worker-2", 1)], ids=str)
def test_while_a_lease_is_live_only_its_holder_deletes(holder: Holder | None) -> None:
    made = situations.leased(fresh_scope())
    save(made)
    with refused(RunLeaseLost, made.scope):
        delete(made, holder)


def test_once_the_lease_lapsed_anybody_may_delete() -> None:
    made = situations.lapsed(fresh_scope())
    save(made)
    delete(made)
    with refused(ProgressNotFound, made.scope):
        get(made)


def test_a_fenced_holder_deletes_nothing_also_once_its_successor_lapsed() -> None:
    made = situations.lapsed(fresh_scope())
    taken, _ = leases.reclaim_lease(caller(made.scope), made.scope, made.run_id, take("worker-1"))
    save(made, holder=holder_of(taken))
    execute("UPDATE run SET lease_expires_at = %s WHERE id = %s", [this_moment() - MINUTE, made.run_id])
    with refused(RunLeaseLost, made.scope):
        delete(made, made.holder)


@pytest.mark.parametrize("where", ["above", "below", "beside", "elsewhere"])
def test_another_scope_deletes_nothing(where: str) -> None:
    made = situations.lapsed(fresh_scope(2))
    save(made)
    other = around(made.scope)[where]
    with unchanged(made.scope, other):
        delete(made, scope=other)
        delete(made, made.holder, other)


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.AGENT])
def test_only_an_agent_deletes(role: Role) -> None:
    made = situations.lapsed(fresh_scope())
    save(made)
    with refused(Forbidden, made.scope):
        progress.delete_progress(caller(made.scope, role), made.scope, made.run_id)


def test_nobody_touches_a_scope_that_is_not_granted() -> None:
    made = situations.leased(fresh_scope())
    stranger = caller(fresh_scope())
    assert made.holder is not None
    with refused(NotFound, made.scope):
        progress.save_progress(stranger, made.scope, snapshot(made.run_id), made.holder)
    with refused(NotFound, made.scope):
        progress.get_progress(stranger, made.scope, made.run_id)
    with refused(NotFound, made.scope):
        progress.delete_progress(stranger, made.scope, made.run_id, made.holder)
