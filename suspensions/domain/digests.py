"""The digests that requests name and receipts carry. Source: store.md section 4.

Each is SHA-256 over `domain + "\\n" + canonical JSON` of a small object, so that anybody can recompute it.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256

from suspensions.domain.instants import format_instant
from suspensions.domain.strict_json import canonical

RESUME_REQUEST = "cortex/resume-request/v1"
SUSPENSION = "cortex/suspension/v1"
RESUME_START = "cortex/resume-start/v1"
RESUME_EXPIRY = "cortex/resume-expiry/v1"
RESUME_CLOSURE = "cortex/resume-closure/v1"
INTERACTION = "cortex/interaction/v1"
RECORD = "cortex/record/v1"
EVENT = "cortex/event/v1"
PURGE = "cortex/purge/v1"
CHECKPOINT = "cortex/checkpoint/v1"

SCHEMA_VERSION = 1


def digest(domain: str, members: Mapping[str, object]) -> str:
    """64 lower-case hex digits over the domain and the object's canonical JSON."""
    return sha256(domain.encode() + b"\n" + canonical(members)).hexdigest()


def sha256_hex(content: bytes) -> str:
    return sha256(content).hexdigest()


def same_digest(left: str, right: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(left.encode(), right.encode())


def instant_or_none(instant: datetime | None) -> str | None:
    return None if instant is None else format_instant(instant)
