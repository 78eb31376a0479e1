"""Every operation that writes, at a run where it may be done, with the events that it leaves.

Several tests ask the same of each of them: that it is told of, that it is one commit, that a repeat finds the record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from suspensions.domain import ids
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.strict_json import content_digest, dumps
from suspensions.domain.values import Holder, NewInteraction, Reason
from suspensions.operations import closures, interactions, leases, resumes, runs, suspensions
from suspensions.operations.sweep import sweep_once
from tests.store.support import Clock
from tests.support import closing
from tests.support.builders import (
    admit,
    caller,
    make_pause,
    make_run,
    new_run,
    new_suspension,
    snapshot,
    start,
    take,
)


@dataclass(frozen=True)
class Ready:
    """A run where an operation may be done, and the operation."""

    run_id: str
    act: Callable[[], object]


def _create(scope: Scope, time: Clock) -> Ready:
    run_id = ids.new_id(ids.RUN)
    return Ready(run_id, lambda: runs.create_run(caller(scope), new_run(scope, id=run_id)))


def _pause(scope: Scope, time: Clock) -> Ready:
    run = make_run(scope)
    return Ready(run.id, lambda: suspensions.create_suspension(caller(scope), new_suspension(scope, run.id)))


def _pause_new(scope: Scope, time: Clock) -> Ready:
    run_id = ids.new_id(ids.RUN)
    new = new_suspension(scope, run_id, run=new_run(scope))
    return Ready(run_id, lambda: suspensions.create_suspension(caller(scope), new))


def _claim(scope: Scope, time: Clock) -> Ready:
    run_id = make_pause(scope, Reason.EXTERNAL_TOOL).run_id
    first = snapshot(run_id)
    return Ready(run_id, lambda: suspensions.claim_suspension(caller(scope), scope, run_id, lease=take(), first=first))


def _claim_expired(scope: Scope, time: Clock) -> Ready:
    run_id, deadline = make_pause(scope, expires_at=time.now).run_id, time.now
    return Ready(run_id, lambda: suspensions.claim_suspension(caller(scope), scope, run_id, expired_by=deadline))


def _admit(scope: Scope, time: Clock) -> Ready:
    pause = make_pause(scope, Reason.AGENT_REPLY)
    return Ready(pause.run_id, lambda: admit(pause, lease=take(), first=snapshot(pause.run_id)))


def _decide(scope: Scope, time: Clock) -> Ready:
    pause = make_pause(scope, Reason.APPROVAL)
    return Ready(pause.run_id, lambda: admit(pause))


def _start(scope: Scope, time: Clock) -> Ready:
    admission = admit(make_pause(scope, Reason.AGENT_REPLY))
    first = snapshot(admission.version.run_id)
    return Ready(admission.version.run_id, lambda: start(admission, lease=take(), first=first))


def _start_next(scope: Scope, time: Clock) -> Ready:
    admission = admit(make_pause(scope, Reason.AGENT_REPLY))
    return Ready(admission.version.run_id, lambda: resumes.start_next(caller(scope), scope, take()))


def _expire(scope: Scope, time: Clock) -> Ready:
    admission = admit(make_pause(scope, Reason.AGENT_REPLY, expires_at=time.ahead(1)))
    time.tick(5000)
    version, digest = admission.version, admission.request_digest
    return Ready(
        version.run_id,
        lambda: resumes.expire_resume(caller(scope), scope, version.run_id, version.suspension_id, digest),
    )


def _close(scope: Scope, time: Clock) -> Ready:
    admission = admit(make_pause(scope, Reason.AGENT_REPLY))
    request = closing.closure_request(admission, start(admission), time.now)
    return Ready(admission.version.run_id, lambda: closures.close_resume(caller(scope), request, closing.PROOF))


def _finish(scope: Scope, time: Clock) -> Ready:
    run = make_run(scope)
    return Ready(
        run.id, lambda: runs.finish_run(caller(scope), scope, run.id, RunState.INCOMPLETE, output="o", error="e")
    )


def _continue(scope: Scope, time: Clock) -> Ready:
    ended = _finish(scope, time)
    ended.act()
    first = snapshot(ended.run_id)
    return Ready(ended.run_id, lambda: leases.claim_continuation(caller(scope), scope, ended.run_id, take(), first))


def _cancel(scope: Scope, time: Clock) -> Ready:
    run = make_run(scope)
    return Ready(run.id, lambda: runs.cancel_run(caller(scope), scope, run.id, "x"))


def _cancel_paused(scope: Scope, time: Clock) -> Ready:
    run_id = make_pause(scope).run_id
    return Ready(run_id, lambda: runs.cancel_run(caller(scope), scope, run_id, "x"))


def _sweep(scope: Scope, time: Clock) -> Ready:
    return Ready(make_pause(scope, expires_at=time.now).run_id, sweep_once)


def _release(scope: Scope, time: Clock) -> Ready:
    run = make_run(scope, lease=take())
    return Ready(run.id, lambda: leases.release_lease(caller(scope), scope, run.id, Holder("worker-1", 1)))


def _reclaim(scope: Scope, time: Clock) -> Ready:
    released = _release(scope, time)
    released.act()
    return Ready(released.run_id, lambda: leases.reclaim_lease(caller(scope), scope, released.run_id, take("other")))


ASSISTANT = {"role": "assistant", "content": [{"type": "tool_use", "id": "tu", "name": "ask", "input": {}}]}
RESULT = {"type": "tool_result", "tool_use_id": "tu", "content": "yes"}


def _save_question(scope: Scope, time: Clock) -> Ready:
    run = make_run(scope)
    new = NewInteraction(scope, "int-1", "tu", dumps(ASSISTANT), run_id=run.id)
    return Ready(run.id, lambda: interactions.save_interaction(caller(scope), new, content_digest(new.assistant)))


def _answer_question(scope: Scope, time: Clock) -> Ready:
    asked = _save_question(scope, time)
    asked.act()
    return Ready(asked.run_id, lambda: interactions.answer_interaction(caller(scope), scope, "int-1", RESULT))


def _resolve_question(scope: Scope, time: Clock) -> Ready:
    asked = _save_question(scope, time)
    asked.act()
    return Ready(asked.run_id, lambda: interactions.resolve_interaction(caller(scope), scope, "int-1", RESULT))


def _end_with_question(scope: Scope, time: Clock) -> Ready:
    asked = _save_question(scope, time)
    asked.act()
    return Ready(asked.run_id, lambda: runs.finish_run(caller(scope), scope, asked.run_id, RunState.COMPLETED))


_NEW = ["run.created"]
_PAUSED = [*_NEW, "run.paused"]
_ADMITTED = [*_PAUSED, "resume.admitted"]
STARTED = [*_ADMITTED, "resume.started"]
_ASKED = [*_NEW, "interaction.saved"]
OPERATIONS: dict[str, tuple[Callable[[Scope, Clock], Ready], list[str], list[int]]] = {
    # what: how to make it ready, the kinds of its run's events after it, and their revisions
    "a new run": (_create, _NEW, [1]),
    "a pause": (_pause, _PAUSED, [1, 2]),
    "a pause that makes its run": (_pause_new, _PAUSED, [1, 2]),
    "a claim": (_claim, [*_PAUSED, "run.claimed"], [1, 2, 3]),
    "a claim by the deadline": (_claim_expired, [*_PAUSED, "run.claimed"], [1, 2, 3]),
    "an admission": (_admit, _ADMITTED, [1, 2, 3]),
    "a decision": (_decide, _ADMITTED, [1, 2, 3]),
    "a start": (_start, STARTED, [1, 2, 3, 3]),
    "a start of the next": (_start_next, STARTED, [1, 2, 3, 3]),
    "an expiry": (_expire, [*_ADMITTED, "resume.expired"], [1, 2, 3, 4]),
    "a closure": (_close, [*STARTED, "resume.closed"], [1, 2, 3, 3, 4]),
    "an end": (_finish, [*_NEW, "run.finished"], [1, 2]),
    "a continuation": (_continue, [*_NEW, "run.finished", "run.claimed"], [1, 2, 3]),
    "a cancel": (_cancel, [*_NEW, "run.cancelled"], [1, 2]),
    "a cancel of a paused run": (_cancel_paused, [*_PAUSED, "run.claimed", "run.cancelled"], [1, 2, 3, 4]),
    "a sweep": (_sweep, [*_PAUSED, "run.claimed", "run.expired"], [1, 2, 3, 4]),
    "a release": (_release, [*_NEW, "run.lease_released"], [1, 1]),
    "a takeover": (_reclaim, [*_NEW, "run.lease_released", "run.lease_taken"], [1, 1, 1]),
    "a question": (_save_question, _ASKED, [1, 1]),
    "an answer": (_answer_question, [*_ASKED, "interaction.answered"], [1, 1, 1]),
    "a resolution": (_resolve_question, [*_ASKED, "interaction.resolved"], [1, 1, 1]),
    "an end with an open question": (
        _end_with_question,
        [*_ASKED, "interaction.resolved", "run.finished"],
        [1, 1, 1, 2],
    ),
}
