"""Webhooks and what became of their deliveries, as the access pages show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min

from suspensions.domain.cursors import cursor_number, make_cursor, read_cursor
from suspensions.domain.errors import NotFound
from suspensions.domain.reach import Reach
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Page
from suspensions.domain.webhooks import Delivery, DeliveryState, Told, Webhook
from suspensions.models import Webhook as WebhookRow
from suspensions.models import WebhookDelivery
from suspensions.models.receipt_rows import read_actor
from suspensions.queries.reach import within


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits to be sent, over all webhooks that are not disabled."""

    pending: int
    oldest_at: datetime | None


def list_webhooks(reach: Reach) -> tuple[Webhook, ...]:
    """All webhooks within the reach, by scope, latest made first; disabled ones stay in the list."""
    rows = WebhookRow.objects.filter(within(reach)).defer("secret").order_by("scope", "-created_at", "-id")
    return tuple(_to_webhook(row) for row in rows)


def find_webhook(webhook_id: str) -> Webhook:
    """One, of whatever scope. Raises: NotFound."""
    row = WebhookRow.objects.defer("secret").filter(id=webhook_id).first()
    if row is None:
        raise NotFound
    return _to_webhook(row)


def list_deliveries(webhook_id: str, cursor: str | None, limit: int) -> Page[Delivery]:
    """What it was told or is to be told, latest found first. Raises: InvalidCursor."""
    binding = ("deliveries", webhook_id)
    after = read_cursor(cursor, binding, 1)
    rows = WebhookDelivery.objects.filter(webhook_id=webhook_id)
    if after is not None:
        rows = rows.filter(id__lt=cursor_number(after[0]))
    found = [_to_delivery(row) for row in rows.order_by("-id")[: limit + 1]]
    following = make_cursor(binding, str(found[limit - 1].id)) if len(found) > limit else None
    return Page(tuple(found[:limit]), following)


def count_pending(webhook_ids: list[str]) -> dict[str, int]:
    """How many deliveries wait, for each of these that has some."""
    waiting = WebhookDelivery.objects.filter(webhook_id__in=webhook_ids, state=DeliveryState.PENDING.value)
    return dict(waiting.order_by().values_list("webhook_id").annotate(Count("pk")))


def backlog() -> Backlog:
    """How much waits, and since when the oldest of it."""
    waiting = WebhookDelivery.objects.filter(state=DeliveryState.PENDING.value, webhook__disabled_at__isnull=True)
    counted = waiting.aggregate(pending=Count("pk"), oldest=Min("created_at"))
    return Backlog(counted["pending"], counted["oldest"])


def _to_webhook(row: WebhookRow) -> Webhook:
    return Webhook(
        id=row.id,
        scope=Scope(row.scope),
        url=row.url,
        description=row.description,
        types=tuple(row.types.split()),
        created_by=read_actor(row.created_by),
        created_at=row.created_at,
        disabled_at=row.disabled_at,
        disabled_by=None if row.disabled_by is None else read_actor(row.disabled_by),
    )


def _to_delivery(row: WebhookDelivery) -> Delivery:
    return Delivery(
        id=row.id,
        told=Told(row.event_id, row.type, row.at, Scope(row.scope), row.run_id, row.suspension_id),
        state=DeliveryState(row.state),
        attempts=row.attempts,
        next_at=row.next_at,
        last_status=row.last_status,
        last_error=row.last_error,
        created_at=row.created_at,
        delivered_at=row.delivered_at,
    )
