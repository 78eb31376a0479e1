"""The queue's rows and counts over all scopes that a person may see: previews only, never a continuation.

Source: pages.md, "Queue".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import F, Q, QuerySet

from suspensions.domain.cursors import cursor_instant, make_cursor, read_cursor
from suspensions.domain.digests import instant_or_none
from suspensions.domain.instants import format_instant
from suspensions.domain.preview import search_words
from suspensions.domain.reach import Reach
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.strict_json import dumps
from suspensions.domain.values import Actor, Page, Reason, SuspensionItem
from suspensions.models import Admission, Event, Suspension
from suspensions.models.fields import to_database
from suspensions.models.receipt_rows import read_actor
from suspensions.models.search import agent_term, asker_term, name_terms, phrase_terms, scope_terms
from suspensions.queries.fragments import Sql, condition, in_scopes, sql, value
from suspensions.queries.nearest import Narrowing, nearest
from suspensions.queries.reach import within
from suspensions.queries.rows import ITEM_COLUMNS, read, to_item
from suspensions.queries.segments import Branch, Place, Segment
from suspensions.queries.suspensions import calling, matching

_COLUMNS = (*ITEM_COLUMNS, "run__state")


@dataclass(frozen=True, slots=True)
class QueueItem:
    """A pause in the queue and where its run stands; `decided_by` and what follows once it was decided."""

    pause: SuspensionItem
    state: RunState
    decided_by: Actor | None = None
    decided_at: datetime | None = None
    start_by: datetime | None = None
    expired_at: datetime | None = None
    """When it failed because time ran out."""


@dataclass(frozen=True, slots=True)
class Answerer:
    """For whom a list is made, and when: where they may approve, and where they may answer external tools."""

    principal: str
    now: datetime
    approves: Reach
    answers: Reach


@dataclass(frozen=True, slots=True)
class QueueFilters:
    """What the queue is narrowed to; None narrows nothing."""

    reason: Reason | None = None
    tool: str | None = None
    agent_name: str | None = None
    words: str | None = None
    created_before: datetime | None = None
    expires_before: datetime | None = None
    texts: tuple[str, ...] = field(default=())
    """The filters as they stand in the address: what a cursor is bound to, since an age moves with the clock."""


def waiting(reach: Reach) -> QuerySet[Suspension]:
    """Pauses that nobody has answered."""
    return Suspension.objects.filter(within(reach), _WAITING)


_WAITING = Q(retired_at__isnull=True, claimed_at__isnull=True)


def answerable(who: Answerer) -> Q:
    """Pauses that this person's answer would be taken for now; nobody approves what they asked for themselves."""
    in_time = Q(expires_at__isnull=True) | Q(expires_at__gt=who.now)
    approval = Q(reason=Reason.APPROVAL.value) & within(who.approves) & ~_own(who)
    return in_time & (approval | (Q(reason=Reason.EXTERNAL_TOOL.value) & within(who.answers)))


def _own(who: Answerer) -> Q:
    """Pauses that this person asked for, whatever the case of the name."""
    return Q(created_by__istartswith=_opening(who))


def _opening(who: Answerer) -> str:
    return dumps({"principal": who.principal}).decode().removesuffix("}") + ","


def narrow(filters: QueueFilters) -> Q:
    """What the filters leave."""
    left = _fits(filters)
    if filters.reason is not None:
        left &= Q(reason=filters.reason.value)
    if filters.expires_before is not None:
        left &= Q(expires_at__lt=filters.expires_before)
    return left


def _fits(filters: QueueFilters) -> Q:
    """What the filters leave that the queue's own order does not serve."""
    left = Q()
    if filters.agent_name is not None:
        left &= Q(agent_name=filters.agent_name)
    if filters.words is not None:
        left &= matching(filters.words)
    if filters.created_before is not None:
        left &= Q(created_at__lt=filters.created_before)
    return left if filters.tool is None else left & calling(filters.tool)


