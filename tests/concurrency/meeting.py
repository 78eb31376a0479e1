"""Where threads meet inside an operation, and what stands in the place of a guard that was taken away."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from django.db import IntegrityError, connection, connections

from suspensions.domain import failpoints
from suspensions.domain.failpoints import Point
from suspensions.store import sql
from tests.concurrency.outcomes import Call, Outcome, attempt
from tests.support.threads import PATIENCE, together


class FirstWaitsForAll:
    """Holds the first thread that is about to write until every other one has begun.

    So the others arrive at the guard while somebody is past it: the race is met, not hoped for.
    """

    def __init__(self, parties: int) -> None:
        self._parties = parties
        self._begun: set[int] = set()
        self._held = False
        self._change = threading.Condition()

    def __call__(self, point: Point) -> None:
        with self._change:
            if point is Point.BEFORE_BEGIN:
                self._begun.add(threading.get_ident())
                self._change.notify_all()
            elif point is Point.BEFORE_WRITE and not self._held:
                self._held = True
                met = self._change.wait_for(lambda: len(self._begun) == self._parties, timeout=PATIENCE)
                assert met, f"only {len(self._begun)} of {self._parties} began"


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


def contend(calls: Sequence[Call], hook: failpoints.Hook | None = None) -> list[Outcome]:
    """Every call in a thread of its own, all let go at once; `hook` is told of every point that they pass."""
    # The pool lends one connection a thread; the main thread's would be one too many.
    connection.close()
    with failpoints.installed(hook or FirstWaitsForAll(len(calls))):
        outcomes = together([partial(attempt, call) for call in calls])
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return [outcome for outcome in outcomes if isinstance(outcome, Outcome)]


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


def race_without_guard(calls: Sequence[Call]) -> tuple[list[Outcome], int]:
    """All calls with the guard taken away; gives their outcomes and how many met at the critical point."""
    meeting = AllMeetBeforeTheirWrite(len(calls))
    wrapped = [partial(_without_guard_of_the_engine, call) for call in calls]
    with unguarded():
        outcomes = contend(wrapped, meeting)
    return outcomes, meeting.met
