"""The queue's rows and counts over all scopes that a person may see: previews only, never a continuation.

Source: pages.md, "Queue".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import F, Q, QuerySet

from suspensions.domain.cursors import make_cursor, read_cursor
from suspensions.domain.digests import instant_or_none
from suspensions.domain.instants import format_instant, parse_instant
from suspensions.domain.reach import Reach
from suspensions.domain.states import ResumeState, RunState
from suspensions.domain.strict_json import dumps
from suspensions.domain.values import Actor, EventType, Page, Reason, SuspensionItem
from suspensions.models import Admission, Event, Suspension
from suspensions.queries.reach import within
from suspensions.queries.rows import ITEM_COLUMNS, read_actor, to_item
from suspensions.queries.suspensions import calling, matching

_COLUMNS = (*ITEM_COLUMNS, "run__state", "run__revision", "run__resume")


@dataclass(frozen=True, slots=True)
class QueueItem:
    """A pause in the queue and where its run stands; `decided_by` and what follows once it was decided."""

    pause: SuspensionItem
    state: RunState
    revision: int
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
    return Suspension.objects.filter(within(reach), retired_at__isnull=True, claimed_at__isnull=True)


def answerable(who: Answerer) -> Q:
    """Pauses that this person's answer would be taken for now; nobody approves what they asked for themselves."""
    in_time = Q(expires_at__isnull=True) | Q(expires_at__gt=who.now)
    own = Q(created_by__istartswith=dumps({"principal": who.principal}).decode().removesuffix("}") + ",")
    approval = Q(reason=Reason.APPROVAL.value) & within(who.approves) & ~own
    return in_time & (approval | (Q(reason=Reason.EXTERNAL_TOOL.value) & within(who.answers)))


def narrow(rows: QuerySet[Suspension], filters: QueueFilters) -> QuerySet[Suspension]:
    """The rows that the filters leave."""
    if filters.reason is not None:
        rows = rows.filter(reason=filters.reason.value)
    if filters.agent_name is not None:
        rows = rows.filter(agent_name=filters.agent_name)
    if filters.words is not None:
        rows = rows.filter(matching(filters.words))
    if filters.created_before is not None:
        rows = rows.filter(created_at__lt=filters.created_before)
    if filters.expires_before is not None:
        rows = rows.filter(expires_at__lt=filters.expires_before)
    return rows if filters.tool is None else calling(rows, filters.tool)


def list_waiting(
    reach: Reach, who: Answerer, filters: QueueFilters, cursor: str | None, limit: int, *, mine: bool
) -> Page[QueueItem]:
    """Waiting pauses that are the person's to answer, or (`mine` false) all others.

    Nearest deadline first, then those without one, oldest first. Raises: InvalidCursor, StoredRecordBroken.
    """
    binding = ("queue", "mine" if mine else "others", *(scope.text for scope in reach), *filters.texts)
    rows = narrow(waiting(reach), filters)
    rows = rows.filter(answerable(who)) if mine else rows.exclude(answerable(who))
    after = read_cursor(cursor, binding, 2)
    if after is not None:
        rows = rows.filter(_after(parse_instant(after[0]) if after[0] else None, after[1]))
    found = list(rows.order_by(F("expires_at").asc(nulls_last=True), "id").values(*_COLUMNS)[: limit + 1])
    following = None
    if len(found) > limit:
        last = found[limit - 1]
        following = make_cursor(binding, instant_or_none(last["expires_at"]) or "", last["id"])
    return Page(tuple(_to_queue_item(row) for row in found[:limit]), following)


def _after(expires_at: datetime | None, suspension_id: str) -> Q:
    if expires_at is None:
        return Q(expires_at__isnull=True, id__gt=suspension_id)
    later = Q(expires_at__gt=expires_at) | Q(expires_at=expires_at, id__gt=suspension_id)
    return later | Q(expires_at__isnull=True)


def decided(reach: Reach) -> QuerySet[Suspension]:
    """Pauses whose answer was admitted and that no worker has picked up."""
    return Suspension.objects.filter(
        within(reach),
        retired_at__isnull=True,
        claimed_at__isnull=False,
        run__resume=ResumeState.ADMITTED.value,
        run__admission_id=F("id"),
    )


def list_decided(reach: Reach, filters: QueueFilters, cursor: str | None, limit: int) -> Page[QueueItem]:
    """Decided, not picked up: the one that must start soonest first. Raises: InvalidCursor."""
    binding = ("queue", "decided", *(scope.text for scope in reach), *filters.texts)
    rows = narrow(decided(reach), filters)
    after = read_cursor(cursor, binding, 2)
    if after is not None:
        at = parse_instant(after[0])
        rows = rows.filter(Q(claimed_at__gt=at) | Q(claimed_at=at, id__gt=after[1]))
    columns = (*_COLUMNS, "run__start_by")
    found = list(rows.order_by("claimed_at", "id").values(*columns)[: limit + 1])
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


_EXPIRED = (EventType.RUN_EXPIRED.value, EventType.RESUME_EXPIRED.value)


def expired(reach: Reach, since: datetime) -> QuerySet[Event]:
    """What failed since then because time ran out."""
    return Event.objects.filter(within(reach), at__gte=since, type__in=_EXPIRED)


def list_expired(reach: Reach, since: datetime, cursor: str | None, limit: int) -> Page[QueueItem]:
    """The pauses of runs that failed since then because time ran out, latest first. Raises: InvalidCursor."""
    binding = ("queue", "expired", *(scope.text for scope in reach))
    events = expired(reach, since)
    after = read_cursor(cursor, binding, 2)
    if after is not None:
        at = parse_instant(after[0])
        events = events.filter(at__lte=at).filter(Q(at__lt=at) | Q(id__lt=after[1]))
    found = list(events.order_by("-at", "-id").values("id", "run_id", "at")[: limit + 1])
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
        state=RunState(row["run__state"]),
        revision=row["run__revision"],
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
    rows = narrow(waiting(reach), filters).filter(created_at__gt=since).exclude(id__in=shown)
    if mine:
        rows = rows.filter(answerable(who))
    return len(rows.values_list("id")[:MOST_NEW])
