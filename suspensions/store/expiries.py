"""Expiring an admitted resume that nobody started in time. Source: store.md sections 3 and 8."""

from __future__ import annotations

from suspensions.domain import clock, ids
from suspensions.domain.digests import RECORD, digest
from suspensions.domain.errors import ResumeAlreadyStarted, ResumeExpiryNotFound, ResumeNotExpired, RunConflict
from suspensions.domain.run_history import result_sha256
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Actor, EventType, Expiry, Page, complete
from suspensions.store import runs, sql
from suspensions.store.interaction_rows import resolve_open_interactions
from suspensions.store.resume_rows import (
    insert_outcome,
    list_outcomes,
    read_one,
    read_outcome,
    read_resume,
    require_digest,
)
from suspensions.store.run_rows import Told, actor_text, move

EXPIRED_ERROR = "The answer was admitted, but no worker started the resume in time. Nothing was run."


def expire_resume_admission(scope: Scope, run_id: str, suspension_id: str, request_digest: str, actor: Actor) -> Expiry:
    """Fail a run whose admitted resume nobody started in time. It grants no execution and no retry.

    1. Lock the run. 2. Admission and digest. 3. The record first. 4. Started, moved on, or still ahead. 5. State,
    retirement, event and receipt in one commit.

    Raises: ResumeAdmissionNotFound, ResumeAdmissionConflict, ResumeAlreadyStarted, RunConflict, ResumeNotExpired.
    """
    sql.require_transaction()
    sql.lock_run(run_id, scope.text)
    resume = read_resume(scope, run_id, suspension_id)
    row, admission = resume.run, resume.admission
    require_digest(admission, request_digest)
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
        insert_outcome(
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


def get_expiry(scope: Scope, run_id: str, suspension_id: str) -> Expiry:
    """Raises: ResumeExpiryNotFound."""
    _, expiry = read_one(scope, run_id, suspension_id)
    if expiry is None:
        raise ResumeExpiryNotFound
    return expiry


def list_expiries(scope: Scope, cursor: str | None, limit: int) -> Page[Expiry]:
    """Raises: InvalidCursor, InvalidLimit."""
    rows, following = list_outcomes(scope, "expiry", cursor, limit)
    return Page(tuple(expiry for values in rows if (expiry := read_outcome(values)[1]) is not None), following)
