"""What an operation does when its database fails it: begin anew where nothing can be committed, else say so.

Either engine has faults of its own: PostgreSQL's server cuts a connection or breaks a deadlock, SQLite's one write lock
is not to be had.
"""

from __future__ import annotations

import resource
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from django.db import connection, connections

from suspensions.domain import failpoints
from suspensions.domain.failpoints import Point
from suspensions.domain.scopes import Scope
from tests.concurrency import requests
from tests.concurrency.consistency import footprint
from tests.concurrency.meeting import bystander
from tests.concurrency.outcomes import Call, Outcome, attempt
from tests.support.builders import caller, fresh_scope, make_pause
from tests.support.threads import PATIENCE


@dataclass
class Once:
    """A hook that acts at the first time an operation comes to one of the points."""

    point: Point
    act: Callable[[], None]
    acted: int = 0

    def __call__(self, point: Point) -> None:
        if point is self.point and not self.acted:
            self.acted += 1
            self.act()


def _terminate_ours(raw: Any) -> None:
    """Cut the product's connection, as a restart of the server does."""
    assert connection.connection is not None
    raw.execute("SELECT pg_terminate_backend(%s, 5000)", (connection.connection.info.backend_pid,))


def _decision(scope: Scope) -> Call:
    return requests.decide(make_pause(scope), caller(scope))


def _expected() -> dict[str, Any]:
    scope = fresh_scope()
    assert attempt(_decision(scope)).fresh
    return footprint(scope)


def _cut_at(point: Point) -> tuple[Scope, Call, Outcome]:
    """A decision whose connection is cut at a point."""
    scope = fresh_scope()
    call = _decision(scope)
    with bystander() as raw, failpoints.installed(Once(point, partial(_terminate_ours, raw))):
        outcome = attempt(call)
    return scope, call, outcome


# -- PostgreSQL ----------------------------------------------------------------------------------------


def a_connection_cut_before_the_commit_is_made_anew() -> None:
    after = _expected()
    for point in (Point.BEFORE_BEGIN, Point.BEFORE_LOCK, Point.AFTER_LOCK, Point.AFTER_READ, Point.BEFORE_WRITE):
        scope, _, outcome = _cut_at(point)
        assert outcome.fresh, f"cut {point}: {outcome.code}"
        assert footprint(scope) == after, f"cut {point}"


def a_connection_cut_while_committing_leaves_it_open_and_the_repeat_tells() -> None:
    after = _expected()
    scope, call, outcome = _cut_at(Point.BEFORE_COMMIT)
    assert outcome.code == "commit_unknown"
    assert attempt(call).answered
    assert not attempt(call).fresh
    assert footprint(scope) == after


def a_connection_cut_after_the_commit_costs_nothing() -> None:
    after = _expected()
    scope, call, outcome = _cut_at(Point.AFTER_COMMIT)
    assert outcome.fresh
    again = attempt(call)
    assert again.answered and again.value == outcome.value
    assert footprint(scope) == after


def a_deadlock_is_begun_anew() -> None:
    """We hold our run and want another; the bystander holds the other and wants ours. We are the victim."""
    after = _expected()
    scope, elsewhere = fresh_scope(), make_pause(fresh_scope()).run_id
    pause = make_pause(scope)
    want = "SELECT 1 FROM run WHERE id = %s FOR UPDATE"

    with bystander() as raw:
        # Whoever's patience ends first is the victim: not the bystander.
        raw.execute("SET deadlock_timeout = '60s'")
        raw.execute("BEGIN")
        raw.execute(want, (elsewhere,))

        def take_ours_and_let_go() -> None:
            raw.execute(want, (pause.run_id,))
            raw.execute("ROLLBACK")

        crossing = threading.Thread(target=take_ours_and_let_go)

        def cross() -> None:
            crossing.start()
            with connection.cursor() as cursor:
                cursor.execute(want, (elsewhere,))

        hook = Once(Point.BEFORE_WRITE, cross)
        with failpoints.installed(hook):
            outcome = attempt(requests.decide(pause, caller(scope)))
        crossing.join(PATIENCE)
    assert hook.acted and outcome.fresh, outcome.code
    assert footprint(scope) == after


