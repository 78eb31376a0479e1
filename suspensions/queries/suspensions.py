"""Live pauses in lists: previews only, never a continuation. Source: api.md `GET /suspensions`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Func, IntegerField, Q, QuerySet, Value
from django.db.models.sql.compiler import SQLCompiler

from suspensions.domain.cursors import cursor_instant, make_cursor, read_cursor
from suspensions.domain.digests import instant_or_none
from suspensions.domain.instants import format_instant
from suspensions.domain.preview import search_words
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import dumps
from suspensions.domain.values import Page, Reason, SuspensionItem
from suspensions.models import Suspension
from suspensions.queries.rows import ITEM_COLUMNS, covered_by, to_item


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list of live pauses is narrowed to; None narrows nothing."""

    reason: Reason | None = None
    tool: str | None = None
    run_id: str | None = None
    agent_name: str | None = None
    words: str | None = None
    expires_before: datetime | None = None
    claimed: bool | None = None

    def binding(self) -> tuple[str, ...]:
        """What a cursor of this list is bound to."""
        claimed = "" if self.claimed is None else str(self.claimed)
        before = instant_or_none(self.expires_before) or ""
        texts = (self.reason, self.tool, self.run_id, self.agent_name, self.words)
        return (*(text or "" for text in texts), before, claimed)


def list_live(scope: Scope, cursor: str | None, limit: int, filters: Filters) -> Page[SuspensionItem]:
    """Live pauses that the scope covers, newest first. Raises: InvalidCursor, StoredRecordBroken."""
    binding = ("suspensions", scope.text, *filters.binding())
    rows = Suspension.objects.filter(_conditions(filters), retired_at__isnull=True, **covered_by(scope))
    if filters.tool is not None:
        rows = calling(rows, filters.tool)
    after = read_cursor(cursor, binding, 2)
    if after is not None:
        at = cursor_instant(after[0])
        rows = rows.filter(created_at__lte=at).filter(Q(created_at__lt=at) | Q(id__lt=after[1]))
    found = [to_item(row) for row in rows.order_by("-created_at", "-id").values(*ITEM_COLUMNS)[: limit + 1]]
    following = None
    if len(found) > limit:
        last = found[limit - 1]
        following = make_cursor(binding, format_instant(last.created_at), last.id)
    return Page(tuple(found[:limit]), following)


def _conditions(filters: Filters) -> Q:
    where = Q()
    if filters.reason is not None:
        where &= Q(reason=str(filters.reason))
    if filters.run_id is not None:
        where &= Q(run_id=filters.run_id)
    if filters.agent_name is not None:
        where &= Q(agent_name=filters.agent_name)
    if filters.expires_before is not None:
        where &= Q(expires_at__lt=filters.expires_before)
    if filters.claimed is not None:
        where &= Q(claimed_at__isnull=not filters.claimed)
    if filters.words is not None:
        where &= matching(filters.words)
    return where


def calling(rows: QuerySet[Suspension], tool: str) -> QuerySet[Suspension]:
    """The pauses with a call of this tool."""
    # A quote inside of a text is escaped, so these bytes stand nowhere but at a call's own name.
    named = b'"name":' + dumps(tool)
    return rows.annotate(named=_Place(F("calls"), Value(named))).filter(named__gt=0)


def matching(typed: str) -> Q:
    """Pauses of this very id or run, or with every word in their search text."""
    found = Q(id=typed) | Q(run_id=typed)
    words = search_words(typed)
    return found | Q(*(Q(search_text__contains=word) for word in words)) if words else found


class _Place(Func):
    """Where some bytes first stand in others, from 1; 0 where they do not."""

    function = "instr"
    output_field = IntegerField()

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        # PostgreSQL names what is looked for first.
        turned = self.copy()
        turned.set_source_expressions(self.get_source_expressions()[::-1])
        return turned.as_sql(compiler, connection, template="position(%(expressions)s)", arg_joiner=" IN ", **context)
