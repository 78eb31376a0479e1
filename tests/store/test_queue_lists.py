"""What the queue lists, whatever way it was read: the same rows in the same order as the plain rule gives.

The bounds of its steps are made small here, so that a few dozen pauses go through every one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db.models import F

from suspensions.domain import clock
from suspensions.domain.reach import Reach
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Reason
from suspensions.models import Suspension
from suspensions.operations import suspensions
from suspensions.queries import nearest, queue, segments
from suspensions.queries.queue import Answerer, QueueFilters
from tests.support import builders
from tests.support.builders import call, caller

WHO = "Dana.Kim"
HOURS = (None, 1, 2, None, -1, 3)


@pytest.fixture(scope="module")
def tenant() -> Scope:
    return builders.fresh_scope(1)


@pytest.fixture(scope="module", autouse=True)
def pauses(tenant: Scope) -> None:
    """Ninety pauses of three desks, of every reason, some late, some asked for by the person."""
    now = clock.now()
    for number in range(90):
        scope = Scope(f"{tenant.text}/p=desk-{number % 3}/t={number % 2}")
        reason = (Reason.APPROVAL, Reason.APPROVAL, Reason.EXTERNAL_TOOL, Reason.AGENT_REPLY)[number % 4]
        tool = ("cancel_seat", "bookFlight", "update_meal")[number % 3 if number % 30 else 2]
        more: dict[str, Any] = {"reply_with": "reply-1"} if reason is Reason.AGENT_REPLY else {}
        hours = HOURS[number % 6]
        with builders.at(now - timedelta(days=2, minutes=90 - number)):
            run = builders.make_run(scope, agent_name=f"agent-{number % 5}")
        new = builders.new_suspension(
            scope,
            run.id,
            reason,
            [call("call-1", tool, f'{{"guest":"guest-{number % 7}"}}', **more)],
            expires_at=None if hours is None else now + timedelta(hours=hours),
        )
        by = caller(scope, principal=WHO.lower() if number % 5 == 0 else "")
        with builders.at(now - timedelta(days=2, minutes=90 - number)):
            suspensions.create_suspension(by, new)


@dataclass(frozen=True, slots=True)
class Steps:
    """How far each way of reading goes before another takes its place."""

    near: tuple[int, int] = nearest.NEAR
    rare: int = nearest.MOST_RARE
    old: int = nearest.MOST_OLD
    few: int = segments.MOST_FEW
    merged: int = segments.MOST_MERGED
    wide: int = segments.WIDE


STEPS = {
    "as it is": Steps(),
    "one by one": Steps(merged=0),
    "parents": Steps(merged=3),
    "parents, too narrow": Steps(merged=3, wide=1, few=2),
    "small": Steps((3, 10), rare=4, old=6, few=2),
    "small, one by one": Steps((3, 10), rare=4, old=6, few=2, merged=1),
    "tiny": Steps((2, 5), rare=1, old=1, few=0),
    "tiny, one by one": Steps((2, 5), rare=1, old=1, few=0, merged=0),
}


@pytest.fixture(params=STEPS)
def steps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = STEPS[request.param]
    monkeypatch.setattr(nearest, "NEAR", asked.near)
    monkeypatch.setattr(nearest, "MOST_RARE", asked.rare)
    monkeypatch.setattr(nearest, "MOST_OLD", asked.old)
    monkeypatch.setattr(segments, "MOST_FEW", asked.few)
    monkeypatch.setattr(segments, "MOST_MERGED", asked.merged)
    monkeypatch.setattr(segments, "WIDE", asked.wide)


def reaches(tenant: Scope) -> dict[str, tuple[Reach, Reach, Reach]]:
    """What a person sees, where they may approve, and where they may answer."""
    desks = tuple(Scope(f"{tenant.text}/p=desk-{number}") for number in range(3))
    leaves = tuple(Scope(f"{desk.text}/t={number}") for desk in desks for number in range(2))
    return {
        "everything": ((tenant,), (tenant,), (tenant,)),
        "desks": (desks, desks, desks[:1]),
        "leaves": (leaves, leaves[:3], leaves),
        "sees all, approves some": ((tenant,), leaves[1:3], desks[1:2]),
        "mixed": ((desks[0], *leaves[2:4]), (desks[0],), leaves[2:3]),
        "sees only": ((tenant,), (), ()),
    }


def filters(now: datetime) -> dict[str, QueueFilters]:
    return {
        "none": QueueFilters(),
        "reason": QueueFilters(reason=Reason.APPROVAL),
        "tool": QueueFilters(tool="cancel_seat"),
        "agent": QueueFilters(agent_name="agent-2"),
        "word": QueueFilters(words="flight"),
        "words": QueueFilters(words="Cancel guest-3"),
        "part": QueueFilters(words="cancel_se"),
        "no word": QueueFilters(words="%"),
        "nothing": QueueFilters(words="zebra"),
        "age": QueueFilters(created_before=now - timedelta(days=2, minutes=60)),
        "deadline": QueueFilters(expires_before=now + timedelta(hours=2)),
        "late": QueueFilters(expires_before=now),
        "all at once": QueueFilters(
            reason=Reason.APPROVAL,
            tool="update_meal",
            agent_name="agent-0",
            words="guest",
            created_before=now - timedelta(days=1),
            expires_before=now + timedelta(hours=5),
        ),
    }


@pytest.fixture(params=["everything", "desks", "leaves", "sees all, approves some", "mixed", "sees only"])
def person(request: pytest.FixtureRequest, tenant: Scope) -> tuple[Reach, Answerer]:
    sees, approves, answers = reaches(tenant)[request.param]
    return sees, Answerer(WHO, clock.now(), approves, answers)


def plainly(reach: Reach, who: Answerer, asked: QueueFilters, mine: bool) -> list[str]:
    """All ids, by the rule itself."""
    rows = queue.waiting(reach).filter(queue.narrow(asked))
    answerable = rows.filter(queue.answerable(who)).values_list("id", flat=True)
    rows = rows.filter(id__in=list(answerable)) if mine else rows.exclude(id__in=list(answerable))
    return list(rows.order_by(F("expires_at").asc(nulls_last=True), "id").values_list("id", flat=True))


def paged(reach: Reach, who: Answerer, asked: QueueFilters, mine: bool, limit: int) -> Iterator[str]:
    cursor = None
    while True:
        page = queue.list_waiting(reach, who, asked, cursor, limit, mine=mine)
        yield from (item.pause.id for item in page.items)
        cursor = page.next
        if cursor is None:
            return
        assert len(page.items) == limit


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize("mine", [True, False], ids=["mine", "others"])
def test_every_way_of_reading_lists_the_same(person: tuple[Reach, Answerer], mine: bool) -> None:
    reach, who = person
    for name, asked in filters(who.now).items():
        expected = plainly(reach, who, asked, mine)
        assert list(paged(reach, who, asked, mine, 7)) == expected, name


@pytest.mark.usefixtures("steps")
def test_an_id_is_found_among_all(tenant: Scope) -> None:
    who = Answerer(WHO, clock.now(), (tenant,), (tenant,))
    for pause in Suspension.objects.filter(scope_1=tenant.text).order_by("?")[:6]:
        for typed in (pause.id, pause.run_id):
            found = [
                item.pause.id
                for mine in (True, False)
                for item in queue.list_waiting((tenant,), who, QueueFilters(words=typed), None, 7, mine=mine).items
            ]
            assert found == [pause.id]
