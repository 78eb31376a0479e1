"""Receipts as values: those of one pause, and lists over all scopes that a person may see, newest pause first.

Lists never load an admission's input. Source: pages.md, "Receipts".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from suspensions.domain.cursors import make_cursor, read_cursor
from suspensions.domain.reach import Reach
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import dumps
from suspensions.domain.values import (
    Admission,
    ClaimVersion,
    Closure,
    ClosureRequest,
    Expiry,
    Page,
    Reason,
    Start,
)
from suspensions.domain.verification import Receipt
from suspensions.models import Admission as AdmissionRow
from suspensions.models import Closure as ClosureRow
from suspensions.models import StartOrExpiry
from suspensions.queries.fragments import first
from suspensions.queries.reach import within
from suspensions.queries.rows import read_actor

KINDS = ("admission", "start", "expiry", "closure")

_ADMISSION = (
    "suspension_id",
    "run_id",
    "scope",
    "schema_version",
    "run_revision",
    "input_sha256",
    "input_bytes",
    "request_digest",
    "suspension_digest",
    "claimed_revision",
    "admitted_at",
    "admitted_by",
    "reason",
    "start_by",
    "lease_owner",
    "lease_epoch",
    "event_id",
    "record_sha256",
)
_OUTCOME = (
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
_CLOSURE = (
    "suspension_id",
    "run_id",
    "scope",
    "schema_version",
    "version_revision",
    "admission_digest",
    "start_digest",
    "request_revision",
    "actor",
    "issuer",
    "issuer_revision",
    "proof_ref",
    "proof_digest",
    "observed_at",
    "expires_at",
    "request_digest",
    "event_id",
    "run_revision",
    "closed_at",
    "closed_by",
    "record_sha256",
)


def of_pause(suspension_id: str) -> tuple[Admission | None, Start | Expiry | None, Closure | None]:
    """What followed on a pause: its admission with the input, its start or expiry, its closure."""
    admission = AdmissionRow.objects.filter(suspension_id=suspension_id).values(*_ADMISSION, "input").first()
    if admission is None:
        return None, None, None
    outcome = StartOrExpiry.objects.filter(suspension_id=suspension_id).values(*_OUTCOME).first()
    closure = None
    if outcome is not None and outcome["kind"] == "start":
        closure = ClosureRow.objects.filter(suspension_id=suspension_id).values(*_CLOSURE).first()
    return (
        _to_admission(admission),
        None if outcome is None else _to_outcome(outcome),
        None if closure is None else _to_closure(closure),
    )


def scope_of(reach: Reach, run_id: str, suspension_id: str) -> Scope | None:
    """The scope of a pause's receipts where the reach covers it; each of them follows on an admission."""
    rows = AdmissionRow.objects.filter(within(reach), suspension_id=suspension_id, run_id=run_id)
    found = rows.values_list("scope", flat=True).first()
    return None if found is None else Scope(found)


def list_receipts(kind: str, reach: Reach, words: str, cursor: str | None, limit: int) -> Page[Receipt]:
    """Receipts of one kind, newest pause first.

    `words` finds a run, a pause, a person, or a digest of the receipt or of its request. Raises: InvalidCursor.
    """
    binding = ("receipts", kind, *(scope.text for scope in reach), words)
    rows, columns, person = _table(kind)
    if words:
        rows = rows.filter(_matching(kind, words, person))
    after = read_cursor(cursor, binding, 1)
    if after is not None:
        rows = rows.filter(suspension_id__lt=after[0])
    keys = first("suspension_id", reach, rows, ("-suspension_id",), limit + 1)
    found = list(rows.model.objects.filter(pk__in=keys).order_by("-suspension_id").values(*columns))
    following = make_cursor(binding, found[limit - 1]["suspension_id"]) if len(found) > limit else None
    return Page(tuple(_to_receipt(kind, row) for row in found[:limit]), following)


def _table(kind: str) -> tuple[QuerySet[Any], tuple[str, ...], str]:
    """The rows of a kind, its columns, and the column that names who did it."""
    if kind == "admission":
        return AdmissionRow.objects.all(), _ADMISSION, "admitted_by"
    if kind == "closure":
        return ClosureRow.objects.all(), _CLOSURE, "closed_by"
    return StartOrExpiry.objects.filter(kind=kind), _OUTCOME, "actor"


