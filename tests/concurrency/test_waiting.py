"""Who waits for whom, and what a wait must not change: the time by which an operation decides."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

import pytest
from django.db import connection

from suspensions.domain import clock, failpoints
from suspensions.domain.failpoints import Point
from suspensions.domain.scopes import Scope
from suspensions.domain.values import LeaseTake, Reason
from suspensions.operations.sweep import sweep_once
from tests.concurrency import children, requests
from tests.concurrency.consistency import require_consistent
from tests.concurrency.meeting import held, let_go
from tests.concurrency.outcomes import At, Call, attempt
from tests.support.builders import caller, fresh_scope, make_pause, make_run

MINUTE = timedelta(minutes=1)


# -- handing out -----------------------------------------------------------------------------------------


def _two_waiting(scope: Scope) -> tuple[str, str, Call, Call]:
    older, newer = (requests.admitted(scope).version.run_id for _ in range(2))
    first = requests.start_next(scope, caller(scope), "worker-1")
    return older, newer, first, requests.start_next(scope, caller(scope), "worker-2")


def another_worker_passes_over_a_locked_resume() -> None:
    """On PostgreSQL nobody waits for a resume that somebody else is about to start."""
    older, newer, first, second = _two_waiting(fresh_scope())
    with held(first) as let_go_on:
        assert second().version.run_id == newer
        assert let_go_on().value.version.run_id == older


def another_worker_waits_and_gets_the_next() -> None:
    """On SQLite there is one write lock: the second waits for the first, and gets what is then the oldest."""
    older, newer, first, second = _two_waiting(fresh_scope())
    with held(first) as let_first_go_on, held(second, Point.BEFORE_BEGIN) as let_second_go_on:
        assert let_first_go_on().value.version.run_id == older
        assert let_second_go_on().value.version.run_id == newer


_HANDING_OUT = {
    "postgresql": another_worker_passes_over_a_locked_resume,
    "sqlite": another_worker_waits_and_gets_the_next,
}


def test_two_workers_get_two_resumes() -> None:
    _HANDING_OUT[connection.vendor]()


# -- sweeping --------------------------------------------------------------------------------------------


def _due(scope: Scope) -> Scope:
    """Six pauses and three admitted resumes whose time is over."""
    deadline = clock.now() - 30 * MINUTE
    for _ in range(6):
        At(clock.now() - 60 * MINUTE, partial(make_pause, scope, expires_at=deadline))()
    for _ in range(3):
        At(clock.now() - 60 * MINUTE, partial(requests.admitted, scope, deadline=deadline))()
    return scope


def _require_swept_once(scope: Scope) -> None:
    ground = require_consistent(scope)
    assert {run["state"] for run in ground.rows["runs"]} == {"failed"}
    told = [event["type"] for event in ground.rows["events"]]
    assert (told.count("run.expired"), told.count("resume.expired")) == (6, 3)


def test_several_sweepers_in_threads_share_the_work() -> None:
    scope = _due(fresh_scope())
    let_go([sweep_once] * 4, lambda point: None)
    _require_swept_once(scope)


@pytest.mark.usefixtures("warm_parent")
def test_several_sweepers_in_processes_share_the_work() -> None:
    scope = _due(fresh_scope())
    children.contend_in_processes([sweep_once] * 4)
    _require_swept_once(scope)


# -- the clock -------------------------------------------------------------------------------------------


class JumpsAtTheLock:
    """A clock that stands until an operation has its lock, and is a minute later from then on."""

    def __init__(self) -> None:
        self.now = clock.now()
        self.later = self.now + MINUTE

    def __call__(self) -> datetime:
        return self.now

    def reach(self, point: Point) -> None:
        if point is Point.AFTER_LOCK:
            self.now = self.later


def _claim(scope: Scope, later: datetime) -> Call:
    return requests.claim(make_pause(scope, Reason.EXTERNAL_TOOL, expires_at=later), caller(scope))


def _decide(scope: Scope, later: datetime) -> Call:
    return requests.decide(make_pause(scope, expires_at=later), caller(scope))


def _admit(scope: Scope, later: datetime) -> Call:
    return requests.admit(make_pause(scope, Reason.AGENT_REPLY, expires_at=later), caller(scope), b"yes")


def _start(scope: Scope, later: datetime) -> Call:
    grace = timedelta(minutes=15)
    made = At(later - grace, lambda: requests.admitted(scope, deadline=later - grace + MINUTE))
    admission = made()
    assert admission.start_by == later
    return requests.start(admission, caller(scope))


def _reclaim(scope: Scope, later: datetime) -> Call:
    run = make_run(scope, lease=LeaseTake("worker-1", expires_at=later))
    return requests.reclaim(run, caller(scope), "worker-2")


def _cancel(scope: Scope, later: datetime) -> Call:
    run = make_run(scope, lease=LeaseTake("worker-1", expires_at=later))
    return requests.cancel(scope, run.id, caller(scope))


@pytest.mark.parametrize(
    ("prepare", "code"),
    [
        (_claim, "suspension_expired"),
        (_decide, "suspension_expired"),
        (_admit, "suspension_expired"),
        (_start, "suspension_expired"),
        (_reclaim, None),
        (_cancel, None),
    ],
)
def test_what_an_operation_decides_by_is_the_time_at_which_it_had_its_lock(
    prepare: Callable[[Scope, datetime], Call], code: str | None
) -> None:
    """A reading from before the wait would let an answer in that the sweep may already have overtaken."""
    jumping, scope = JumpsAtTheLock(), fresh_scope()
    with clock.use_clock(jumping):
        call = prepare(scope, jumping.later)
        with failpoints.installed(jumping.reach):
            assert attempt(call).code == code
