"""Registering and revoking proof issuers."""

from __future__ import annotations

import structlog

from suspensions.domain.keys import public_key_pem, require_ed25519
from suspensions.domain.proofs import IssuerKey, require_issuer_name
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Actor
from suspensions.operations.transactions import in_transaction
from suspensions.store import issuers

log = structlog.stdlib.get_logger("cortex.people")


def add_issuer(actor: Actor, name: str, revision: str, scope: Scope, public_key: str) -> IssuerKey:
    """Register an issuer's revision with its Ed25519 key; the same again is the record.

    Raises: InvalidRequest, AlreadyExists.
    """
    require_issuer_name(name, "/name")
    require_issuer_name(revision, "/revision")
    # One text for one key: line ends and comments of its file do not make it another.
    normal = public_key_pem(require_ed25519(public_key))
    issuer = in_transaction(issuers.add_issuer, name, revision, scope, normal, actor)
    log.info("proof issuer registered", issuer=name, revision=revision, scope=scope.text, by=actor.principal)
    return issuer


def revoke_issuer(actor: Actor, name: str, revision: str) -> None:
    """Revoke a revision for good. Raises: NotFound."""
    in_transaction(issuers.revoke_issuer, name, revision, actor)
    log.info("proof issuer revoked", issuer=name, revision=revision, by=actor.principal)
