"""Requests and receipts of a resume. Source: store.md sections 3 and 4."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from suspensions.domain import digests
from suspensions.domain.digests import instant_or_none
from suspensions.domain.instants import format_instant
from suspensions.domain.scopes import Scope
from suspensions.domain.values.common import Actor, Json
from suspensions.domain.values.leases import Lease
from suspensions.domain.values.pauses import ClaimVersion, Reason, Suspension
from suspensions.domain.values.runs import Run


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """Binds the exact input to a pinned pause. Its digest is what receipts and starts name."""

    scope: Scope
    version: ClaimVersion
    input: bytes

    def digest(self) -> str:
        return admission_request_digest(self.scope, self.version, digests.sha256_hex(self.input), len(self.input))


def admission_request_digest(scope: Scope, version: ClaimVersion, input_sha256: str, input_bytes: int) -> str:
    return digests.digest(
        digests.RESUME_REQUEST,
        {
            "schema_version": digests.SCHEMA_VERSION,
            "scope": scope.text,
            "version": version.to_json(),
            "input_sha256": input_sha256,
            "input_bytes": input_bytes,
        },
    )


@dataclass(frozen=True, slots=True)
class Admission:
    """The receipt that an answer was admitted. `input` is None in lists."""

    schema_version: int
    scope: Scope
    version: ClaimVersion
    input: bytes | None
    input_sha256: str
    input_bytes: int
    request_digest: str
    suspension_digest: str
    claimed_revision: int
    admitted_at: datetime
    admitted_by: Actor
    reason: Reason
    start_by: datetime | None
    lease_owner: str | None
    lease_epoch: int | None
    event_id: str
    record_sha256: str = ""
    lease: Lease | None = field(default=None, compare=False)
    """The lease that was taken with it, in the fresh answer alone."""
    fresh: bool = field(default=False, compare=False)

    @property
    def digest(self) -> str:
        return self.request_digest

    def record(self) -> Json:
        """All stored members, for `record_sha256`."""
        return {
            "schema_version": self.schema_version,
            "scope": self.scope.text,
            "version": self.version.to_json(),
            "input_sha256": self.input_sha256,
            "input_bytes": self.input_bytes,
            "request_digest": self.request_digest,
            "suspension_digest": self.suspension_digest,
            "claimed_revision": self.claimed_revision,
            "admitted_at": format_instant(self.admitted_at),
            "admitted_by": self.admitted_by.to_json(),
            "reason": str(self.reason),
            "start_by": instant_or_none(self.start_by),
            "lease_owner": self.lease_owner,
            "lease_epoch": self.lease_epoch,
            "event_id": self.event_id,
        }


@dataclass(frozen=True, slots=True)
class Start:
    """The receipt that execution was granted, once. Only the fresh answer carries what to execute."""

    schema_version: int
    version: ClaimVersion
    scope: Scope
    request_digest: str
    started_at: datetime
    started_by: Actor
    lease_owner: str | None
    lease_epoch: int | None
    request_id: str | None
    event_id: str
    record_sha256: str = ""
    suspension: Suspension | None = field(default=None, compare=False)
    input: bytes | None = field(default=None, compare=False)
    claimed_run: Run | None = field(default=None, compare=False)
    fresh: bool = field(default=False, compare=False)

    @property
    def digest(self) -> str:
        return digests.digest(
            digests.RESUME_START,
            {
                "schema_version": self.schema_version,
                "version": self.version.to_json(),
                "scope": self.scope.text,
                "request_digest": self.request_digest,
                "started_at": format_instant(self.started_at),
            },
        )

    def record(self) -> Json:
        return {
            "kind": "start",
            "schema_version": self.schema_version,
            "version": self.version.to_json(),
            "scope": self.scope.text,
            "request_digest": self.request_digest,
            "started_at": format_instant(self.started_at),
            "started_by": self.started_by.to_json(),
            "lease_owner": self.lease_owner,
            "lease_epoch": self.lease_epoch,
            "request_id": self.request_id,
            "event_id": self.event_id,
        }


@dataclass(frozen=True, slots=True)
class Expiry:
    """The receipt that an admitted resume expired before anybody started it."""

    schema_version: int
    version: ClaimVersion
    scope: Scope
    request_digest: str
    event_id: str
    run_revision: int
    expired_at: datetime
    expired_by: Actor
    record_sha256: str = ""
    fresh: bool = field(default=False, compare=False)

    @property
    def digest(self) -> str:
        return digests.digest(
            digests.RESUME_EXPIRY,
            {
                "schema_version": self.schema_version,
                "version": self.version.to_json(),
                "scope": self.scope.text,
                "request_digest": self.request_digest,
                "event_id": self.event_id,
                "run_revision": self.run_revision,
                "expired_at": format_instant(self.expired_at),
            },
        )

    def record(self) -> Json:
        return {
            "kind": "expiry",
            "schema_version": self.schema_version,
            "version": self.version.to_json(),
            "scope": self.scope.text,
            "request_digest": self.request_digest,
            "event_id": self.event_id,
            "run_revision": self.run_revision,
            "expired_at": format_instant(self.expired_at),
            "expired_by": self.expired_by.to_json(),
        }


@dataclass(frozen=True, slots=True)
class ClosureRequest:
    """The thirteen members that close an uncertain start as incomplete. Source: store.md section 6."""

    schema_version: int
    scope: Scope
    version: ClaimVersion
    admission_digest: str
    start_digest: str
    run_revision: int
    actor: str
    issuer: str
    issuer_revision: str
    proof_ref: str
    proof_digest: str
    observed_at: datetime
    expires_at: datetime

    def to_json(self) -> Json:
        return {
            "schema_version": self.schema_version,
            "scope": self.scope.text,
            "version": self.version.to_json(),
            "admission_digest": self.admission_digest,
            "start_digest": self.start_digest,
            "run_revision": self.run_revision,
            "actor": self.actor,
            "issuer": self.issuer,
            "issuer_revision": self.issuer_revision,
            "proof_ref": self.proof_ref,
            "proof_digest": self.proof_digest,
            "observed_at": format_instant(self.observed_at),
            "expires_at": format_instant(self.expires_at),
        }

    def digest(self) -> str:
        return digests.digest(digests.RESUME_CLOSURE, self.to_json())


@dataclass(frozen=True, slots=True)
class Closure:
    """The receipt of an incomplete end with proof. It accepts no output and allows no replay."""

    request: ClosureRequest
    request_digest: str
    event_id: str
    run_revision: int
    closed_at: datetime
    closed_by: Actor
    record_sha256: str = ""
    fresh: bool = field(default=False, compare=False)

    @property
    def digest(self) -> str:
        return self.request_digest

    def record(self) -> Json:
        return {
            "request": self.request.to_json(),
            "request_digest": self.request_digest,
            "event_id": self.event_id,
            "run_revision": self.run_revision,
            "closed_at": format_instant(self.closed_at),
            "closed_by": self.closed_by.to_json(),
        }
