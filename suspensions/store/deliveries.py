"""The outbox of webhooks: which events are to be told to whom, who sends one now, and what came of it.

Process infrastructure alone, across all scopes, but for `insert_delivery` and `retry_delivery`. Nothing here runs in
the transaction of an event: what happens is found afterwards, so that no write waits for a webhook. Source: ADR 51.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from suspensions.domain.errors import InvalidState, NotFound
from suspensions.domain.scopes import Scope
from suspensions.domain.webhooks import Answer, Claimed, DeliveryState, Told
from suspensions.models.fields import from_database, read_instant
from suspensions.store import sql

_TOLD = ("event_id", "type", "at", "scope", "run_id", "suspension_id")
_COLUMNS = ("webhook_id", *_TOLD, "state", "attempts", "next_at", "last_error", "created_at")
ROWS = 200
"""Rows of one INSERT: both engines bound the number of parameters."""

Pair = tuple[str, str]
"""An event and a webhook."""


# -- finding what is to be told ------------------------------------------------------------------------


def looked_to() -> datetime | None:
    """Up to when all events were looked at."""
    row = sql.fetch_one("SELECT looked_to FROM webhook_position WHERE id = 1", ())
    return None if row is None else from_database(row[0])


def keep_looked_to(instant: datetime) -> None:
    """Keep it for whoever begins anew; of two, the later one stands."""
    sql.require_transaction()
    sql.write(
        sql.Write(
            "INSERT INTO webhook_position (id, looked_to) VALUES (1, %s)"
            " ON CONFLICT (id) DO UPDATE SET looked_to = excluded.looked_to"
            " WHERE webhook_position.looked_to < excluded.looked_to",
            (sql.instant(instant),),
            exactly=False,
        )
    )


def events_after(event_id: str, scopes: Sequence[Scope], limit: int) -> tuple[list[Told], str | None]:
    """Events that the scopes cover, in the order of their ids; and where this batch ended (None: it was the last).

    By the primary key, which grows with time, so that the events need no index more than they have.
    """
    columns = sql.among("scope_1", scopes), sql.among("scope_2", scopes), sql.among("scope_3", scopes)
    texts = [scope.text for scope in scopes]
    rows = sql.fetch_all(
        f"SELECT id, type, at, scope, run_id, suspension_id FROM event WHERE id > %s AND ({' OR '.join(columns)})"
        " ORDER BY id LIMIT %s",
        (event_id, *texts, *texts, *texts, limit),
    )
    found = [Told(row[0], row[1], read_instant(row[2]), Scope(row[3]), row[4], row[5]) for row in rows]
    return found, found[-1].event_id if len(found) == limit else None


def told_between(first: str, last: str) -> set[Pair]:
    """Which webhook has which event of these already, ends included."""
    words = "event_id >= %s AND event_id <= %s"
    rows = sql.fetch_all(f"SELECT event_id, webhook_id FROM webhook_delivery WHERE {words}", (first, last))
    return {(row[0], row[1]) for row in rows}


def add_deliveries(found: Sequence[tuple[Told, str]], now: datetime) -> None:
    """Keep what is to be told, each event once for each webhook; what somebody else kept already stays as it is."""
    sql.require_transaction()
    for start in range(0, len(found), ROWS):
        rows = [_row(told, webhook_id, now) for told, webhook_id in found[start : start + ROWS]]
        places = ", ".join([f"({', '.join(['%s'] * len(_COLUMNS))})"] * len(rows))
        sql.write(
            sql.Write(
                f"INSERT INTO webhook_delivery ({', '.join(_COLUMNS)}) VALUES {places}"
                " ON CONFLICT (event_id, webhook_id) DO NOTHING",
                tuple(value for row in rows for value in row),
                exactly=False,
            )
        )


def insert_delivery(told: Told, webhook_id: str, now: datetime) -> None:
    """Keep one delivery, which is due at once."""
    add_deliveries([(told, webhook_id)], now)


def _row(told: Told, webhook_id: str, now: datetime) -> tuple[Any, ...]:
    at, due = sql.instant(told.at), sql.instant(now)
    about = (told.event_id, told.type, at, told.scope.text, told.run_id, told.suspension_id)
    return (webhook_id, *about, DeliveryState.PENDING.value, 0, due, "", due)


# -- sending -------------------------------------------------------------------------------------------


def due_webhooks(now: datetime) -> list[str]:
    """The webhooks for which something is due, without locking anything."""
    rows = sql.fetch_all(
        "SELECT id FROM webhook WHERE disabled_at IS NULL AND EXISTS (SELECT 1 FROM webhook_delivery"
        " WHERE webhook_id = webhook.id AND state = 'pending' AND next_at <= %s) ORDER BY id",
        (sql.instant(now),),
    )
    return [row[0] for row in rows]


def claim_due(webhook_id: str, now: datetime, until: datetime, limit: int) -> list[Claimed]:
    """Take what is due for this webhook, longest due first, for nobody else to send before `until`.

    A claimer that is killed has sent it or not: whoever comes after `until` sends it again. What somebody else is
    claiming right now is left to them. *Locks*: the deliveries.
    """
    sql.require_transaction()
    webhook = sql.fetch_one("SELECT url, secret FROM webhook WHERE id = %s AND disabled_at IS NULL", (webhook_id,))
    if webhook is None:
        return []
    lock = " FOR UPDATE SKIP LOCKED" if sql.is_postgresql() else ""
    rows = sql.fetch_all(
        f"SELECT id, attempts, {', '.join(_TOLD)} FROM webhook_delivery"
        " WHERE webhook_id = %s AND state = 'pending' AND next_at <= %s"
        f" ORDER BY next_at, id LIMIT %s{lock}",
        (webhook_id, sql.instant(now), limit),
    )
    if not rows:
        return []
    keys = [row[0] for row in rows]
    changed = f"UPDATE webhook_delivery SET attempts = attempts + 1, next_at = %s WHERE {sql.among('id', keys)}"
    sql.write(sql.Write(changed, (sql.instant(until), *keys), exactly=False))
    return [
        Claimed(
            id=row[0],
            webhook_id=webhook_id,
            attempt=row[1] + 1,
            told=Told(row[2], row[3], read_instant(row[4]), Scope(row[5]), row[6], row[7]),
            url=webhook[0],
            secret=webhook[1],
        )
        for row in rows
    ]


def keep_delivered(claimed: Claimed, answer: Answer, now: datetime) -> bool:
    """Note that it was taken, also where it was given up meanwhile; False where somebody claimed it after us."""
    sql.require_transaction()
    changes = {
        "state": DeliveryState.DELIVERED,
        "next_at": None,
        "last_status": answer.status,
        "last_error": "",
        "delivered_at": now,
    }
    return _settle(changes, {"id": claimed.id, "attempts": claimed.attempt, "delivered_at": None})


def keep_failure(claimed: Claimed, answer: Answer, again: datetime | None) -> bool:
    """Note that it was not taken, and when to try again (None: it is given up); False where it is not ours any more."""
    sql.require_transaction()
    changes = {
        "state": DeliveryState.FAILED if again is None else DeliveryState.PENDING,
        "next_at": again,
        "last_status": answer.status,
        "last_error": answer.error,
    }
    ours = {"id": claimed.id, "attempts": claimed.attempt, "state": DeliveryState.PENDING.value}
    return _settle(changes, ours)


def _settle(changes: dict[str, Any], ours: dict[str, Any]) -> bool:
    try:
        sql.write(sql.update("webhook_delivery", changes, ours))
    except sql.GuardFailed:
        return False
    return True


def retry_delivery(webhook_id: str, delivery_id: int, now: datetime) -> None:
    """Make one that was given up due once more. Raises: NotFound; InvalidState where it was not given up."""
    sql.require_transaction()
    words = "SELECT state FROM webhook_delivery WHERE id = %s AND webhook_id = %s"
    row = sql.fetch_locked(words, (delivery_id, webhook_id))
    if row is None:
        raise NotFound
    if row[0] != DeliveryState.FAILED:
        raise InvalidState(row[0], f"The delivery is {row[0]}: only one that was given up is tried again by hand.")
    changes = {"state": DeliveryState.PENDING, "next_at": now}
    sql.write(sql.update("webhook_delivery", changes, {"id": delivery_id, "state": DeliveryState.FAILED.value}))


def forget_settled(before: datetime, limit: int) -> int:
    """Remove some that were settled and are older; how many."""
    sql.require_transaction()
    old = "state IN ('delivered', 'failed') AND created_at < %s ORDER BY created_at LIMIT %s"
    return sql.delete(
        "webhook_delivery", f"id IN (SELECT id FROM webhook_delivery WHERE {old})", (sql.instant(before), limit)
    )
