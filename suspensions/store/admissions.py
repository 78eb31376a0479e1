"""Admitting an answer to a pause, exactly once. Source: store.md section 3, "admit_resume"."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from suspensions.domain import clock, ids, limits
from suspensions.domain.cursors import make_cursor, read_cursor
from suspensions.domain.digests import RECORD, digest, same_digest, sha256_hex
from suspensions.domain.errors import (
    InputTooLarge,
    InvalidRequest,
    NotSuspended,
    ResultsMismatch,
    ResumeAdmissionConflict,
    ResumeAdmissionNotFound,
    RunConflict,
    WinningAdmission,
)
from suspensions.domain.pending import restore_pending
from suspensions.domain.scopes import Scope
from suspensions.domain.states import ResumeState, RunState
from suspensions.domain.texts import require_limit
from suspensions.domain.values import (
    Actor,
    Admission,
    AdmissionRequest,
    ClaimVersion,
    EventType,
    Lease,
    LeaseTake,
    Page,
    PendingCall,
    Reason,
    Snapshot,
    complete,
)
from suspensions.models.fields import from_database
from suspensions.models.receipt_rows import ADMISSION, read_actor, to_admission
from suspensions.store import guards, run_rows, sql, suspension_rows
from suspensions.store.progress import first_snapshot
from suspensions.store.run_rows import RunRow, Told, actor_text, move
from suspensions.store.suspension_rows import SuspensionRow

SELECT = ", ".join(f"resume_admission.{column}" for column in ADMISSION)
WIDTH = len(ADMISSION)


class Answer(Protocol):
    """What the core asks of an answer, whether a person's decisions or a peer's reply."""

    def build_input(self, reason: Reason, pending: tuple[PendingCall, ...]) -> bytes:
        """The admission's input. Raises: ResultsMismatch."""

    def check(self, reason: Reason, pending: tuple[PendingCall, ...], created_by: str) -> None:
        """The refusals that follow the pinned claim's."""


@dataclass(frozen=True, slots=True)
class StartWindow:
    """How long an admitted answer may wait for a worker: a grace past the deadline, and an optional maximum."""

    grace: timedelta
    maximum: timedelta | None = None

    def start_by(self, expires_at: datetime | None, admitted_at: datetime) -> datetime | None:
        """Until when a start is granted; None for ever. An answer given in time is not thrown away because the
        worker polled a second too late, and yet stays bounded where the pause was."""
        bound = None if expires_at is None else max(expires_at, admitted_at + self.grace)
        if self.maximum is None:
            return bound
        longest = admitted_at + self.maximum
        return longest if bound is None else min(bound, longest)


_READ = (
    f"SELECT {run_rows.SELECT}, {SELECT}, {suspension_rows.SELECT},"
    " (SELECT live.id FROM suspension live"
    " WHERE live.run_id = run.id AND live.retired_at IS NULL AND live.claimed_at IS NULL)"
    " FROM run"
    " LEFT JOIN resume_admission ON resume_admission.suspension_id = %s AND resume_admission.run_id = run.id"
    " LEFT JOIN suspension ON suspension.id = %s AND suspension.run_id = run.id"
    " WHERE run.id = %s AND run.scope = %s"
)


def admit_resume(
    scope: Scope,
    version: ClaimVersion,
    answer: Answer,
    window: StartWindow,
    actor: Actor,
    *,
    lease: LeaseTake | None = None,
    first: Snapshot | None = None,
) -> Admission:
    """Admit one answer to the pinned pause: paused to running, and the receipt, in one commit.

    1. Lock the run at its exact scope. 2. The record first: the same request is that admission, whatever became of
    the run since, and takes nothing; another request learns whom it lost to. 3. The pinned claim's refusals. 4. Who may
    answer. 5. Run, pause, receipt, event and the first snapshot are written together.

    Raises: ResumeAdmissionConflict, RunLeaseLost (half a lease, another's snapshot), NotSuspended, RunConflict,
    SuspensionExpired, what `answer.check` raises, InputTooLarge, InvalidRequest.
    """
    sql.require_transaction()
    sql.lock_run(version.run_id, scope.text)
    return admit_locked(scope, version, answer, window, actor, lease=lease, first=first)


