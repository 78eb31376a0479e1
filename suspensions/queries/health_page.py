"""What an operator looks at first: is anything stuck, and does the sweeper live. Source: pages.md, "Health"."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from suspensions.domain import clock
from suspensions.domain.reach import Reach
from suspensions.domain.states import ResumeState, RunState
from suspensions.domain.values import Run
from suspensions.models import Beat, Suspension
from suspensions.models import Run as RunRow
from suspensions.queries import queue
from suspensions.queries.fragments import first, sql
from suspensions.queries.nearest import some
from suspensions.queries.reach import within
from suspensions.queries.rows import RUN_COLUMNS, to_run

MOST_SILENT = 20


@dataclass(frozen=True, slots=True)
class DatabaseHealth:
    """The engine, its version, how long the smallest question took, and how far this host's clock is ahead of its.

    An embedded engine has no clock of its own.
    """

    engine: str
    version: str
    took: timedelta
    ahead: timedelta | None


@dataclass(frozen=True, slots=True)
class Oldest:
    """The pause that has waited longest, and the one whose deadline has passed longest ago."""

    waiting_since: datetime | None
    overdue_since: datetime | None
    decided_since: datetime | None


def database() -> DatabaseHealth:
    """Ask the database the smallest question."""
    postgresql = connection.vendor == "postgresql"
    started, asked_at = time.perf_counter(), clock.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()" if postgresql else "SELECT 1")
        (answer,) = cursor.fetchone()
        took = timedelta(seconds=time.perf_counter() - started)
        # The database looked at its clock somewhere between question and answer.
        ahead = asked_at + took / 2 - answer if postgresql else None
        cursor.execute("SHOW server_version" if postgresql else "SELECT sqlite_version()")
        version = str(cursor.fetchone()[0])
    return DatabaseHealth("PostgreSQL" if postgresql else "SQLite", version, took, ahead)


def beats() -> Sequence[tuple[str, str, datetime]]:
    """Each process that says that it is there: its name, its host, and when it last did; latest first."""
    return list(Beat.objects.order_by("-at").values_list("name", "host", "at"))


def oldest(reach: Reach, now: datetime) -> Oldest:
    """Since when the oldest of each kind waits."""
    waiting = Suspension.objects.filter(retired_at__isnull=True, claimed_at__isnull=True)
    decided = RunRow.objects.filter(resume=ResumeState.ADMITTED.value)
    soonest = queue.soonest(reach)
    return Oldest(
        _earliest(waiting, reach, "created_at", "id"),
        soonest if soonest is not None and soonest <= now else None,
        _earliest(decided, reach, "admitted_at", "admission_id", "run.resume = 'admitted'"),
    )


def _earliest(rows: QuerySet[Any], reach: Reach, column: str, tie: str, also: str = "1 = 1") -> datetime | None:
    """The first instant in a column, of an index over each scope."""
    return rows.filter(id__in=first("id", reach, rows, (column, tie), 1, also)).values_list(column, flat=True).first()


def depth_by_reason(reach: Reach, most: int) -> dict[str, int]:
    """How many pauses of each reason wait, up to `most` and one more."""
    ids = sql(
        "SELECT id FROM ({rows}) AS each_one LIMIT {most}",
        rows=some(queue.everything_of(reach), most + 1),
        most=most + 1,
    )
    rows = Suspension.objects.filter(id__in=ids.as_raw()).values_list("reason")
    counted: dict[str, int] = {}
    for (reason,) in rows:
        counted[reason] = counted.get(reason, 0) + 1
    return counted


def silent_runs(reach: Reach, now: datetime, silent_for: timedelta) -> list[Run]:
    """Running runs that nobody holds and that have been silent, longest first; those that wait for a start are not."""
    nobody = Q(lease_expires_at__isnull=True) | Q(lease_expires_at__lte=now)
    waits = Q(resume=ResumeState.ADMITTED.value)
    rows = RunRow.objects.filter(
        within(reach), nobody, state=RunState.RUNNING.value, updated_at__lte=now - silent_for
    ).exclude(waits)
    return [to_run(row) for row in rows.order_by("updated_at", "id").values(*RUN_COLUMNS)[:MOST_SILENT]]
