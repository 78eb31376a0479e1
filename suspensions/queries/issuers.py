"""Proof issuers and their revisions, as the access page shows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from suspensions.domain.scopes import Scope
from suspensions.domain.values import Actor
from suspensions.models import ProofIssuer
from suspensions.models.receipt_rows import read_actor


@dataclass(frozen=True, slots=True)
class IssuerValue:
    """One revision of an issuer; revoked ones stay in the list, since old proofs name them."""

    name: str
    revision: str
    scope: Scope
    public_key: str
    created_by: Actor
    created_at: datetime
    revoked_at: datetime | None
    revoked_by: Actor | None


def list_issuers() -> tuple[IssuerValue, ...]:
    """All revisions, by name, latest registered first."""
    return tuple(_to_issuer(row) for row in ProofIssuer.objects.order_by("name", "-created_at", "-id"))


def find_issuer(name: str, revision: str) -> IssuerValue | None:
    # PostgreSQL fails on being asked for a text with a NUL in it.
    if "\0" in name + revision:
        return None
    row = ProofIssuer.objects.filter(name=name, revision=revision).first()
    return None if row is None else _to_issuer(row)


def _to_issuer(row: ProofIssuer) -> IssuerValue:
    return IssuerValue(
        name=row.name,
        revision=row.revision,
        scope=Scope(row.scope),
        public_key=row.public_key,
        created_by=read_actor(row.created_by),
        created_at=row.created_at,
        revoked_at=row.revoked_at,
        revoked_by=None if row.revoked_by is None else read_actor(row.revoked_by),
    )
