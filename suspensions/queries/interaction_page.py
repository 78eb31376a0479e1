"""Questions to a human over all scopes that a person may see, with what they ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Q

from suspensions.domain.cursors import make_cursor, read_cursor
from suspensions.domain.errors import InteractionNotFound
from suspensions.domain.instants import format_instant, parse_instant
from suspensions.domain.reach import Reach
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Interaction, Page
from suspensions.models import Interaction as InteractionRow
from suspensions.models.receipt_rows import read_actor
from suspensions.queries.fragments import first
from suspensions.queries.reach import within

PARTS = ("open", "answered", "resolved")
_COLUMNS = (
    "scope",
    "interaction_id",
    "session_id",
    "run_id",
    "tool_use_id",
    "tool_name",
    "tool_input",
    "assistant",
    "content_sha256",
    "digest",
    "created_by",
    "created_at",
    "answer",
    "answered_by",
    "answered_at",
    "resolved_at",
    "resolved_by",
)
_PART = {
    "open": Q(resolved_at__isnull=True, answered_at__isnull=True),
    "answered": Q(resolved_at__isnull=True, answered_at__isnull=False),
    "resolved": Q(resolved_at__isnull=False),
}


def list_questions(reach: Reach, part: str, words: str, cursor: str | None, limit: int) -> Page[Interaction]:
    """Open questions oldest first, the others newest first; without their transcripts. Raises: InvalidCursor."""
    binding = ("questions", part, *(scope.text for scope in reach), words)
    rows = InteractionRow.objects.filter(_PART[part])
    if words:
        by_id = Q(interaction_id=words) | Q(run_id=words) | Q(session_id=words)
        rows = rows.filter(by_id | Q(tool_name__icontains=words))
    oldest_first = part == "open"
    after = read_cursor(cursor, binding, 2)
    if after is not None:
        at, key = parse_instant(after[0]), int(after[1])
        # The plain bound lets the index find the place; the rest only breaks ties.
        beyond = Q(created_at__gte=at) & (Q(created_at__gt=at) | Q(id__gt=key))
        before = Q(created_at__lte=at) & (Q(created_at__lt=at) | Q(id__lt=key))
        rows = rows.filter(beyond if oldest_first else before)
    order = ("created_at", "id") if oldest_first else ("-created_at", "-id")
    rows = InteractionRow.objects.filter(id__in=first("id", reach, rows, order, limit + 1))
    found = list(rows.order_by(*order).values(*_COLUMNS, "id"))
    following = None
    if len(found) > limit:
        last = found[limit - 1]
        following = make_cursor(binding, format_instant(last["created_at"]), str(last["id"]))
    return Page(tuple(_to_interaction(row) for row in found[:limit]), following)


def read_question(reach: Reach, scope: Scope, interaction_id: str) -> Interaction:
    """One question at its exact scope, where the reach covers it. Raises: InteractionNotFound."""
    rows = InteractionRow.objects.filter(within(reach), scope=scope.text, interaction_id=interaction_id)
    row = rows.values(*_COLUMNS).first()
    if row is None:
        raise InteractionNotFound
    return _to_interaction(row)


def _to_interaction(row: Mapping[str, Any]) -> Interaction:
    plain = {
        name: row[name]
        for name in _COLUMNS
        if name not in ("scope", "tool_input", "assistant", "created_by", "answer", "answered_by", "resolved_by")
    }
    return Interaction(
        **plain,
        scope=Scope(row["scope"]),
        tool_input=_bytes(row["tool_input"]),
        assistant=_bytes(row["assistant"]),
        messages=None,
        created_by=read_actor(row["created_by"]),
        answer=_bytes(row["answer"]),
        answered_by=None if row["answered_by"] is None else read_actor(row["answered_by"]),
        resolved=row["resolved_at"] is not None,
        resolved_by=None if row["resolved_by"] is None else read_actor(row["resolved_by"]),
    )


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
