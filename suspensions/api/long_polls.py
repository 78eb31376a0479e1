"""Long polls: requests that wait for a resume to start, or for a run to move on.

One watcher a process looks at the store for everybody who waits there, some twenty times a second and only while
somebody does, and wakes whoever has something to look at. A waiter sleeps without a database connection. Looking
finds what no notification tells, a lease that lapses and a deadline that passes, and works the same on both engines,
through connection poolers, and with writers in other processes. Source: api.md "Answers", long polls.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

import structlog
from django.conf import settings
from django.db import DatabaseError, connection

from suspensions.domain import clock
from suspensions.domain.scopes import Scope
from suspensions.queries import runs as queries

T = TypeVar("T")

LONGEST = 30.0
"""Seconds that a wait may last; a longer one is cut to it."""
TICK = 0.05
"""Seconds between two looks at the store."""
RETRY_AFTER = 1
"""Seconds after which a place to wait may be free again."""
_PATIENCE = 1.0
"""Seconds between two looks while the database does not answer."""

log = structlog.stdlib.get_logger("cortex.long_polls")


class Waited(Enum):
    """How a wait ended that has nothing to give."""

    MOVED = "moved"
    IN_VAIN = "in vain"
    FULL = "full"


@dataclass(eq=False, slots=True)
class _Waiter:
    """Somebody who sleeps. Who waits for a start names a scope, who waits for a run names it and its revision."""

    scope: str = ""
    agent_name: str | None = None
    run_id: str = ""
    revision: int = 0
    woken: threading.Event = field(default_factory=threading.Event)


def wait_for_start(scope: Scope, agent_name: str | None, seconds: float, attempt: Callable[[], T | None]) -> T | Waited:
    """What `attempt` gives as soon as it gives something; it is made whenever there is something to start.

    1. Sleep until the watcher saw a resume that may be started. 2. Try; where somebody was faster, sleep again.
    """
    deadline = time.monotonic() + min(seconds, LONGEST)
    with _place(_Waiter(scope=scope.text, agent_name=agent_name)) as waiter:
        if waiter is None:
            return Waited.FULL
        while (left := deadline - time.monotonic()) > 0:
            connection.close()
            if not waiter.woken.wait(left):
                break
            waiter.woken.clear()
            found = attempt()
            if found is not None:
                return found
    return Waited.IN_VAIN


def wait_for_revision(run_id: str, revision: int, seconds: float) -> Waited:
    """Sleep until the run's revision is beyond the given one."""
    with _place(_Waiter(run_id=run_id, revision=revision)) as waiter:
        if waiter is None:
            return Waited.FULL
        connection.close()
        return Waited.MOVED if waiter.woken.wait(min(seconds, LONGEST)) else Waited.IN_VAIN


class _Watcher:
    """Looks at the store for all who wait in this process, in a thread that lives while somebody does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiters: list[_Waiter] = []
        self._thread: threading.Thread | None = None

    def add(self, waiter: _Waiter) -> bool:
        """False where every place is taken."""
        with self._lock:
            if len(self._waiters) >= settings.MAX_LONG_POLLS:
                return False
            self._waiters.append(waiter)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="long-polls", daemon=True)
                self._thread.start()
            return True

    def remove(self, waiter: _Waiter) -> None:
        with self._lock:
            self._waiters.remove(waiter)

    def is_alive(self) -> bool:
        with self._lock:
            return self._thread is not None

    def count(self) -> int:
        with self._lock:
            return len(self._waiters)

    def _watch(self) -> None:
        while waiters := self._still_waiting():
            pause = TICK
            try:
                self._look(waiters)
            except DatabaseError as error:
                log.warning("long polls cannot see the store", error=type(error).__name__)
                connection.close()
                pause = _PATIENCE
            time.sleep(pause)

    def _still_waiting(self) -> list[_Waiter]:
        """Those who sleep now; without any the thread ends, and gives its connection back."""
        with self._lock:
            if not self._waiters:
                connection.close()
                self._thread = None
            return list(self._waiters)

    def _look(self, waiters: list[_Waiter]) -> None:
        asleep = [waiter for waiter in waiters if not waiter.woken.is_set()]
        runs = [waiter for waiter in asleep if waiter.run_id]
        if runs:
            revisions = queries.revisions({waiter.run_id for waiter in runs})
            for waiter in runs:
                # A run that is gone is looked at too: its reader is told so.
                if revisions.get(waiter.run_id, waiter.revision + 1) > waiter.revision:
                    waiter.woken.set()
        starts = [waiter for waiter in asleep if waiter.scope]
        if starts:
            found = Counter(queries.startable({waiter.scope for waiter in starts}, clock.now()))
            for waiter in starts:
                _wake_for(waiter, found)


def _wake_for(waiter: _Waiter, found: Counter[tuple[str, str | None]]) -> None:
    """Wake as many as there are resumes to start: the others would only find that somebody was faster."""
    for key in found:
        scope, agent_name = key
        if found[key] > 0 and scope == waiter.scope and waiter.agent_name in (None, agent_name):
            found[key] -= 1
            waiter.woken.set()
            return


_watcher = _Watcher()


def is_watching() -> bool:
    """Whether the watcher's thread lives; it ends soon after the last who waited."""
    return _watcher.is_alive()


def waiting() -> int:
    """How many wait in this process now."""
    return _watcher.count()


@contextmanager
def _place(waiter: _Waiter) -> Iterator[_Waiter | None]:
    """A place among those who wait, given back whatever happens; None where all are taken."""
    if not _watcher.add(waiter):
        yield None
        return
    try:
        yield waiter
    finally:
        _watcher.remove(waiter)
