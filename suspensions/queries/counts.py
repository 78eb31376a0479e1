"""How many of everything wait, for the tabs and the top bar: one query, and none of the counts goes on for ever."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from suspensions.domain.reach import Reach
from suspensions.domain.states import ResumeState, RunState
from suspensions.models import Interaction, Run, StartOrExpiry
from suspensions.queries import queue
from suspensions.queries.queue import Answerer
from suspensions.queries.reach import within

MOST = 1_000
"""Beyond this a count says only that there are more."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Each up to `MOST`, and `MOST` + 1 for more."""

    mine: int
    waiting: int
    decided: int
    uncertain: int
    expired: int
    interactions: int


def uncertain(reach: Reach, now: datetime, silent_for: timedelta) -> QuerySet[Run]:
    """Runs whose resume was started and of which nothing more was heard."""
    return uncertain_everywhere(now, silent_for).filter(within(reach))


def uncertain_everywhere(now: datetime, silent_for: timedelta) -> QuerySet[Run]:
    """The same over all scopes: for numbers alone."""
    owned = StartOrExpiry.objects.filter(
        suspension_id=OuterRef("admission_id"), kind="start", lease_owner__isnull=False
    )
    given_up = Q(lease_expires_at__isnull=True) & (Exists(owned) | Q(updated_at__lte=now - silent_for))
    return Run.objects.filter(
        Q(lease_expires_at__lte=now) | given_up,
        state=RunState.RUNNING.value,
        resume=ResumeState.STARTED.value,
    )


def open_interactions(reach: Reach) -> QuerySet[Interaction]:
    """Questions that nobody has answered."""
    return Interaction.objects.filter(within(reach), resolved_at__isnull=True, answered_at__isnull=True)


def count(reach: Reach, who: Answerer, now: datetime, today: datetime, silent_for: timedelta) -> Counts:
    """All counts at once. `today` is the reader's midnight."""
    waiting = queue.waiting(reach)
    return Counts(
        *_bounded(
            waiting.filter(queue.answerable(who)),
            waiting,
            queue.decided(reach),
            uncertain(reach, now, silent_for),
            queue.expired(reach, today),
            open_interactions(reach),
        )
    )


def _bounded(*lists: QuerySet[Any]) -> list[int]:
    parts: list[str] = []
    parameters: list[Any] = []
    for rows in lists:
        try:
            statement, values = rows.order_by().values("pk")[: MOST + 1].query.sql_with_params()
        except EmptyResultSet:
            parts.append("(SELECT 0)")
            continue
        parts.append(f"(SELECT COUNT(*) FROM ({statement}) AS counted)")
        parameters += values
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(parts)}", parameters)
        counts: tuple[int, ...] = cursor.fetchone()
    return list(counts)
