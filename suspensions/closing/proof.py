"""The default ports: a signed proof of quiescence by a registered issuer, and a fence over what it rests on.

The authorizer runs before any transaction; the fence locks grants, issuer and run, in that order, and reads again
whatever decides. Source: store.md section 6.
"""

from __future__ import annotations

from collections.abc import Callable

import jwt
from django.db import transaction
from jwt.algorithms import OKPAlgorithm
from jwt.utils import base64url_decode, base64url_encode

from suspensions.domain import proofs
from suspensions.domain.errors import ClosureDenied
from suspensions.domain.keys import require_ed25519
from suspensions.domain.policy import Caller, Role
from suspensions.domain.proofs import IssuerKey
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Closure, ClosureRequest
from suspensions.store import fencing, issuers, sql

LONGEST_WAIT_MS = 30_000


class ProofAuthorizer:
    """Authenticates actor, issuer, exact revision and claims, then access to the run. Holds no lock."""

    def authorize_resume_closure(self, caller: Caller, request: ClosureRequest, proof: bytes) -> None:
        """Raises: ClosureDenied, with the reason for the log and the operator's page."""
        proofs.require_bound(proof, request, caller.principal)
        issuer = _require_issuer(issuers.find_issuer(request.issuer, request.issuer_revision), request)
        workers = _verified_workers(proof, request, issuer)
        evidence = fencing.dispatch_evidence(request.scope, request.version.run_id, request.version.suspension_id)
        proofs.require_every_holder(workers, evidence)
        if Role.OPERATOR not in caller.roles_at(request.scope):
            raise ClosureDenied("The caller is no operator in the run's scope.")


class LockingFence:
    """Holds the actor's grants, the issuer's row and the run's row while the store closes."""

    def with_resume_closure(
        self, caller: Caller, request: ClosureRequest, proof: bytes, close: Callable[[], Closure]
    ) -> Closure:
        """1. Lock the grants. 2. Lock the issuer: a revocation waits or wins. 3. Lock the run. 4. No new holder
        appeared since the proof was read. 5. Close, in the same transaction.

        Raises: ClosureDenied, and what `close` raises.
        """
        with transaction.atomic(durable=True):
            fencing.limit_waiting(LONGEST_WAIT_MS)
            held = Caller(caller.principal, caller.via, fencing.lock_grants(caller.principal))
            if Role.OPERATOR not in held.roles_at(request.scope):
                raise ClosureDenied("The caller is no longer an operator in the run's scope.")
            locked = issuers.find_issuer(request.issuer, request.issuer_revision, lock="SHARE")
            issuer = _require_issuer(locked, request)
            version = request.version
            sql.lock_run(version.run_id, request.scope.text)
            evidence = fencing.dispatch_evidence(request.scope, version.run_id, version.suspension_id)
            proofs.require_every_holder(_verified_workers(proof, request, issuer), evidence)
            return close()


def _require_issuer(issuer: IssuerKey | None, request: ClosureRequest) -> IssuerKey:
    if issuer is None:
        raise ClosureDenied("The issuer's revision is not registered.", about="issuer_revision")
    if issuer.revoked:
        raise ClosureDenied("The issuer's revision is revoked.", about="issuer_revision")
    if not Scope(issuer.scope).covers(request.scope):
        raise ClosureDenied("The issuer's scope does not cover the run's.", about="issuer")
    return issuer


def _verified_workers(proof: bytes, request: ClosureRequest, issuer: IssuerKey) -> frozenset[str]:
    """The workers that the proof names, once its signature holds. Raises: ClosureDenied."""
    header, payload, signature = proofs.split_jws(proof)
    proofs.require_header(proofs.read_object(_decode(header), "header"), request)
    key = require_ed25519(issuer.public_key)
    # The algorithm is pinned here; the header's is only compared, never trusted.
    if not OKPAlgorithm().verify(header + b"." + payload, key, _decode(signature)):
        raise ClosureDenied("The proof's signature does not hold under the issuer's key.")
    return proofs.require_claims(proofs.read_object(_decode(payload), "claims"), request)


def _decode(segment: bytes) -> bytes:
    try:
        decoded = base64url_decode(segment)
    except ValueError:
        raise ClosureDenied("The proof is no JWS in compact form.") from None
    if base64url_encode(decoded) != segment:
        raise ClosureDenied("The proof is not in the one base64url form of its bytes.")
    return decoded


def sign_proof(claims: dict[str, object], private_key_pem: str, kid: str) -> str:
    """A proof as a JWS in compact form, for issuers' drills and tests. `kid` is `<issuer>/<revision>`."""
    return jwt.encode(claims, private_key_pem, algorithm="EdDSA", headers={"kid": kid, "typ": None})