def admit_locked(
    scope: Scope,
    version: ClaimVersion,
    answer: Answer,
    window: StartWindow,
    actor: Actor,
    *,
    lease: LeaseTake | None = None,
    first: Snapshot | None = None,
) -> Admission:
    """The same for whoever has locked the run already. *Requires*: the run's lock."""
    sql.require_transaction()
    values = sql.fetch_one(_READ, (version.suspension_id, version.suspension_id, version.run_id, scope.text))
    if values is None:
        raise NotSuspended
    row = run_rows.read_row(values)
    stored = read_admission(values[run_rows.WIDTH :])
    suspension = suspension_rows.read_row(values[run_rows.WIDTH + WIDTH :])
    if stored is not None:
        return _require_same(stored, scope, version, answer, suspension)
    guards.require_first_matches(first, lease, version.run_id)
    now = clock.now()
    taking = guards.lease_columns(row, lease, now)
    guards.require_pinned(row, values[-1], version)
    if suspension is None:
        raise RunConflict(row.state, row.revision)
    guards.require_not_expired(suspension.expires_at, now)
    reason, pending = Reason(suspension.reason), restore_pending(bytes(suspension.pending))
    answer.check(reason, pending, read_actor(suspension.created_by).principal)
    request = AdmissionRequest(scope, version, _require_input(answer.build_input(reason, pending)))
    return _admit(row, suspension, request, window, actor, now, taking, first)


def _require_input(value: bytes) -> bytes:
    if len(value) > limits.MAX_INPUT_BYTES:
        raise InputTooLarge
    if not value:
        raise InvalidRequest("The input is empty.")
    return value


def _require_same(
    stored: Admission, scope: Scope, version: ClaimVersion, answer: Answer, suspension: SuspensionRow | None
) -> Admission:
    """The stored admission where the request is the same. Raises: ResumeAdmissionConflict, naming the winner."""
    winner = WinningAdmission(stored.request_digest, stored.admitted_at, stored.admitted_by.to_json())
    pending = () if suspension is None else restore_pending(bytes(suspension.pending))
    try:
        request = AdmissionRequest(scope, version, answer.build_input(stored.reason, pending))
    except ResultsMismatch:
        raise ResumeAdmissionConflict(winner) from None
    if not same_digest(request.digest(), stored.request_digest):
        raise ResumeAdmissionConflict(winner)
    return replace(stored, input=request.input)


def _admit(
    row: RunRow,
    suspension: SuspensionRow,
    request: AdmissionRequest,
    window: StartWindow,
    actor: Actor,
    now: datetime,
    taking: tuple[dict[str, Any], Lease | None],
    first: Snapshot | None,
) -> Admission:
    lease_columns, lease = taking
    admission = Admission(
        schema_version=1,
        scope=request.scope,
        version=request.version,
        input=request.input,
        input_sha256=sha256_hex(request.input),
        input_bytes=len(request.input),
        request_digest=request.digest(),
        suspension_digest=suspension.digest,
        claimed_revision=request.version.run_revision + 1,
        admitted_at=now,
        admitted_by=actor,
        reason=Reason(suspension.reason),
        start_by=window.start_by(from_database(suspension.expires_at), now),
        lease_owner=None if lease is None else lease.owner,
        lease_epoch=None if lease is None else lease.epoch,
        event_id=ids.new_id(ids.EVENT),
        lease=lease,
        fresh=True,
    )
    complete(admission, record_sha256=digest(RECORD, admission.record()))
    changes = {
        "state": RunState.RUNNING.value,
        "admission_id": suspension.id,
        "resume": ResumeState.ADMITTED.value,
        "admitted_at": now,
        "start_by": admission.start_by,
        **lease_columns,
    }
    data = {
        "reason": suspension.reason,
        "request_digest": admission.request_digest,
        "lease": None if lease is None else lease.to_json(),
    }
    told = Told(EventType.RESUME_ADMITTED, data, suspension.id, admission.record_sha256, admission.event_id)
    snapshot = first_snapshot(row, first, lease, now, changes)
    claimed = {"claimed_at": now, "updated_at": now}
    sql.write(
        *move(row, changes, told, actor, now),
        sql.update("suspension", claimed, {"id": suspension.id, "claimed_at": None, "retired_at": None}),
        _insert(admission),
        *snapshot,
    )
    return admission


def _insert(admission: Admission) -> sql.Write:
    return sql.insert(
        "resume_admission",
        {
            "suspension_id": admission.version.suspension_id,
            "run_id": admission.version.run_id,
            **run_rows.scope_columns(admission.scope),
            "schema_version": admission.schema_version,
            "run_revision": admission.version.run_revision,
            "input": admission.input,
            "input_sha256": admission.input_sha256,
            "input_bytes": admission.input_bytes,
            "request_digest": admission.request_digest,
            "suspension_digest": admission.suspension_digest,
            "claimed_revision": admission.claimed_revision,
            "admitted_at": admission.admitted_at,
            "admitted_by": actor_text(admission.admitted_by),
            "reason": admission.reason,
            "start_by": admission.start_by,
            "lease_owner": admission.lease_owner,
            "lease_epoch": admission.lease_epoch,
            "event_id": admission.event_id,
            "record_sha256": admission.record_sha256,
        },
    )


