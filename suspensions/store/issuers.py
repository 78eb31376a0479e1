"""Proof issuers and their revisions. Source: store.md section 6."""

from __future__ import annotations

from suspensions.domain import clock
from suspensions.domain.errors import AlreadyExists, NotFound
from suspensions.domain.proofs import IssuerKey
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Actor
from suspensions.store import sql
from suspensions.store.run_rows import actor_text

_SELECT = "SELECT name, revision, scope, public_key, revoked_at FROM proof_issuer WHERE name = %s AND revision = %s"


def add_issuer(name: str, revision: str, scope: Scope, public_key: str, actor: Actor) -> IssuerKey:
    """Register a revision; the same again is the record. Raises: AlreadyExists for another scope or key."""
    sql.require_transaction()
    found = find_issuer(name, revision)
    if found is not None:
        if (found.scope, found.public_key) != (scope.text, public_key):
            raise AlreadyExists("This revision of the issuer is registered with another scope or key.")
        return found
    sql.write(
        sql.insert(
            "proof_issuer",
            {
                "name": name,
                "revision": revision,
                "scope": scope.text,
                "public_key": public_key,
                "created_by": actor_text(actor),
                "created_at": clock.now(),
            },
        )
    )
    return IssuerKey(name, revision, scope.text, public_key, revoked=False)


def revoke_issuer(name: str, revision: str, actor: Actor) -> None:
    """Revoke a revision for good; a second time changes nothing. *Locks*: its own row alone. Raises: NotFound."""
    sql.require_transaction()
    found = find_issuer(name, revision, lock="UPDATE")
    if found is None:
        raise NotFound
    if not found.revoked:
        sql.write(
            sql.update(
                "proof_issuer",
                {"revoked_at": clock.now(), "revoked_by": actor_text(actor)},
                {"name": name, "revision": revision, "revoked_at": None},
            )
        )


def find_issuer(name: str, revision: str, *, lock: str = "") -> IssuerKey | None:
    """The exact revision; locked against a revocation with `lock` as SHARE, or for one as UPDATE."""
    suffix = f" FOR {lock}" if lock and sql.is_postgresql() else ""
    row = sql.fetch_one(_SELECT + suffix, (name, revision))
    return None if row is None else IssuerKey(row[0], row[1], row[2], row[3], revoked=row[4] is not None)
