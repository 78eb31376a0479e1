"""The small object that each receipt's digest is made of, so that anybody can recompute it.

Source: store.md section 4.
"""

from __future__ import annotations

from suspensions.domain import digests
from suspensions.domain.instants import format_instant
from suspensions.domain.values import Admission, Closure, Expiry, Json, Start

Receipt = Admission | Start | Expiry | Closure


def hashed_object(receipt: Receipt) -> tuple[str, Json]:
    """The digest's domain, and the object that is hashed behind it."""
    match receipt:
        case Admission():
            return digests.RESUME_REQUEST, {
                "schema_version": receipt.schema_version,
                "scope": receipt.scope.text,
                "version": receipt.version.to_json(),
                "input_sha256": receipt.input_sha256,
                "input_bytes": receipt.input_bytes,
            }
        case Start():
            return digests.RESUME_START, {
                "schema_version": receipt.schema_version,
                "version": receipt.version.to_json(),
                "scope": receipt.scope.text,
                "request_digest": receipt.request_digest,
                "started_at": format_instant(receipt.started_at),
            }
        case Expiry():
            return digests.RESUME_EXPIRY, {
                "schema_version": receipt.schema_version,
                "version": receipt.version.to_json(),
                "scope": receipt.scope.text,
                "request_digest": receipt.request_digest,
                "event_id": receipt.event_id,
                "run_revision": receipt.run_revision,
                "expired_at": format_instant(receipt.expired_at),
            }
        case Closure():
            return digests.RESUME_CLOSURE, receipt.request.to_json()


def kind_of(receipt: Receipt) -> str:
    """The word that addresses and lists use."""
    return type(receipt).__name__.lower()
