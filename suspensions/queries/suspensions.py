"""Live pauses in lists: previews only, never a continuation. Source: api.md `GET /suspensions`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, F, Func, Q, TextField, Value
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
    if filters.tool is not None:
        where &= calling(filters.tool)
    if filters.words is not None:
        where &= matching(filters.words)
    return where


def calling(tool: str) -> Q:
    """Pauses with a call of this tool."""
    # A quote inside of a text is escaped, so these bytes stand nowhere but at a call's own name.
    return Q(_Holds(F("calls"), Value(b'"name":' + dumps(tool))))


def matching(typed: str) -> Q:
    """Pauses of this very id or run, or with each of the typed words; the last may be the beginning of one.

    That all might be beginnings would make an inverted index merge all that begins like a common word.
    """
    phrases = search_words(typed)
    wholes = [f" {phrase} " for phrase in phrases[:-1]] + [f" {phrase}" for phrase in phrases[-1:]]
    held = [Q(_Holds(_Spaced(F("search_text")), Value(whole))) for whole in wholes]
    named = Q(id=typed) | Q(run_id=typed)
    return named | Q(*held) if held else named


class _Spaced(Func):
    """A text between spaces, so that its first and last words look as the others do."""

    template = "(' ' || %(expressions)s || ' ')"
    output_field = TextField()


class _Holds(Func):
    """Whether the first holds the second."""

    function = "instr"
    template = "%(function)s(%(expressions)s) > 0"
    output_field = BooleanField()

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        # PostgreSQL names what is looked for first.
        turned = self.copy()
        turned.set_source_expressions(self.get_source_expressions()[::-1])
        return turned.as_sql(compiler, connection, function="position", arg_joiner=" IN ", **context)
