"""list_expired: live pauses of paused runs past their deadline, earliest first. Source: store.md section 3."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import pytest

from suspensions.domain import clock, ids
from suspensions.domain.errors import Forbidden, InvalidLimit, InvalidRequest, NotFound, NotSuspended
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.operations import suspensions
from suspensions.store import suspensions as store
from tests.store import situations
from tests.store.rows import execute
from tests.store.situations import Situation, name_of
from tests.store.support import (
    ANCIENT,
    HOUR,
    MINUTE,
    TICK,
    around,
    at,
    claim,
    read_run,
    refused,
    statements,
    this_moment,
    unchanged,
)
from tests.support.builders import caller, fresh_scope, make_pause, make_run


def expired(scope: Scope, now: datetime | None = None, limit: int = 256) -> list[str]:
    found = suspensions.list_expired(caller(scope), scope, now or this_moment(), limit)
    return [item.id for item in found]


def due(scope: Scope, deadline: datetime | None, **more: Any) -> str:
    return make_pause(scope, expires_at=deadline, **more).id


def test_the_earliest_deadline_comes_first_and_the_id_breaks_ties() -> None:
    scope, now = fresh_scope(), this_moment()
    third, first, second = (due(scope, now - minutes * MINUTE) for minutes in (1, 3, 2))
    tied = [due(scope, now - 2 * MINUTE) for _ in range(3)]
    assert expired(scope) == [first, *sorted([second, *tied]), third]


def test_ties_are_broken_by_id_also_where_the_ids_were_chosen_out_of_order() -> None:
    scope, now = fresh_scope(), this_moment()
    chosen = [ids.id_at(ids.SUSPENSION, now - HOUR, sequence=hash(scope.text) + add) for add in (2, 0, 1)]
    for each in chosen:
        due(scope, now - MINUTE, id=each)
    assert expired(scope) == sorted(chosen)


def test_a_deadline_has_passed_at_its_very_instant() -> None:
    scope, deadline = fresh_scope(), this_moment() - HOUR
    found = due(scope, deadline)
    assert expired(scope, deadline - TICK) == []
    assert expired(scope, deadline) == [found]


@pytest.mark.parametrize("digits", [0, 1, 10, 100_000, 500_000, 999_999])
def test_instants_compare_as_instants_whatever_their_fraction(digits: int) -> None:
    scope, deadline = fresh_scope(), ANCIENT.replace(microsecond=digits)
    found = due(scope, deadline)
    assert expired(scope, deadline - TICK) == []
    assert expired(scope, deadline) == [found]


def test_what_is_listed_can_be_claimed_as_of_the_same_instant_and_nothing_else() -> None:
    scope, now = fresh_scope(), this_moment()
    made = [make_pause(scope, expires_at=now + offset * TICK) for offset in (-1, 0, 1)]
    with at(now + MINUTE):
        listed = expired(scope, now)
        claimed = []
        for pause in made:
            try:
                claimed.append(claim(scope, pause.run_id, expired_by=now).id)
            except NotSuspended:
                assert claim(scope, pause.run_id, expired_by=now + TICK).fresh
    assert listed == claimed == [pause.id for pause in made[:2]]


@pytest.mark.parametrize(
    "situation",
    [situation for situation in situations.SITUATIONS if situation is not situations.paused_past_its_deadline],
    ids=name_of,
)
def test_only_live_pauses_of_paused_runs_past_their_deadline_are_listed(situation: Situation) -> None:
    made = situation(fresh_scope())
    assert expired(made.scope) == []


def test_a_pause_without_a_deadline_is_never_listed() -> None:
    scope = fresh_scope()
    due(scope, None)
    with at(this_moment() + 24 * 365 * HOUR):
        assert expired(scope, clock.now()) == []


def test_a_pause_that_was_claimed_or_cancelled_leaves_the_list() -> None:
    scope, now = fresh_scope(), this_moment()
    made = make_pause(scope, expires_at=now - MINUTE)
    assert expired(scope) == [made.id]
    claim(scope, made.run_id, expired_by=now)
    assert expired(scope) == []


@pytest.mark.parametrize("deadline", [None, ANCIENT])
def test_an_earlier_pause_of_a_run_that_paused_again_is_not_listed(deadline: datetime | None) -> None:
    scope = fresh_scope()
    earlier = make_pause(scope, expires_at=this_moment() - MINUTE)
    claim(scope, earlier.run_id, expired_by=this_moment())
    later = make_pause(scope, run=read_run(scope, earlier.run_id), expires_at=deadline)
    assert expired(scope) == ([] if deadline is None else [later.id])


@pytest.mark.parametrize("state", ["created", "running", "completed"])
def test_a_live_pause_of_an_imported_run_that_is_not_paused_is_not_listed(state: str) -> None:
    scope = fresh_scope()
    pause = make_pause(scope, expires_at=ANCIENT)
    execute("UPDATE run SET state = %s WHERE id = %s", [state, pause.run_id])
    assert expired(scope) == []
    with refused(NotSuspended, scope):
        claim(scope, pause.run_id, expired_by=this_moment())


def test_an_item_tells_the_pause_and_previews_its_calls() -> None:
    scope = fresh_scope()
    run = make_run(scope, agent_name="booker")
    pause = make_pause(scope, run=run, expires_at=this_moment() - MINUTE)

    with unchanged(scope):
        (item,) = suspensions.list_expired(caller(scope), scope, this_moment(), 10)

    assert (item.id, item.run_id, item.scope, item.reason) == (pause.id, run.id, scope, pause.reason)
    assert (item.agent_name, item.expires_at, item.digest) == ("booker", pause.expires_at, pause.digest)
    assert (item.created_by, item.created_at) == (pause.created_by, pause.created_at)
    assert [(call["id"], call["name"]) for call in item.calls] == [("call-1", "cancel_reservation")]


def test_listing_reads_no_continuation_and_no_pending_arguments() -> None:
    scope = fresh_scope()
    due(scope, this_moment() - MINUTE)
    with statements() as sent:
        assert len(expired(scope)) == 1

    (query,) = sent
    assert "continuation_sha256" in query
    assert not re.search(r"suspension_continuation|\bbody\b|\bpending\b|\binput\b|\*", query)


# -- limits and instants -----------------------------------------------------------------------------


def test_at_most_so_many_are_given() -> None:
    scope, now = fresh_scope(), this_moment()
    made = [due(scope, now - minutes * MINUTE) for minutes in (5, 4, 3)]
    assert [expired(scope, limit=limit) for limit in (1, 2, 3, 256)] == [made[:1], made[:2], made, made]


@pytest.mark.parametrize("limit", [0, -1, 257, 10**9, True, None, "5"])
def test_a_limit_is_one_to_256(limit: Any) -> None:
    scope = fresh_scope()
    with refused(InvalidLimit, scope):
        expired(scope, limit=limit)
    with refused(InvalidLimit, scope):
        store.list_expired_across_scopes(this_moment(), limit)


def test_the_limit_is_said_before_the_instant() -> None:
    scope = fresh_scope()
    with refused(InvalidLimit, scope):
        expired(scope, this_moment() + HOUR, limit=0)


def test_an_instant_in_the_future_is_refused() -> None:
    scope = fresh_scope()
    with at(this_moment()) as now:
        for ask in (expired, lambda _, instant: store.list_expired_across_scopes(instant, 5)):
            with refused(InvalidRequest, scope):
                ask(scope, now + TICK)
        assert expired(scope, now) == []


# -- scopes ------------------------------------------------------------------------------------------


def test_a_scope_lists_what_it_covers_and_nothing_else() -> None:
    scope = fresh_scope(2)
    places = around(scope)
    made = {where: due(place, this_moment() - MINUTE) for where, place in {**places, "here": scope}.items()}

    assert set(expired(scope)) == {made["here"], made["below"]}
    assert set(expired(places["above"])) == {made["above"], made["here"], made["below"], made["beside"]}
    assert expired(places["below"]) == [made["below"]]
    assert expired(places["beside"]) == [made["beside"]]
    assert expired(places["elsewhere"]) == [made["elsewhere"]]


def test_across_scopes_every_scope_is_listed_with_its_own_scope() -> None:
    one, other = fresh_scope(), fresh_scope(3)
    # The earliest deadlines of all, so that they stand at the front whatever other tests left behind.
    early = ANCIENT - 24 * 365 * 10 * HOUR
    made = {due(one, early): one, due(other, early + TICK): other}

    found = store.list_expired_across_scopes(this_moment(), 256)

    assert {item.id: item.scope for item in found if item.id in made} == made


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.OPERATOR])
def test_only_an_operator_lists_them(role: Role) -> None:
    scope = fresh_scope()
    with refused(Forbidden, scope):
        suspensions.list_expired(caller(scope, role), scope, this_moment(), 5)


def test_nobody_lists_a_scope_that_is_not_granted() -> None:
    scope = fresh_scope()
    with refused(NotFound, scope):
        suspensions.list_expired(caller(fresh_scope()), scope, this_moment(), 5)
