"""Receipts as they lie in their rows, by column: read alike by the store's own statements and by the pages' queries.

Instants come as the engine gives them. Source: store.md section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from suspensions.domain.errors import MalformedJson, StoredRecordBroken
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import loads
from suspensions.domain.values import Actor, Admission, ClaimVersion, Closure, ClosureRequest, Expiry, Reason, Start
from suspensions.models.fields import from_database, read_instant

ADMISSION = (
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
OUTCOME = (
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
CLOSURE = (
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


@lru_cache(maxsize=1024)
def read_actor(text: str) -> Actor:
    """The stored actor; the same few act all day. Raises: StoredRecordBroken."""
    try:
        members = loads(text)
        return Actor(members["principal"], members["via"])
    except (MalformedJson, TypeError, KeyError):
        raise StoredRecordBroken("A stored actor could not be read.") from None


def to_admission(row: Mapping[str, Any]) -> Admission:
    """The value of ADMISSION, with the input where it was read."""
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
        admitted_at=read_instant(row["admitted_at"]),
        admitted_by=read_actor(row["admitted_by"]),
        reason=Reason(row["reason"]),
        start_by=from_database(row["start_by"]),
        lease_owner=row["lease_owner"],
        lease_epoch=row["lease_epoch"],
        event_id=row["event_id"],
        record_sha256=row["record_sha256"],
    )


def to_outcome(row: Mapping[str, Any]) -> Start | Expiry:
    """The value of OUTCOME."""
    version = ClaimVersion(row["run_id"], row["suspension_id"], row["run_revision"])
    if row["kind"] == "expiry":
        return Expiry(
            schema_version=row["schema_version"],
            version=version,
            scope=Scope(row["scope"]),
            request_digest=row["request_digest"],
            event_id=row["event_id"],
            run_revision=row["expired_revision"],
            expired_at=read_instant(row["at"]),
            expired_by=read_actor(row["actor"]),
            record_sha256=row["record_sha256"],
        )
    return Start(
        schema_version=row["schema_version"],
        version=version,
        scope=Scope(row["scope"]),
        request_digest=row["request_digest"],
        started_at=read_instant(row["at"]),
        started_by=read_actor(row["actor"]),
        lease_owner=row["lease_owner"],
        lease_epoch=row["lease_epoch"],
        request_id=row["request_id"],
        event_id=row["event_id"],
        record_sha256=row["record_sha256"],
    )


def to_closure(row: Mapping[str, Any]) -> Closure:
    """The value of CLOSURE."""
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
        observed_at=read_instant(row["observed_at"]),
        expires_at=read_instant(row["expires_at"]),
    )
    return Closure(
        request=request,
        request_digest=row["request_digest"],
        event_id=row["event_id"],
        run_revision=row["run_revision"],
        closed_at=read_instant(row["closed_at"]),
        closed_by=read_actor(row["closed_by"]),
        record_sha256=row["record_sha256"],
    )
