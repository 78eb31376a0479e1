"""Closing an uncertain start as incomplete: the store's part. Source: store.md sections 3 and 6.

Authority and proof are the authorizer's and the fence's (`suspensions.closing`), which call this inside their
transaction. Nothing here grants anything.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from suspensions.domain import clock, ids, proofs
from suspensions.domain.cursors import make_cursor, read_cursor
from suspensions.domain.digests import RECORD, digest, same_digest
from suspensions.domain.errors import (
    ProofExpired,
    ResumeAdmissionNotFound,
    ResumeClosureConflict,
    ResumeClosureNotFound,
    ResumeStartNotFound,
    RunConflict,
    RunLeaseLive,
)
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.texts import require_limit
from suspensions.domain.values import (
    Actor,
    Closure,
    ClosureRequest,
    EventType,
    Page,
    Start,
    complete,
)
from suspensions.models.receipt_rows import CLOSURE, to_closure
from suspensions.store import guards, resume_rows, run_rows, runs, sql
from suspensions.store.interaction_rows import resolve_open_interactions
from suspensions.store.run_rows import RunRow, Told, actor_text, move

SELECT = ", ".join(f"resume_closure.{column}" for column in CLOSURE)


def close_resume(request: ClosureRequest, proof: bytes, actor: Actor) -> Closure:
    """End a started and never finished resume as incomplete. It accepts no output and allows no replay.

    1. Lock the run. 2. The record first: the same request is the original receipt, also after the proof expired.
    3. It closes the run's latest admission and its start. 4. The run stands where the request says, unheld.
    5. The proof's time and reference. 6. State, retirement, event, proof and receipt in one commit.

    Raises: ResumeClosureConflict, ResumeAdmissionNotFound, ResumeStartNotFound, RunConflict, RunLeaseLive,
    ProofExpired.
    """
    sql.require_transaction()
    version = request.version
    row = run_rows.find_run(version.run_id, request.scope)
    if row is None:
        raise ResumeAdmissionNotFound
    stored = _find(request.scope, version.run_id, version.suspension_id)
    if stored is not None:
        if not same_digest(stored.request_digest, request.digest()):
            raise ResumeClosureConflict("The resume was closed by another request.")
        return stored
    start = _require_latest(request)
    now = clock.now()
    if row.state != RunState.RUNNING or row.revision != request.run_revision:
        raise RunConflict(row.state, row.revision)
    lease = row.lease()
    if lease is not None and not lease.lapsed(now):
        raise RunLeaseLive
    if not start.started_at <= request.observed_at <= now < request.expires_at <= request.observed_at + proofs.LONGEST:
        raise ProofExpired
    used = sql.fetch_one("SELECT proof_digest FROM resume_closure WHERE proof_ref = %s", (request.proof_ref,))
    if used is not None:
        raise ResumeClosureConflict("The proof reference was used already.")
    return _close(row, request, proof, actor, now)


def _require_latest(request: ClosureRequest) -> Start:
    """The start that the request closes.

    Raises: ResumeAdmissionNotFound, ResumeStartNotFound, ResumeClosureConflict.
    """
    version = request.version
    values = sql.fetch_one(
        f"SELECT resume_admission.request_digest, resume_admission.run_revision, {resume_rows.SELECT},"
        " (SELECT max(latest.suspension_id) FROM resume_admission latest WHERE latest.run_id = resume_admission.run_id)"
        " FROM resume_admission LEFT JOIN resume_start_or_expiry"
        " ON resume_start_or_expiry.suspension_id = resume_admission.suspension_id"
        " WHERE resume_admission.run_id = %s AND resume_admission.suspension_id = %s AND resume_admission.scope = %s",
        (version.run_id, version.suspension_id, request.scope.text),
    )
    if values is None:
        raise ResumeAdmissionNotFound
    admission_digest, run_revision, latest = values[0], values[1], values[-1]
    if (
        latest != version.suspension_id
        or run_revision != version.run_revision
        or not same_digest(admission_digest, request.admission_digest)
    ):
        raise ResumeClosureConflict
    start, _ = resume_rows.read_outcome(values[2:-1])
    if start is None:
        raise ResumeStartNotFound
    if not same_digest(start.digest, request.start_digest):
        raise ResumeClosureConflict
    return start


def _close(row: RunRow, request: ClosureRequest, proof: bytes, actor: Actor, now: datetime) -> Closure:
    closure = Closure(
        request=request,
        request_digest=request.digest(),
        event_id=ids.new_id(ids.EVENT),
        run_revision=request.run_revision + 1,
        closed_at=now,
        closed_by=actor,
        fresh=True,
    )
    complete(closure, record_sha256=digest(RECORD, closure.record()))
    data = {"request_digest": closure.request_digest, "proof_ref": request.proof_ref, "issuer": request.issuer}
    data |= guards.lapsed(row, now)
    told = Told(EventType.RESUME_CLOSED, data, request.version.suspension_id, closure.record_sha256, closure.event_id)
    resolve_open_interactions(row, now)
    changes = {
        **runs.end_columns(RunState.INCOMPLETE, now),
        "finish_sha256": runs.finish_sha256("close", closure.request_digest),
    }
    sql.write(
        *move(row, changes, told, actor, now),
        runs.retire_live(row, now),
        sql.insert("resume_closure", _columns(closure, proof)),
    )
    return closure


def _columns(closure: Closure, proof: bytes) -> dict[str, Any]:
    request = closure.request
    return {
        "suspension_id": request.version.suspension_id,
        "run_id": request.version.run_id,
        **run_rows.scope_columns(request.scope),
        "schema_version": request.schema_version,
        "version_revision": request.version.run_revision,
        "admission_digest": request.admission_digest,
        "start_digest": request.start_digest,
        "request_revision": request.run_revision,
        "actor": request.actor,
        "issuer": request.issuer,
        "issuer_revision": request.issuer_revision,
        "proof_ref": request.proof_ref,
        "proof_digest": request.proof_digest,
        "proof": proof,
        "observed_at": request.observed_at,
        "expires_at": request.expires_at,
        "request_digest": closure.request_digest,
        "event_id": closure.event_id,
        "run_revision": closure.run_revision,
        "closed_at": closure.closed_at,
        "closed_by": actor_text(closure.closed_by),
        "record_sha256": closure.record_sha256,
    }


def read_closure(values: tuple[Any, ...]) -> Closure:
    """The value of the columns in SELECT."""
    return to_closure(dict(zip(CLOSURE, values, strict=True)))


def _find(scope: Scope, run_id: str, suspension_id: str) -> Closure | None:
    values = sql.fetch_one(
        f"SELECT {SELECT} FROM resume_closure WHERE run_id = %s AND suspension_id = %s AND scope = %s",
        (run_id, suspension_id, scope.text),
    )
    return None if values is None else read_closure(values)


def get_closure(scope: Scope, run_id: str, suspension_id: str) -> Closure:
    """Raises: ResumeClosureNotFound."""
    found = _find(scope, run_id, suspension_id)
    if found is None:
        raise ResumeClosureNotFound
    return found


def list_closures(scope: Scope, cursor: str | None, limit: int) -> Page[Closure]:
    """Raises: InvalidCursor, InvalidLimit."""
    require_limit(limit)
    binding = ("resume-closures", scope.text)
    after = read_cursor(cursor, binding, 1)
    where, parameters = "", []
    if after is not None:
        where, parameters = " AND suspension_id < %s", [after[0]]
    rows = sql.fetch_all(
        f"SELECT {SELECT} FROM resume_closure WHERE scope = %s{where} ORDER BY suspension_id DESC LIMIT %s",
        (scope.text, *parameters, limit + 1),
    )
    following = make_cursor(binding, rows[limit - 1][0]) if len(rows) > limit else None
    return Page(tuple(read_closure(values) for values in rows[:limit]), following)
