"""kill -9 between any two steps of any operation: nothing is half written, and the same request finds or makes it once.

Each operation is made once undisturbed, while its points are written down; then once for each of those points, in a
child process that dies there. A new operation is in the matrix as soon as it stands in the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from suspensions.domain import clock, failpoints, ids
from suspensions.domain.failpoints import Point
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Reason
from tests.concurrency import children, requests
from tests.concurrency.consistency import footprint
from tests.concurrency.outcomes import At, Call, attempt
from tests.support.builders import caller, fresh_scope, holder_of, make_pause, make_run, snapshot, take

pytestmark = [pytest.mark.usefixtures("warm_parent"), pytest.mark.timeout(300)]

RECORD = "record"
"""The repeated request is answered with what it made."""
AGAIN = "again"
"""The repeated request is done a second time, to the same end."""


@dataclass(frozen=True)
class Crash:
    """`prepare` makes the rows and gives the request; `repeated` is what a repeat hears once it was committed."""

    prepare: Callable[[Scope], Call]
    repeated: str


def _start(scope: Scope) -> Call:
    admission = requests.admitted(scope)
    first = snapshot(admission.version.run_id)
    return requests.start(admission, caller(scope), "worker-1", first=first)


def _admit(scope: Scope) -> Call:
    pause = make_pause(scope, Reason.AGENT_REPLY)
    return requests.admit(pause, caller(scope), b"yes", lease=take(), first=snapshot(pause.run_id))


def _next(scope: Scope) -> Call:
    requests.admitted(scope)
    requests.admitted(scope)
    return requests.start_next(scope, caller(scope), "worker-1", request_id="request-1")


def _claim(scope: Scope) -> Call:
    pause = make_pause(scope, Reason.EXTERNAL_TOOL)
    return requests.claim(pause, caller(scope), "worker-1", first=snapshot(pause.run_id))


def _claim_expired(scope: Scope) -> Call:
    deadline = clock.now()
    past = deadline - timedelta(minutes=2)
    pause = At(past, lambda: make_pause(scope, expires_at=deadline))()
    return requests.claim(pause, caller(scope), expired_by=deadline)


def _expire(scope: Scope) -> Call:
    now = clock.now()
    deadline = now - timedelta(minutes=30)
    admission = At(now - timedelta(minutes=60), lambda: requests.admitted(scope, deadline=deadline))()
    return requests.expire(admission, caller(scope))


def _finish(scope: Scope) -> Call:
    """With an open question, which the end of the run resolves in the same commit."""
    run = requests.leased_run(scope)
    requests.open_interaction(scope, run_id=run.id)
    return requests.finish(run, caller(scope), holder=holder_of(run))


def _continue(scope: Scope) -> Call:
    run = requests.incomplete_run(scope)
    return requests.claim_continuation(run, caller(scope), "worker-1", first=snapshot(run.id))


def _pause_leased(scope: Scope) -> Call:
    run = requests.leased_run(scope)
    return requests.pause(scope, caller(scope), run.id, suspension_id=ids.new_id(ids.SUSPENSION), holder=holder_of(run))


def _pause_again(scope: Scope) -> Call:
    """A pause that replaces one which was claimed."""
    claimed = requests.claimed_pause(scope)
    later = ids.new_id_after(ids.SUSPENSION, claimed.id)
    return requests.pause(scope, caller(scope), claimed.run_id, suspension_id=later)


def _delete_pause(scope: Scope) -> Call:
    pause = requests.claimed_pause(scope)
    return requests.delete_pause(pause, caller(scope))


def _delete_progress(scope: Scope) -> Call:
    run = requests.leased_run(scope)
    requests.save_progress(run, caller(scope))()
    return requests.delete_progress(run, caller(scope))


def _question_of(scope: Scope) -> Call:
    return requests.save_interaction(scope, "question-1", run_id=make_run(scope).id)


CRASHES: dict[str, Crash] = {
    "create run": Crash(lambda at: requests.create_run(at, caller(at), ids.new_id(ids.RUN)), RECORD),
    "pause": Crash(_pause_leased, RECORD),
    "pause again": Crash(_pause_again, RECORD),
    "pause a new run": Crash(
        lambda at: requests.pause_of_new_run(at, caller(at), ids.new_id(ids.RUN), ids.new_id(ids.SUSPENSION)), RECORD
    ),
    "pause without an id": Crash(lambda at: requests.pause(at, caller(at), make_run(at).id), "already_exists"),
    "claim": Crash(_claim, "not_suspended"),
    "claim expired": Crash(_claim_expired, "not_suspended"),
    "claim continuation": Crash(_continue, "invalid_state"),
    "decide": Crash(lambda at: requests.decide(make_pause(at), caller(at)), RECORD),
    "admit": Crash(_admit, RECORD),
    "start": Crash(_start, RECORD),
    "start next": Crash(_next, RECORD),
    "expire": Crash(_expire, RECORD),
    "close": Crash(lambda at: requests.close(*requests.lapsed_start(at), caller(at)), RECORD),
    "finish": Crash(_finish, RECORD),
    "cancel a paused run": Crash(lambda at: requests.cancel(at, make_pause(at).run_id, caller(at)), RECORD),
    "cancel a running run": Crash(lambda at: requests.cancel(at, make_run(at).id, caller(at)), RECORD),
    "delete a pause": Crash(_delete_pause, "not_suspended"),
    "delete progress": Crash(_delete_progress, AGAIN),
    "save progress": Crash(lambda at: requests.save_progress(requests.leased_run(at), caller(at)), AGAIN),
    "renew": Crash(lambda at: requests.renew(requests.leased_run(at), caller(at)), AGAIN),
    "release": Crash(lambda at: requests.release(requests.leased_run(at), caller(at)), RECORD),
    "reclaim": Crash(lambda at: requests.reclaim(requests.lapsed_run(at), caller(at), "worker-2"), "run_lease_lost"),
    "save a question": Crash(lambda at: requests.save_interaction(at, "question-1"), RECORD),
    "save a question of a run": Crash(_question_of, RECORD),
    "answer": Crash(lambda at: requests.answer_interaction(requests.open_interaction(at), caller(at)), RECORD),
    "resolve": Crash(
        lambda at: requests.resolve_interaction(requests.open_interaction(at), caller(at)), "interaction_resolved"
    ),
    "mark resolved": Crash(lambda at: requests.mark_resolved(requests.open_interaction(at), caller(at)), AGAIN),
}


def _undisturbed(crash: Crash) -> tuple[list[Point], dict[str, object]]:
    """The points that the operation passes, and what it leaves behind."""
    scope = fresh_scope()
    call = crash.prepare(scope)
    passed: list[Point] = []
    with failpoints.installed(passed.append):
        assert attempt(call).answered
    return passed, footprint(scope)


def _kill(crash: Crash, passed: list[Point], index: int, after: dict[str, object]) -> None:
    scope = fresh_scope()
    call = crash.prepare(scope)
    before = footprint(scope)
    children.run_killed(call, index)

    committed = passed[index] is Point.AFTER_COMMIT
    place = f"killed {passed[index]}, step {index + 1} of {len(passed)}"
    assert footprint(scope) == (after if committed else before), place
    again = attempt(call)
    if committed and crash.repeated not in (RECORD, AGAIN):
        assert again.code == crash.repeated, place
    else:
        assert again.answered, f"{place}: {again.code}"
        assert not (committed and crash.repeated is RECORD and again.fresh), f"{place}: made twice"
    assert footprint(scope) == after, place


def _matrix(name: str, part: slice) -> None:
    crash = CRASHES[name]
    passed, after = _undisturbed(crash)
    assert {Point.BEFORE_BEGIN, Point.BEFORE_WRITE, Point.BEFORE_COMMIT, Point.AFTER_COMMIT} <= set(passed)
    for index in range(len(passed))[part]:
        _kill(crash, passed, index, after)


@pytest.mark.parametrize("name", sorted(CRASHES))
def test_killed_at_every_third_point(name: str) -> None:
    """Which third differs from one operation to the next, so that together they pass all kinds of points."""
    _matrix(name, slice(sorted(CRASHES).index(name) % 3, None, 3))


@pytest.mark.matrix
@pytest.mark.parametrize("name", sorted(CRASHES))
def test_killed_at_every_point(name: str) -> None:
    _matrix(name, slice(None))