# -- SQLite --------------------------------------------------------------------------------------------


def a_write_lock_that_is_never_free_is_told_as_busy() -> None:
    after = _expected()
    scope = fresh_scope()
    call = _decision(scope)
    before = footprint(scope)
    with connection.cursor() as cursor, bystander() as raw:
        cursor.execute("PRAGMA busy_timeout = 20")
        raw.execute("BEGIN IMMEDIATE")
        try:
            assert attempt(call).code == "store_busy"
            assert footprint(scope) == before
        finally:
            raw.execute("ROLLBACK")
            cursor.execute("PRAGMA busy_timeout = 20000")
    assert attempt(call).fresh
    assert footprint(scope) == after


def a_write_lock_that_comes_free_is_waited_for() -> None:
    """An IMMEDIATE transaction waits at its very begin, where it has read nothing that could be stale."""
    scope = fresh_scope()
    call = _decision(scope)
    with bystander() as raw:
        raw.execute("BEGIN IMMEDIATE")
        begun = threading.Event()
        answers: list[Outcome] = []

        def decide() -> None:
            with failpoints.installed(Once(Point.BEFORE_BEGIN, begun.set)):
                answers.append(attempt(call))
            connection.close()

        waiting = threading.Thread(target=decide)
        waiting.start()
        assert begun.wait(PATIENCE)
        raw.execute("COMMIT")
        waiting.join(PATIENCE)
    assert [answer.fresh for answer in answers] == [True]


def _no_more_room() -> None:
    """No file of this process takes another byte, as on a disk that fails."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, most))


def a_disk_that_fails_while_committing_leaves_it_open_and_the_repeat_tells() -> None:
    """What of the commit reached the disk, nobody knows: after a power cut the log may hold all of it."""
    after = _expected()
    scope = fresh_scope()
    call = _decision(scope)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with failpoints.installed(Once(Point.BEFORE_COMMIT, _no_more_room)):
            outcome = attempt(call)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert outcome.code == "commit_unknown"
    assert attempt(call).answered
    assert not attempt(call).fresh
    assert footprint(scope) == after


class _Interrupted(BaseException):
    """Stands for a signal that falls into the commit."""


class _Interrupting:
    """A raw connection whose commit is interrupted; all else is the real one's."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def commit(self) -> None:
        raise _Interrupted


def an_interrupted_commit_wedges_no_connection() -> None:
    """Whoever comes next on it would be told that a transaction is open, for ever."""
    after = _expected()
    scope = fresh_scope()
    call = _decision(scope)
    database: Any = connections["default"]
    raw = database.connection
    try:
        interrupt = partial(setattr, database, "connection", _Interrupting(raw))
        with failpoints.installed(Once(Point.BEFORE_COMMIT, interrupt)), pytest.raises(_Interrupted):
            call()
    finally:
        database.connection = raw
    assert not database.in_atomic_block
    assert database.get_autocommit()
    assert not raw.in_transaction
    assert attempt(call).fresh
    assert footprint(scope) == after


_FAULTS: dict[str, list[Callable[[], None]]] = {
    "postgresql": [
        a_connection_cut_before_the_commit_is_made_anew,
        a_connection_cut_while_committing_leaves_it_open_and_the_repeat_tells,
        a_connection_cut_after_the_commit_costs_nothing,
        a_deadlock_is_begun_anew,
    ],
    "sqlite": [
        a_write_lock_that_is_never_free_is_told_as_busy,
        a_write_lock_that_comes_free_is_waited_for,
        a_disk_that_fails_while_committing_leaves_it_open_and_the_repeat_tells,
        an_interrupted_commit_wedges_no_connection,
    ],
}


@pytest.mark.parametrize("fault", _FAULTS[connection.vendor], ids=lambda fault: fault.__name__.replace("_", " "))
def test_of_this_engine(fault: Callable[[], None]) -> None:
    fault()
