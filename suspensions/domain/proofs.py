"""What a proof of quiescence must say: a JWS in compact form, bound to one exact closure request.

Source: store.md section 6. Reading here authenticates nothing; the signature is the authorizer's to verify.
"""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from suspensions.domain import ids
from suspensions.domain.digests import same_digest, sha256_hex
from suspensions.domain.errors import ClosureDenied, MalformedJson
from suspensions.domain.instants import format_instant
from suspensions.domain.strict_json import loads
from suspensions.domain.texts import invalid, require_identifier
from suspensions.domain.values import ClosureRequest

ISSUER_NAME = re.compile(r"[A-Za-z0-9_.:@+~-]{1,128}", re.ASCII)
MOST_CHARACTERS = 1 << 20
LONGEST = timedelta(hours=24)
"""A proof is worth something for at most so long after its observation."""
_SEGMENT = re.compile(rb"[A-Za-z0-9_-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class IssuerKey:
    """A registered issuer's exact revision, as it is now."""

    name: str
    revision: str
    scope: str
    public_key: str
    revoked: bool


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A worker that held the run, from when on: retained evidence, whatever is configured now."""

    holder: str
    since: datetime


def require_issuer_name(value: object, pointer: str) -> str:
    """A name or a revision: no slash, since the key id joins the two by one. Raises: InvalidRequest."""
    if isinstance(value, str) and ISSUER_NAME.fullmatch(value):
        return value
    raise invalid(pointer, "must be 1 to 128 letters, digits and _ . : @ + ~ -")


def require_proof_ref(value: object, pointer: str) -> str:
    """Where a proof is filed: any identifier; one that looks like a TypeID is a proof's.

    Raises: InvalidRequest, InvalidId.
    """
    given = require_identifier(value, pointer)
    return ids.require_id(given, ids.PROOF) if ids.looks_like_id(given) else given


def require_header(header: object, request: ClosureRequest) -> None:
    """The header is exactly the algorithm and the key id. Whatever else it may carry is refused, not ignored.

    Raises: ClosureDenied.
    """
    if header != {"alg": "EdDSA", "kid": f"{request.issuer}/{request.issuer_revision}"}:
        raise ClosureDenied("The proof's header is not exactly EdDSA and the key id of the named issuer revision.")


def require_bound(proof: bytes, request: ClosureRequest, principal: str) -> None:
    """The request names its caller and these very bytes. Raises: ClosureDenied."""
    if request.actor != principal:
        raise ClosureDenied("The actor is not the caller.")
    if not same_digest(sha256_hex(proof), request.proof_digest):
        raise ClosureDenied("The proof's bytes do not have the digest that the request names.")


def split_jws(proof: bytes) -> tuple[bytes, bytes, bytes]:
    """The three segments of a compact JWS. Raises: ClosureDenied for anything else, white space included."""
    segments = proof.split(b".")
    if len(segments) != 3 or not all(_SEGMENT.fullmatch(segment) for segment in segments):
        raise ClosureDenied("The proof is no JWS in compact form.")
    return segments[0], segments[1], segments[2]


def read_object(text: bytes, what: str) -> dict[str, Any]:
    """Strict JSON, an object. Raises: ClosureDenied."""
    try:
        value = loads(text)
    except MalformedJson:
        raise ClosureDenied(f"The proof's {what} is not strict JSON.") from None
    if not isinstance(value, dict):
        raise ClosureDenied(f"The proof's {what} is no object.")
    return value


def require_claims(claims: Mapping[str, Any], request: ClosureRequest) -> frozenset[str]:
    """Each claim equals the request's member, and nothing else is claimed. Gives the workers it names.

    Raises: ClosureDenied.
    """
    expected: dict[str, object] = {
        "issuer": request.issuer,
        "issuer_revision": request.issuer_revision,
        "admission_digest": request.admission_digest,
        "start_digest": request.start_digest,
        "run_id": request.version.run_id,
        "suspension_id": request.version.suspension_id,
        "run_revision": request.run_revision,
        "observed_at": format_instant(request.observed_at),
        "expires_at": format_instant(request.expires_at),
    }
    for name, value in expected.items():
        claimed = claims.get(name)
        if type(claimed) is not type(value) or claimed != value:
            raise ClosureDenied(f"The proof's claim {name} is not the request's.", about=name)
    unknown = sorted(set(claims) - set(expected) - {"workers"})
    if unknown:
        raise ClosureDenied("The proof claims more than a proof of quiescence may.")
    return _require_workers(claims.get("workers"))


def _require_workers(workers: object) -> frozenset[str]:
    if not isinstance(workers, list) or not workers:
        raise ClosureDenied("The proof names no workers.")
    for worker in workers:
        if (
            not isinstance(worker, dict)
            or set(worker) != {"owner", "permanent"}
            or not isinstance(worker["owner"], str)
            or worker["permanent"] is not True
        ):
            raise ClosureDenied("The proof names a worker that is not quiet for good.")
    return frozenset(worker["owner"] for worker in workers)


def require_every_holder(workers: frozenset[str], evidence: frozenset[str]) -> None:
    """The proof names at least every worker that held the run since its admission. Raises: ClosureDenied."""
    if not evidence <= workers:
        raise ClosureDenied(f"The proof leaves out {len(evidence - workers)} worker(s) that held the run.")


# -- looking before closing: nothing below decides anything ------------------------------------------------


def stated_claims(proof: bytes) -> Mapping[str, Any] | None:
    """What a proof says of itself, unverified: for showing and comparing before anybody judges it.

    None where it is no compact JWS with an object of claims; another authorizer may take other proofs.
    """
    try:
        _, payload, _ = split_jws(proof)
        return read_object(urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)), "claims")
    except (ClosureDenied, binascii.Error):
        return None


def stated_workers(claims: Mapping[str, Any]) -> frozenset[str]:
    """The workers that the claims call quiet for good, as far as they can be read."""
    workers = claims.get("workers")
    return frozenset(
        worker["owner"]
        for worker in (workers if isinstance(workers, list) else ())
        if isinstance(worker, dict) and isinstance(worker.get("owner"), str) and worker.get("permanent") is True
    )


def time_faults(
    started_at: datetime, observed_at: datetime | None, expires_at: datetime | None, now: datetime
) -> dict[str, str]:
    """What would make a closure `proof_expired`, by the request's member; the store judges it again when it closes."""
    found = {}
    if observed_at is not None and observed_at < started_at:
        found["observed_at"] = "Before the start. What was quiet then says nothing of this resume."
    elif observed_at is not None and observed_at > now:
        found["observed_at"] = "In the future, by the server's clock."
    if expires_at is not None and expires_at <= now:
        found["expires_at"] = "Passed. Ask the issuer for a newer proof."
    elif observed_at is not None and expires_at is not None and expires_at > observed_at + LONGEST:
        found["expires_at"] = "More than 24 hours after the observation."
    return found
