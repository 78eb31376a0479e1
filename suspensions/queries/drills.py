"""Whether a database is a demo's."""

from __future__ import annotations

from suspensions.domain.scopes import Scope
from suspensions.models import Interaction, Run
from suspensions.queries.reach import within


def holds_others(scope: Scope) -> bool:
    """Whether anything lies outside of the scope."""
    inside = within((scope,))
    return Run.objects.exclude(inside).exists() or Interaction.objects.exclude(inside).exists()
