"""Uncertain resumes: execution was granted, and nothing more was heard. Source: api.md `GET /uncertain-resumes`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import OuterRef, Q, Subquery

from suspensions.domain.cursors import make_cursor, read_cursor
from suspensions.domain.scopes import Scope
from suspensions.domain.states import ResumeState, RunState
from suspensions.domain.values import Page, Run, Start
from suspensions.models import Progress, StartOrExpiry
from suspensions.models import Run as RunRow
from suspensions.queries.receipts import starts_of
from suspensions.queries.rows import RUN_COLUMNS, to_run


@dataclass(frozen=True, slots=True)
class UncertainResume:
    """A start whose worker nobody hears of; `lease_owner` held the run last, `progress_at` is its last snapshot's."""

    run: Run
    start: Start
    lease_owner: str | None
    progress_at: datetime | None


def list_uncertain(
    scope: Scope, cursor: str | None, limit: int, now: datetime, silent_for: timedelta
) -> Page[UncertainResume]:
    """The exact scope's started resumes of running runs whose lease lapsed or was given up, newest pause first.

    One that was started without a lease counts once the run was silent for `silent_for`. Raises: InvalidCursor.
    """
    binding = ("uncertain-resumes", scope.text)
    after = read_cursor(cursor, binding, 1)
    rows = RunRow.objects.filter(scope=scope.text, state=RunState.RUNNING.value, resume=ResumeState.STARTED.value)
    started = StartOrExpiry.objects.filter(suspension_id=OuterRef("admission_id"), kind="start")
    rows = rows.annotate(
        start_lease_owner=Subquery(started.values("lease_owner")[:1]),
        progress_at=Subquery(Progress.objects.filter(run_id=OuterRef("id")).values("updated_at")[:1]),
    )
    given_up = Q(lease_expires_at__isnull=True) & (
        Q(start_lease_owner__isnull=False) | Q(updated_at__lte=now - silent_for)
    )
    rows = rows.filter(Q(lease_expires_at__lte=now) | given_up)
    if after is not None:
        rows = rows.filter(admission_id__lt=after[0])
    found = list(
        rows.order_by("-admission_id").values(*RUN_COLUMNS, "admission_id", "progress_at", "start_lease_owner")[
            : limit + 1
        ]
    )
    starts = starts_of([row["admission_id"] for row in found[:limit]])
    items = tuple(
        UncertainResume(
            run=to_run(row),
            start=starts[row["admission_id"]],
            lease_owner=row["lease_owner"] or row["start_lease_owner"],
            progress_at=row["progress_at"],
        )
        for row in found[:limit]
    )
    following = make_cursor(binding, items[-1].start.version.suspension_id) if len(found) > limit else None
    return Page(items, following)
