"""Webhooks, and the outbox of what they are told. Source: pages.md "People and access"; ADR 51."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from suspensions.domain.webhooks import DeliveryState
from suspensions.models.base import Scoped
from suspensions.models.fields import ExactTextField, InstantField

_PENDING = Q(state=DeliveryState.PENDING.value)
# SQLite takes a partial index only where the query says the very same.
_SETTLED = Q(state__in=[DeliveryState.DELIVERED.value, DeliveryState.FAILED.value])


class Webhook(Scoped):
    """A receiver of events of a scope and all below it. The secret is kept as it is, since every delivery is signed."""

    id = ExactTextField(primary_key=True)
    url = models.TextField()
    description = models.TextField()
    secret = models.TextField()
    types = ExactTextField()
    # What happened before is not told: when it was made, or enabled again.
    since = InstantField()
    created_by = ExactTextField()
    created_at = InstantField()
    disabled_at = InstantField(null=True)
    disabled_by = ExactTextField(null=True)

    class Meta:
        db_table = "webhook"
        constraints = [
            models.CheckConstraint(
                name="webhook_disabled_whole",
                condition=(Q(disabled_at__isnull=True) & Q(disabled_by__isnull=True))
                | (Q(disabled_at__isnull=False) & Q(disabled_by__isnull=False)),
            ),
        ]
        indexes = [
            models.Index(name="webhook_scope", fields=["scope", "id"]),
            models.Index(name="webhook_scope_1", fields=["scope_1", "id"]),
            models.Index(name="webhook_scope_2", fields=["scope_2", "id"]),
        ]


class WebhookDelivery(models.Model):
    """One event for one webhook. What it tells is copied, so that each attempt says the same."""

    id = models.BigAutoField(primary_key=True)
    webhook = models.ForeignKey(Webhook, on_delete=models.DO_NOTHING, db_index=False, related_name="deliveries")
    event_id = ExactTextField()
    type = ExactTextField()
    at = InstantField()
    scope = ExactTextField()
    run_id = ExactTextField(null=True)
    suspension_id = ExactTextField(null=True)
    state = ExactTextField()
    attempts = models.IntegerField()
    next_at = InstantField(null=True)
    last_status = models.IntegerField(null=True)
    last_error = models.TextField()
    created_at = InstantField()
    delivered_at = InstantField(null=True)

    class Meta:
        db_table = "webhook_delivery"
        constraints = [
            # A second look at the same events finds that this webhook was told.
            models.UniqueConstraint(name="webhook_delivery_once", fields=["event_id", "webhook"]),
            models.CheckConstraint(
                name="webhook_delivery_state",
                condition=(Q(state="pending") & Q(next_at__isnull=False) & Q(delivered_at__isnull=True))
                | (Q(state="delivered") & Q(next_at__isnull=True) & Q(delivered_at__isnull=False))
                | (Q(state="failed") & Q(next_at__isnull=True) & Q(delivered_at__isnull=True)),
            ),
        ]
        indexes = [
            models.Index(name="webhook_delivery_due", fields=["webhook", "next_at", "id"], condition=_PENDING),
            models.Index(name="webhook_delivery_list", fields=["webhook", "id"]),
            # Purging a run looks for what was told of it.
            models.Index(name="webhook_delivery_run", fields=["run_id"], condition=Q(run_id__isnull=False)),
            models.Index(name="webhook_delivery_settled", fields=["created_at"], condition=_SETTLED),
        ]


class WebhookPosition(models.Model):
    """Up to when all events were looked at, so that a deliverer that was away knows where to go on."""

    id = models.IntegerField(primary_key=True)
    looked_to = InstantField()

    class Meta:
        db_table = "webhook_position"
        constraints = [models.CheckConstraint(name="webhook_position_one", condition=Q(id=1))]
