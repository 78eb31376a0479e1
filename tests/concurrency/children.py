"""Child processes that are forked from one warm parent, so that each costs milliseconds.

The parent is multiprocessing's fork server: it has loaded everything and holds no thread and no connection.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

from django.db import connections

from suspensions.domain import failpoints
from suspensions.domain.failpoints import Point
from tests.concurrency.outcomes import Call, Outcome, attempt
from tests.support.threads import PATIENCE

_context = multiprocessing.get_context("forkserver")


def warm_up() -> None:
    """Start the warm parent; it reads the environment as it is now."""
    _context.set_forkserver_preload(["tests.concurrency.warm"])


@dataclass
class KillAt:
    """A hook that ends its process as `kill -9` does, at the n-th point that an operation reaches."""

    index: int
    reached: int = -1

    def __call__(self, point: Point) -> None:
        self.reached += 1
        if self.reached == self.index:
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Child:
    """A running child, and the pipe on which its outcome comes back."""

    process: ForkServerProcess
    pipe: Connection

    def outcome(self) -> Outcome | None:
        """What the call gave; None where the child was killed before it could say."""
        try:
            told = self.pipe.recv() if self.pipe.poll(PATIENCE) else "the child said nothing in time"
        except EOFError:
            told = None
        finally:
            self.process.join(PATIENCE)
            code = self.process.exitcode
            self.process.close()
            self.pipe.close()
        if isinstance(told, str):
            raise AssertionError(told)
        assert code == (-signal.SIGKILL if told is None else 0), f"the child ended with {code}"
        return told


def start(call: Call, *, kill_at: int | None = None, ready: Any = None) -> Child:
    """Fork a child that makes the call; with `ready` (a barrier) it waits for the others first."""
    here, there = _context.Pipe(duplex=False)
    process = _context.Process(target=_run, args=(there, call, kill_at, ready))
    process.start()
    there.close()
    return Child(process, here)


def contend_in_processes(calls: Sequence[Call]) -> list[Outcome]:
    """Every call in a process of its own, all let go at once."""
    ready = _context.Barrier(len(calls))
    children = [start(call, ready=ready) for call in calls]
    outcomes = [child.outcome() for child in children]
    return [outcome for outcome in outcomes if outcome is not None]


def run_killed(call: Call, kill_at: int) -> None:
    """Make the call in a child that is killed at its n-th point."""
    outcome = start(call, kill_at=kill_at).outcome()
    assert outcome is None, "the child outlived the point at which it was to be killed"


def _run(pipe: Connection, call: Call, kill_at: int | None, ready: Any) -> None:
    """In the child: one call, one connection, one answer."""
    try:
        connections["default"].ensure_connection()
        if ready is not None:
            ready.wait(PATIENCE)
        if kill_at is None:
            pipe.send(attempt(call))
        else:
            with failpoints.installed(KillAt(kill_at)):
                pipe.send(attempt(call))
    except BaseException:
        pipe.send(traceback.format_exc())