def list_waiting(
    reach: Reach, who: Answerer, filters: QueueFilters, cursor: str | None, limit: int, *, mine: bool
) -> Page[QueueItem]:
    """Waiting pauses that are the person's to answer, or (`mine` false) all others.

    Nearest deadline first, then those without one, oldest first. Raises: InvalidCursor, StoredRecordBroken.
    """
    binding = ("queue", "mine" if mine else "others", *(scope.text for scope in reach), *filters.texts)
    after = read_cursor(cursor, binding, 2)
    place = None if after is None else (cursor_instant(after[0]) if after[0] else None, after[1])
    branches = mine_of(who, filters) if mine else others_of(reach, who, filters)
    ids = nearest(branches, place, limit + 1, _narrowing(reach, who, filters, mine=mine))
    # Neither the run nor anything else of a pause that waits is looked at: the run is paused.
    rows = Suspension.objects.filter(id__in=ids.as_raw())
    found = read(rows.order_by(F("expires_at").asc(nulls_last=True), "id"), ITEM_COLUMNS)
    following = None
    if len(found) > limit:
        last = found[limit - 1]
        following = make_cursor(binding, instant_or_none(last["expires_at"]) or "", last["id"])
    return Page(tuple(_to_queue_item(row) for row in found[:limit]), following)


MOST_PLACES = 100
"""Beyond so many nobody counts which place a pause has."""


def first_of_mine(who: Answerer) -> list[str]:
    """The ids of the first pauses that are the person's to answer, in the queue's order, up to `MOST_PLACES`."""
    return _mine_after(who, None, MOST_PLACES)


def next_of_mine(reach: Reach, who: Answerer, left: str) -> str | None:
    """The pause that comes after `left` in the person's queue, and after the last one the first; None for no other.

    `left` need not wait any more: its deadline says where it stood.
    """
    place = Suspension.objects.filter(within(reach), id=left).values_list("expires_at", "id").first()
    following = [] if place is None else _mine_after(who, place, 1)
    return next((each for each in (*following, *_mine_after(who, None, 2)) if each != left), None)


def _mine_after(who: Answerer, place: Place | None, limit: int) -> list[str]:
    ids = nearest(mine_of(who, QueueFilters()), place, limit)
    rows = Suspension.objects.filter(id__in=ids.as_raw()).order_by(F("expires_at").asc(nulls_last=True), "id")
    return list(rows.values_list("id", flat=True))


def mine_of(who: Answerer, filters: QueueFilters) -> list[Branch]:
    """Where the pauses lie that are the person's to answer: those in time, of scopes with a role for their reason."""
    held = ((Reason.APPROVAL, who.approves), (Reason.EXTERNAL_TOOL, who.answers))
    segments = [_segment(filters, scope, reason, after=who.now) for reason, scopes in held for scope in scopes]
    own = Q(reason=Reason.APPROVAL.value) & _own(who)
    return [Branch(_met(segments), but=(own, asker_term(_opening(who))))]


def others_of(reach: Reach, who: Answerer, filters: QueueFilters) -> list[Branch]:
    """Where all other pauses lie: for an agent, late, of scopes without a role, or asked for by the person."""
    plain = [_segment(filters, scope, Reason.AGENT_REPLY) for scope in reach]
    below: list[Segment | None] = []
    for reason, held in ((Reason.APPROVAL, who.approves), (Reason.EXTERNAL_TOOL, who.answers)):
        plain += [_segment(filters, scope, reason, until=who.now) for scope in reach]
        for scope in reach:
            if any(each.covers(scope) for each in held):
                continue
            partly = any(scope.covers(each) for each in held)
            (below if partly else plain).append(_segment(filters, scope, reason, after=who.now))
    unheld = (Q(reason=Reason.APPROVAL.value) & ~within(who.approves)) | (
        Q(reason=Reason.EXTERNAL_TOOL.value) & ~within(who.answers)
    )
    own = [_segment(filters, scope, Reason.APPROVAL, after=who.now) for scope in who.approves]
    return [
        Branch(_met(plain)),
        Branch(_met(below), unheld),
        # Very few among very many.
        Branch(_met(own), _own(who), asker_term(_opening(who))),
    ]


def everything_of(reach: Reach) -> list[Branch]:
    """Where all waiting pauses lie."""
    return [Branch([Segment(scope, reason) for scope in reach for reason in Reason])]


def soonest(reach: Reach) -> datetime | None:
    """The nearest deadline of all that wait, past or to come; None where none has one."""
    ids = nearest(everything_of(reach), None, 1)
    return Suspension.objects.filter(id__in=ids.as_raw()).values_list("expires_at", flat=True).first()


