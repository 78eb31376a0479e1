"""How the lists are read where there is much to read: from indexes, in their order, a page's worth and little more.

Over 20,000 waiting pauses; at a few rows any planner reads the whole table, and rightly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from suspensions.domain import clock
from suspensions.domain.ids import RUN, new_id
from suspensions.domain.reach import Reach
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Page, Reason
from suspensions.models import search
from suspensions.queries import counts, nearest, queue, segments
from suspensions.queries.gauges import read_gauges
from suspensions.queries.interaction_page import list_questions
from suspensions.queries.queue import Answerer, QueueFilters
from suspensions.queries.receipts import KINDS, list_receipts
from suspensions.queries.run_page import list_runs
from suspensions.queries.uncertain_page import list_uncertain
from tests.store import plans
from tests.store.plans import Sent
from tests.support.crowd import RARE_AGENT, RARE_TOOL, Crowd, analyse, code, load, load_history
from tests.support.engine import reset_database

PENDING = 20_000
HISTORY = PENDING + PENDING // 2
LIMIT = 50
SILENT = timedelta(minutes=10)
CROWD = Crowd("acme", "beta")
GONE = Crowd("aardvark", "beta")
"""A tenant that holds a third of all, and nothing new."""
PEOPLE: dict[str, Reach] = {
    "one scope": tuple(CROWD.desks[:1]),
    "five scopes": tuple(CROWD.desks[:5]),
    "fifty scopes": tuple(CROWD.desks),
    "one broad grant": (CROWD.broad,),
}


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who may approve and answer everything that they see."""

    reach: Reach
    now: datetime
    principal: str = "dana"

    @property
    def answerer(self) -> Answerer:
        return Answerer(self.principal, self.now, self.reach, self.reach)

    def waiting(
        self, filters: QueueFilters | None = None, cursor: str | None = None, *, mine: bool = True
    ) -> Page[queue.QueueItem]:
        return queue.list_waiting(self.reach, self.answerer, filters or QueueFilters(), cursor, LIMIT, mine=mine)


@pytest.fixture(scope="module")
def crowded() -> Iterator[datetime]:
    """Very many pauses, and an empty database again before another module's tests."""
    reset_database()
    now = clock.now()
    load(CROWD, PENDING, now, continuation=100)
    load_history(CROWD, PENDING, now)
    load_history(GONE, HISTORY - PENDING, now - timedelta(days=30))
    analyse()
    yield now
    reset_database()
    analyse()


@pytest.fixture(params=PEOPLE)
def person(request: pytest.FixtureRequest, crowded: datetime) -> Person:
    return Person(PEOPLE[request.param], crowded)


def only(call: Callable[[], Any]) -> Sent:
    (sent,) = plans.sent_by(call)
    return sent


def judge(sent: Sent, most_read: int, most_sorted: int) -> None:
    """Every table is read by an index, no more than so many rows of it, and little is sorted."""
    assert "OFFSET" not in sent.text.upper()
    if connection.vendor == "sqlite":
        outline = plans.outline(sent)
        tables = ("suspension", "run", "event", "interaction", "resume")
        assert not [line for line in outline if line.startswith("SCAN ") and line.split()[1].startswith(tables)]
        return
    done = plans.steps(sent)
    assert not [step for step in done if step.kind == "Seq Scan"]
    scanned = [step for step in done if step.kind in ("Index Scan", "Index Only Scan", "Bitmap Heap Scan", "Tid Scan")]
    assert sum(step.read for step in scanned) <= most_read, done
    assert max((step.read for step in done if "Sort" in step.kind), default=0) <= most_sorted, done


# A page of the merged indexes, and as much beside it where it is that of the scopes' parent; each row's pause and run.
PAGE = 5 * (LIMIT + 1)


@pytest.mark.parametrize("mine", [True, False], ids=["mine", "others"])
def test_a_page_of_the_queue_reads_about_a_page(person: Person, mine: bool) -> None:
    page = person.waiting(mine=mine)
    assert len(page.items) == LIMIT
    judge(only(lambda: person.waiting(mine=mine)), PAGE, LIMIT + 1)


@pytest.mark.parametrize("mine", [True, False], ids=["mine", "others"])
def test_scopes_that_are_little_of_their_parent_are_read_one_by_one(crowded: datetime, mine: bool) -> None:
    person = Person(tuple(Scope(f"{CROWD.broad.text}/p=branch-{number:04}") for number in range(300)), crowded)
    page = person.waiting(mine=mine)
    assert len(page.items) == LIMIT
    # The parent's pages, looked through in vain and then counted, and two rows and one more of each scope and reason.
    wide = 2 * segments.WIDE * (LIMIT + 1)
    judge(only(lambda: person.waiting(mine=mine)), wide + PAGE + 3 * 3 * len(person.reach), 3 * 3 * len(person.reach))


@pytest.mark.parametrize("mine", [True, False], ids=["mine", "others"])
def test_what_somebody_asked_for_themselves_is_not_gathered_without_end(person: Person, mine: bool) -> None:
    asked_for_much = replace(person, principal="maker-3")
    assert asked_for_much.waiting(mine=mine).items
    sent = only(lambda: asked_for_much.waiting(mine=mine))
    # Each of those that may be too many is looked at where they are gathered; where they are, each row of the list is.
    judge(sent, 2 * (segments.MOST_FEW + 1) + 10 * PAGE, LIMIT + 1)


