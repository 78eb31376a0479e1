"""Answering a pause, and starting or expiring the resume."""

from __future__ import annotations

from suspensions.domain.decisions import CallDecision, DecisionAnswer
from suspensions.domain.policy import Caller, Role
from suspensions.domain.replies import ReplyAnswer
from suspensions.domain.scopes import Scope
from suspensions.domain.values import (
    Admission,
    AdmissionRequest,
    ClaimVersion,
    Expiry,
    LeaseTake,
    Page,
    Snapshot,
    Start,
)
from suspensions.operations.site import start_window
from suspensions.operations.transactions import in_transaction
from suspensions.store import admissions, expiries, starts, suspensions


def admit_resume(
    caller: Caller,
    request: AdmissionRequest,
    reply_with: frozenset[str],
    *,
    lease: LeaseTake | None = None,
    first: Snapshot | None = None,
) -> Admission:
    """Admit a peer's reply, through the bus. Raises: as `store.admissions.admit_resume`."""
    caller.require(request.scope, Role.BUS)
    answer = ReplyAnswer(request.input, reply_with)
    return in_transaction(
        admissions.admit_resume,
        request.scope,
        request.version,
        answer,
        start_window(),
        caller.actor,
        lease=lease,
        first=first,
    )


def decide(
    caller: Caller, scope: Scope, suspension_id: str, run_revision: int, made: tuple[CallDecision, ...]
) -> Admission:
    """Admit a decision on every call of one pinned pause. Source: store.md section 7.

    Raises: SuspensionNotFound, and as `store.admissions.admit_resume` with a `DecisionAnswer`.
    """
    roles = caller.require(scope, Role.APPROVER, Role.AGENT)
    answer = DecisionAnswer(made, caller.principal, roles)
    return in_transaction(_decide, caller, scope, suspension_id, run_revision, answer)


def _decide(caller: Caller, scope: Scope, suspension_id: str, run_revision: int, answer: DecisionAnswer) -> Admission:
    version = ClaimVersion(suspensions.lock_run_of(scope, suspension_id), suspension_id, run_revision)
    return admissions.admit_locked(scope, version, answer, start_window(), caller.actor)


def start_resume(
    caller: Caller,
    scope: Scope,
    run_id: str,
    suspension_id: str,
    request_digest: str,
    *,
    lease: LeaseTake | None = None,
    first: Snapshot | None = None,
) -> Start:
    """Grant execution of an admitted resume, once. Raises: as `store.starts.start_resume`."""
    caller.require(scope, Role.AGENT)
    return in_transaction(
        starts.start_resume, scope, run_id, suspension_id, request_digest, caller.actor, lease=lease, first=first
    )


def start_next(
    caller: Caller,
    scope: Scope,
    lease: LeaseTake,
    *,
    request_id: str | None = None,
    agent_name: str | None = None,
) -> Start | None:
    """Start the oldest admitted resume of the exact scope; None where there is none now.

    Raises: as `store.starts.start_next`.
    """
    caller.require(scope, Role.AGENT)
    return in_transaction(starts.start_next, scope, lease, caller.actor, request_id=request_id, agent_name=agent_name)


def expire_resume(caller: Caller, scope: Scope, run_id: str, suspension_id: str, request_digest: str) -> Expiry:
    """Fail a run whose admitted resume nobody started in time. Raises: as `store.expiries.expire_resume_admission`."""
    caller.require(scope, Role.OPERATOR)
    return in_transaction(expiries.expire_resume_admission, scope, run_id, suspension_id, request_digest, caller.actor)


# -- reading -----------------------------------------------------------------------------------------


def get_admission(caller: Caller, scope: Scope, run_id: str, suspension_id: str) -> Admission:
    """Raises: ResumeAdmissionNotFound."""
    caller.require(scope)
    return admissions.get_admission(scope, run_id, suspension_id)


def latest_admission(caller: Caller, scope: Scope, run_id: str) -> Admission:
    """Raises: ResumeAdmissionNotFound."""
    caller.require(scope)
    return admissions.latest_admission(scope, run_id)


def list_admissions(
    caller: Caller, scope: Scope, cursor: str | None, limit: int, state: str | None = None
) -> Page[Admission]:
    """Raises: InvalidCursor, InvalidLimit, InvalidRequest."""
    caller.require(scope)
    return admissions.list_admissions(scope, cursor, limit, state)


def list_agent_reply_runs(caller: Caller, scope: Scope, after: str | None, limit: int) -> tuple[str, ...]:
    """Raises: InvalidLimit."""
    caller.require(scope, Role.BUS)
    return admissions.list_agent_reply_runs(scope, after, limit)


def get_start(caller: Caller, scope: Scope, run_id: str, suspension_id: str) -> Start:
    """Raises: ResumeStartNotFound."""
    caller.require(scope)
    return starts.get_start(scope, run_id, suspension_id)


def get_expiry(caller: Caller, scope: Scope, run_id: str, suspension_id: str) -> Expiry:
    """Raises: ResumeExpiryNotFound."""
    caller.require(scope)
    return expiries.get_expiry(scope, run_id, suspension_id)


def list_starts(caller: Caller, scope: Scope, cursor: str | None, limit: int) -> Page[Start]:
    """Raises: InvalidCursor, InvalidLimit."""
    caller.require(scope)
    return starts.list_starts(scope, cursor, limit)


def list_expiries(caller: Caller, scope: Scope, cursor: str | None, limit: int) -> Page[Expiry]:
    """Raises: InvalidCursor, InvalidLimit."""
    caller.require(scope)
    return expiries.list_expiries(scope, cursor, limit)
