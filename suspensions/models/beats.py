"""Signs of life of the processes that no request would miss. Source: store.md section 8."""

from __future__ import annotations

from django.db import models

from suspensions.models.fields import ExactTextField, InstantField


class Beat(models.Model):
    """When a process of this name on this host last said that it is there."""

    pk = models.CompositePrimaryKey("name", "host")
    name = ExactTextField()
    host = ExactTextField()
    at = InstantField()

    class Meta:
        db_table = "beat"
