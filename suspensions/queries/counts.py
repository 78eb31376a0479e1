"""How many of everything wait, for the tabs and the top bar: one query, and none of the counts goes on for ever."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import OuterRef, Q, QuerySet, Subquery

from suspensions.domain.reach import Reach
from suspensions.domain.states import ResumeState, RunState
from suspensions.models import Run, StartOrExpiry
from suspensions.queries import queue
from suspensions.queries.fragments import Sql, in_scopes, joined, sql, where_of
from suspensions.queries.nearest import some
from suspensions.queries.queue import Answerer, QueueFilters

UNDER_WAY = "run.resume = 'started' AND run.state = 'running'"
"""What the index of resumes under way is about, as a prepared plan must read it."""
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


def uncertain_everywhere(now: datetime, silent_for: timedelta) -> QuerySet[Run]:
    """Runs of all scopes whose resume was started and of which nothing more was heard."""
    # Asked for its value: whether it exists would make PostgreSQL read all receipts that there are.
    started = StartOrExpiry.objects.filter(suspension_id=OuterRef("admission_id"), kind="start")
    owned = Q(starter__isnull=False)
    given_up = Q(lease_expires_at__isnull=True) & (owned | Q(updated_at__lte=now - silent_for))
    return Run.objects.alias(starter=Subquery(started.values("lease_owner"))).filter(
        Q(lease_expires_at__lte=now) | given_up,
        state=RunState.RUNNING.value,
        resume=ResumeState.STARTED.value,
    )


def count(reach: Reach, who: Answerer, now: datetime, today: datetime, silent_for: timedelta) -> Counts:
    """All counts at once, in one statement. `today` is the reader's midnight."""
    most = MOST + 1
    mine = some(queue.mine_of(who, QueueFilters()), most)
    waiting = some(queue.everything_of(reach), most)
    decided = queue.decided(reach, QueueFilters(), None, most)
    expired = queue.expired(reach, today, None, most)
    lists = (mine, waiting, decided, _uncertain(reach, now, silent_for, most), expired, _open(reach, most))
    statement = sql("SELECT {counts}", counts=joined(", ", [_bounded(rows) for rows in lists]))
    with connection.cursor() as cursor:
        cursor.execute(statement.text, statement.params)
        counts: tuple[int, ...] = cursor.fetchone()
    return Counts(*counts)


def _uncertain(reach: Reach, now: datetime, silent_for: timedelta, most: int) -> Sql:
    return in_scopes(
        "id",
        reach,
        "SELECT run.id AS id FROM run WHERE {covered} AND {under_way} AND {uncertain}"
        " ORDER BY run.admission_id DESC LIMIT {limit}",
        table="run",
        under_way=UNDER_WAY,
        uncertain=where_of(uncertain_everywhere(now, silent_for)),
        limit=most,
    )


def _open(reach: Reach, most: int) -> Sql:
    """Questions that nobody has answered."""
    return in_scopes(
        "at",
        reach,
        "SELECT interaction.created_at AS at FROM interaction WHERE {covered}"
        " AND interaction.resolved_at IS NULL AND interaction.answered_at IS NULL"
        " ORDER BY interaction.created_at, interaction.id LIMIT {limit}",
        table="interaction",
        limit=most,
    )


def _bounded(rows: Sql) -> Sql:
    """How many rows there are; no more than `MOST` and one are looked at."""
    return sql(
        "(SELECT COUNT(*) FROM (SELECT 1 FROM ({rows}) AS each_one LIMIT {most}) AS counted)", rows=rows, most=MOST + 1
    )
