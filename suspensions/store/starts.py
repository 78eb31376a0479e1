"""Starting an admitted resume exactly once. Source: store.md section 3, "start_resume" and "start_next"."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from suspensions.domain import clock, ids
from suspensions.domain.digests import RECORD, digest, same_digest, sha256_hex
from suspensions.domain.errors import (
    ResumeAdmissionConflict,
    ResumeAdmissionNotFound,
    ResumeAlreadyStarted,
    ResumeStartNotFound,
    RunConflict,
    StoredRecordBroken,
    SuspensionExpired,
)
from suspensions.domain.scopes import Scope
from suspensions.domain.states import ResumeState, RunState
from suspensions.domain.values import (
    Actor,
    EventType,
    LeaseTake,
    Page,
    Reason,
    Snapshot,
    Start,
    complete,
    suspension_digest,
)
from suspensions.models.fields import from_database
from suspensions.store import guards, run_rows, sql
from suspensions.store.progress import first_snapshot
from suspensions.store.resume_rows import (
    READ_STARTED,
    Resume,
    insert_outcome,
    list_outcomes,
    read_one,
    read_outcome,
    read_resume,
    require_digest,
    to_resume,
)
from suspensions.store.run_rows import Told, actor_text, move, to_run
from suspensions.store.suspension_rows import SuspensionRow, to_suspension

logger = logging.getLogger(__name__)


# -- starting ----------------------------------------------------------------------------------------


def start_resume(
    scope: Scope,
    run_id: str,
    suspension_id: str,
    request_digest: str,
    actor: Actor,
    *,
    lease: LeaseTake | None = None,
    first: Snapshot | None = None,
) -> Start:
    """Grant execution of an admitted resume, once. Only the fresh start carries what to execute.

    1. Lock the run. 2. Admission and digest. 3. The record first: an existing start, which grants nothing. 4. Expired,
    closed, moved on. 5. The stored pause is the one that was admitted. 6. Start, lease, event and first snapshot are
    written together; the revision stays, since the admission recorded it.

    Raises: ResumeAdmissionNotFound, ResumeAdmissionConflict, RunLeaseLost (half a lease, another's snapshot),
    InvalidRequest, SuspensionExpired, RunConflict.
    """
    sql.require_transaction()
    sql.lock_run(run_id, scope.text)
    resume = read_resume(scope, run_id, suspension_id)
    require_digest(resume.admission, request_digest)
    if resume.start is not None:
        return resume.start
    guards.require_first_matches(first, lease, run_id)
    return _grant(resume, actor, lease, first, request_id=None)


def _grant(
    resume: Resume, actor: Actor, take: LeaseTake | None, first: Snapshot | None, request_id: str | None
) -> Start:
    row, admission = resume.run, resume.admission
    now = clock.now()
    lease_columns, lease = guards.lease_columns(row, take, now)
    _require_may_start(resume, now)
    suspension = _require_as_admitted(resume)
    # A run that does not read must be refused before anything of the start is written.
    run_rows.read_contents(row)
    start = Start(
        schema_version=1,
        version=admission.version,
        scope=admission.scope,
        request_digest=admission.request_digest,
        started_at=now,
        started_by=actor,
        lease_owner=None if lease is None else lease.owner,
        lease_epoch=None if lease is None else lease.epoch,
        request_id=request_id,
        event_id=ids.new_id(ids.EVENT),
        fresh=True,
    )
    complete(start, record_sha256=digest(RECORD, start.record()))
    data = {
        "request_digest": start.request_digest,
        "start_digest": start.digest,
        "lease": None if lease is None else lease.to_json(),
    }
    changes = {"resume": ResumeState.STARTED.value, **lease_columns}
    snapshot = first_snapshot(row, first, lease, now, changes, moved=0)
    told = Told(EventType.RESUME_STARTED, data, suspension.id, start.record_sha256, start.event_id)
    sql.write(*move(row, changes, told, actor, now, revisions=0), _insert_start(start), *snapshot)
    return _with_work(start, resume)


def _with_work(start: Start, resume: Resume) -> Start:
    assert resume.suspension is not None and resume.input is not None
    return complete(
        start,
        suspension=to_suspension(resume.suspension, resume.continuation),
        input=bytes(resume.input),
        claimed_run=to_run(resume.run),
    )


def _require_may_start(resume: Resume, now: datetime) -> None:
    """Raises: ResumeAlreadyStarted, SuspensionExpired, RunConflict."""
    row, admission = resume.run, resume.admission
    if resume.start is not None:
        raise ResumeAlreadyStarted
    if resume.expiry is not None or (admission.start_by is not None and admission.start_by <= now):
        expires_at = None if resume.suspension is None else from_database(resume.suspension.expires_at)
        raise SuspensionExpired(expires_at, admission.start_by)
    if resume.closed or row.state != RunState.RUNNING or row.revision != admission.claimed_revision:
        raise RunConflict(row.state, row.revision)


def _require_as_admitted(resume: Resume) -> SuspensionRow:
    """The stored pause and input, recomputed from their very content: what a worker gets is what was approved.

    Raises: ResumeAdmissionConflict where either is gone or changed.
    """
    suspension, body, admission = resume.suspension, resume.continuation, resume.admission
    if not same_digest(sha256_hex(bytes(resume.input or b"")), admission.input_sha256):
        raise ResumeAdmissionConflict(detail="The stored input is not the one that was admitted.")
    if suspension is None or body is None:
        raise ResumeAdmissionConflict(detail="The stored pause is gone.")
    recomputed = suspension_digest(
        suspension.id,
        suspension.run_id,
        Scope(suspension.scope),
        Reason(suspension.reason),
        sha256_hex(bytes(suspension.pending)),
        sha256_hex(bytes(body)),
        from_database(suspension.expires_at),
    )
    if not same_digest(recomputed, admission.suspension_digest):
        raise ResumeAdmissionConflict(detail="The stored pause is not the one that was admitted.")
    return suspension


# -- start next --------------------------------------------------------------------------------------


def start_next(
    scope: Scope, lease: LeaseTake, actor: Actor, *, request_id: str | None = None, agent_name: str | None = None
) -> Start | None:
    """Start the oldest admitted, not yet started resume of the exact scope; None where there is none.

    1. A repeat of the same request by the same principal and owner gets the same start again, while its lease is
    live and no progress was saved: an answer lost on the wire is not an uncertain resume. 2. Lock the oldest run
    that nobody else is starting; what decides are columns of the locked row. 3. As `start_resume`.

    Raises: ResumeAlreadyStarted for a request_id whose start can no longer be repeated, RunLeaseLost, InvalidRequest.
    """
    sql.require_transaction()
    if request_id is not None:
        sql.lock_request("start next", scope.text, actor.principal, request_id)
        repeated = _repeat_start(scope, request_id, lease.owner, actor)
        if repeated is not None:
            return repeated
    lease.until(clock.now())
    passed_over: list[str] = []
    while (found := _lock_oldest(scope, agent_name, passed_over)) is not None:
        run_id, suspension_id = found
        try:
            return _grant(read_resume(scope, run_id, suspension_id), actor, lease, None, request_id)
        except _PASSED_OVER as refusal:
            logger.warning("resume passed over: %s", refusal.code, extra={"run_id": run_id})
            passed_over.append(run_id)
    return None


# Its time ran out since the row was found, or its stored pause or an imported row does not fit or does not read: it
# must not stand in the way of every worker of the scope. Nothing was written of it.
_PASSED_OVER = (
    SuspensionExpired,
    RunConflict,
    ResumeAdmissionConflict,
    ResumeAdmissionNotFound,
    ResumeAlreadyStarted,
    StoredRecordBroken,
)


def _lock_oldest(scope: Scope, agent_name: str | None, passed_over: list[str]) -> tuple[str, str] | None:
    at = sql.instant(clock.now())
    where = ""
    parameters: list[Any] = [scope.text, at, at]
    if agent_name is not None:
        where = " AND agent_name = %s"
        parameters.append(agent_name)
    if passed_over:
        where += f" AND id NOT IN ({', '.join(['%s'] * len(passed_over))})"
        parameters += passed_over
    lock = " FOR UPDATE SKIP LOCKED" if sql.is_postgresql() else ""
    row = sql.fetch_one(
        "SELECT id, admission_id FROM run WHERE scope = %s AND resume = 'admitted'"
        " AND (start_by IS NULL OR start_by > %s) AND (lease_expires_at IS NULL OR lease_expires_at <= %s)"
        f"{where} ORDER BY admitted_at, admission_id LIMIT 1{lock}",
        parameters,
    )
    return None if row is None else (row[0], row[1])


def _repeat_start(scope: Scope, request_id: str, owner: str, actor: Actor) -> Start | None:
    """Raises: ResumeAlreadyStarted where the start was used since, or is another owner's."""
    found = sql.fetch_one(
        "SELECT run_id, suspension_id FROM resume_start_or_expiry"
        " WHERE scope = %s AND principal = %s AND request_id = %s",
        (scope.text, actor.principal, request_id),
    )
    if found is None:
        return None
    sql.lock_run(found[0], scope.text)
    values = sql.fetch_one(READ_STARTED, (found[1], found[0], scope.text))
    assert values is not None
    resume = to_resume(values)
    row, start, lease = resume.run, resume.start, resume.run.lease()
    unused = (
        start is not None
        and start.lease_owner == owner
        and lease is not None
        and (lease.owner, lease.epoch) == (start.lease_owner, start.lease_epoch)
        and not lease.lapsed(clock.now())
        and row.progress_epoch != row.lease_epoch
        and row.resume == ResumeState.STARTED
        and resume.suspension is not None
    )
    if not unused or start is None:
        raise ResumeAlreadyStarted("The start of this request_id was used; ask with a new one.")
    _require_as_admitted(resume)
    return _with_work(start, resume)


def _insert_start(start: Start) -> sql.Write:
    return insert_outcome(
        start.version,
        start.scope,
        {
            "kind": "start",
            "schema_version": start.schema_version,
            "request_digest": start.request_digest,
            "at": start.started_at,
            "actor": actor_text(start.started_by),
            "principal": start.started_by.principal,
            "lease_owner": start.lease_owner,
            "lease_epoch": start.lease_epoch,
            "request_id": start.request_id,
            "event_id": start.event_id,
            "record_sha256": start.record_sha256,
        },
    )


# -- reading ----------------------------------------------------------------------------------------


def get_start(scope: Scope, run_id: str, suspension_id: str) -> Start:
    """Raises: ResumeStartNotFound."""
    start, _ = read_one(scope, run_id, suspension_id)
    if start is None:
        raise ResumeStartNotFound
    return start


def list_starts(scope: Scope, cursor: str | None, limit: int) -> Page[Start]:
    """Raises: InvalidCursor, InvalidLimit."""
    rows, following = list_outcomes(scope, "start", cursor, limit)
    return Page(tuple(start for values in rows if (start := read_outcome(values)[0]) is not None), following)
