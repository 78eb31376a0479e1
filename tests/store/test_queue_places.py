"""Where a pause stands in a person's queue, and which one comes after it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from suspensions.domain.scopes import Scope
from suspensions.domain.values import Suspension
from suspensions.queries.queue import Answerer, first_of_mine, next_of_mine
from tests.support import builders as b


@pytest.fixture
def scope(database: None) -> Scope:
    return b.fresh_scope()


def who(scope: Scope, now: datetime | None = None) -> Answerer:
    return Answerer("dana", now or b.now(), (scope,), (scope,))


@pytest.fixture
def three(scope: Scope) -> list[Suspension]:
    """In the queue's order: two with a deadline, one without."""
    soon = [b.make_pause(scope, expires_at=b.now() + timedelta(minutes=left)) for left in (5, 30)]
    return [*soon, b.make_pause(scope)]


def test_places_follow_the_queues_order(scope: Scope, three: list[Suspension]) -> None:
    assert first_of_mine(who(scope)) == [pause.id for pause in three]


def test_next_goes_on_and_begins_again_at_the_end(scope: Scope, three: list[Suspension]) -> None:
    first, second, third = (pause.id for pause in three)
    for left, expected in ((first, second), (second, third), (third, first), ("", first)):
        assert next_of_mine((scope,), who(scope), left) == expected


def test_next_goes_on_from_where_a_decided_or_late_one_stood(scope: Scope, three: list[Suspension]) -> None:
    first, second, third = three
    b.admit(second)
    assert next_of_mine((scope,), who(scope), second.id) == third.id
    later = b.now() + timedelta(minutes=10)
    assert next_of_mine((scope,), who(scope, later), first.id) == third.id


def test_there_is_no_next_but_another_one(scope: Scope) -> None:
    assert next_of_mine((scope,), who(scope), "") is None
    alone = b.make_pause(scope)
    assert next_of_mine((scope,), who(scope), alone.id) is None


def test_a_foreign_pause_says_nothing_of_its_deadline(scope: Scope, three: list[Suspension]) -> None:
    foreign = b.make_pause(b.fresh_scope(), expires_at=b.now() + timedelta(minutes=10))
    assert next_of_mine((scope,), who(scope), foreign.id) == three[0].id