_TICK = timedelta(microseconds=1)


def _segment(
    filters: QueueFilters,
    scope: Scope,
    reason: Reason,
    *,
    after: datetime | None = None,
    until: datetime | None = None,
) -> Segment | None:
    """What the filters leave of a segment; None where that is nothing."""
    if filters.expires_before is not None:
        last = filters.expires_before - _TICK
        until = last if until is None else min(until, last)
    empty = after is not None and until is not None and until <= after
    return None if empty or filters.reason not in (None, reason) else Segment(scope, reason, after, until)


def _met(segments: Iterable[Segment | None]) -> list[Segment]:
    return [segment for segment in segments if segment is not None]


_MOST_SCOPES = 4
"""Of more scopes an inverted index merges so many entries that it is quicker to look at each row's scope."""


def _narrowing(reach: Reach, who: Answerer, filters: QueueFilters, *, mine: bool) -> Narrowing | None:
    fits = _fits(filters)
    if not fits:
        return None
    asked = answerable(who) if mine else ~answerable(who)
    typed = filters.words or ""
    *wholes, last = search_words(typed) or ("",)
    terms = [phrase_terms(last)] if last else []
    terms += [name_terms(phrase) for phrase in (*wholes, *search_words(filters.tool or ""))]
    if filters.agent_name is not None:
        terms.append(agent_term(filters.agent_name))
    if terms and len(reach) <= _MOST_SCOPES:
        terms.append(scope_terms([scope.text for scope in reach]))
    return Narrowing(
        reach=reach,
        fits=fits,
        whole=within(reach) & narrow(filters) & asked,
        terms=" & ".join(terms) if terms and (last or not typed) else None,
        ids=(Q(id=typed), Q(run_id=typed)) if typed else (),
        older=filters.created_before,
    )


# -- decided, not picked up --------------------------------------------------------------------------------


def decided(reach: Reach, filters: QueueFilters, after: tuple[datetime, str] | None, limit: int) -> Sql:
    """The ids of pauses whose answer was admitted and that no worker has picked up, so many of each scope."""
    beyond = Sql("")
    if after is not None:
        at = to_database(after[0], connection.vendor)
        beyond = Sql(" AND (run.admitted_at, run.admission_id) > (%s, %s)", (at, after[1]))
    pauses, fits = "", Sql("")
    if narrow(filters):
        pauses = " JOIN suspension ON suspension.id = run.admission_id"
        fits = sql(" AND {fits}", fits=condition(Suspension, narrow(filters)))
    return in_scopes(
        "at, id",
        reach,
        "SELECT run.admitted_at AS at, run.admission_id AS id FROM run{pauses}"
        " WHERE {covered} AND run.resume = 'admitted'{beyond}{fits}"
        " ORDER BY run.admitted_at, run.admission_id LIMIT {limit}",
        table="run",
        pauses=pauses,
        beyond=beyond,
        fits=fits,
        limit=limit,
    )


def list_decided(reach: Reach, filters: QueueFilters, cursor: str | None, limit: int) -> Page[QueueItem]:
    """Decided, not picked up: the one that was decided first comes first. Raises: InvalidCursor."""
    binding = ("queue", "decided", *(scope.text for scope in reach), *filters.texts)
    after = read_cursor(cursor, binding, 2)
    place = None if after is None else (cursor_instant(after[0]), after[1])
    ids = sql(
        "SELECT id FROM ({rows}) AS each_one ORDER BY at, id LIMIT {limit}",
        rows=decided(reach, filters, place, limit + 1),
        limit=limit + 1,
    )
    columns = (*_COLUMNS, "run__start_by")
    found = list(
        Suspension.objects.filter(id__in=ids.as_raw()).order_by("run__admitted_at", "id").values(*columns, "claimed_at")
    )
    following = None
    if len(found) > limit:
        last = found[limit - 1]
        following = make_cursor(binding, format_instant(last["claimed_at"]), last["id"])
    winners = _winners([row["id"] for row in found[:limit]])
    return Page(tuple(_to_queue_item(row, winners) for row in found[:limit]), following)


