"""Receipts and events: insert-only, guarded by triggers on both engines. Source: store.md sections 3, 4 and 10."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from suspensions.domain.values import EventType, Reason
from suspensions.models.base import Scoped
from suspensions.models.fields import ExactTextField, InstantField
from suspensions.models.runs import Run

_EXPIRED = Q(type__in=[EventType.RUN_EXPIRED.value, EventType.RESUME_EXPIRED.value])


class Admission(Scoped):
    """One answer admitted to one pause; it survives the pause's retirement."""

    suspension_id = ExactTextField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, db_column="run_id", db_index=False)
    schema_version = models.IntegerField()
    run_revision = models.BigIntegerField()
    input = models.BinaryField()
    input_sha256 = ExactTextField()
    input_bytes = models.BigIntegerField()
    request_digest = ExactTextField()
    suspension_digest = ExactTextField()
    claimed_revision = models.BigIntegerField()
    admitted_at = InstantField()
    admitted_by = ExactTextField()
    reason = ExactTextField()
    start_by = InstantField(null=True)
    lease_owner = ExactTextField(null=True)
    lease_epoch = models.BigIntegerField(null=True)
    event_id = ExactTextField()
    record_sha256 = ExactTextField()

    class Meta:
        db_table = "resume_admission"
        constraints = [
            models.CheckConstraint(
                name="admission_reason_known", condition=Q(reason__in=[str(reason) for reason in Reason])
            ),
            models.CheckConstraint(
                name="admission_input_size", condition=Q(input_bytes__gte=1) & Q(input_bytes__lte=8 << 20)
            ),
            models.CheckConstraint(
                name="admission_claimed_next", condition=Q(claimed_revision=models.F("run_revision") + 1)
            ),
        ]
        indexes = [
            models.Index(name="admission_scope", fields=["scope", "suspension_id"]),
            models.Index(name="admission_scope_1", fields=["scope_1", "suspension_id"]),
            models.Index(name="admission_scope_2", fields=["scope_2", "suspension_id"]),
            models.Index(name="admission_run", fields=["run", "suspension_id"]),
        ]


class StartOrExpiry(Scoped):
    """The one thing that can become of an admission: a start or an expiry.

    Both kinds share a table because one unique key must exclude the other, and no constraint spans two tables.
    """

    suspension_id = ExactTextField(primary_key=True)
    kind = ExactTextField()
    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, db_column="run_id", db_index=False)
    schema_version = models.IntegerField()
    run_revision = models.BigIntegerField()
    request_digest = ExactTextField()
    at = InstantField()
    actor = ExactTextField()
    principal = ExactTextField()
    lease_owner = ExactTextField(null=True)
    lease_epoch = models.BigIntegerField(null=True)
    request_id = ExactTextField(null=True)
    expired_revision = models.BigIntegerField(null=True)
    event_id = ExactTextField()
    record_sha256 = ExactTextField()

    class Meta:
        db_table = "resume_start_or_expiry"
        constraints = [
            models.CheckConstraint(
                name="start_or_expiry_kind",
                condition=(Q(kind="start") & Q(expired_revision__isnull=True))
                | (
                    Q(kind="expiry")
                    & Q(expired_revision__isnull=False)
                    & Q(lease_owner__isnull=True)
                    & Q(request_id__isnull=True)
                ),
            ),
            models.UniqueConstraint(
                name="start_request_once",
                fields=["scope", "principal", "request_id"],
                condition=Q(request_id__isnull=False),
            ),
        ]
        indexes = [
            models.Index(name="start_or_expiry_scope", fields=["scope", "kind", "suspension_id"]),
            models.Index(name="start_or_expiry_scope_1", fields=["scope_1", "kind", "suspension_id"]),
            models.Index(name="start_or_expiry_scope_2", fields=["scope_2", "kind", "suspension_id"]),
            models.Index(name="start_or_expiry_run", fields=["run", "suspension_id"]),
        ]


class Closure(Scoped):
    """An uncertain start, ended as incomplete with proof."""

    suspension_id = ExactTextField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, db_column="run_id", db_index=False)
    schema_version = models.IntegerField()
    version_revision = models.BigIntegerField()
    admission_digest = ExactTextField()
    start_digest = ExactTextField()
    request_revision = models.BigIntegerField()
    actor = ExactTextField()
    issuer = ExactTextField()
    issuer_revision = ExactTextField()
    proof_ref = ExactTextField(unique=True)
    proof_digest = ExactTextField()
    proof = models.BinaryField()
    observed_at = InstantField()
    expires_at = InstantField()
    request_digest = ExactTextField()
    event_id = ExactTextField()
    run_revision = models.BigIntegerField()
    closed_at = InstantField()
    closed_by = ExactTextField()
    record_sha256 = ExactTextField()

    class Meta:
        db_table = "resume_closure"
        constraints = [
            models.CheckConstraint(
                name="closure_next_revision", condition=Q(run_revision=models.F("request_revision") + 1)
            ),
        ]
        indexes = [
            models.Index(name="closure_scope", fields=["scope", "suspension_id"]),
            models.Index(name="closure_scope_1", fields=["scope_1", "suspension_id"]),
            models.Index(name="closure_scope_2", fields=["scope_2", "suspension_id"]),
            models.Index(name="closure_run", fields=["run", "suspension_id"]),
        ]


class Event(Scoped):
    """One link of a run's chain, or of the chain of an interaction that has no run."""

    id = ExactTextField(primary_key=True)
    chain = ExactTextField()
    run_id = ExactTextField(null=True)
    type = ExactTextField()
    at = InstantField()
    actor = ExactTextField()
    revision = models.BigIntegerField(null=True)
    suspension_id = ExactTextField(null=True)
    data = models.BinaryField()
    position = models.BigIntegerField()
    previous = ExactTextField(null=True)
    record_sha256 = ExactTextField(null=True)
    hash = ExactTextField()

    class Meta:
        db_table = "event"
        constraints = [
            models.UniqueConstraint(name="event_chain_position", fields=["chain", "position"]),
            models.CheckConstraint(name="event_type_known", condition=Q(type__in=[str(kind) for kind in EventType])),
        ]
        indexes = [
            models.Index(name="event_scope_at", fields=["scope", "at", "id"]),
            # What failed by time alone, so that the other events cost nothing more.
            models.Index(name="event_expired", fields=["scope", "at", "id"], condition=_EXPIRED),
            models.Index(name="event_expired_1", fields=["scope_1", "at", "id"], condition=_EXPIRED),
            models.Index(name="event_expired_2", fields=["scope_2", "at", "id"], condition=_EXPIRED),
        ]
