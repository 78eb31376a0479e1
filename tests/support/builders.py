"""Short ways to the values that the store takes, for tests of every kind.

Each test works in a fresh scope of its own, so nothing here cleans up.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from suspensions.domain import clock
from suspensions.domain.continuations import read_continuation
from suspensions.domain.decisions import CallDecision
from suspensions.domain.policy import Caller, Grant, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import content_digest, dumps
from suspensions.domain.values import (
    Admission,
    AdmissionRequest,
    ClaimVersion,
    Continuation,
    Holder,
    LeaseTake,
    NewRun,
    NewSuspension,
    PendingCall,
    Reason,
    Run,
    Snapshot,
    Start,
    Suspension,
)
from suspensions.operations import resumes, runs, suspensions

MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": "Please cancel my booking."}]


def fresh_scope(levels: int = 1) -> Scope:
    """A scope that no other test has."""
    names = ("w", "p", "t")[:levels]
    return Scope.parse("/".join(f"{name}={secrets.token_hex(8)}" for name in names))


def caller(scope: Scope | str, *roles: Role, principal: str = "", via: str = "token:test") -> Caller:
    """A principal with the roles at the scope; with none named, with every role."""
    at = scope if isinstance(scope, Scope) else Scope.parse(scope)
    grants = tuple(Grant(at, role) for role in (roles or tuple(Role)))
    return Caller(principal or f"p-{secrets.token_hex(4)}", via, grants)


def continuation(**members: Any) -> Continuation:
    """A checked continuation; `messages` are there unless given."""
    return read_continuation({"messages": MESSAGES, **members})


def call(call_id: str = "call-1", name: str = "cancel_reservation", arguments: str = "{}", **more: Any) -> PendingCall:
    return PendingCall(call_id, name, arguments, **more)


def calls_for(reason: Reason) -> tuple[PendingCall, ...]:
    """One call that a pause of this reason may hold."""
    if reason is Reason.AGENT_REPLY:
        return (call(name="ask_agent", reply_with="reply-1"),)
    return (call(),)


def new_run(scope: Scope, **more: Any) -> NewRun:
    content = dumps({key: str(value) for key, value in sorted(more.items()) if key != "lease"})
    return NewRun(scope=scope, request_sha256=content_digest(content), **more)


def new_suspension(
    scope: Scope,
    run_id: str,
    reason: Reason = Reason.APPROVAL,
    pending: Iterable[PendingCall] | None = None,
    **more: Any,
) -> NewSuspension:
    """A pause as the API would hand it on: its content digest leaves out the holder."""
    calls = tuple(pending) if pending is not None else calls_for(reason)
    body = more.pop("continuation", None) or continuation()
    said = {
        "run_id": run_id,
        "reason": reason.value,
        "pending": [each.to_json() for each in calls],
        "continuation": body.text.decode(),
        **{key: str(value) for key, value in more.items() if key in ("id", "expires_at")},
    }
    return NewSuspension(
        scope=scope,
        run_id=run_id,
        reason=reason,
        pending=calls,
        continuation=body,
        request_sha256=content_digest(dumps(said)),
        **more,
    )


def make_run(scope: Scope, *, lease: LeaseTake | None = None, by: Caller | None = None, **more: Any) -> Run:
    """A running run."""
    return runs.create_run(by or caller(scope), new_run(scope, lease=lease, **more))


def make_pause(
    scope: Scope,
    reason: Reason = Reason.APPROVAL,
    *,
    run: Run | None = None,
    pending: Iterable[PendingCall] | None = None,
    expires_at: datetime | None = None,
    by: Caller | None = None,
    **more: Any,
) -> Suspension:
    """A paused run's pause, by a principal of its own unless given."""
    run = run or make_run(scope, by=by)
    holder = None if run.lease is None else Holder(run.lease.owner, run.lease.epoch)
    new = new_suspension(scope, run.id, reason, pending, expires_at=expires_at, holder=holder, **more)
    return suspensions.create_suspension(by or caller(scope), new)


def version_of(pause: Suspension) -> ClaimVersion:
    """The pin of a pause that was just made."""
    assert pause.run is not None
    return ClaimVersion(pause.run_id, pause.id, pause.run.revision)


def approve_all(pause: Suspension, decision: str = "approve", note: str | None = None) -> tuple[CallDecision, ...]:
    """The same decision on every call of an approval pause."""
    return tuple(CallDecision(each.id, each.arguments_sha256, decision=decision, note=note) for each in pause.pending)


def admit(pause: Suspension, *, value: bytes = b'{"reply":"yes"}', by: Caller | None = None, **more: Any) -> Admission:
    """Answer a pause: by the bus where it waits for a peer, else by an approver's decision."""
    by = by or caller(pause.scope)
    if pause.reason is Reason.AGENT_REPLY:
        request = AdmissionRequest(pause.scope, version_of(pause), value)
        reply_with = frozenset(each.reply_with or "" for each in pause.pending)
        return resumes.admit_resume(by, request, reply_with, **more)
    decisions = approve_all(pause)
    if pause.reason is Reason.EXTERNAL_TOOL:
        decisions = tuple(CallDecision(each.id, each.arguments_sha256, content="done") for each in pause.pending)
    return resumes.decide(by, pause.scope, pause.id, version_of(pause).run_revision, decisions)


def start(admission: Admission, *, lease: LeaseTake | None = None, by: Caller | None = None, **more: Any) -> Start:
    version = admission.version
    return resumes.start_resume(
        by or caller(admission.scope),
        admission.scope,
        version.run_id,
        version.suspension_id,
        admission.request_digest,
        lease=lease,
        **more,
    )


def take(owner: str = "worker-1", seconds: int = 60) -> LeaseTake:
    return LeaseTake(owner, seconds=seconds)


def holder_of(run: Run) -> Holder:
    assert run.lease is not None
    return Holder(run.lease.owner, run.lease.epoch)


def snapshot(run_id: str, owner: str = "worker-1", **more: Any) -> Snapshot:
    return Snapshot(run_id, owner, more.pop("continuation", None) or continuation(), **more)


def at(instant: datetime) -> AbstractContextManager[None]:
    """Everything inside happens at this instant."""
    return clock.use_clock(lambda: instant)


def now() -> datetime:
    return clock.now()
