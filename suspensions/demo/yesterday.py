"""What a new demo remembers of yesterday: decisions of two colleagues, so that there is something to look up.

Not through the API, which takes nobody's word for the time: like a drill this goes through the operations that agents
and people use, at instants that lie back. The colleagues stand in receipts alone; they have no account and no grant.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from suspensions.demo import script
from suspensions.demo.script import Case
from suspensions.demo.transcripts import refunds, travel_desk
from suspensions.domain import clock
from suspensions.domain.continuations import read_continuation
from suspensions.domain.decisions import CallDecision
from suspensions.domain.pending import read_pending
from suspensions.domain.policy import Caller, Grant, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.strict_json import content_digest, dumps
from suspensions.domain.values import Holder, LeaseTake, NewRun, NewSuspension, Reason, Run
from suspensions.operations import resumes, runs, suspensions
from suspensions.queries.run_page import list_runs

WORKER = "demo-yesterday"
_LEASE_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Story:
    """One run of yesterday with one pause: who decided it, how, and what they wrote."""

    case: Case
    project: str
    colleague: str
    decision: str
    note: str


STORIES = (
    Story(travel_desk.UPGRADE, "travel", "noor.haddad", "approve", "Night flights over 8 hours: within the rules."),
    Story(refunds.CHANGED_PAYEE, "refunds", "piet.lindqvist", "deny", "Call them on the number that we have on file."),
)


def tell(demo: Scope) -> None:
    """Write yesterday into a demo that holds no run yet; do nothing where there is one."""
    if list_runs((demo,), "", None, None, None, 1).items:
        return
    # The same time of day, so that it is yesterday in every time zone.
    began = clock.now() - timedelta(days=1)
    for place, story in enumerate(STORIES):
        _tell(story, Scope.parse(f"{demo}/project={story.project}"), began + timedelta(seconds=20 * place))


def _tell(story: Story, scope: Scope, began: datetime) -> None:
    """1. Run and pause. 2. The colleague's decision. 3. The worker's start, and the end."""
    agent = Caller("demo-agent", "system", (Grant(scope, Role.AGENT),))
    colleague = Caller(story.colleague, "system", (Grant(scope, Role.APPROVER),))
    seed = secrets.randbelow(1_000_000)
    case = story.case.filled(seed)
    (step,) = case.steps

    def after(seconds: float) -> Callable[[], datetime]:
        return lambda: began + timedelta(seconds=seconds)

    with clock.use_clock(after(0)):
        run = runs.create_run(agent, _new_run(scope, case, seed))
    with clock.use_clock(after(2)):
        paused = script.pause_at(case, script.begin(case), step)
        pending = read_pending([call.pending() for call in step.calls], Reason(step.reason))
        new = NewSuspension(
            scope=scope,
            run_id=run.id,
            reason=Reason(step.reason),
            pending=pending,
            continuation=read_continuation(paused),
            request_sha256=content_digest(dumps({"run_id": run.id})),
            expires_at=None if step.deadline is None else clock.now() + step.deadline,
            holder=_holder(run),
        )
        pause = suspensions.create_suspension(agent, new)
    assert pause.run is not None
    made = tuple(
        CallDecision(call.id, call.arguments_sha256, decision=story.decision, note=story.note) for call in pause.pending
    )
    with clock.use_clock(after(97)):
        admission = resumes.decide(colleague, scope, pause.id, pause.run.revision, made)
    lease = LeaseTake(WORKER, seconds=_LEASE_SECONDS)
    with clock.use_clock(after(99)):
        start = resumes.start_resume(agent, scope, run.id, pause.id, admission.request_digest, lease=lease)
    assert start.claimed_run is not None
    outcome = "approved" if story.decision == "approve" else "denied"
    decided = {"decisions": [{"call_id": call.id, "outcome": outcome, "note": story.note} for call in step.calls]}
    last = script.last_word(case, script.go_on(case, paused, script.read_answer(step, decided)))
    with clock.use_clock(after(103)):
        runs.finish_run(agent, scope, run.id, RunState.COMPLETED, output=last, holder=_holder(start.claimed_run))


def _new_run(scope: Scope, case: Case, seed: int) -> NewRun:
    return NewRun(
        scope,
        content_digest(dumps({"case": case.name, "seed": seed})),
        agent_name=case.agent_name,
        input=f"{case.name}, number {seed}",
        metadata=dumps({"demo": True, "case": case.name, "seed": seed}),
        lease=LeaseTake(WORKER, seconds=_LEASE_SECONDS),
    )


def _holder(run: Run) -> Holder:
    assert run.lease is not None
    return Holder(run.lease.owner, run.lease.epoch)
