"""The hot writes: rows in the state that each needs, the product's call, and what the floor reads to decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from suspensions.domain.decisions import CallDecision
from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import AdmissionRequest, Continuation, Holder, Reason, Suspension
from suspensions.operations import progress, resumes, runs, suspensions
from tests.support import builders
from tests.support.builders import call, caller, fresh_scope, make_run, take, version_of

Call = Callable[[], Any]

# Beside what decides, the floor reads what the answer gives: the run, and of a claim and a start the pause.
_RUN = (
    "run.state, run.revision, run.lease_epoch, run.event_position, run.event_hash, run.agent_id, run.agent_name,"
    " run.session_id, run.step_count, run.tokens_used, run.persona_ref, run.metadata, run.lease_owner,"
    " run.lease_expires_at, run.created_by, run.created_at, run.updated_at, run.started_at, run.completed_at,"
    " run.resume, run_content.input"
)
_FROM_RUN = " FROM run LEFT JOIN run_content ON run_content.run_id = run.id"
_GIVEN_PAUSE = (
    "suspension.id, suspension.reason, suspension.pending, suspension.expires_at, suspension.digest,"
    " suspension.pending_sha256, suspension.continuation_sha256, suspension.checkpoint_id, suspension.created_by,"
    " suspension.created_at, suspension.updated_at, suspension_continuation.body"
)

READ_RUN = "SELECT state, revision, lease_owner, lease_epoch, resume, event_position, event_hash FROM run"
_OF_RUN = " WHERE run.id = %s AND run.scope = %s"
_FINISH = f"SELECT {_RUN}{_FROM_RUN}"
_PAUSE = (
    f"SELECT {_RUN}, run.last_suspension_id, live.id, live.claimed_at{_FROM_RUN}"
    " LEFT JOIN suspension live ON live.run_id = run.id AND live.retired_at IS NULL"
)
_CLAIM = (
    f"SELECT {_RUN}, {_GIVEN_PAUSE}{_FROM_RUN}"
    " LEFT JOIN suspension ON suspension.run_id = run.id AND suspension.retired_at IS NULL"
    " LEFT JOIN suspension_continuation ON suspension_continuation.suspension_id = suspension.id"
)
_ADMIT = (
    "SELECT run.state, run.revision, run.lease_epoch, run.event_position, run.event_hash, suspension.id,"
    " suspension.reason, suspension.pending, suspension.expires_at, suspension.digest, suspension.created_by,"
    " resume_admission.request_digest FROM run"
    " LEFT JOIN suspension ON suspension.run_id = run.id AND suspension.retired_at IS NULL"
    " LEFT JOIN resume_admission ON resume_admission.suspension_id = suspension.id"
)
_START = (
    f"SELECT {_RUN}, {_GIVEN_PAUSE},"
    " resume_admission.request_digest, resume_admission.suspension_digest, resume_admission.input,"
    " resume_admission.start_by, resume_start_or_expiry.kind, resume_closure.suspension_id"
    f"{_FROM_RUN}"
    " LEFT JOIN resume_admission ON resume_admission.suspension_id = run.admission_id"
    " LEFT JOIN resume_start_or_expiry ON resume_start_or_expiry.suspension_id = run.admission_id"
    " LEFT JOIN resume_closure ON resume_closure.suspension_id = run.admission_id"
    " LEFT JOIN suspension ON suspension.id = run.admission_id AND suspension.retired_at IS NULL"
    " LEFT JOIN suspension_continuation ON suspension_continuation.suspension_id = suspension.id"
)

WORDS = "The passenger asks to move the flight from the 14th to the 16th, and to keep both bags. " * 4
ARGUMENTS = '{"reservation_id":"ZFA04Y","cabin":"economy","flights":[{"number":"HAT136","date":"2031-05-16"}]}'


def _continuation() -> Continuation:
    """Sixteen messages, about 6 kB."""
    turn = [{"role": "user", "content": WORDS}, {"role": "assistant", "content": WORDS}]
    return builders.continuation(messages=turn * 8, step_index=7, tokens_used=5210)


CONTINUATION = _continuation()
PENDING = tuple(call(f"call-{number}", "update_reservation_flights", ARGUMENTS) for number in (1, 2))
QUESTION = (call("call-1", "ask_agent", ARGUMENTS, reply_with="reply-1"),)


@dataclass(frozen=True)
class Prepared:
    """One transaction that is about to be made."""

    run_id: str
    call: Call


@dataclass(frozen=True)
class Hot:
    """A hot write: `prepare` makes rows and gives the call, `read` is what the floor reads before it writes."""

    name: str
    read: str
    prepare: Callable[[Scope, Caller], Prepared]


def _paused(scope: Scope, reason: Reason) -> Suspension:
    pending = QUESTION if reason is Reason.AGENT_REPLY else PENDING
    return builders.make_pause(scope, reason, pending=pending, continuation=CONTINUATION, by=_agent(scope))


def _agent(scope: Scope) -> Caller:
    """One agent makes all pauses, as in life."""
    return caller(scope, Role.AGENT, principal="booking-agent")


def _pause(scope: Scope, by: Caller) -> Prepared:
    run = make_run(scope, lease=take(), by=_agent(scope), agent_name="booking")
    holder = Holder("worker-1", 1)
    new = builders.new_suspension(scope, run.id, pending=PENDING, continuation=CONTINUATION, holder=holder)
    return Prepared(run.id, lambda: suspensions.create_suspension(by, new))


def _claim(scope: Scope, by: Caller) -> Prepared:
    pause = _paused(scope, Reason.EXTERNAL_TOOL)
    return Prepared(pause.run_id, lambda: suspensions.claim_suspension(by, scope, pause.run_id))


def _admit(scope: Scope, by: Caller) -> Prepared:
    pause = _paused(scope, Reason.AGENT_REPLY)
    request = AdmissionRequest(scope, version_of(pause), b'{"reply":"Both bags stay booked."}')
    reply_with = frozenset({"reply-1"})
    return Prepared(pause.run_id, lambda: resumes.admit_resume(by, request, reply_with))


def _decide(scope: Scope, by: Caller) -> Prepared:
    pause = _paused(scope, Reason.APPROVAL)
    made = tuple(
        CallDecision(each.id, each.arguments_sha256, decision="approve", note="Checked with the passenger.")
        for each in pause.pending
    )
    revision = version_of(pause).run_revision
    return Prepared(pause.run_id, lambda: resumes.decide(by, scope, pause.id, revision, made))


def _start(scope: Scope, by: Caller) -> Prepared:
    admission = builders.admit(_paused(scope, Reason.AGENT_REPLY))
    version, lease = admission.version, take()
    return Prepared(
        version.run_id,
        lambda: resumes.start_resume(
            by, scope, version.run_id, version.suspension_id, admission.request_digest, lease=lease
        ),
    )


def _started(scope: Scope) -> str:
    return builders.start(builders.admit(_paused(scope, Reason.AGENT_REPLY)), lease=take()).version.run_id


def _finish(scope: Scope, by: Caller) -> Prepared:
    run_id, holder = _started(scope), Holder("worker-1", 1)
    return Prepared(run_id, lambda: runs.finish_run(by, scope, run_id, RunState.COMPLETED, output=WORDS, holder=holder))


def _save(scope: Scope, by: Caller) -> Prepared:
    run_id, holder = _started(scope), Holder("worker-1", 1)
    snapshot = builders.snapshot(run_id, continuation=CONTINUATION)
    progress.save_progress(by, scope, snapshot, holder)
    return Prepared(run_id, lambda: progress.save_progress(by, scope, snapshot, holder))


HOT = (
    Hot("pause", _PAUSE, _pause),
    Hot("claim", _CLAIM, _claim),
    Hot("admit", _ADMIT, _admit),
    Hot("decide", _ADMIT, _decide),
    Hot("start", _START, _start),
    Hot("finish", _FINISH, _finish),
    Hot("save progress", READ_RUN, _save),
)
READ_OF_RUN = _OF_RUN


def a_scope() -> tuple[Scope, Caller]:
    """Where the rows of one measurement lie, and who makes them."""
    scope = fresh_scope(3)
    return scope, caller(scope, Role.AGENT, Role.BUS, Role.APPROVER, principal="somebody-else")
