"""One operation, one durable transaction: what is begun anew, and what the caller is told. Source: store.md 3 and 9."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing as closed
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, IntegrityError, OperationalError, connection, transaction
from pytest_django.fixtures import Settings

from suspensions.domain import ids
from suspensions.domain.errors import (
    AlreadyExists,
    ClosureTimeout,
    CommitUnknown,
    InteractionResolved,
    InvalidState,
    NotSuspended,
    RunLeaseLost,
    StoreBusy,
)
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Holder, NewRun, Reason, Run
from suspensions.operations import closures, interactions, leases, progress, resumes, runs, suspensions
from suspensions.operations.transactions import in_transaction
from suspensions.store import admissions, starts
from suspensions.store import closures as closing_store
from suspensions.store import interactions as interaction_store
from suspensions.store import leases as lease_store
from suspensions.store import progress as progress_store
from suspensions.store import runs as run_store
from suspensions.store import suspensions as suspension_store
from suspensions.store.sql import GuardFailed
from tests.store.scenarios import OPERATIONS, RESULT
from tests.store.support2 import Clock, event_types, execute, one_row, refused, rows, run_state, unchanged
from tests.support import closing
from tests.support.builders import (
    admit,
    caller,
    fresh_scope,
    make_pause,
    make_run,
    new_run,
    new_suspension,
    snapshot,
    start,
    take,
    version_of,
)

POSTGRESQL = connection.vendor == "postgresql"


@pytest.fixture
def scope() -> Scope:
    return fresh_scope()


@pytest.fixture(autouse=True)
def _let_closures_through(settings: Settings) -> None:
    settings.CLOSURE_AUTHORIZER = closing.PERMISSIVE_AUTHORIZER
    settings.CLOSURE_FENCE = closing.PERMISSIVE_FENCE


@pytest.fixture(autouse=True)
def _own_connection() -> Iterator[None]:
    """What a test does to its connection is over with it."""
    yield
    connection.close()


def runs_in(scope: Scope) -> int:
    return len(rows("SELECT id FROM run WHERE scope = %s", [scope.text]))


class Flaky:
    """An operation that makes a run, and before that or after it fails as told, a number of times."""

    def __init__(self, scope: Scope, fail: Callable[[], object], times: int = 1) -> None:
        self.scope, self.fail, self.times, self.calls = scope, fail, times, 0

    def __call__(self) -> Run:
        self.calls += 1
        made = run_store.create_run(new_run(self.scope), caller(self.scope).actor)
        if self.calls <= self.times:
            self.fail()
        return made


# -- somebody else's transaction -------------------------------------------------------------------


@pytest.mark.parametrize("what", OPERATIONS)
def test_inside_somebody_elses_open_transaction_nothing_claims_to_be_durable(
    what: str, scope: Scope, time: Clock
) -> None:
    ready = OPERATIONS[what][0](scope, time)

    def act_inside() -> None:
        with transaction.atomic():
            ready.act()

    if what == "a sweep":  # it goes on after a row's trouble, whatever it was
        with unchanged(scope):
            act_inside()
        return
    with unchanged(scope), pytest.raises(RuntimeError, match="durable"):
        act_inside()


def _half(scope: Scope) -> list[Callable[[], object]]:
    """The store's functions that write, each with values that would otherwise do."""
    actor, run_id = caller(scope).actor, ids.new_id(ids.RUN)
    pause = make_pause(scope, Reason.AGENT_REPLY)
    version = version_of(pause)
    window = admissions.StartWindow(timedelta(0))
    answer: Any = None
    request = closing.closure_request(admission := admit(make_pause(scope)), start(admission), pause.created_at)
    return [
        lambda: run_store.create_run(new_run(scope), actor),
        lambda: run_store.finish_run(scope, run_id, RunState.FAILED, "", "", None, actor),
        lambda: run_store.cancel_run(scope, run_id, "x", None, actor),
        lambda: suspension_store.create_suspension(new_suspension(scope, run_id), suspension_store.Deadlines(), actor),
        lambda: suspension_store.claim(scope, pause.run_id, actor),
        lambda: suspension_store.delete_suspension(scope, pause.run_id, None),
        lambda: admissions.admit_resume(scope, version, answer, window, actor),
        lambda: starts.start_resume(scope, pause.run_id, pause.id, "0" * 64, actor),
        lambda: starts.start_next(scope, take(), actor),
        lambda: starts.expire_resume_admission(scope, pause.run_id, pause.id, "0" * 64, actor),
        lambda: closing_store.close_resume(request, b"", actor),
        lambda: lease_store.renew_lease(scope, run_id, Holder("w", 1), take()),
        lambda: lease_store.release_lease(scope, run_id, Holder("w", 1), actor),
        lambda: lease_store.reclaim_lease(scope, run_id, take(), actor),
        lambda: lease_store.claim_continuation(scope, run_id, take(), None, actor),
        lambda: progress_store.save_progress(scope, snapshot(run_id), Holder("w", 1)),
        lambda: progress_store.delete_progress(scope, run_id, None),
        lambda: interaction_store.answer_interaction(scope, "int-1", RESULT, actor),
        lambda: interaction_store.resolve_interaction(scope, "int-1", RESULT, actor),
        lambda: interaction_store.mark_resolved(scope, "int-1", actor),
    ]


