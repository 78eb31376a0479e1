"""An issuer with its key, and proofs as it would sign them, whole or with one thing wrong."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from suspensions.closing.proof import sign_proof
from suspensions.domain import clock, ids
from suspensions.domain.digests import sha256_hex
from suspensions.domain.instants import format_instant
from suspensions.domain.policy import Caller
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Actor, Admission, ClosureRequest, Start
from suspensions.operations import issuers


@dataclass(frozen=True)
class Issuer:
    name: str
    revision: str
    key: Ed25519PrivateKey

    @property
    def kid(self) -> str:
        return f"{self.name}/{self.revision}"

    @property
    def private_pem(self) -> str:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    @property
    def public_pem(self) -> str:
        return self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def make_issuer(scope: Scope, name: str, revision: str = "r1") -> Issuer:
    """A registered issuer with a fresh key."""
    issuer = Issuer(name, revision, Ed25519PrivateKey.generate())
    issuers.add_issuer(Actor("root", "system"), name, revision, scope, issuer.public_pem)
    return issuer


def claims_for(request: ClosureRequest, *workers: str) -> dict[str, Any]:
    return {
        "issuer": request.issuer,
        "issuer_revision": request.issuer_revision,
        "admission_digest": request.admission_digest,
        "start_digest": request.start_digest,
        "run_id": request.version.run_id,
        "suspension_id": request.version.suspension_id,
        "run_revision": request.run_revision,
        "observed_at": format_instant(request.observed_at),
        "expires_at": format_instant(request.expires_at),
        "workers": [{"owner": owner, "permanent": True} for owner in workers],
    }


def request_for(caller: Caller, admission: Admission, start: Start, issuer: Issuer) -> ClosureRequest:
    """A closure request whose proof is still to be signed."""
    now = clock.now()
    return ClosureRequest(
        schema_version=1,
        scope=admission.scope,
        version=admission.version,
        admission_digest=admission.request_digest,
        start_digest=start.digest,
        run_revision=admission.claimed_revision,
        actor=caller.principal,
        issuer=issuer.name,
        issuer_revision=issuer.revision,
        proof_ref=ids.new_id(ids.PROOF),
        proof_digest="",
        observed_at=now,
        expires_at=now + timedelta(hours=1),
    )


def sign(request: ClosureRequest, signer: Issuer, /, *workers: str, **claims: Any) -> tuple[ClosureRequest, bytes]:
    """The request with the digest of a proof of it; `claims` replace the right ones."""
    proof = sign_proof({**claims_for(request, *workers), **claims}, signer.private_pem, signer.kid).encode()
    return bind(request, proof), proof


def bind(request: ClosureRequest, proof: bytes) -> ClosureRequest:
    return replace(request, proof_digest=sha256_hex(proof))


def segment(value: object) -> bytes:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).rstrip(b"=")


def sign_with_header(header: dict[str, Any], claims: dict[str, Any], issuer: Issuer) -> bytes:
    """A JWS whose header says something else, signed truly."""
    signing_input = segment(header) + b"." + segment(claims)
    signature = base64.urlsafe_b64encode(issuer.key.sign(signing_input)).rstrip(b"=")
    return signing_input + b"." + signature
