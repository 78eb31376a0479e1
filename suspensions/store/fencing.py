"""What the closing fence locks and reads inside its transaction. Source: store.md section 6."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from suspensions.domain.policy import Grant, Role
from suspensions.domain.proofs import Dispatch
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import loads
from suspensions.domain.values import EventType
from suspensions.models.fields import read_instant
from suspensions.models.receipt_rows import read_actor
from suspensions.store import sql


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


def dispatch_history(scope: Scope, run_id: str, suspension_id: str) -> tuple[Dispatch, ...]:
    """Every worker that held the run since its admission, from what was retained: never from configuration.

    Lease owners at admission, start, reclaim and claim; an unleased start or claim counts as `principal:<name>`.
    Each is there once, with the instant that it first held the run, oldest first.
    """
    rows = sql.fetch_all(
        "SELECT lease_owner, NULL, admitted_at FROM resume_admission"
        " WHERE suspension_id = %s AND run_id = %s AND scope = %s"
        " UNION ALL SELECT lease_owner, principal, at FROM resume_start_or_expiry"
        " WHERE suspension_id = %s AND run_id = %s AND scope = %s AND kind = 'start'",
        (suspension_id, run_id, scope.text) * 2,
    )
    taken = [
        (read_instant(at), owner or f"principal:{principal}")
        for owner, principal, at in rows
        if owner is not None or principal is not None
    ]
    later = sql.fetch_all(
        "SELECT event.data, event.actor, event.at FROM event"
        " JOIN resume_admission ON resume_admission.suspension_id = %s"
        " JOIN event admitted ON admitted.id = resume_admission.event_id"
        f" WHERE event.chain = %s AND event.position > admitted.position AND {sql.among('event.type', _TAKES)}",
        (suspension_id, run_id, *_TAKES),
    )
    for data, actor, at in later:
        holder = _holder(loads(bytes(data)), actor)
        if holder is not None:
            taken.append((read_instant(at), holder))
    first: dict[str, datetime] = {}
    for at, holder in sorted(taken):
        first.setdefault(holder, at)
    return tuple(Dispatch(holder, at) for holder, at in first.items())


def dispatch_evidence(scope: Scope, run_id: str, suspension_id: str) -> frozenset[str]:
    """The workers of the history, whom a proof must name."""
    return frozenset(dispatch.holder for dispatch in dispatch_history(scope, run_id, suspension_id))


# Reclaims; claims of a later pause, and of an incomplete run that goes on.
_TAKES = (EventType.RUN_LEASE_TAKEN.value, EventType.RUN_CLAIMED.value)


def _holder(data: Mapping[str, Any], actor: str) -> str | None:
    """Who held the run from such an event on; None where the claim was made to end it."""
    if "lease" not in data:
        return None
    owner: str = f"principal:{read_actor(actor).principal}" if data["lease"] is None else data["lease"]["owner"]
    return owner