def _matching(kind: str, words: str, person: str) -> Q:
    found = Q(run_id=words) | Q(suspension_id=words) | Q(request_digest=words) | Q(record_sha256=words)
    if kind == "admission":
        found |= Q(suspension_digest=words) | Q(input_sha256=words)
    if kind == "closure":
        found |= Q(admission_digest=words) | Q(start_digest=words) | Q(proof_ref=words) | Q(proof_digest=words)
    opening = dumps({"principal": words}).decode().removesuffix('"}')
    return found | Q(**{f"{person}__istartswith": opening})


def _to_receipt(kind: str, row: Mapping[str, Any]) -> Receipt:
    if kind == "admission":
        return _to_admission(row)
    return _to_closure(row) if kind == "closure" else _to_outcome(row)


def _to_admission(row: Mapping[str, Any]) -> Admission:
    return Admission(
        schema_version=row["schema_version"],
        scope=Scope(row["scope"]),
        version=ClaimVersion(row["run_id"], row["suspension_id"], row["run_revision"]),
        input=bytes(row["input"]) if "input" in row else None,
        input_sha256=row["input_sha256"],
        input_bytes=row["input_bytes"],
        request_digest=row["request_digest"],
        suspension_digest=row["suspension_digest"],
        claimed_revision=row["claimed_revision"],
        admitted_at=row["admitted_at"],
        admitted_by=read_actor(row["admitted_by"]),
        reason=Reason(row["reason"]),
        start_by=row["start_by"],
        lease_owner=row["lease_owner"],
        lease_epoch=row["lease_epoch"],
        event_id=row["event_id"],
        record_sha256=row["record_sha256"],
    )


def _to_outcome(row: Mapping[str, Any]) -> Start | Expiry:
    version = ClaimVersion(row["run_id"], row["suspension_id"], row["run_revision"])
    if row["kind"] == "expiry":
        return Expiry(
            schema_version=row["schema_version"],
            version=version,
            scope=Scope(row["scope"]),
            request_digest=row["request_digest"],
            event_id=row["event_id"],
            run_revision=row["expired_revision"],
            expired_at=row["at"],
            expired_by=read_actor(row["actor"]),
            record_sha256=row["record_sha256"],
        )
    return Start(
        schema_version=row["schema_version"],
        version=version,
        scope=Scope(row["scope"]),
        request_digest=row["request_digest"],
        started_at=row["at"],
        started_by=read_actor(row["actor"]),
        lease_owner=row["lease_owner"],
        lease_epoch=row["lease_epoch"],
        request_id=row["request_id"],
        event_id=row["event_id"],
        record_sha256=row["record_sha256"],
    )


def _to_closure(row: Mapping[str, Any]) -> Closure:
    request = ClosureRequest(
        schema_version=row["schema_version"],
        scope=Scope(row["scope"]),
        version=ClaimVersion(row["run_id"], row["suspension_id"], row["version_revision"]),
        admission_digest=row["admission_digest"],
        start_digest=row["start_digest"],
        run_revision=row["request_revision"],
        actor=row["actor"],
        issuer=row["issuer"],
        issuer_revision=row["issuer_revision"],
        proof_ref=row["proof_ref"],
        proof_digest=row["proof_digest"],
        observed_at=row["observed_at"],
        expires_at=row["expires_at"],
    )
    return Closure(
        request=request,
        request_digest=row["request_digest"],
        event_id=row["event_id"],
        run_revision=row["run_revision"],
        closed_at=row["closed_at"],
        closed_by=read_actor(row["closed_by"]),
        record_sha256=row["record_sha256"],
    )


def starts_of(suspension_ids: Sequence[str]) -> dict[str, Start]:
    """The starts of these pauses, by pause."""
    rows = StartOrExpiry.objects.filter(suspension_id__in=suspension_ids, kind="start").values(*_OUTCOME)
    found = ((row["suspension_id"], _to_outcome(row)) for row in rows)
    return {suspension_id: start for suspension_id, start in found if isinstance(start, Start)}