def test_a_store_function_outside_a_transaction_is_a_defect_not_half_a_write(scope: Scope) -> None:
    for function in _half(scope):
        with unchanged(scope), pytest.raises(transaction.TransactionManagementError):
            function()


# -- what is begun anew, on both engines -----------------------------------------------------------


def _fail_guard() -> None:
    raise GuardFailed("a row that was read is not there any more")


def test_a_guarded_write_that_found_no_row_is_begun_anew(scope: Scope) -> None:
    flaky = Flaky(scope, _fail_guard, times=2)
    made = in_transaction(flaky)
    assert (flaky.calls, runs_in(scope)) == (3, 1)
    assert event_types(made.id) == ["run.created"]


def test_after_three_attempts_the_store_is_busy_and_nothing_was_written(scope: Scope) -> None:
    flaky = Flaky(scope, _fail_guard, times=99)
    with refused(StoreBusy, scope):
        in_transaction(flaky)
    assert flaky.calls == 3


def test_a_key_that_was_filled_a_moment_ago_is_looked_at_again(scope: Scope) -> None:
    other = make_run(scope)
    taken = rows("SELECT * FROM event WHERE chain = %s", [other.id])[0]

    def insert_again() -> None:
        columns = ", ".join(taken)
        values = list(taken.values())
        execute(f"INSERT INTO event ({columns}) VALUES ({', '.join(['%s'] * len(values))})", values)

    flaky = Flaky(scope, insert_again)
    in_transaction(flaky)
    assert (flaky.calls, runs_in(scope)) == (2, 2)


def test_an_id_that_is_taken_in_another_scope_answers_as_ones_own(scope: Scope) -> None:
    theirs, mine = make_run(fresh_scope()), make_run(scope)
    said = set()
    for run_id in (theirs.id, mine.id):
        new = NewRun(scope=scope, request_sha256="0" * 64, id=run_id)
        with refused(AlreadyExists, scope, theirs.scope) as caught:
            runs.create_run(caller(scope), new)
        said.add((caught.value.detail, str(caught.value.members())))
    assert len(said) == 1


def test_a_violated_rule_is_a_defect_and_is_not_tried_again(scope: Scope) -> None:
    run = make_run(scope)
    flaky = Flaky(scope, lambda: execute("UPDATE run SET revision = 0 WHERE id = %s", [run.id]), times=99)
    with unchanged(scope), pytest.raises(IntegrityError):
        in_transaction(flaky)
    assert flaky.calls == 1


@pytest.mark.parametrize("error", [InvalidState("running"), ZeroDivisionError(), DatabaseError("no such table")])
def test_a_refusal_or_a_defect_undoes_what_was_written_and_is_not_tried_again(error: Exception, scope: Scope) -> None:
    def fail() -> None:
        raise error

    flaky = Flaky(scope, fail, times=99)
    with unchanged(scope), pytest.raises(type(error)):
        in_transaction(flaky)
    assert flaky.calls == 1


