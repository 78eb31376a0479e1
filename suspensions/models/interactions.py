"""Single questions to a human. Source: store.md section 5."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from suspensions.models.base import Scoped
from suspensions.models.fields import ExactTextField, InstantField
from suspensions.models.runs import Run

_OPEN = Q(resolved_at__isnull=True) & Q(answered_at__isnull=True)


class Interaction(Scoped):
    """One question; contents as the JSON texts that came. Without a run it keeps the head of its own chain."""

    id = models.BigAutoField(primary_key=True)
    interaction_id = ExactTextField()
    run = models.ForeignKey(Run, null=True, on_delete=models.DO_NOTHING, db_column="run_id", db_index=False)
    # The run that an imported question names where this store has no such run: it binds to nothing.
    origin_run_id = ExactTextField(null=True)
    session_id = ExactTextField(null=True)
    tool_use_id = ExactTextField()
    tool_name = ExactTextField(null=True)
    tool_input = models.BinaryField(null=True)
    assistant = models.BinaryField()
    messages = models.BinaryField(null=True)
    content_sha256 = ExactTextField()
    digest = ExactTextField()
    created_by = ExactTextField()
    created_at = InstantField()
    answer = models.BinaryField(null=True)
    answer_sha256 = ExactTextField(null=True)
    answered_by = ExactTextField(null=True)
    answered_at = InstantField(null=True)
    resolved_at = InstantField(null=True)
    resolved_by = ExactTextField(null=True)
    event_position = models.BigIntegerField(default=0)
    event_hash = ExactTextField(null=True)

    class Meta:
        db_table = "interaction"
        constraints = [
            models.UniqueConstraint(name="interaction_id_in_scope", fields=["scope", "interaction_id"]),
            models.CheckConstraint(
                name="interaction_resolved_whole",
                condition=(Q(resolved_at__isnull=True) & Q(resolved_by__isnull=True))
                | (Q(resolved_at__isnull=False) & Q(resolved_by__isnull=False)),
            ),
        ]
        indexes = [
            models.Index(name="interaction_scope_open", fields=["scope", "created_at", "id"]),
            models.Index(name="interaction_scope_1", fields=["scope_1", "created_at", "id"]),
            models.Index(name="interaction_scope_2", fields=["scope_2", "created_at", "id"]),
            # Counted on every page.
            models.Index(name="interaction_open", fields=["scope", "created_at", "id"], condition=_OPEN),
            models.Index(name="interaction_open_1", fields=["scope_1", "created_at", "id"], condition=_OPEN),
            models.Index(name="interaction_open_2", fields=["scope_2", "created_at", "id"], condition=_OPEN),
            models.Index(
                name="interaction_settled",
                fields=["resolved_at", "id"],
                condition=Q(run__isnull=True) & Q(resolved_at__isnull=False),
            ),
            # Purging a run looks for all of its questions.
            models.Index(name="interaction_run", fields=["run"], condition=Q(run__isnull=False)),
            models.Index(name="interaction_run_open", fields=["run"], condition=Q(resolved_at__isnull=True)),
        ]
