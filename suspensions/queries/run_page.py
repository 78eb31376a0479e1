"""One run with its life, and the list of runs over all scopes that a person may see."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from suspensions.domain.cursors import make_cursor, read_cursor
from suspensions.domain.errors import MalformedJson, RunNotFound, StoredRecordBroken
from suspensions.domain.instants import format_instant, parse_instant
from suspensions.domain.pending import restore_pending
from suspensions.domain.reach import Reach
from suspensions.domain.states import RunState
from suspensions.domain.strict_json import loads
from suspensions.domain.values import Event, Page, PendingCall, Run
from suspensions.models import Event as EventRow
from suspensions.models import Progress
from suspensions.models import Run as RunRow
from suspensions.queries.fragments import first
from suspensions.queries.reach import within
from suspensions.queries.rows import EVENT_COLUMNS, RUN_COLUMNS, RUN_CONTENTS, to_event, to_run
from suspensions.queries.runs import found_by

LATEST = 200
"""So many events of a run's life are on its page."""


@dataclass(frozen=True, slots=True)
class Work:
    """The progress snapshot without its continuation."""

    owner: str
    updated_at: datetime
    started: tuple[PendingCall, ...]
    done: tuple[dict[str, Any], ...]
    ending: str | None


@dataclass(frozen=True, slots=True)
class Life:
    """A run's events, oldest first; `before` is the position that earlier ones lie below, None where all are here."""

    events: tuple[Event, ...]
    before: int | None


def read_run(reach: Reach, run_id: str) -> Run:
    """A run that the reach covers, with its contents. Raises: RunNotFound, StoredRecordBroken."""
    row = RunRow.objects.filter(within(reach), id=run_id).values(*RUN_COLUMNS, *RUN_CONTENTS).first()
    if row is None:
        raise RunNotFound
    return to_run(row)


def read_life(run_id: str, before: int | None = None) -> Life:
    """The latest events of the run, or the latest ones below a position. Raises: StoredRecordBroken."""
    rows = EventRow.objects.filter(chain=run_id)
    if before is not None:
        rows = rows.filter(position__lt=before)
    found = [to_event(row) for row in rows.order_by("-position").values(*EVENT_COLUMNS)[: LATEST + 1]]
    more = len(found) > LATEST
    events = tuple(reversed(found[:LATEST]))
    return Life(events, events[0].position if more else None)


def read_work(run_id: str) -> Work | None:
    """Raises: StoredRecordBroken."""
    row = Progress.objects.filter(run_id=run_id).values("owner", "updated_at", "started", "done", "ending_kind").first()
    if row is None:
        return None
    try:
        done = () if row["done"] is None else tuple(loads(bytes(row["done"])))
    except MalformedJson:
        raise StoredRecordBroken from None
    started = () if row["started"] is None else restore_pending(bytes(row["started"]))
    return Work(row["owner"], row["updated_at"], started, done, row["ending_kind"])


def list_runs(
    reach: Reach, words: str, state: RunState | None, agent_name: str | None, cursor: str | None, limit: int
) -> Page[Run]:
    """Runs, newest first, without their contents.

    `words` finds an exact run, session or agent id, or a part of the agent's name. Raises: InvalidCursor.
    """
    binding = ("run list", *(scope.text for scope in reach), words, state or "", agent_name or "")
    rows = RunRow.objects.all()
    if state is not None:
        rows = rows.filter(state=state.value)
    if agent_name is not None:
        rows = rows.filter(agent_name=agent_name)
    if words:
        rows = rows.filter(found_by(words))
    after = read_cursor(cursor, binding, 2)
    if after is not None:
        at = parse_instant(after[0])
        rows = rows.filter(created_at__lte=at).filter(Q(created_at__lt=at) | Q(id__lt=after[1]))
    order = ("-created_at", "-id")
    rows = RunRow.objects.filter(id__in=first("id", reach, rows, order, limit + 1))
    found = [to_run(row) for row in rows.order_by(*order).values(*RUN_COLUMNS)]
    following = None
    if len(found) > limit:
        last = found[limit - 1]
        following = make_cursor(binding, format_instant(last.created_at), last.id)
    return Page(tuple(found[:limit]), following)