def read_admission(values: tuple[Any, ...], content: bytes | None = None) -> Admission | None:
    """The value of the columns in SELECT; None where an outer join found none."""
    if values[0] is None:
        return None
    row = dict(zip(ADMISSION, values, strict=False))
    return to_admission(row if content is None else {**row, "input": content})


# -- reading -----------------------------------------------------------------------------------------


def get_admission(scope: Scope, run_id: str, suspension_id: str) -> Admission:
    """Raises: ResumeAdmissionNotFound."""
    return _one("run_id = %s AND suspension_id = %s AND scope = %s", (run_id, suspension_id, scope.text))


def latest_admission(scope: Scope, run_id: str) -> Admission:
    """The admission with the run's highest suspension id, live pause or not. Raises: ResumeAdmissionNotFound."""
    return _one("run_id = %s AND scope = %s ORDER BY suspension_id DESC LIMIT 1", (run_id, scope.text))


def _one(where: str, parameters: tuple[Any, ...]) -> Admission:
    values = sql.fetch_one(f"SELECT {SELECT}, input FROM resume_admission WHERE {where}", parameters)
    admission = None if values is None else read_admission(values, bytes(values[WIDTH]))
    if admission is None:
        raise ResumeAdmissionNotFound
    return admission


_STATES = {
    "admitted": "outcome.kind IS NULL",
    "started": "outcome.kind = 'start' AND resume_closure.suspension_id IS NULL",
    "expired": "outcome.kind = 'expiry'",
    "closed": "resume_closure.suspension_id IS NOT NULL",
}


def list_admissions(scope: Scope, cursor: str | None, limit: int, state: str | None = None) -> Page[Admission]:
    """The exact scope's history, by suspension id descending, without inputs.

    Raises: InvalidCursor, InvalidLimit, InvalidRequest for an unknown state.
    """
    require_limit(limit)
    if state is not None and state not in _STATES:
        raise InvalidRequest("state is one of admitted, started, expired and closed.")
    binding = ("resume-admissions", scope.text, state or "")
    after = read_cursor(cursor, binding, 1)
    where, parameters = "resume_admission.scope = %s", [scope.text]
    if after is not None:
        where += " AND resume_admission.suspension_id < %s"
        parameters.append(after[0])
    joins = ""
    if state is not None:
        where += f" AND {_STATES[state]}"
        joins = (
            " LEFT JOIN resume_start_or_expiry outcome ON outcome.suspension_id = resume_admission.suspension_id"
            " LEFT JOIN resume_closure ON resume_closure.suspension_id = resume_admission.suspension_id"
        )
    rows = sql.fetch_all(
        f"SELECT {SELECT} FROM resume_admission{joins} WHERE {where}"
        " ORDER BY resume_admission.suspension_id DESC LIMIT %s",
        (*parameters, limit + 1),
    )
    items = tuple(admission for values in rows[:limit] if (admission := read_admission(values)) is not None)
    following = make_cursor(binding, items[-1].version.suspension_id) if len(rows) > limit else None
    return Page(items, following)


def list_agent_reply_runs(scope: Scope, after: str | None, limit: int) -> tuple[str, ...]:
    """Runs that wait for a peer, or whose reply was admitted and neither expired nor closed; ids ascending.

    Found also when the pause is gone, so that a bus that lost its ledger finds all that may still need it.

    Raises: InvalidLimit.
    """
    require_limit(limit)
    rows = sql.fetch_all(
        "SELECT run.id FROM run WHERE run.scope = %s AND run.id > %s AND ("
        " EXISTS (SELECT 1 FROM suspension WHERE suspension.run_id = run.id AND suspension.retired_at IS NULL"
        " AND suspension.reason = 'agent_reply')"
        " OR (run.state = 'running' AND EXISTS (SELECT 1 FROM resume_admission"
        " LEFT JOIN resume_start_or_expiry outcome ON outcome.suspension_id = resume_admission.suspension_id"
        " AND outcome.kind = 'expiry'"
        " LEFT JOIN resume_closure ON resume_closure.suspension_id = resume_admission.suspension_id"
        " WHERE resume_admission.run_id = run.id AND resume_admission.reason = 'agent_reply'"
        " AND outcome.kind IS NULL AND resume_closure.suspension_id IS NULL)))"
        " ORDER BY run.id LIMIT %s",
        (scope.text, after or "", limit),
    )
    return tuple(row[0] for row in rows)
