"""How much of everything there is at this moment, over all scopes: numbers alone, for those who watch.

Source: operate.md `/metrics`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Count, Min

from suspensions.domain.states import ResumeState
from suspensions.domain.values import Reason
from suspensions.models import Beat, Checkpoint, Interaction, Run, Suspension
from suspensions.models.fields import from_database
from suspensions.queries.counts import uncertain_everywhere
from suspensions.queries.webhooks import Backlog, backlog


@dataclass(frozen=True, slots=True)
class Gauges:
    """What waits, since when, and when the sweeper and the signer of checkpoints were last heard of."""

    waiting: Mapping[str, int]
    oldest_waiting_at: datetime | None
    overdue: int
    decided: int
    oldest_decided_at: datetime | None
    uncertain: int
    open_interactions: int
    beats: Mapping[tuple[str, str], datetime]
    last_checkpoint_at: datetime | None
    webhooks: Backlog


# No index knows the oldest of all scopes, but one knows the oldest of each first part of a scope, and those are few.
_OLDEST_WAITING = """
WITH RECURSIVE parts (scope_1) AS (
    SELECT MIN(scope_1) FROM suspension WHERE retired_at IS NULL
    UNION ALL
    SELECT (SELECT MIN(scope_1) FROM suspension WHERE retired_at IS NULL AND scope_1 > parts.scope_1)
    FROM parts WHERE parts.scope_1 IS NOT NULL
)
SELECT MIN(oldest) FROM (
    SELECT (
        SELECT created_at FROM suspension
        WHERE scope_1 = parts.scope_1 AND retired_at IS NULL AND claimed_at IS NULL
        ORDER BY created_at, id LIMIT 1
    ) AS oldest FROM parts
) AS of_parts
"""


def _oldest_waiting() -> datetime | None:
    with connection.cursor() as cursor:
        cursor.execute(_OLDEST_WAITING)
        return from_database(cursor.fetchone()[0])


def read_gauges(now: datetime, silent_for: timedelta) -> Gauges:
    """Count exactly, by partial indexes; no row's content is read."""
    waiting = Suspension.objects.filter(retired_at__isnull=True, claimed_at__isnull=True)
    by_reason = dict(waiting.order_by().values_list("reason").annotate(Count("pk")))
    decided = Run.objects.filter(resume=ResumeState.ADMITTED.value)
    unanswered = Interaction.objects.filter(resolved_at__isnull=True, answered_at__isnull=True)
    return Gauges(
        waiting={reason.value: by_reason.get(reason.value, 0) for reason in Reason},
        oldest_waiting_at=_oldest_waiting(),
        overdue=waiting.filter(expires_at__lte=now).count(),
        decided=decided.count(),
        oldest_decided_at=decided.aggregate(oldest=Min("admitted_at"))["oldest"],
        uncertain=uncertain_everywhere(now, silent_for).count(),
        open_interactions=unanswered.count(),
        beats={(name, host): at for name, host, at in Beat.objects.values_list("name", "host", "at")},
        last_checkpoint_at=Checkpoint.objects.order_by("-number").values_list("at", flat=True).first(),
        webhooks=backlog(),
    )
