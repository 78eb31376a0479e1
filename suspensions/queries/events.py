"""A run's events, oldest first. Source: store.md section 10."""

from __future__ import annotations

from suspensions.domain.cursors import cursor_number, make_cursor, read_cursor
from suspensions.domain.errors import RunNotFound
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Event as EventValue
from suspensions.domain.values import Page
from suspensions.models import Event, Run
from suspensions.queries.rows import EVENT_COLUMNS, covered_by, to_event


def list_events(scope: Scope, run_id: str, cursor: str | None, limit: int) -> Page[EventValue]:
    """The chain of a run that the scope covers. Raises: RunNotFound, InvalidCursor, StoredRecordBroken."""
    if not Run.objects.filter(id=run_id, **covered_by(scope)).exists():
        raise RunNotFound
    binding = ("events", scope.text, run_id)
    after = read_cursor(cursor, binding, 1)
    rows = Event.objects.filter(chain=run_id)
    if after is not None:
        rows = rows.filter(position__gt=cursor_number(after[0]))
    found = [to_event(row) for row in rows.order_by("position").values(*EVENT_COLUMNS)[: limit + 1]]
    following = make_cursor(binding, str(found[limit - 1].position)) if len(found) > limit else None
    return Page(tuple(found[:limit]), following)
