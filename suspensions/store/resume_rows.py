"""A resume as it lies in the database: its run, its admission, and the start or expiry that came of it.

Source: store.md sections 3 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from suspensions.domain.cursors import make_cursor, read_cursor
from suspensions.domain.digests import same_digest
from suspensions.domain.errors import ResumeAdmissionConflict, ResumeAdmissionNotFound, WinningAdmission
from suspensions.domain.scopes import Scope
from suspensions.domain.texts import require_limit
from suspensions.domain.values import Admission, ClaimVersion, Expiry, Start
from suspensions.models.receipt_rows import OUTCOME, to_outcome
from suspensions.store import admissions, run_rows, sql, suspension_rows
from suspensions.store.run_rows import RunRow
from suspensions.store.suspension_rows import SuspensionRow

SELECT = ", ".join(f"resume_start_or_expiry.{column}" for column in OUTCOME)
WIDTH = len(OUTCOME)

# What a worker executes is joined only while it may be granted, so that repeats and losers do not load it.
_MAY_START = "run.resume = 'admitted' AND run.admission_id = resume_admission.suspension_id"
_READ = (
    f"SELECT {run_rows.OPEN_SELECT}, {admissions.SELECT}, {SELECT}, {suspension_rows.SELECT},"
    f" suspension_continuation.body, CASE WHEN {_MAY_START} THEN resume_admission.input END,"
    " resume_closure.suspension_id"
    f" FROM run{run_rows.OPEN_JOIN}"
    " LEFT JOIN resume_admission ON resume_admission.suspension_id = %s AND resume_admission.run_id = run.id"
    " LEFT JOIN resume_start_or_expiry ON resume_start_or_expiry.suspension_id = resume_admission.suspension_id"
    " LEFT JOIN resume_closure ON resume_closure.suspension_id = resume_admission.suspension_id"
    " LEFT JOIN suspension ON suspension.id = resume_admission.suspension_id AND suspension.retired_at IS NULL"
    " LEFT JOIN suspension_continuation"
    f" ON suspension_continuation.suspension_id = suspension.id AND {_MAY_START}"
    " WHERE run.id = %s AND run.scope = %s"
)
READ_STARTED = _READ.replace(_MAY_START, _MAY_START.replace("admitted", "started"))


@dataclass(slots=True)
class Resume:
    """A locked run with everything that decides about one of its resumes."""

    run: RunRow
    admission: Admission
    start: Start | None
    expiry: Expiry | None
    closed: bool
    suspension: SuspensionRow | None
    continuation: bytes | None
    input: bytes | None


def read_resume(scope: Scope, run_id: str, suspension_id: str) -> Resume:
    """Read what decides, after the run was locked. Raises: ResumeAdmissionNotFound."""
    values = sql.fetch_one(_READ, (suspension_id, run_id, scope.text))
    if values is None:
        raise ResumeAdmissionNotFound
    return to_resume(values)


def to_resume(values: tuple[Any, ...]) -> Resume:
    """Raises: ResumeAdmissionNotFound."""
    row = run_rows.read_open_row(values)
    at = run_rows.OPEN_WIDTH
    admission = admissions.read_admission(values[at:])
    if admission is None:
        raise ResumeAdmissionNotFound
    at += admissions.WIDTH
    start, expiry = read_outcome(values[at:])
    at += WIDTH
    suspension = suspension_rows.read_row(values[at:])
    body, content, closed = values[-3:]
    return Resume(row, admission, start, expiry, closed is not None, suspension, body, content)


def require_digest(admission: Admission, request_digest: str) -> None:
    """Raises: ResumeAdmissionConflict, naming the stored admission."""
    if not same_digest(admission.request_digest, request_digest):
        raise ResumeAdmissionConflict(
            WinningAdmission(admission.request_digest, admission.admitted_at, admission.admitted_by.to_json()),
            "The digest is not the stored admission's.",
        )


def insert_outcome(version: ClaimVersion, scope: Scope, columns: dict[str, Any]) -> sql.Write:
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


def read_outcome(values: tuple[Any, ...]) -> tuple[Start | None, Expiry | None]:
    """The start or the expiry of the columns in SELECT; neither where an outer join found none."""
    if values[0] is None:
        return None, None
    outcome = to_outcome(dict(zip(OUTCOME, values, strict=False)))
    return (outcome, None) if isinstance(outcome, Start) else (None, outcome)


def read_one(scope: Scope, run_id: str, suspension_id: str) -> tuple[Start | None, Expiry | None]:
    values = sql.fetch_one(
        f"SELECT {SELECT} FROM resume_start_or_expiry WHERE run_id = %s AND suspension_id = %s AND scope = %s",
        (run_id, suspension_id, scope.text),
    )
    return (None, None) if values is None else read_outcome(values)


def list_outcomes(scope: Scope, kind: str, cursor: str | None, limit: int) -> tuple[list[tuple[Any, ...]], str | None]:
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
