"""What the closing fence locks and reads inside its transaction. Source: store.md section 6."""

from __future__ import annotations

from suspensions.domain.policy import Grant, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import loads
from suspensions.domain.values import EventType
from suspensions.store import sql


def limit_waiting(milliseconds: int) -> None:
    """No statement and no lock of this transaction outlasts the closing's bound (PostgreSQL)."""
    if sql.is_postgresql():
        bound = str(max(milliseconds, 1))
        sql.fetch_one(
            "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)", (bound, bound)
        )


def lock_grants(principal: str) -> tuple[Grant, ...]:
    """An active principal's grants as they are now, held until the commit: a revocation waits or wins."""
    lock = " FOR SHARE OF access_grant" if sql.is_postgresql() else ""
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

    Lease owners at admission, start and reclaim; an unleased start counts as `principal:<name>`.
    """
    rows = sql.fetch_all(
        "SELECT lease_owner, NULL FROM resume_admission WHERE suspension_id = %s AND run_id = %s AND scope = %s"
        " UNION ALL SELECT lease_owner, principal FROM resume_start_or_expiry"
        " WHERE suspension_id = %s AND run_id = %s AND scope = %s AND kind = 'start'",
        (suspension_id, run_id, scope.text) * 2,
    )
    holders = {owner for owner, _ in rows if owner is not None}
    holders |= {f"principal:{principal}" for owner, principal in rows if owner is None and principal is not None}
    taken = sql.fetch_all(
        "SELECT event.data FROM event JOIN resume_admission ON resume_admission.suspension_id = %s"
        " JOIN event admitted ON admitted.id = resume_admission.event_id"
        " WHERE event.chain = %s AND event.position > admitted.position AND event.type = %s",
        (suspension_id, run_id, EventType.RUN_LEASE_TAKEN.value),
    )
    holders |= {loads(bytes(data))["lease"]["owner"] for (data,) in taken}
    return frozenset(holders)
