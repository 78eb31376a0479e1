"""Where threads meet inside an operation, and what stands in the place of a guard that was taken away."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import psycopg
from django.db import IntegrityError, connection, connections

from suspensions.domain import failpoints
from suspensions.domain.errors import StoreBusy
from suspensions.domain.failpoints import Point
from suspensions.store import sql
from tests.concurrency.outcomes import Call, Outcome, attempt
from tests.support.threads import PATIENCE, together


class FirstWaitsForAll:
    """Holds the first thread that is about to write until every other one has come to the guard behind it.

    So the race is met, not hoped for. On PostgreSQL the server says who waits for a lock; on SQLite, where nobody can
    ask, they have begun and have only the write lock ahead. Where the contest is about a row that is there already,
    nobody may come to a write of its own meanwhile: that would be an intruder.
    """

    def __init__(self, parties: int, *, alone: bool) -> None:
        self._parties = parties
        self._alone = alone
        self._begun: set[int] = set()
        self._first: int | None = None
        self._intruders = 0
        self._change = threading.Condition()

    def __call__(self, point: Point) -> None:
        me = threading.get_ident()
        with self._change:
            if point is Point.BEFORE_BEGIN:
                self._begun.add(me)
                self._change.notify_all()
            elif point is Point.BEFORE_COMMIT and self._first == me:
                self._alone = False
            elif point is Point.BEFORE_WRITE and self._first is None:
                self._first = me
            elif point is Point.BEFORE_WRITE and self._first != me and self._alone:
                self._intruders += 1
            if point is not Point.BEFORE_WRITE or self._first != me:
                return
            met = self._change.wait_for(lambda: len(self._begun) == self._parties, timeout=PATIENCE)
            assert met, f"only {len(self._begun)} of {self._parties} began"
        if self._alone and connection.vendor == "postgresql":
            self._wait_until_all_are_blocked()

    def _wait_until_all_are_blocked(self) -> None:
        with bystander() as raw:
            give_up = time.monotonic() + PATIENCE
            while raw.execute(_BLOCKED).fetchone()[0] < self._parties - 1:
                if self._intruders or time.monotonic() > give_up:
                    return

    def check(self) -> None:
        """Raises: AssertionError where somebody came past the guard while another was behind it."""
        assert not self._intruders, f"{self._intruders} came to their write while another was between read and commit"


_BLOCKED = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0"
)


@contextmanager
def bystander() -> Iterator[Any]:
    """A connection to the same database that the product knows nothing of."""
    if connection.vendor == "sqlite":
        opened: Any = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    else:
        connection.ensure_connection()
        assert connection.connection is not None
        info = connection.connection.info
        opened = psycopg.connect(info.dsn, password=info.password, autocommit=True)
    with closing(opened) as raw:
        yield raw


class AllMeetBeforeTheirWrite:
    """Holds each thread at its first write until all have come there: each has read, and none has written.

    With the guard in its place they cannot all come; so this is for tests that took it away.
    """

    def __init__(self, parties: int) -> None:
        self._barrier = threading.Barrier(parties)
        self._seen = threading.local()
        self.met = 0

    def __call__(self, point: Point) -> None:
        if point is Point.BEFORE_WRITE and not getattr(self._seen, "met", False):
            self._seen.met = True
            self._barrier.wait(timeout=PATIENCE)
            self.met += 1


def contend(calls: Sequence[Call], *, alone: bool) -> list[Outcome]:
    """Every call in a thread of its own, all let go at once.

    With `alone` they contend for a row that is there, so that only one may be between its read and its commit.
    """
    hook = FirstWaitsForAll(len(calls), alone=alone)
    outcomes = let_go(calls, hook)
    hook.check()
    return outcomes


def let_go(calls: Sequence[Call], hook: failpoints.Hook) -> list[Outcome]:
    """Every call in a thread of its own; `hook` is told of every point that they pass."""
    # The pool lends one connection a thread; the main thread's would be one too many.
    connection.close()
    with failpoints.installed(hook):
        outcomes = together([partial(attempt, call) for call in calls])
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return [outcome for outcome in outcomes if isinstance(outcome, Outcome)]


@contextmanager
def held(call: Call, at: Point = Point.BEFORE_WRITE) -> Iterator[Callable[[], Outcome]]:
    """The call in a thread of its own, held at a point inside the block; what is given lets it go and waits for it."""
    came, go_on = threading.Event(), threading.Event()
    outcomes: list[Outcome] = []

    def hook(point: Point) -> None:
        if point is at and threading.current_thread() is thread and not came.is_set():
            came.set()
            assert go_on.wait(PATIENCE), "nobody let the thread go on"

    def run() -> None:
        try:
            outcomes.append(attempt(call))
        finally:
            connections.close_all()

    def let_go_on() -> Outcome:
        go_on.set()
        thread.join(PATIENCE)
        assert outcomes, "the held thread gave no answer"
        return outcomes[0]

    thread = threading.Thread(target=run)
    with failpoints.installed(hook):
        thread.start()
        try:
            assert came.wait(PATIENCE), f"the thread never came to {at}"
            yield let_go_on
        finally:
            go_on.set()
            thread.join(PATIENCE)


# -- without the guard -------------------------------------------------------------------------------


@contextmanager
def unguarded() -> Iterator[None]:
    """The store without what keeps two callers of one row apart.

    On PostgreSQL: no lock of any kind, no repeated state in the WHERE, and unique and foreign keys that let a second
    row fall silently. On SQLite: transactions that take the write lock only once they write.
    """
    with ExitStack() as stack:
        if connection.vendor == "postgresql":
            stack.enter_context(patch.object(sql, "is_postgresql", lambda: False))
            stack.enter_context(patch.object(sql, "update", _unguarded_update))
            stack.enter_context(patch.object(sql, "insert", _careless_insert))
        yield


def _without_guard_of_the_engine(call: Call) -> Any:
    """The call, with its thread's connection told to take the write lock late, or to look at no foreign key."""
    database: Any = connections["default"]
    if database.vendor == "sqlite":
        database.transaction_mode = "DEFERRED"
        return call()
    with database.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
    try:
        return call()
    except IntegrityError:
        # A check constraint, the last guard, is still there.
        return "caught by the database"
    finally:
        with database.cursor() as cursor:
            cursor.execute("RESET session_replication_role")