def _winners(suspension_ids: Sequence[str]) -> dict[str, tuple[Actor, datetime]]:
    """Who was admitted, and when, without what they said."""
    rows = Admission.objects.filter(suspension_id__in=suspension_ids)
    return {
        suspension_id: (read_actor(admitted_by), admitted_at)
        for suspension_id, admitted_by, admitted_at in rows.values_list("suspension_id", "admitted_by", "admitted_at")
    }


# -- expired ------------------------------------------------------------------------------------------------


def expired(reach: Reach, since: datetime, after: tuple[datetime, str] | None, limit: int) -> Sql:
    """The ids of events of what failed since then because time ran out, so many of each scope."""
    beyond = Sql("")
    if after is not None:
        at = to_database(after[0], connection.vendor)
        beyond = Sql(" AND (event.at, event.id) < (%s, %s)", (at, after[1]))
    return in_scopes(
        "at, id",
        reach,
        "SELECT event.at AS at, event.id AS id FROM event WHERE {covered}"
        " AND event.type IN ('run.expired', 'resume.expired') AND event.at >= {since}{beyond}"
        " ORDER BY event.at DESC, event.id DESC LIMIT {limit}",
        table="event",
        since=value(to_database(since, connection.vendor)),
        beyond=beyond,
        limit=limit,
    )


def list_expired(reach: Reach, since: datetime, cursor: str | None, limit: int) -> Page[QueueItem]:
    """The pauses of runs that failed since then because time ran out, latest first. Raises: InvalidCursor."""
    binding = ("queue", "expired", *(scope.text for scope in reach))
    after = read_cursor(cursor, binding, 2)
    place = None if after is None else (cursor_instant(after[0]), after[1])
    ids = sql(
        "SELECT id FROM ({rows}) AS each_one ORDER BY at DESC, id DESC LIMIT {limit}",
        rows=expired(reach, since, place, limit + 1),
        limit=limit + 1,
    )
    found = list(Event.objects.filter(id__in=ids.as_raw()).order_by("-at", "-id").values("id", "run_id", "at"))
    following = None
    if len(found) > limit:
        following = make_cursor(binding, format_instant(found[limit - 1]["at"]), found[limit - 1]["id"])
    ended = {row["run_id"]: row["at"] for row in found[:limit]}
    # A run that failed by time retired its last pause in the same instant.
    rows = Suspension.objects.filter(run_id__in=list(ended), retired_at__gte=since).values(*_COLUMNS)
    pauses = {row["run_id"]: row for row in rows if row["retired_at"] == ended[row["run_id"]]}
    items = [_to_queue_item(pauses[run_id], expired_at=at) for run_id, at in ended.items() if run_id in pauses]
    return Page(tuple(items), following)


def what_became(reach: Reach, suspension_ids: Iterable[str]) -> dict[str, QueueItem]:
    """Pauses that somebody has in sight, as they stand now, by id; foreign and purged ones are left out."""
    wanted = list(suspension_ids)
    rows = list(Suspension.objects.filter(within(reach), id__in=wanted).values(*_COLUMNS))
    winners = _winners([row["id"] for row in rows if row["claimed_at"] is not None])
    return {row["id"]: _to_queue_item(row, winners) for row in rows}


def _to_queue_item(
    row: Mapping[str, Any],
    winners: Mapping[str, tuple[Actor, datetime]] | None = None,
    expired_at: datetime | None = None,
) -> QueueItem:
    decided_by, decided_at = (winners or {}).get(row["id"], (None, None))
    return QueueItem(
        pause=to_item(row),
        state=RunState(row.get("run__state", RunState.PAUSED)),
        decided_by=decided_by,
        decided_at=decided_at,
        start_by=row.get("run__start_by"),
        expired_at=expired_at,
    )


MOST_NEW = 100


def count_new(
    reach: Reach, who: Answerer, filters: QueueFilters, since: datetime, shown: Sequence[str], *, mine: bool
) -> int:
    """How many waiting pauses came since then and are not in sight, up to `MOST_NEW`."""
    rows = waiting(reach).filter(narrow(filters), created_at__gt=since).exclude(id__in=shown)
    if mine:
        rows = rows.filter(answerable(who))
    return len(rows.values_list("id")[:MOST_NEW])
