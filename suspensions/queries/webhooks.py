"""Webhooks and what became of their deliveries, as the access pages show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min, OuterRef, Q, Subquery

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


@dataclass(frozen=True, slots=True)
class Delivering:
    """How one webhook that is not disabled is told: what waits, since when, and whether its receiver takes it."""

    webhook: Webhook
    pending: int
    oldest_at: datetime | None
    failing: bool
    """Something that waits was refused at least once."""
    given_up: bool
    """What was settled last was given up."""


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


def deliverings(reach: Reach) -> tuple[Delivering, ...]:
    """How each webhook within the reach that is not disabled is told; two queries, however many there are."""
    settled = WebhookDelivery.objects.filter(
        webhook_id=OuterRef("id"), state__in=[DeliveryState.DELIVERED.value, DeliveryState.FAILED.value]
    )
    rows = WebhookRow.objects.filter(within(reach), disabled_at__isnull=True).defer("secret")
    found = list(rows.order_by("id").annotate(last=Subquery(settled.order_by("-id").values("state")[:1])))
    refused = Q(last_status__isnull=False) | ~Q(last_error="")
    waiting = WebhookDelivery.objects.filter(
        webhook_id__in=[row.id for row in found], state=DeliveryState.PENDING.value
    ).order_by()
    waits = {
        row["webhook_id"]: row
        for row in waiting.values("webhook_id").annotate(
            pending=Count("pk"), oldest=Min("created_at"), refused=Count("pk", filter=refused)
        )
    }
    nothing = {"pending": 0, "oldest": None, "refused": 0}
    return tuple(
        Delivering(
            webhook=_to_webhook(row),
            pending=waits.get(row.id, nothing)["pending"],
            oldest_at=waits.get(row.id, nothing)["oldest"],
            failing=waits.get(row.id, nothing)["refused"] > 0,
            given_up=row.last == DeliveryState.FAILED.value,
        )
        for row in found
    )


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