_insert, _update = sql.insert, sql.update
_IDENTITY = ("id", "run_id", "suspension_id")


def _unguarded_update(
    table: str, values: Mapping[str, Any], guard: Mapping[str, Any], *, exactly: bool = True
) -> sql.Write:
    return _update(table, values, {name: value for name, value in guard.items() if name in _IDENTITY}, exactly=False)


def _careless_insert(table: str, values: Mapping[str, Any]) -> sql.Write:
    write = _insert(table, values)
    return sql.Write(f"{write.sql} ON CONFLICT DO NOTHING", write.parameters, exactly=False)


@contextmanager
def unlocked() -> Iterator[None]:
    """PostgreSQL without a lock of any kind; what belongs to one write goes in one statement all the same."""
    writing, write = threading.local(), sql.write

    def write_in_one_statement(*writes: sql.Write) -> None:
        writing.now = True
        try:
            write(*writes)
        finally:
            writing.now = False

    with (
        patch.object(sql, "is_postgresql", lambda: getattr(writing, "now", False)),
        patch.object(sql, "write", write_in_one_statement),
    ):
        yield


def race_without_lock(calls: Sequence[Call]) -> list[Outcome]:
    """All calls past the check at one time; the repeated state in the WHERE and the keys alone tell them apart.

    Writes go one by one here, since in one statement a key may fail before anybody counts what an update touched. Who
    hears that the store is busy asks again, as any client does.
    """
    with patch.object(sql, "is_postgresql", lambda: False):
        return let_go([partial(_until_told, call) for call in calls], AllMeetBeforeTheirWrite(len(calls)))


def _until_told(call: Call) -> Any:
    while True:
        try:
            return call()
        except StoreBusy:
            continue


def race_without_guard(calls: Sequence[Call]) -> tuple[list[Outcome], int]:
    """All calls with the guard taken away; gives their outcomes and how many met at the critical point."""
    meeting = AllMeetBeforeTheirWrite(len(calls))
    wrapped = [partial(_without_guard_of_the_engine, call) for call in calls]
    with unguarded():
        outcomes = let_go(wrapped, meeting)
    return outcomes, meeting.met
