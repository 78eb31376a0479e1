"""What stays of runs that were purged, and what was signed of what is there. Source: store.md sections 3 and 10."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from suspensions.models.fields import ExactTextField, InstantField

_SIGNED = Q(key_id__isnull=False) & Q(signature__isnull=False)
_UNSIGNED = Q(key_id__isnull=True) & Q(signature__isnull=True)


class PurgeRecord(models.Model):
    """One batch of chains that was removed for good, linked to the record before. Insert-only, without a door."""

    number = models.BigIntegerField(primary_key=True)
    at = InstantField()
    purged_by = ExactTextField()
    ended_before = InstantField()
    count = models.IntegerField()
    heads_sha256 = ExactTextField()
    previous = ExactTextField(null=True, unique=True)
    hash = ExactTextField(unique=True)
    key_id = ExactTextField(null=True)
    signature = models.BinaryField(null=True)

    class Meta:
        db_table = "purge_record"
        constraints = [
            models.CheckConstraint(name="purge_record_counts_up", condition=Q(number__gte=1)),
            models.CheckConstraint(name="purge_record_signed_whole", condition=_SIGNED | _UNSIGNED),
        ]


class PurgeRecordHead(models.Model):
    """The head of a chain that a purge removed: that it was there, how long it was, and what it ended in."""

    pk = models.CompositePrimaryKey("number", "chain")
    number = models.BigIntegerField()
    chain = ExactTextField()
    position = models.BigIntegerField()
    hash = ExactTextField()

    class Meta:
        db_table = "purge_record_head"
        indexes = [models.Index(name="purge_record_head_chain", fields=["chain"])]


class PurgeWindow(models.Model):
    """While a row stands here, inside the purging transaction alone, receipts and events may be deleted.

    It cannot outlive its transaction: `closed_by` must be 0, which no purge record is, and its foreign key is looked
    at when the transaction commits. So no other connection ever sees a row here.
    """

    id = models.IntegerField(primary_key=True)
    opened_at = InstantField()
    closed_by = models.ForeignKey(PurgeRecord, on_delete=models.DO_NOTHING, db_index=False)

    class Meta:
        db_table = "purge_window"
        constraints = [
            models.CheckConstraint(name="purge_window_one", condition=Q(id=1)),
            models.CheckConstraint(name="purge_window_never_committed", condition=Q(closed_by=0)),
        ]


class Checkpoint(models.Model):
    """A signature over the heads that changed since the last one, and over that one's hash. Insert-only.

    `purge_number` and `purge_hash` are those of the last purge record that was there.
    """

    number = models.BigIntegerField(primary_key=True)
    at = InstantField()
    count = models.IntegerField()
    heads_sha256 = ExactTextField()
    purge_number = models.BigIntegerField()
    purge_hash = ExactTextField(null=True)
    previous = ExactTextField(null=True, unique=True)
    hash = ExactTextField(unique=True)
    key_id = ExactTextField()
    signature = models.BinaryField()

    class Meta:
        db_table = "checkpoint"
        constraints = [models.CheckConstraint(name="checkpoint_counts_up", condition=Q(number__gte=1))]


class CheckpointHead(models.Model):
    """A chain's head as a checkpoint covered it, kept so that a removed run or a cut tail is found."""

    pk = models.CompositePrimaryKey("number", "chain")
    number = models.BigIntegerField()
    chain = ExactTextField()
    position = models.BigIntegerField()
    hash = ExactTextField()

    class Meta:
        db_table = "checkpoint_head"
        indexes = [models.Index(name="checkpoint_head_chain", fields=["chain", "position"])]
