"""What the closing fence locks and reads inside its transaction. Source: store.md section 6."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suspensions.domain.policy import Grant, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import loads
from suspensions.domain.values import EventType
from suspensions.store import sql
from suspensions.store.run_rows import read_actor


def limit_waiting(milliseconds: int) -> None:
    """No statement and no lock of this transaction outlasts the closing's bound (PostgreSQL)."""
    if sql.is_postgresql():
        bound = str(max(milliseconds, 1))
        sql.fetch_one(
            "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)", (bound, bound)
        )


def lock_grants(principal: str) -> tuple[Grant, ...]:
    """An active principal's grants as they are now, held until the commit with its account: whoever revokes one of
    them, or the account, waits or wins."""
    lock = " FOR SHARE OF access_grant, auth_user" if sql.is_postgresql() else ""
    active = "auth_user.is_active" if sql.is_postgresql() else "auth_user.is_active = 1"
    rows = sql.fetch_all(
        "SELECT access_grant.scope, access_grant.role FROM access_grant"
        " JOIN principal ON principal.user_id = access_grant.principal_id"
        f" JOIN auth_user ON auth_user.id = principal.user_id AND {active}"
        f" WHERE principal.name = %s ORDER BY access_grant.id{lock}",
        (principal,),
    )
    return tuple(Grant(Scope(scope), Role(role)) for scope, role in rows)


def dispatch_evidence(scope: Scope, run_id: str, suspension_id: str) -> frozenset[str]:
    """Every worker that held the run since its admission, from what was retained: never from configuration.

    Lease owners at admission, start, reclaim and claim; an unleased start or claim counts as `principal:<name>`.
    """
    rows = sql.fetch_all(
        "SELECT lease_owner, NULL FROM resume_admission WHERE suspension_id = %s AND run_id = %s AND scope = %s"
        " UNION ALL SELECT lease_owner, principal FROM resume_start_or_expiry"
        " WHERE suspension_id = %s AND run_id = %s AND scope = %s AND kind = 'start'",
        (suspension_id, run_id, scope.text) * 2,
    )
    holders = {owner for owner, _ in rows if owner is not None}
    holders |= {f"principal:{principal}" for owner, principal in rows if owner is None and principal is not None}
    later = sql.fetch_all(
        "SELECT event.data, event.actor FROM event JOIN resume_admission ON resume_admission.suspension_id = %s"
        " JOIN event admitted ON admitted.id = resume_admission.event_id"
        f" WHERE event.chain = %s AND event.position > admitted.position AND {sql.among('event.type', _TAKES)}",
        (suspension_id, run_id, *_TAKES),
    )
    holders |= {holder for data, actor in later if (holder := _holder(loads(bytes(data)), actor)) is not None}
    return frozenset(holders)


# Reclaims; claims of a later pause, and of an incomplete run that goes on.
_TAKES = (EventType.RUN_LEASE_TAKEN.value, EventType.RUN_CLAIMED.value)


def _holder(data: Mapping[str, Any], actor: str) -> str | None:
    """Who held the run from such an event on; None where the claim was made to end it."""
    if "lease" not in data:
        return None
    owner: str = f"principal:{read_actor(actor).principal}" if data["lease"] is None else data["lease"]["owner"]
    return owner
