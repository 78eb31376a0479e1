"""Trouble, made on purpose on a demo database, so that operators can practise. Source: operate.md `drill`.

Everything goes through the operations that agents and people use, at instants that lie back: nobody has to wait for a
lease to lapse. See docs/uncertain.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from suspensions.domain import clock
from suspensions.domain.continuations import read_continuation
from suspensions.domain.decisions import CallDecision
from suspensions.domain.errors import InvalidRequest
from suspensions.domain.policy import Caller, Grant, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import content_digest, dumps
from suspensions.domain.values import (
    Ending,
    Holder,
    LeaseTake,
    NewRun,
    NewSuspension,
    PendingCall,
    Reason,
    Run,
    Snapshot,
    Suspension,
)
from suspensions.operations import progress, resumes, runs, suspensions
from suspensions.queries.drills import holds_others

WORKER = "drill-worker-1"
AGENT_NAME = "drill-desk"
_CALL = PendingCall("call_1", "refund_payment", '{"order_id":"A-1042","amount":"480.00","currency":"EUR"}', "A drill.")
_MESSAGES = [{"role": "user", "content": "Order A-1042 arrived broken. I want my money back."}]


@dataclass(frozen=True, slots=True)
class Trouble:
    """What a drill made. `suspension_id` is there where a pause has to do with it."""

    kind: str
    run_id: str
    suspension_id: str | None


@dataclass(frozen=True, slots=True)
class _Stage:
    scope: Scope

    def caller(self, name: str, *roles: Role) -> Caller:
        """Somebody who exists for the drill alone."""
        return Caller(name, "system", tuple(Grant(self.scope, role) for role in roles))

    @property
    def agent(self) -> Caller:
        return self.caller("drill-agent", Role.AGENT)

    def run(self, lease: LeaseTake | None = None) -> Run:
        said = content_digest(dumps({"agent_name": AGENT_NAME}))
        new = NewRun(self.scope, said, agent_name=AGENT_NAME, input="Handle order A-1042.", lease=lease)
        return runs.create_run(self.agent, new)

    def pause(self, expires_at: datetime | None = None) -> Suspension:
        run = self.run()
        said = content_digest(dumps({"run_id": run.id, "pending": [_CALL.to_json()]}))
        new = NewSuspension(
            scope=self.scope,
            run_id=run.id,
            reason=Reason.APPROVAL,
            pending=(_CALL,),
            continuation=read_continuation({"messages": _MESSAGES}),
            request_sha256=said,
            expires_at=expires_at,
        )
        return suspensions.create_suspension(self.agent, new)

    def decided(self) -> Suspension:
        pause = self.pause()
        assert pause.run is not None
        approver = self.caller("drill-approver", Role.APPROVER)
        approved = tuple(CallDecision(call.id, call.arguments_sha256, decision="approve") for call in pause.pending)
        resumes.decide(approver, self.scope, pause.id, pause.run.revision, approved)
        return pause


def _expired_pause(stage: _Stage, now: datetime) -> Trouble:
    with clock.use_clock(lambda: now - timedelta(minutes=10)):
        pause = stage.pause(expires_at=now - timedelta(minutes=1))
    return Trouble("expired-pause", pause.run_id, pause.id)


def _not_picked_up(stage: _Stage, now: datetime) -> Trouble:
    with clock.use_clock(lambda: now - timedelta(minutes=6)):
        pause = stage.decided()
    return Trouble("not-picked-up", pause.run_id, pause.id)


def _uncertain_resume(stage: _Stage, now: datetime) -> Trouble:
    """Started ten minutes ago by a worker that handed the refund out, and was never heard of again."""
    with clock.use_clock(lambda: now - timedelta(minutes=10)):
        pause = stage.decided()
        admission = resumes.latest_admission(stage.agent, stage.scope, pause.run_id)
        start = resumes.start_resume(
            stage.agent,
            stage.scope,
            pause.run_id,
            pause.id,
            admission.request_digest,
            lease=LeaseTake(WORKER, seconds=60),
        )
        _save(stage, start.claimed_run, started=(_CALL,))
    return Trouble("uncertain-resume", pause.run_id, pause.id)


def _dead_worker(stage: _Stage, now: datetime) -> Trouble:
    """A worker that was told to cancel, kept that, and died before it wrote the end."""
    with clock.use_clock(lambda: now - timedelta(minutes=10)):
        run = stage.run(lease=LeaseTake(WORKER, seconds=60))
        _save(stage, run, ending=Ending("cancel", "The customer called it off."))
    return Trouble("dead-worker", run.id, None)


def _save(
    stage: _Stage, run: Run | None, *, started: tuple[PendingCall, ...] | None = None, ending: Ending | None = None
) -> None:
    assert run is not None and run.lease is not None
    continuation = read_continuation({"messages": _MESSAGES})
    snapshot = Snapshot(run.id, run.lease.owner, continuation, started=started, ending=ending)
    progress.save_progress(stage.agent, stage.scope, snapshot, Holder(run.lease.owner, run.lease.epoch))


KINDS: Mapping[str, Callable[[_Stage, datetime], Trouble]] = {
    "expired-pause": _expired_pause,
    "not-picked-up": _not_picked_up,
    "uncertain-resume": _uncertain_resume,
    "dead-worker": _dead_worker,
}


def make_trouble(kind: str, demo: Scope, scope: Scope) -> Trouble:
    """Make one kind of trouble in a scope of the demo's.

    Raises: InvalidRequest where the database holds anything outside of the demo's scope: it is no demo.
    """
    if not demo.covers(scope) or holds_others(demo):
        raise InvalidRequest(f"A drill is for a demo database, and below {demo} alone.")
    return KINDS[kind](_Stage(scope), clock.now())
