"""How much of everything there is at this moment, over all scopes: numbers alone, for those who watch.

Source: operate.md `/metrics`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Min, Q

from suspensions.domain.states import ResumeState
from suspensions.domain.values import Reason
from suspensions.models import Beat, Checkpoint, Interaction, Run, Suspension
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


def read_gauges(now: datetime, silent_for: timedelta) -> Gauges:
    """Count exactly, by partial indexes; no row's content is read."""
    waiting = Suspension.objects.filter(retired_at__isnull=True, claimed_at__isnull=True)
    by_reason = dict(waiting.order_by().values_list("reason").annotate(Count("pk")))
    times = waiting.aggregate(oldest=Min("created_at"), overdue=Count("pk", filter=Q(expires_at__lte=now)))
    decided = Run.objects.filter(resume=ResumeState.ADMITTED.value)
    unanswered = Interaction.objects.filter(resolved_at__isnull=True, answered_at__isnull=True)
    return Gauges(
        waiting={reason.value: by_reason.get(reason.value, 0) for reason in Reason},
        oldest_waiting_at=times["oldest"],
        overdue=times["overdue"],
        decided=decided.count(),
        oldest_decided_at=decided.aggregate(oldest=Min("admitted_at"))["oldest"],
        uncertain=uncertain_everywhere(now, silent_for).count(),
        open_interactions=unanswered.count(),
        beats={(name, host): at for name, host, at in Beat.objects.values_list("name", "host", "at")},
        last_checkpoint_at=Checkpoint.objects.order_by("-number").values_list("at", flat=True).first(),
        webhooks=backlog(),
    )
