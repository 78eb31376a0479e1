"""Runs, their contents and their progress. Source: store.md sections 1 and 2."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from suspensions.domain.states import ResumeState, RunState
from suspensions.models.base import Scoped
from suspensions.models.fields import ExactTextField, InstantField

_HELD = Q(lease_owner__isnull=False) & Q(lease_expires_at__isnull=False) & ~Q(lease_owner="")
_UNHELD = Q(lease_owner__isnull=True) & Q(lease_expires_at__isnull=True)
_NO_RESUME = Q(admission_id__isnull=True) & Q(resume__isnull=True) & Q(admitted_at__isnull=True)
# A check passes where it is unknown: without the two "is there" a missing resume would do.
_RESUME = (
    Q(admission_id__isnull=False)
    & Q(resume__isnull=False)
    & Q(admitted_at__isnull=False)
    & Q(resume__in=[str(state) for state in ResumeState])
)
_UNDER_WAY = Q(resume=ResumeState.STARTED.value, state=RunState.RUNNING.value)


class Run(Scoped):
    """The row that orders everything of a run: whoever decides something about a run locks it first.

    What decides stands in its own columns (state, revision, lease, admission), since PostgreSQL re-reads
    after a lock only the row that it locked.
    """

    id = ExactTextField(primary_key=True)
    agent_id = ExactTextField(null=True)
    agent_name = ExactTextField(null=True)
    session_id = ExactTextField(null=True)
    state = ExactTextField()
    revision = models.BigIntegerField()
    step_count = models.BigIntegerField(default=0)
    tokens_used = models.BigIntegerField(default=0)
    persona_ref = ExactTextField(default="")
    metadata = models.BinaryField()
    request_sha256 = ExactTextField()
    finish_sha256 = ExactTextField(null=True)
    lease_owner = ExactTextField(null=True)
    lease_expires_at = InstantField(null=True)
    lease_epoch = models.BigIntegerField(default=0)
    progress_epoch = models.BigIntegerField(default=0)
    progress_revision = models.BigIntegerField(default=0)
    created_by = ExactTextField()
    created_at = InstantField()
    updated_at = InstantField()
    started_at = InstantField(null=True)
    completed_at = InstantField(null=True)
    last_suspension_id = ExactTextField(null=True)
    admission_id = ExactTextField(null=True)
    resume = ExactTextField(null=True)
    admitted_at = InstantField(null=True)
    start_by = InstantField(null=True)
    open_interactions = models.IntegerField(default=0)
    event_position = models.BigIntegerField(default=0)
    event_hash = ExactTextField(null=True)

    class Meta:
        db_table = "run"
        constraints = [
            models.CheckConstraint(name="run_state_known", condition=Q(state__in=[str(state) for state in RunState])),
            models.CheckConstraint(name="run_lease_both_or_neither", condition=_HELD | _UNHELD),
            models.CheckConstraint(name="run_revision_positive", condition=Q(revision__gte=1)),
            models.CheckConstraint(name="run_resume_whole", condition=_NO_RESUME | _RESUME),
            models.CheckConstraint(
                name="run_unheld_while_paused_or_ended",
                condition=Q(state__in=[RunState.CREATED.value, RunState.RUNNING.value]) | _UNHELD,
            ),
        ]
        indexes = [
            models.Index(name="run_scope_created", fields=["scope", "created_at", "id"]),
            models.Index(name="run_scope_1_created", fields=["scope_1", "created_at", "id"]),
            models.Index(name="run_scope_2_created", fields=["scope_2", "created_at", "id"]),
            models.Index(
                name="run_start_next",
                fields=["scope", "admitted_at", "admission_id"],
                condition=Q(resume=ResumeState.ADMITTED.value),
            ),
            # The same order for whoever sees more than one scope.
            models.Index(
                name="run_start_next_1",
                fields=["scope_1", "admitted_at", "admission_id"],
                condition=Q(resume=ResumeState.ADMITTED.value),
            ),
            models.Index(
                name="run_start_next_2",
                fields=["scope_2", "admitted_at", "admission_id"],
                condition=Q(resume=ResumeState.ADMITTED.value),
            ),
            models.Index(name="run_start_overdue", fields=["start_by"], condition=Q(resume=ResumeState.ADMITTED.value)),
            models.Index(name="run_started", fields=["scope", "admission_id"], condition=_UNDER_WAY),
            models.Index(name="run_started_1", fields=["scope_1", "admission_id"], condition=_UNDER_WAY),
            models.Index(name="run_started_2", fields=["scope_2", "admission_id"], condition=_UNDER_WAY),
            models.Index(name="run_ended", fields=["completed_at", "id"], condition=Q(completed_at__isnull=False)),
            models.Index(
                name="run_lease_lapse",
                fields=["lease_expires_at"],
                condition=Q(lease_expires_at__isnull=False),
            ),
        ]


class RunContent(models.Model):
    """A run's input, in a table of its own: SQLite rewrites a whole row at every update of it."""

    run = models.OneToOneField(Run, primary_key=True, on_delete=models.DO_NOTHING, db_column="run_id")
    input = models.BinaryField()

    class Meta:
        db_table = "run_content"


class RunResult(models.Model):
    """A run's output and error, written by its end."""

    run = models.OneToOneField(Run, primary_key=True, on_delete=models.DO_NOTHING, db_column="run_id")
    output = models.BinaryField()
    error = models.BinaryField()

    class Meta:
        db_table = "run_result"


class Progress(models.Model):
    """The last snapshot of a run, replaced whole."""

    run = models.OneToOneField(Run, primary_key=True, on_delete=models.DO_NOTHING, db_column="run_id")
    owner = ExactTextField()
    epoch = models.BigIntegerField()
    continuation = models.BinaryField()
    started = models.BinaryField(null=True)
    done = models.BinaryField(null=True)
    ending_kind = ExactTextField(null=True)
    ending_reason = models.TextField(null=True)
    updated_at = InstantField()

    class Meta:
        db_table = "progress"
        constraints = [
            models.CheckConstraint(
                name="progress_ending_known",
                condition=Q(ending_kind__isnull=True) | Q(ending_kind__in=["cancel", "expire"]),
            )
        ]
        indexes = [
            models.Index(name="progress_ending", fields=["run"], condition=Q(ending_kind__isnull=False)),
        ]
