"""An uncertain resume with an operator and an issuer, and the closing form as that operator would send it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from suspensions.closing.proof import sign_proof
from suspensions.domain import clock
from suspensions.domain.instants import format_instant
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Admission, ClosureRequest, Start
from suspensions.operations import issuers
from tests.support import builders as b
from tests.support.people import Person, make_person
from tests.support.proofs import Issuer, bind, claims_for, make_issuer

WORKER = "osl-2/17"


@dataclass(frozen=True)
class Uncertain:
    """A worker started it half an hour ago and was not heard of again."""

    scope: Scope
    admission: Admission
    start: Start
    issuer: Issuer
    operator: Person

    @property
    def run_id(self) -> str:
        return self.admission.version.run_id

    @property
    def address(self) -> str:
        return f"/uncertain/{self.run_id}/close"

    @property
    def receipt(self) -> str:
        return f"/receipts/closure/{self.run_id}/{self.admission.version.suspension_id}"

    def request(self, **changes: Any) -> ClosureRequest:
        now = clock.now().replace(microsecond=0)
        version = self.admission.version
        members: dict[str, Any] = {
            "schema_version": 1,
            "scope": self.scope,
            "version": version,
            "admission_digest": self.admission.digest,
            "start_digest": self.start.digest,
            "run_revision": self.admission.claimed_revision,
            "actor": self.operator.name,
            "issuer": self.issuer.name,
            "issuer_revision": self.issuer.revision,
            "proof_ref": f"OPS-{secrets.token_hex(4)}",
            "proof_digest": "",
            "observed_at": now - timedelta(minutes=1),
            "expires_at": now + timedelta(hours=1),
        }
        return ClosureRequest(**{**members, **changes})

    def sign(self, request: ClosureRequest, *workers: str, **claims: Any) -> str:
        said = {**claims_for(request, *(workers or (WORKER,))), **claims}
        return sign_proof(said, self.issuer.private_pem, self.issuer.kid)

    def whole(self, *workers: str, **changes: Any) -> tuple[ClosureRequest, str]:
        """The request with its proof's digest, and the proof."""
        request = self.request(**changes)
        proof = self.sign(request, *workers)
        return bind(request, proof.encode()), proof

    def posted(self, request: ClosureRequest | None = None, proof: str = "", /, **fields: str) -> dict[str, str]:
        """The fields of a form in which everything is right but for `fields`."""
        if request is None:
            request, proof = self.whole()
        sent = {
            "scope": request.scope.text,
            "suspension_id": request.version.suspension_id,
            "version_revision": str(request.version.run_revision),
            "admission_digest": request.admission_digest,
            "start_digest": request.start_digest,
            "run_revision": str(request.run_revision),
            "issuer": request.issuer,
            "issuer_revision": request.issuer_revision,
            "proof_ref": request.proof_ref,
            "proof": proof,
            "observed_at": format_instant(request.observed_at),
            "expires_at": format_instant(request.expires_at),
            "confirm": self.run_id[-6:],
            "do": "close",
        }
        return {**sent, **fields}

    def close(self, person: Person | None = None, /, **fields: str) -> Any:
        return (person or self.operator).client.post(self.address, self.posted(**fields))


def make_uncertain(
    scope: Scope | str,
    *,
    ago: timedelta = timedelta(minutes=30),
    seconds: int | None = 60,
    operator: Person | None = None,
) -> Uncertain:
    """One in the scope; without `seconds` it was started without a lease."""
    at = scope if isinstance(scope, Scope) else Scope.parse(scope)
    began: datetime = clock.now() - ago
    with b.at(began):
        admission = b.admit(b.make_pause(at))
        started = b.start(admission, lease=None if seconds is None else b.take(WORKER, seconds))
    issuer = make_issuer(at, f"watchtower-{secrets.token_hex(4)}", "7")
    person = operator or make_person(at, Role.OPERATOR, display="Ines Baptista")
    return Uncertain(at, admission, started, issuer, person)


def revoke(issuer: Issuer, by: Person) -> None:
    issuers.revoke_issuer(by.caller.actor, issuer.name, issuer.revision)
