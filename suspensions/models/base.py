"""What every scoped table shares."""

from __future__ import annotations

from django.db import models

from suspensions.models.fields import ExactTextField


class Scoped(models.Model):
    """A row in a scope: its text, and the scope cut to one, two and three levels (empty below its depth)."""

    scope = ExactTextField()
    scope_1 = ExactTextField()
    scope_2 = ExactTextField()
    scope_3 = ExactTextField()

    class Meta:
        abstract = True
