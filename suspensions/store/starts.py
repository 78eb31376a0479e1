"""Starting an admitted resume exactly once, or expiring it. Source: store.md section 3, "start_resume" to
"expire_resume_admission".
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from suspensions.domain import clock, ids
from suspensions.domain.cursors import make_cursor, read_cursor
from suspensions.domain.digests import RECORD, digest, same_digest, sha256_hex
from suspensions.domain.errors import (
    ResumeAdmissionConflict,
    ResumeAdmissionNotFound,
    ResumeAlreadyStarted,
    ResumeExpiryNotFound,
    ResumeNotExpired,
    ResumeStartNotFound,
    RunConflict,
    StoredRecordBroken,
    SuspensionExpired,
    WinningAdmission,
)
from suspensions.domain.run_history import result_sha256
from suspensions.domain.scopes import Scope
from suspensions.domain.states import ResumeState, RunState
from suspensions.domain.texts import require_limit
from suspensions.domain.values import (
    Actor,
    Admission,
    ClaimVersion,
    EventType,
    Expiry,
    LeaseTake,
    Page,
    Reason,
    Snapshot,
    Start,
    complete,
    suspension_digest,
)
from suspensions.models.fields import from_database, read_instant
from suspensions.store import admissions, guards, run_rows, runs, sql, suspension_rows
from suspensions.store.interaction_rows import resolve_open_interactions
from suspensions.store.progress import first_snapshot
from suspensions.store.run_rows import RunRow, Told, actor_text, move, read_actor, to_run
from suspensions.store.suspension_rows import SuspensionRow, to_suspension

logger = logging.getLogger(__name__)

COLUMNS = (
    "suspension_id",
    "kind",
    "run_id",
    "scope",
    "schema_version",
    "run_revision",
    "request_digest",
    "at",
    "actor",
    "lease_owner",
    "lease_epoch",
    "request_id",
    "expired_revision",
    "event_id",
    "record_sha256",
)
SELECT = ", ".join(f"resume_start_or_expiry.{column}" for column in COLUMNS)
WIDTH = len(COLUMNS)

# What a worker executes is joined only while it may be granted, so that repeats and losers do not load it.
_MAY_START = "run.resume = 'admitted' AND run.admission_id = resume_admission.suspension_id"
_READ = (
    f"SELECT {run_rows.SELECT}, {run_rows.CONTENT_SELECT}, {admissions.SELECT}, {SELECT}, {suspension_rows.SELECT},"
    f" suspension_continuation.body, CASE WHEN {_MAY_START} THEN resume_admission.input END,"
    " resume_closure.suspension_id"
    f" FROM run{run_rows.CONTENT_JOIN}"
    " LEFT JOIN resume_admission ON resume_admission.suspension_id = %s AND resume_admission.run_id = run.id"
    " LEFT JOIN resume_start_or_expiry ON resume_start_or_expiry.suspension_id = resume_admission.suspension_id"
    " LEFT JOIN resume_closure ON resume_closure.suspension_id = resume_admission.suspension_id"
    " LEFT JOIN suspension ON suspension.id = resume_admission.suspension_id AND suspension.retired_at IS NULL"
    " LEFT JOIN suspension_continuation"
    f" ON suspension_continuation.suspension_id = suspension.id AND {_MAY_START}"
    " WHERE run.id = %s AND run.scope = %s"
)
_READ_STARTED = _READ.replace(_MAY_START, _MAY_START.replace("admitted", "started"))


@dataclass(slots=True)
class _Resume:
    """A locked run with everything that decides about one of its resumes."""

    run: RunRow
    admission: Admission
    start: Start | None
    expiry: Expiry | None
    closed: bool
    suspension: SuspensionRow | None
    continuation: bytes | None
    input: bytes | None


def _read_resume(scope: Scope, run_id: str, suspension_id: str) -> _Resume:
    """Read what decides, after the run was locked. Raises: ResumeAdmissionNotFound."""
    values = sql.fetch_one(_READ, (suspension_id, run_id, scope.text))
    if values is None:
        raise ResumeAdmissionNotFound
    return _to_resume(values)


def _to_resume(values: tuple[Any, ...]) -> _Resume:
    """Raises: ResumeAdmissionNotFound."""
    row = run_rows.read_row(values)
    at = run_rows.WIDTH
    row.contents = values[at : at + 3]
    at += 3
    admission = admissions.read_admission(values[at:])
    if admission is None:
        raise ResumeAdmissionNotFound
    at += admissions.WIDTH
    start, expiry = read_outcome(values[at:])
    at += WIDTH
    suspension = suspension_rows.read_row(values[at:])
    body, content, closed = values[-3:]
    return _Resume(row, admission, start, expiry, closed is not None, suspension, body, content)


def _require_digest(admission: Admission, request_digest: str) -> None:
    """Raises: ResumeAdmissionConflict, naming the stored admission."""
    if not same_digest(admission.request_digest, request_digest):
        raise ResumeAdmissionConflict(
            WinningAdmission(admission.request_digest, admission.admitted_at, admission.admitted_by.to_json()),
            "The digest is not the stored admission's.",
        )


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
    resume = _read_resume(scope, run_id, suspension_id)
    _require_digest(resume.admission, request_digest)
    if resume.start is not None:
        return resume.start
    guards.require_first_matches(first, lease, run_id)
    return _grant(resume, actor, lease, first, request_id=None)


def _grant(
    resume: _Resume, actor: Actor, take: LeaseTake | None, first: Snapshot | None, request_id: str | None
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


def _with_work(start: Start, resume: _Resume) -> Start:
    assert resume.suspension is not None and resume.input is not None
    return complete(
        start,
        suspension=to_suspension(resume.suspension, resume.continuation),
        input=bytes(resume.input),
        claimed_run=to_run(resume.run),
    )


def _require_may_start(resume: _Resume, now: datetime) -> None:
    """Raises: ResumeAlreadyStarted, SuspensionExpired, RunConflict."""
    row, admission = resume.run, resume.admission
    if resume.start is not None:
        raise ResumeAlreadyStarted
    if resume.expiry is not None or (admission.start_by is not None and admission.start_by <= now):
        expires_at = None if resume.suspension is None else from_database(resume.suspension.expires_at)
        raise SuspensionExpired(expires_at, admission.start_by)
    if resume.closed or row.state != RunState.RUNNING or row.revision != admission.claimed_revision:
        raise RunConflict(row.state, row.revision)


def _require_as_admitted(resume: _Resume) -> SuspensionRow:
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
            return _grant(_read_resume(scope, run_id, suspension_id), actor, lease, None, request_id)
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
    values = sql.fetch_one(_READ_STARTED, (found[1], found[0], scope.text))
    assert values is not None
    resume = _to_resume(values)
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
    return _insert(
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


def _insert(version: ClaimVersion, scope: Scope, columns: dict[str, Any]) -> sql.Write:
    return sql.insert(
        "resume_start_or_expiry",
        {
            "suspension_id": version.suspension_id,
            "run_id": version.run_id,
            "run_revision": version.run_revision,
            **run_rows.scope_columns(scope),
            **columns,
        },
    )


# -- expiring ----------------------------------------------------------------------------------------

EXPIRED_ERROR = "The answer was admitted, but no worker started the resume in time. Nothing was run."


def expire_resume_admission(scope: Scope, run_id: str, suspension_id: str, request_digest: str, actor: Actor) -> Expiry:
    """Fail a run whose admitted resume nobody started in time. It grants no execution and no retry.

    1. Lock the run. 2. Admission and digest. 3. The record first. 4. Started, moved on, or still ahead. 5. State,
    retirement, event and receipt in one commit.

    Raises: ResumeAdmissionNotFound, ResumeAdmissionConflict, ResumeAlreadyStarted, RunConflict, ResumeNotExpired.
    """
    sql.require_transaction()
    sql.lock_run(run_id, scope.text)
    resume = _read_resume(scope, run_id, suspension_id)
    row, admission = resume.run, resume.admission
    _require_digest(admission, request_digest)
    if resume.expiry is not None:
        return resume.expiry
    if resume.start is not None:
        raise ResumeAlreadyStarted
    if resume.closed or row.state != RunState.RUNNING or row.revision != admission.claimed_revision:
        raise RunConflict(row.state, row.revision)
    now = clock.now()
    if admission.start_by is None or admission.start_by > now:
        raise ResumeNotExpired
    expiry = Expiry(
        schema_version=1,
        version=admission.version,
        scope=scope,
        request_digest=admission.request_digest,
        event_id=ids.new_id(ids.EVENT),
        run_revision=row.revision + 1,
        expired_at=now,
        expired_by=actor,
        fresh=True,
    )
    complete(expiry, record_sha256=digest(RECORD, expiry.record()))
    data = {
        "request_digest": expiry.request_digest,
        "expiry_digest": expiry.digest,
        "result_sha256": result_sha256(b"", EXPIRED_ERROR.encode()),
    }
    told = Told(EventType.RESUME_EXPIRED, data, suspension_id, expiry.record_sha256, expiry.event_id)
    changes = {**runs.end_columns(RunState.FAILED, now), "finish_sha256": runs.finish_sha256("expire", EXPIRED_ERROR)}
    resolve_open_interactions(row, now)
    sql.write(
        *move(row, changes, told, actor, now),
        runs.retire_live(row, now),
        *runs.write_result(row, "", EXPIRED_ERROR),
        _insert(
            expiry.version,
            scope,
            {
                "kind": "expiry",
                "schema_version": expiry.schema_version,
                "request_digest": expiry.request_digest,
                "at": expiry.expired_at,
                "actor": actor_text(actor),
                "principal": actor.principal,
                "expired_revision": expiry.run_revision,
                "event_id": expiry.event_id,
                "record_sha256": expiry.record_sha256,
            },
        ),
    )
    return expiry


# -- reading -----------------------------------------------------------------------------------------


def read_outcome(values: tuple[Any, ...]) -> tuple[Start | None, Expiry | None]:
    """The start or the expiry of the columns in SELECT; neither where an outer join found none."""
    if values[0] is None:
        return None, None
    columns = dict(zip(COLUMNS, values, strict=False))
    version = ClaimVersion(columns["run_id"], columns["suspension_id"], columns["run_revision"])
    at, scope = read_instant(columns["at"]), Scope(columns["scope"])
    if columns["kind"] == "start":
        return (
            Start(
                schema_version=columns["schema_version"],
                version=version,
                scope=scope,
                request_digest=columns["request_digest"],
                started_at=at,
                started_by=read_actor(columns["actor"]),
                lease_owner=columns["lease_owner"],
                lease_epoch=columns["lease_epoch"],
                request_id=columns["request_id"],
                event_id=columns["event_id"],
                record_sha256=columns["record_sha256"],
            ),
            None,
        )
    return None, Expiry(
        schema_version=columns["schema_version"],
        version=version,
        scope=scope,
        request_digest=columns["request_digest"],
        event_id=columns["event_id"],
        run_revision=columns["expired_revision"],
        expired_at=at,
        expired_by=read_actor(columns["actor"]),
        record_sha256=columns["record_sha256"],
    )


def _read_one(scope: Scope, run_id: str, suspension_id: str) -> tuple[Start | None, Expiry | None]:
    values = sql.fetch_one(
        f"SELECT {SELECT} FROM resume_start_or_expiry WHERE run_id = %s AND suspension_id = %s AND scope = %s",
        (run_id, suspension_id, scope.text),
    )
    return (None, None) if values is None else read_outcome(values)


def get_start(scope: Scope, run_id: str, suspension_id: str) -> Start:
    """Raises: ResumeStartNotFound."""
    start, _ = _read_one(scope, run_id, suspension_id)
    if start is None:
        raise ResumeStartNotFound
    return start


def get_expiry(scope: Scope, run_id: str, suspension_id: str) -> Expiry:
    """Raises: ResumeExpiryNotFound."""
    _, expiry = _read_one(scope, run_id, suspension_id)
    if expiry is None:
        raise ResumeExpiryNotFound
    return expiry


def _list_outcomes(scope: Scope, kind: str, cursor: str | None, limit: int) -> tuple[list[tuple[Any, ...]], str | None]:
    require_limit(limit)
    binding = (f"resume-{kind}", scope.text)
    after = read_cursor(cursor, binding, 1)
    where, parameters = "", []
    if after is not None:
        where, parameters = " AND suspension_id < %s", [after[0]]
    rows = sql.fetch_all(
        f"SELECT {SELECT} FROM resume_start_or_expiry WHERE scope = %s AND kind = %s{where}"
        " ORDER BY suspension_id DESC LIMIT %s",
        (scope.text, kind, *parameters, limit + 1),
    )
    following = make_cursor(binding, rows[limit - 1][0]) if len(rows) > limit else None
    return rows[:limit], following


def list_starts(scope: Scope, cursor: str | None, limit: int) -> Page[Start]:
    """Raises: InvalidCursor, InvalidLimit."""
    rows, following = _list_outcomes(scope, "start", cursor, limit)
    return Page(tuple(start for values in rows if (start := read_outcome(values)[0]) is not None), following)


def list_expiries(scope: Scope, cursor: str | None, limit: int) -> Page[Expiry]:
    """Raises: InvalidCursor, InvalidLimit."""
    rows, following = _list_outcomes(scope, "expiry", cursor, limit)
    return Page(tuple(expiry for values in rows if (expiry := read_outcome(values)[1]) is not None), following)
