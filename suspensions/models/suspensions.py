"""Pauses and their continuations. Source: store.md section 2."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from suspensions.domain.values import Reason
from suspensions.models.base import Scoped
from suspensions.models.fields import Due, ExactTextField, InstantField
from suspensions.models.runs import Run

_LIVE = Q(retired_at__isnull=True)
_WAITING = _LIVE & Q(claimed_at__isnull=True)


def _queue(name: str, scope: str) -> models.Index:
    """What the queue is read from: each scope's waiting pauses of each reason, nearest deadline first.

    `expires_at` stands in it once more as it is, without which PostgreSQL looks into the table for each row.
    """
    order = (F(scope), F("reason"), Due("expires_at"), F("id"))
    return models.Index(*order, name=name, condition=_WAITING, include=["expires_at"])


class Suspension(Scoped):
    """A pause. Its pending calls as the JSON text that came; its continuation stands in a table of its own.

    `calls` are bounded previews and `search_text` bounded words, so that lists never read `pending`.
    """

    id = ExactTextField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, db_column="run_id", db_index=False)
    reason = ExactTextField()
    agent_name = ExactTextField(null=True)
    pending = models.BinaryField()
    calls = models.BinaryField()
    search_text = models.TextField()
    pending_sha256 = ExactTextField()
    continuation_sha256 = ExactTextField()
    digest = ExactTextField()
    request_sha256 = ExactTextField()
    checkpoint_id = ExactTextField(null=True)
    expires_at = InstantField(null=True)
    created_by = ExactTextField()
    created_at = InstantField()
    updated_at = InstantField()
    claimed_at = InstantField(null=True)
    retired_at = InstantField(null=True)

    class Meta:
        db_table = "suspension"
        constraints = [
            models.CheckConstraint(
                name="suspension_reason_known", condition=Q(reason__in=[str(reason) for reason in Reason])
            ),
            models.UniqueConstraint(name="suspension_one_live_per_run", fields=["run"], condition=_LIVE),
        ]
        indexes = [
            models.Index(name="suspension_run", fields=["run", "id"]),
            models.Index(name="suspension_expiry", fields=["expires_at", "id"], condition=_WAITING),
            models.Index(name="suspension_scope_waiting", fields=["scope", "created_at", "id"], condition=_LIVE),
            models.Index(name="suspension_scope_1_waiting", fields=["scope_1", "created_at", "id"], condition=_LIVE),
            models.Index(name="suspension_scope_2_waiting", fields=["scope_2", "created_at", "id"], condition=_LIVE),
            _queue("suspension_queue", "scope"),
            _queue("suspension_queue_1", "scope_1"),
            _queue("suspension_queue_2", "scope_2"),
        ]


class SuspensionContinuation(models.Model):
    """A pause's continuation, written once and read only by whoever continues or looks at it."""

    suspension = models.OneToOneField(
        Suspension, primary_key=True, on_delete=models.DO_NOTHING, db_column="suspension_id"
    )
    body = models.BinaryField()

    class Meta:
        db_table = "suspension_continuation"
