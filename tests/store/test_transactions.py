"""One operation, one durable transaction: neither without one, nor inside another. Source: store.md section 3."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, connections, transaction
from psycopg import IsolationLevel

from suspensions.domain import ids
from suspensions.domain.errors import AlreadyExists
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import ClaimVersion, Holder, NewInteraction
from suspensions.operations import interactions, leases, progress, resumes, runs, suspensions
from suspensions.operations.site import deadlines, start_window
from suspensions.operations.transactions import in_transaction
from suspensions.store import admissions, closures, driver, expiries, sql, starts
from suspensions.store import interactions as interaction_store
from suspensions.store import leases as lease_store
from suspensions.store import progress as progress_store
from suspensions.store import runs as run_store
from suspensions.store import suspensions as suspension_store
from tests.store import situations, support
from tests.store.rows import rows
from tests.store.support import ACTOR, AnyAnswer, everything, refused, unchanged
from tests.support.builders import caller, fresh_scope, make_run, new_run, new_suspension, snapshot, take

RUN = ids.id_at(ids.RUN, support.ANCIENT)
PAUSE = ids.id_at(ids.SUSPENSION, support.ANCIENT)
SCOPE = Scope.parse("w=nowhere")
HOLDER = Holder("worker-1", 1)
VERSION = ClaimVersion(RUN, PAUSE, 2)
INTERACTION = NewInteraction(SCOPE, "i-1", "tool-1", b"{}")

STORE: dict[str, Callable[[], Any]] = {
    "create run": lambda: run_store.create_run(new_run(SCOPE), ACTOR),
    "finish run": lambda: run_store.finish_run(SCOPE, RUN, RunState.FAILED, "", "", None, ACTOR),
    "cancel run": lambda: run_store.cancel_run(SCOPE, RUN, "stop", None, ACTOR),
    "create suspension": lambda: suspension_store.create_suspension(new_suspension(SCOPE, RUN), deadlines(), ACTOR),
    "claim": lambda: suspension_store.claim(SCOPE, RUN, ACTOR),
    "delete suspension": lambda: suspension_store.delete_suspension(SCOPE, RUN, None),
    "renew": lambda: lease_store.renew_lease(SCOPE, RUN, HOLDER, take()),
    "release": lambda: lease_store.release_lease(SCOPE, RUN, HOLDER, ACTOR),
    "reclaim": lambda: lease_store.reclaim_lease(SCOPE, RUN, take(), ACTOR),
    "claim continuation": lambda: lease_store.claim_continuation(SCOPE, RUN, take(), None, ACTOR),
    "save progress": lambda: progress_store.save_progress(SCOPE, snapshot(RUN), HOLDER),
    "delete progress": lambda: progress_store.delete_progress(SCOPE, RUN, None),
    "admit": lambda: admissions.admit_resume(SCOPE, VERSION, AnyAnswer(b"x"), start_window(), ACTOR),
    "start": lambda: starts.start_resume(SCOPE, RUN, PAUSE, "", ACTOR),
    "start next": lambda: starts.start_next(SCOPE, take(), ACTOR),
    "expire": lambda: expiries.expire_resume_admission(SCOPE, RUN, PAUSE, "", ACTOR),
    "close": lambda: closures.close_resume(
        situations.closing(situations.Made(SCOPE, RUN, pause=None), version=VERSION, run_revision=3), b"proof", ACTOR
    ),
    "save interaction": lambda: interaction_store.save_interaction(INTERACTION, "", ACTOR),
    "answer interaction": lambda: interaction_store.answer_interaction(SCOPE, "i-1", {}, ACTOR),
    "resolve interaction": lambda: interaction_store.resolve_interaction(SCOPE, "i-1", None, ACTOR),
    "mark resolved": lambda: interaction_store.mark_resolved(SCOPE, "i-1", ACTOR),
}


@pytest.mark.parametrize("name", STORE)
def test_a_store_function_outside_of_a_transaction_is_an_error(name: str) -> None:
    with unchanged(SCOPE), pytest.raises(transaction.TransactionManagementError):
        STORE[name]()


def _operations(scope: Scope, run_id: str) -> dict[str, Callable[[], Any]]:
    who = caller(scope)
    return {
        "create run": lambda: runs.create_run(who, new_run(scope)),
        "finish run": lambda: runs.finish_run(who, scope, run_id, RunState.FAILED),
        "cancel run": lambda: runs.cancel_run(who, scope, run_id, "stop"),
        "create suspension": lambda: suspensions.create_suspension(who, new_suspension(scope, run_id)),
        "claim": lambda: suspensions.claim_suspension(who, scope, run_id),
        "delete suspension": lambda: suspensions.delete_suspension(who, scope, run_id),
        "renew": lambda: leases.renew_lease(who, scope, run_id, HOLDER, take()),
        "release": lambda: leases.release_lease(who, scope, run_id, HOLDER),
        "reclaim": lambda: leases.reclaim_lease(who, scope, run_id, take()),
        "claim continuation": lambda: leases.claim_continuation(who, scope, run_id, take()),
        "save progress": lambda: progress.save_progress(who, scope, snapshot(run_id), HOLDER),
        "delete progress": lambda: progress.delete_progress(who, scope, run_id),
        "decide": lambda: resumes.decide(who, scope, PAUSE, 2, ()),
        "start": lambda: resumes.start_resume(who, scope, run_id, PAUSE, ""),
        "start next": lambda: resumes.start_next(who, scope, take()),
        "expire": lambda: resumes.expire_resume(who, scope, run_id, PAUSE, ""),
        "mark resolved": lambda: interactions.mark_resolved(who, scope, "i-1"),
    }


@pytest.mark.parametrize("name", _operations(SCOPE, RUN))
def test_an_operation_inside_somebodys_open_transaction_claims_no_durability_and_is_an_error(name: str) -> None:
    run = make_run(fresh_scope())
    act = _operations(run.scope, run.id)[name]
    with unchanged(run.scope), transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        act()


def test_what_an_operation_answered_is_committed() -> None:
    run = make_run(fresh_scope())
    connection.close()
    assert [row["id"] for row in rows("SELECT id FROM run WHERE scope = %s", [run.scope.text])] == [run.id]


class Interrupted(Exception):
    """Something that went wrong after the last write."""


@pytest.mark.parametrize(
    "act",
    [
        lambda made: suspension_store.create_suspension(new_suspension(made.scope, made.run_id), deadlines(), ACTOR),
        lambda made: run_store.cancel_run(made.scope, made.run_id, "stop", None, ACTOR),
        lambda made: run_store.create_run(new_run(made.scope), ACTOR),
    ],
)
def test_an_operation_that_fails_after_its_writes_leaves_nothing(act: Callable[[situations.Made], Any]) -> None:
    made = situations.running(fresh_scope())

    def write_and_fail() -> None:
        before = everything(made.scope)
        act(made)
        assert everything(made.scope) != before
        raise Interrupted

    with unchanged(made.scope), pytest.raises(Interrupted):
        in_transaction(write_and_fail)


def test_a_read_needs_no_transaction_and_starts_none() -> None:
    made = situations.paused(fresh_scope())
    with support.statements() as sent:
        suspensions.get_suspension(caller(made.scope), made.scope, made.run_id)
    assert [query.split()[0] for query in sent] == ["SELECT"]
    assert not connection.in_atomic_block


def test_a_refusal_gives_the_connection_back_clean() -> None:
    made = situations.paused(fresh_scope())
    with refused(AlreadyExists, made.scope):
        suspensions.create_suspension(caller(made.scope), new_suspension(made.scope, made.run_id))
    assert not connection.in_atomic_block
    assert suspensions.get_suspension(caller(made.scope), made.scope, made.run_id).run_id == made.run_id


def _state_of_the_connection() -> tuple[Any, ...]:
    """What a block must leave as it found it."""
    database: Any = connections["default"]
    return (
        database.in_atomic_block,
        database.get_autocommit(),
        database.needs_rollback,
        list(database.atomic_blocks),
        list(database.savepoint_ids),
        list(database.run_on_commit),
        # What the driver itself believes; Django sets the one without asking for the other.
        database.connection.autocommit if database.vendor == "postgresql" else database.connection.in_transaction,
        database.connection.info.transaction_status if database.vendor == "postgresql" else None,
    )


def _fails() -> None:
    raise Interrupted


def _opens_another() -> None:
    with transaction.atomic(durable=True):
        pass


def _marks_itself() -> None:
    transaction.set_rollback(True)


@pytest.mark.parametrize(
    ("inside", "raises"),
    [(lambda: None, None), (_fails, Interrupted), (_opens_another, RuntimeError), (_marks_itself, None)],
    ids=["well", "an error", "a second durable block", "marked to be undone"],
)
def test_a_block_leaves_the_connection_as_it_found_it(
    inside: Callable[[], None], raises: type[Exception] | None
) -> None:
    connection.ensure_connection()
    before, scope = _state_of_the_connection(), fresh_scope()

    def write() -> None:
        run_store.create_run(new_run(scope), ACTOR)
        inside()

    with nullcontext() if raises is None else pytest.raises(raises):
        in_transaction(write)
    assert _state_of_the_connection() == before
    assert bool(rows("SELECT id FROM run WHERE scope = %s", [scope.text])) == (inside.__name__ == "<lambda>")


def test_blocks_inside_an_operation_are_undone_alone() -> None:
    outer, inner = fresh_scope(), fresh_scope()

    def write() -> None:
        run_store.create_run(new_run(outer), ACTOR)
        with suppress(Interrupted), transaction.atomic():
            run_store.create_run(new_run(inner), ACTOR)
            raise Interrupted

    in_transaction(write)
    assert rows("SELECT id FROM run WHERE scope = %s", [outer.text])
    assert not rows("SELECT id FROM run WHERE scope = %s", [inner.text])


@pytest.mark.parametrize("first", [True, False], ids=["from the beginning", "to the end"])
def test_somebody_who_listens_for_a_part_of_it_changes_nothing(first: bool) -> None:
    connection.ensure_connection()
    before, scope = _state_of_the_connection(), fresh_scope()
    heard: list[str] = []

    def listener(execute: Callable[..., Any], statement: str, *more: Any) -> Any:
        heard.append(statement)
        return execute(statement, *more)

    def write() -> None:
        run_store.create_run(new_run(scope), ACTOR)
        (stack.close if first else lambda: stack.enter_context(connection.execute_wrapper(listener)))()

    with ExitStack() as stack:
        if first:
            stack.enter_context(connection.execute_wrapper(listener))
        in_transaction(write)
    assert _state_of_the_connection() == before
    assert rows("SELECT id FROM run WHERE scope = %s", [scope.text])
    assert bool(heard) == first


class Signalled(BaseException):
    """A signal's exception, such as Ctrl-C's, which falls where it likes."""


class _AtBegin:
    """Stands around BEGIN once, where the driver's errors are translated, and is interrupted when it is answered."""

    def __enter__(self) -> None:
        """Nothing yet."""

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        del connections["default"].wrap_database_errors
        raise Signalled