if POSTGRESQL:
    # -- PostgreSQL: several writers, and a server that may go away --------------------------------

    def _second() -> Any:
        """A connection that is not the tests'."""
        return closed(psycopg.connect(os.environ["DATABASE_URL"], autocommit=True))

    def _terminate_own_backend() -> None:
        """Let the server end this connection, as an administrator or a crash would."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            [pid] = cursor.fetchone()
        with _second() as other:
            ended = other.execute("SELECT pg_terminate_backend(%s, 10000)", [pid]).fetchone()
        assert ended == (True,)

    def _raise_state(state: str) -> Callable[[], object]:
        return lambda: execute(f"DO $$ BEGIN RAISE EXCEPTION 'for a test' USING ERRCODE = '{state}'; END $$")

    @pytest.mark.parametrize("state", ["40P01", "40001"], ids=["deadlock", "serialisation failure"])
    def test_a_deadlock_or_a_serialisation_failure_is_tried_again(state: str, scope: Scope) -> None:
        flaky = Flaky(scope, _raise_state(state), times=2)
        made = in_transaction(flaky)
        assert (flaky.calls, runs_in(scope)) == (3, 1)
        assert event_types(made.id) == ["run.created"]
        with refused(StoreBusy, scope):
            in_transaction(Flaky(scope, _raise_state(state), times=99))

    def test_a_connection_lost_before_the_commit_is_opened_anew(scope: Scope) -> None:
        def lose() -> None:
            _terminate_own_backend()
            execute("SELECT 1")

        flaky = Flaky(scope, lose)
        made = in_transaction(flaky)
        assert (flaky.calls, runs_in(scope)) == (2, 1)
        assert event_types(made.id) == ["run.created"]

    def test_a_connection_lost_every_time_is_a_busy_store_and_nothing_was_written(scope: Scope) -> None:
        def lose() -> None:
            _terminate_own_backend()
            execute("SELECT 1")

        flaky = Flaky(scope, lose, times=99)
        with refused(StoreBusy, scope):
            in_transaction(flaky)
        assert flaky.calls == 3
        assert make_run(scope).fresh

    def test_a_connection_that_died_while_idle_costs_nobody_anything(scope: Scope) -> None:
        _terminate_own_backend()
        assert make_run(scope).fresh

    def test_a_connection_lost_at_the_commit_is_unknown_and_is_not_tried_again(scope: Scope) -> None:
        flaky = Flaky(scope, _terminate_own_backend, times=99)
        with refused(CommitUnknown, scope):  # the server never saw the commit
            in_transaction(flaky)
        assert flaky.calls == 1

    @contextmanager
    def _answer_to_the_commit_lost(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """The server commits, and goes away before it can say so."""
        connection.ensure_connection()
        commit = connection._commit  # type: ignore[attr-defined]

        def lost() -> None:
            commit()
            _terminate_own_backend()
            execute("SELECT 1")

        with monkeypatch.context() as patched:
            patched.setattr(connection, "_commit", lost)
            yield

    # A sweep answers nobody; the rest is repeated by whoever asked.
    @pytest.mark.parametrize("what", [what for what in OPERATIONS if what != "a sweep"])
    def test_a_commit_whose_answer_was_lost_is_unknown_and_a_repeat_finds_it_done(
        what: str, scope: Scope, time: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        prepare, types, revisions = OPERATIONS[what]
        ready = prepare(scope, time)
        with _answer_to_the_commit_lost(monkeypatch), pytest.raises(CommitUnknown):
            ready.act()
        assert event_types(ready.run_id) == types
        assert one_row("run", id=ready.run_id)["revision"] == revisions[-1]
        with unchanged(scope):
            if what in _AS_A_LOSER:
                with pytest.raises(_AS_A_LOSER[what]):
                    ready.act()
            else:
                assert not getattr(ready.act(), "fresh", False)

    # By content nothing tells such a request from a second one: a claim takes what is there, a pause without
    # an id is another pause, a resolved question is resolved.
    _AS_A_LOSER: dict[str, type[Exception]] = {
        "a pause": AlreadyExists,
        "a pause that makes its run": AlreadyExists,
        "a claim": NotSuspended,
        "a claim by the deadline": NotSuspended,
        "a takeover": RunLeaseLost,
        "a continuation": InvalidState,
        "a resolution": InteractionResolved,
    }

    def test_a_start_whose_answer_was_lost_is_given_again_to_the_same_request(
        scope: Scope, time: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        admission = admit(make_pause(scope, Reason.AGENT_REPLY))
        worker = caller(scope, Role.AGENT, principal="worker")

        def ask() -> Any:
            return resumes.start_next(worker, scope, take(), request_id="r-1")

        with _answer_to_the_commit_lost(monkeypatch), pytest.raises(CommitUnknown):
            ask()
        with unchanged(scope):
            again = ask()
        assert (again.fresh, again.input, again.version) == (False, admission.input, admission.version)
        assert again.suspension is not None

    def test_a_closure_whose_answer_was_lost_is_its_receipt(
        scope: Scope, time: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        admission = admit(make_pause(scope, Reason.AGENT_REPLY))
        request = closing.closure_request(admission, start(admission), time.now)
        by = caller(scope, Role.OPERATOR)
        with _answer_to_the_commit_lost(monkeypatch), pytest.raises(CommitUnknown):
            closures.close_resume(by, request, closing.PROOF)
        with unchanged(scope):
            closure = closures.close_resume(by, request, closing.PROOF)
        assert (closure.fresh, closure.closed_by) == (False, by.actor)

    def test_a_row_that_stays_locked_is_a_busy_store(scope: Scope) -> None:
        run = make_run(scope, lease=take())
        by, holder = caller(scope), Holder("worker-1", 1)
        execute("SET lock_timeout = '20ms'")
        attempts: list[Callable[[], object]] = [
            lambda: runs.finish_run(by, scope, run.id, RunState.COMPLETED, holder=holder),
            lambda: runs.cancel_run(by, scope, run.id, "x", holder=holder),
            lambda: leases.renew_lease(by, scope, run.id, holder, take(seconds=600)),
            lambda: progress.save_progress(by, scope, snapshot(run.id), holder),
            lambda: suspensions.create_suspension(by, new_suspension(scope, run.id, holder=holder)),
        ]
        with _second() as other, other.transaction():
            other.execute("SELECT 1 FROM run WHERE id = %s FOR UPDATE", [run.id])
            for attempt in attempts:
                with refused(StoreBusy, scope):
                    attempt()
        assert runs.finish_run(by, scope, run.id, RunState.COMPLETED, holder=holder).fresh

    def test_a_closure_that_waits_in_vain_for_the_run_has_timed_out(scope: Scope, time: Clock) -> None:
        admission = admit(make_pause(scope, Reason.AGENT_REPLY))
        request = closing.closure_request(admission, start(admission), time.now)
        execute("SET lock_timeout = '20ms'")
        with _second() as other, other.transaction():
            other.execute("SELECT 1 FROM run WHERE id = %s FOR UPDATE", [admission.version.run_id])
            with refused(ClosureTimeout, scope):
                closures.close_resume(caller(scope), request, closing.PROOF)
        assert closures.close_resume(caller(scope), request, closing.PROOF).fresh

    def test_a_resume_that_somebody_is_starting_is_passed_over_not_waited_for(scope: Scope, time: Clock) -> None:
        held = admit(make_pause(scope, Reason.AGENT_REPLY))
        time.tick()
        free = admit(make_pause(scope, Reason.AGENT_REPLY))
        execute("SET lock_timeout = '1ms'")
        with _second() as other, other.transaction():
            other.execute("SELECT 1 FROM run WHERE id = %s FOR UPDATE", [held.version.run_id])
            started = resumes.start_next(caller(scope), scope, take())
            assert started is not None and started.version == free.version
            assert resumes.start_next(caller(scope), scope, take()) is None
        started = resumes.start_next(caller(scope), scope, take())
        assert started is not None and started.version == held.version

else:
    # -- SQLite: one write lock for all ------------------------------------------------------------

    @contextmanager
    def _write_lock_held_by_another() -> Iterator[None]:
        """Another process writes, for longer than this connection waits."""
        execute("PRAGMA busy_timeout = 5")
        name = connection.settings_dict["NAME"]
        with closed(sqlite3.connect(name, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")

    @pytest.mark.parametrize("what", [what for what in OPERATIONS if what != "a sweep"])
    def test_a_write_lock_that_stays_held_is_a_busy_store(what: str, scope: Scope, time: Clock) -> None:
        prepare, types, _ = OPERATIONS[what]
        ready = prepare(scope, time)
        with _write_lock_held_by_another(), refused(StoreBusy, scope):
            ready.act()
        ready.act()
        assert event_types(ready.run_id) == types

    def test_reading_waits_for_no_writer(scope: Scope) -> None:
        pause = make_pause(scope, Reason.AGENT_REPLY)
        admission = admit(pause)
        by = caller(scope)
        with _write_lock_held_by_another():
            assert suspensions.get_suspension(by, scope, pause.run_id).id == pause.id
            assert resumes.get_admission(by, scope, pause.run_id, pause.id) == admission
            assert resumes.list_admissions(by, scope, None, 10).items
            assert interactions.list_interactions(by, scope, None, 10).items == ()

    def test_a_read_only_database_is_no_busy_one(scope: Scope) -> None:
        execute("PRAGMA query_only = ON")
        with pytest.raises(OperationalError, match="readonly"):
            make_run(scope)


def test_a_connection_serves_on_after_every_failure(scope: Scope) -> None:
    with pytest.raises(StoreBusy):
        in_transaction(Flaky(scope, _fail_guard, times=99))
    assert run_state(make_run(scope).id) == ("running", 1)
