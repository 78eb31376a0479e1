"""Webhooks: who is told of events. Source: pages.md "People and access"; ADR 51."""

from __future__ import annotations

from datetime import datetime

from suspensions.domain.errors import NotFound
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Actor
from suspensions.domain.webhooks import DeliveryState, Listener
from suspensions.models.fields import read_instant
from suspensions.store import sql
from suspensions.store.run_rows import actor_text, scope_columns

DISABLED = "the webhook was disabled"


def insert_webhook(
    webhook_id: str,
    scope: Scope,
    *,
    url: str,
    description: str,
    types: tuple[str, ...],
    secret: str,
    actor: Actor,
    now: datetime,
) -> None:
    """Keep a new webhook, which is told of what happens from now on."""
    sql.require_transaction()
    sql.write(
        sql.insert(
            "webhook",
            {
                "id": webhook_id,
                **scope_columns(scope),
                "url": url,
                "description": description,
                "secret": secret,
                "types": " ".join(types),
                "since": now,
                "created_by": actor_text(actor),
                "created_at": now,
                "disabled_at": None,
                "disabled_by": None,
            },
        )
    )


def replace_secret(webhook_id: str, secret: str) -> None:
    """Sign with another secret from now on. Raises: NotFound."""
    sql.require_transaction()
    _lock(webhook_id)
    sql.write(sql.update("webhook", {"secret": secret}, {"id": webhook_id}))


def disable_webhook(webhook_id: str, actor: Actor, now: datetime) -> bool:
    """Tell it nothing more, and give up what it was not told yet; whether it was not disabled before.

    *Locks*: its row, before those of its deliveries. Raises: NotFound.
    """
    sql.require_transaction()
    if _lock(webhook_id):
        return False
    changes = {"disabled_at": now, "disabled_by": actor_text(actor)}
    sql.write(sql.update("webhook", changes, {"id": webhook_id, "disabled_at": None}))
    _give_up(webhook_id)
    return True


def enable_webhook(webhook_id: str, now: datetime) -> bool:
    """Tell it of what happens from now on, and not of what happened meanwhile; whether it was disabled.

    Raises: NotFound.
    """
    sql.require_transaction()
    if not _lock(webhook_id):
        return False
    # What somebody found for it while it was being disabled.
    _give_up(webhook_id)
    sql.write(sql.update("webhook", {"disabled_at": None, "disabled_by": None, "since": now}, {"id": webhook_id}))
    return True


def is_enabled(webhook_id: str) -> bool:
    """Whether it is told of events, held so until the transaction ends. Raises: NotFound."""
    sql.require_transaction()
    return not _lock(webhook_id)


def listeners() -> list[Listener]:
    """All webhooks that are told of events, of all scopes. Process infrastructure alone: no request reaches it."""
    rows = sql.fetch_all("SELECT id, scope, types, since FROM webhook WHERE disabled_at IS NULL ORDER BY id", ())
    return [Listener(row[0], Scope(row[1]), tuple(row[2].split()), read_instant(row[3])) for row in rows]


def _lock(webhook_id: str) -> bool:
    """Lock it; whether it is disabled. Raises: NotFound."""
    row = sql.fetch_locked("SELECT disabled_at FROM webhook WHERE id = %s", (webhook_id,))
    if row is None:
        raise NotFound
    return row[0] is not None


def _give_up(webhook_id: str) -> None:
    sql.write(
        sql.update(
            "webhook_delivery",
            {"state": DeliveryState.FAILED, "next_at": None, "last_error": DISABLED},
            {"webhook_id": webhook_id, "state": DeliveryState.PENDING.value},
            exactly=False,
        )
    )
