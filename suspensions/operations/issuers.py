"""Registering and revoking proof issuers."""

from __future__ import annotations

from suspensions.closing.proof import require_ed25519
from suspensions.domain.proofs import IssuerKey, require_issuer_name
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Actor
from suspensions.operations.transactions import in_transaction
from suspensions.store import issuers


def add_issuer(actor: Actor, name: str, revision: str, scope: Scope, public_key: str) -> IssuerKey:
    """Register an issuer's revision with its Ed25519 key; the same again is the record.

    Raises: InvalidRequest, AlreadyExists.
    """
    require_issuer_name(name, "/name")
    require_issuer_name(revision, "/revision")
    require_ed25519(public_key)
    return in_transaction(issuers.add_issuer, name, revision, scope, public_key.strip() + "\n", actor)


def revoke_issuer(actor: Actor, name: str, revision: str) -> None:
    """Revoke a revision for good. Raises: NotFound."""
    in_transaction(issuers.revoke_issuer, name, revision, actor)