def test_a_later_page_reads_no_more_than_the_first(person: Person) -> None:
    page = person.waiting()
    for _ in range(3):
        page = person.waiting(cursor=page.next)
    assert page.next is not None
    judge(only(lambda: person.waiting(cursor=page.next)), PAGE, LIMIT + 1)


@pytest.mark.parametrize(
    "filters",
    [QueueFilters(reason=Reason.EXTERNAL_TOOL), QueueFilters(expires_before=clock.now() + timedelta(hours=3))],
    ids=["reason", "deadline"],
)
def test_a_filter_that_the_order_serves_costs_nothing(person: Person, filters: QueueFilters) -> None:
    judge(only(lambda: person.waiting(filters)), PAGE, LIMIT + 1)


NARROW = {
    "tool": QueueFilters(tool="cancel_seat"),
    "rare tool": QueueFilters(tool=RARE_TOOL),
    "agent": QueueFilters(agent_name="agent-3"),
    "rare agent": QueueFilters(agent_name=RARE_AGENT),
    "old": QueueFilters(created_before=clock.now() - timedelta(days=6, hours=23)),
    "common word": QueueFilters(words="cancel"),
    "rare word": QueueFilters(words="guest-4711"),
    "one of all": QueueFilters(words=code(1_234)),
    "nothing": QueueFilters(words="zebra"),
    "id": QueueFilters(words=f"sus_acme{1_234:020}"),
}


@pytest.mark.parametrize("name", NARROW)
def test_a_filter_or_search_looks_at_a_bounded_number(person: Person, name: str) -> None:
    few, many = nearest.NEAR
    # Each look reads an index first and then what lies before its edge, with some rows to spare.
    most = 3 * (few + many) + nearest.MOST_RARE
    judge(only(lambda: person.waiting(NARROW[name])), most, 2 * many)


@pytest.mark.parametrize("name", ["rare tool", "rare agent", "one of all", "nothing", "id"])
def test_what_is_rare_is_found_without_looking_far(person: Person, name: str) -> None:
    few, _ = nearest.NEAR
    judge(only(lambda: person.waiting(NARROW[name])), 4 * few, 3 * few)


def test_what_is_neither_common_nor_rare_is_not_gathered_by_its_words(person: Person) -> None:
    page = person.waiting(QueueFilters(words="lane 77"))
    assert page.items
    few, many = nearest.NEAR
    sent = only(lambda: person.waiting(QueueFilters(words="lane 77")))
    judge(sent, 3 * (few + many), 2 * many)
    if connection.vendor == "postgresql":
        # An inverted index gathers all that has the words before it gives one.
        assert max(step.given for step in plans.steps(sent) if step.index == search.NAME) == 0


def test_counts_stop_counting(person: Person) -> None:
    def count() -> counts.Counts:
        return counts.count(person.reach, person.answerer, person.now, person.now - timedelta(days=1), SILENT)

    found = count()
    assert found.mine <= counts.MOST + 1
    assert found.waiting <= counts.MOST + 1
    # Whether a resume under way is uncertain is only known by looking at it, and at its start.
    under_way = 2 * PENDING // 4
    judge(only(count), 6 * (counts.MOST + 1) + under_way, under_way)


def _receipts(kind: str) -> Callable[[Person], Any]:
    return lambda person: list_receipts(kind, person.reach, "", None, LIMIT)


OTHER_LISTS: dict[str, Callable[[Person], Any]] = {
    "decided": lambda person: queue.list_decided(person.reach, QueueFilters(), None, LIMIT),
    "expired": lambda person: queue.list_expired(person.reach, person.now - timedelta(days=1), None, LIMIT),
    "runs": lambda person: list_runs(person.reach, "", None, None, None, LIMIT),
    "a run by its id": lambda person: list_runs(person.reach, new_id(RUN), None, None, None, LIMIT),
    "uncertain": lambda person: list_uncertain(person.reach, None, LIMIT, person.now, SILENT),
    "questions": lambda person: list_questions(person.reach, "open", "", None, LIMIT),
    **{f"receipts of kind {kind}": _receipts(kind) for kind in KINDS},
}


@pytest.mark.parametrize("name", OTHER_LISTS)
def test_every_other_list_is_read_in_the_order_of_an_index(person: Person, name: str) -> None:
    sent = plans.sent_by(lambda: OTHER_LISTS[name](person))[0]
    page = (LIMIT + 1) * len(person.reach)
    # Some look at each row's pause or start as well.
    judge(sent, 2 * page + PAGE, page)


@pytest.mark.parametrize("name", [name for name in OTHER_LISTS if name not in ("expired", "a run by its id")])
def test_what_others_did_since_is_not_passed_by(crowded: datetime, name: str) -> None:
    sent = plans.sent_by(lambda: OTHER_LISTS[name](Person((GONE.broad,), crowded)))[0]
    judge(sent, PAGE, LIMIT + 1)


def test_the_oldest_pause_is_found_without_reading_all_that_wait(crowded: datetime) -> None:
    (sent,) = [each for each in plans.sent_by(lambda: read_gauges(crowded, SILENT)) if "RECURSIVE" in each.text]
    # Of those that wait one is read of each tenant; the history's are older, and each of them is passed by.
    judge(sent, HISTORY, LIMIT)
