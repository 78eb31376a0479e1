"""Runs as they stand: one, or a list of those that a scope covers. Source: api.md "Routes"."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Q

from suspensions.domain import ids
from suspensions.domain.cursors import cursor_instant, make_cursor, read_cursor
from suspensions.domain.errors import RunNotFound
from suspensions.domain.instants import format_instant
from suspensions.domain.scopes import Scope
from suspensions.domain.states import ResumeState, RunState
from suspensions.domain.values import Page, Run
from suspensions.models import Run as RunRow
from suspensions.queries.rows import RUN_COLUMNS, RUN_CONTENTS, covered_by, to_run


def get_run(scope: Scope, run_id: str) -> Run:
    """A run that the scope covers, with its contents. Raises: RunNotFound, StoredRecordBroken."""
    row = RunRow.objects.filter(id=run_id, **covered_by(scope)).values(*RUN_COLUMNS, *RUN_CONTENTS).first()
    if row is None:
        raise RunNotFound
    return to_run(row)


def revision_of(scope: Scope, run_id: str) -> int:
    """A covered run's revision now. Raises: RunNotFound."""
    found = RunRow.objects.filter(id=run_id, **covered_by(scope)).values_list("revision", flat=True).first()
    if found is None:
        raise RunNotFound
    return int(found)


def list_runs(
    scope: Scope,
    cursor: str | None,
    limit: int,
    *,
    state: RunState | None = None,
    agent_name: str | None = None,
    words: str | None = None,
) -> Page[Run]:
    """Runs that the scope covers, newest first, without their contents.

    `words` finds an exact run, session or agent id, or a part of the agent's name. Raises: InvalidCursor.
    """
    binding = ("runs", scope.text, state or "", agent_name or "", words or "")
    rows = RunRow.objects.filter(**covered_by(scope))
    if state is not None:
        rows = rows.filter(state=str(state))
    if agent_name is not None:
        rows = rows.filter(agent_name=agent_name)
    if words is not None:
        rows = rows.filter(found_by(words))
    after = read_cursor(cursor, binding, 2)
    if after is not None:
        at = cursor_instant(after[0])
        # The plain bound lets the index find the place; the rest only breaks ties.
        rows = rows.filter(created_at__lte=at).filter(Q(created_at__lt=at) | Q(id__lt=after[1]))
    found = [to_run(row) for row in rows.order_by("-created_at", "-id").values(*RUN_COLUMNS)[: limit + 1]]
    following = None
    if len(found) > limit:
        last = found[limit - 1]
        following = make_cursor(binding, format_instant(last.created_at), last.id)
    return Page(tuple(found[:limit]), following)


def found_by(words: str) -> Q:
    """An exact run, session or agent id, or a part of the agent's name.

    A run's id is looked up alone: beside the others no index would find it, and every run would be looked at.
    """
    if words.startswith(f"{ids.RUN}_") and ids.looks_like_id(words):
        return Q(id=words)
    return Q(id=words) | Q(session_id=words) | Q(agent_id=words) | Q(agent_name__icontains=words)


# -- what long polls wait for ------------------------------------------------------------------------


def revisions(run_ids: Iterable[str]) -> dict[str, int]:
    """The revisions of these runs; a run that is not there is left out."""
    return dict(RunRow.objects.filter(id__in=list(run_ids)).values_list("id", "revision"))


def startable(scopes: Iterable[str], now: datetime) -> list[tuple[str, str | None]]:
    """Scope and agent name of each admitted resume at these exact scopes that may be started now."""
    free = Q(lease_expires_at__isnull=True) | Q(lease_expires_at__lte=now)
    in_time = Q(start_by__isnull=True) | Q(start_by__gt=now)
    rows = RunRow.objects.filter(in_time, free, scope__in=list(scopes), resume=ResumeState.ADMITTED.value)
    return list(rows.values_list("scope", "agent_name"))