class _OnTheWay:
    """Stands for the variable that holds the open transaction: changing it is interrupted once it is done."""

    def __init__(self, variable: Any, name: str) -> None:
        self._variable, self._name = variable, name
        self.get = variable.get

    def set(self, held: Any) -> Any:
        return self._do("set", held)

    def reset(self, token: Any) -> Any:
        return self._do("reset", token)

    def _do(self, name: str, given: Any) -> Any:
        done = getattr(self._variable, name)(given)
        if name == self._name:
            self._name = ""
            raise Signalled
        return done


@pytest.mark.parametrize("at", ["begin", "set", "reset"])
def test_an_interruption_on_the_way_in_or_out_leaves_nothing_open(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was left open is joined by whatever comes next on the connection, and undone or kept by its end."""
    connection.ensure_connection()
    before, scope = _state_of_the_connection(), fresh_scope()
    if at == "begin":
        # Django keeps it as an attribute that is made at its first use, and so after it is deleted.
        connections["default"].__dict__["wrap_database_errors"] = _AtBegin()
    else:
        monkeypatch.setattr(driver, "_open", _OnTheWay(driver._open, at))
    with pytest.raises(Signalled):
        in_transaction(run_store.create_run, new_run(scope), ACTOR)
    monkeypatch.undo()
    assert _state_of_the_connection() == before
    assert driver.this_connection() is connections["default"]
    connection.close()
    assert bool(rows("SELECT id FROM run WHERE scope = %s", [scope.text])) == (at == "reset")


def test_a_transaction_that_somebody_left_open_is_not_joined() -> None:
    """Its leftovers would be committed with the operation."""
    scope = fresh_scope()
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        try:
            with pytest.raises(DatabaseError):
                in_transaction(run_store.create_run, new_run(scope), ACTOR)
        finally:
            cursor.execute("ROLLBACK")
    assert not connection.in_atomic_block
    assert not rows("SELECT id FROM run WHERE scope = %s", [scope.text])


def test_one_block_may_be_used_again_on_another_connection() -> None:
    block, scopes = driver.DurableTransaction(), (fresh_scope(), fresh_scope())
    for scope in scopes:
        connection.ensure_connection()
        with block:
            run_store.create_run(new_run(scope), ACTOR)
        # Closed itself, so that the pool has to give another one.
        connections["default"].connection.close()
        connection.close()
    assert all(rows("SELECT id FROM run WHERE scope = %s", [scope.text]) for scope in scopes)


# Of the connection's mode: the attribute that Django sets from the settings, and what the server then says.
_MODES = {
    "sqlite": (),
    "postgresql": (
        ("isolation_level", IsolationLevel.SERIALIZABLE, "transaction_isolation", "serializable"),
        ("read_only", True, "transaction_read_only", "on"),
        ("deferrable", True, "transaction_deferrable", "on"),
    ),
}


def test_a_transaction_is_of_the_mode_that_the_settings_gave_its_connection(engine: str) -> None:
    """The driver puts it into its own BEGIN; one that is sent past it knows nothing of it."""
    connection.ensure_connection()
    raw: Any = connections["default"].connection
    for attribute, mode, setting, found in _MODES[engine]:
        setattr(raw, attribute, mode)
        try:
            told = in_transaction(driver.run, "SELECT current_setting(%s)", (setting,), driver.first)
        finally:
            setattr(raw, attribute, None)
        assert told == (found,)


def test_a_failure_that_was_swallowed_is_not_answered_as_kept() -> None:
    connection.ensure_connection()
    before, run = _state_of_the_connection(), make_run(fresh_scope())

    def write() -> None:
        run_store.create_run(new_run(run.scope), ACTOR)
        content = sql.insert("run_content", {"run_id": run.id, "input": b"twice"})
        sql.write(content)
        with suppress(IntegrityError):
            sql.write(content)

    refuses = connection.vendor == "postgresql"
    with pytest.raises(transaction.TransactionManagementError) if refuses else nullcontext():
        in_transaction(write)
    # SQLite undoes the one statement alone, so that there the rest may stand.
    assert len(rows("SELECT id FROM run WHERE scope = %s", [run.scope.text])) == (1 if refuses else 2)
    assert _state_of_the_connection() == before


def test_what_waits_for_the_commit_is_called_after_it() -> None:
    seen: list[bool] = []
    in_transaction(lambda: transaction.on_commit(lambda: seen.append(connection.in_atomic_block)))
    assert seen == [False]
