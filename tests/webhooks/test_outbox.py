"""What is to be told to whom is found once, claimed by one, and repeated until it was taken or given up."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from suspensions.domain import clock
from suspensions.domain.errors import InvalidState
from suspensions.domain.ids import id_at
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.webhooks import BACKOFF, CLAIMED_FOR, Answer, Claimed, DeliveryState, next_try
from suspensions.operations import deliveries, webhooks
from suspensions.operations.deliveries import FAR, FAR_EVERY, KEPT_FOR, Lookout, claim_due, keep_answer
from suspensions.operations.transactions import in_transaction
from suspensions.queries.webhooks import backlog, list_deliveries
from suspensions.store import purge
from suspensions.store.deliveries import claim_due as claim_one
from suspensions.store.deliveries import keep_looked_to, looked_to
from tests.store.rows import execute, rows
from tests.support.builders import admit, at, caller, fresh_scope, make_pause, make_run, start
from tests.support.receivers import add_webhook
from tests.support.threads import together

URL = "https://receiver.example/hook"
TAKEN, FAILED = Answer(204), Answer(500)


def told(webhook_id: str) -> list[str]:
    """The types of what it is told, in the order in which it happened."""
    found = list_deliveries(webhook_id, None, 100).items
    return [delivery.told.type for delivery in sorted(found, key=lambda delivery: delivery.told.event_id)]


def the_delivery(webhook_id: str) -> Any:
    [found] = list_deliveries(webhook_id, None, 100).items
    return found


@pytest.fixture
def pinged(scope: str) -> str:
    """A webhook with one delivery, which is due."""
    webhook_id, _ = add_webhook(Scope.parse(scope), URL)
    webhooks.ping_webhook(caller(scope, Role.ADMIN), webhook_id)
    return webhook_id


# -- finding -------------------------------------------------------------------------------------------


def test_every_event_of_the_scope_and_below_is_found_once() -> None:
    above = fresh_scope()
    below = Scope.parse(f"{above}/p=a/t=b")
    webhook_id, _ = add_webhook(above, URL)
    lookout = Lookout()
    start(admit(make_pause(below)))
    make_run(fresh_scope())
    found = lookout.look()
    assert told(webhook_id) == ["run.created", "run.paused", "resume.admitted", "resume.started"]
    assert found == 4
    assert (lookout.look(), Lookout().look()) == (0, 0)
    make_run(above)
    assert lookout.look() == 1


def test_a_webhook_is_not_told_of_scopes_above_and_beside() -> None:
    above = fresh_scope()
    webhook_id, _ = add_webhook(Scope.parse(f"{above}/p=a"), URL)
    make_run(above)
    make_run(Scope.parse(f"{above}/p=ab"))
    assert Lookout().look() == 0
    assert told(webhook_id) == []


def test_of_two_that_are_looked_for_at_once_each_is_told_of_its_own_scope() -> None:
    above = fresh_scope()
    left, right = Scope.parse(f"{above}/p=a"), Scope.parse(f"{above}/p=b")
    (to_left, _), (to_right, _) = add_webhook(left, URL), add_webhook(right, URL)
    make_run(left)
    make_pause(right)
    assert Lookout().look() == 3
    assert (told(to_left), told(to_right)) == (["run.created"], ["run.created", "run.paused"])


def test_only_the_chosen_types_are_told() -> None:
    scope = fresh_scope()
    webhook_id, _ = add_webhook(scope, URL, "resume.admitted", "run.paused")
    admit(make_pause(scope))
    Lookout().look()
    assert told(webhook_id) == ["run.paused", "resume.admitted"]


def test_what_happened_before_it_was_made_or_while_it_was_disabled_is_not_told() -> None:
    scope = fresh_scope()
    make_run(scope)
    webhook_id, _ = add_webhook(scope, URL)
    admin = caller(scope, Role.ADMIN)
    webhooks.disable_webhook(admin, webhook_id)
    make_run(scope)
    webhooks.enable_webhook(admin, webhook_id)
    assert Lookout().look() == 0
    make_pause(scope)
    Lookout().look()
    assert told(webhook_id) == ["run.created", "run.paused"]


def test_pages_of_events_are_looked_at_to_their_end() -> None:
    scope = fresh_scope()
    first, second = (add_webhook(scope, URL)[0] for _ in range(2))
    for _ in range(7):
        make_run(scope)
    assert Lookout(batch=3).look() == 14
    assert told(first) == told(second) == ["run.created"] * 7


def test_an_event_whose_commit_came_minutes_late_is_found() -> None:
    scope = fresh_scope()
    webhook_id, _ = add_webhook(scope, URL)
    _move_back(webhook_id, FAR)
    lookout = Lookout()
    lookout.look()
    late = clock.now() - FAR / 2
    _late_event(scope, late)
    assert lookout.look() == 0, "a near look does not reach so far"
    with at(clock.now() + FAR_EVERY):
        assert lookout.look() == 1
    assert told(webhook_id) == ["run.created"]


def test_a_deliverer_that_was_away_goes_on_where_the_last_one_looked() -> None:
    scope = fresh_scope()
    webhook_id, _ = add_webhook(scope, URL)
    _move_back(webhook_id, timedelta(days=3))
    execute("INSERT INTO webhook_position (id, looked_to) VALUES (1, %s)", [clock.now() - timedelta(days=2)])
    _late_event(scope, clock.now() - timedelta(days=2, hours=1))
    _late_event(scope, clock.now() - timedelta(days=1))
    assert Lookout().look() == 1
    [position] = rows("SELECT looked_to FROM webhook_position")
    assert str(position["looked_to"])[:10] == f"{clock.now():%Y-%m-%d}"


def test_of_two_that_looked_the_later_instant_stands() -> None:
    now = clock.now()
    in_transaction(keep_looked_to, now)
    in_transaction(keep_looked_to, now - timedelta(minutes=1))
    assert looked_to() == now
    in_transaction(keep_looked_to, now + timedelta(minutes=1))
    assert looked_to() == now + timedelta(minutes=1)


def _late_event(scope: Scope, instant: datetime) -> None:
    """An event that was made then, and is seen only now: its commit was late."""

    def id_of_then(prefix: str) -> str:
        return id_at(prefix, instant, secrets.randbits(62))

    with pytest.MonkeyPatch.context() as patched, at(instant):
        patched.setattr("suspensions.domain.ids.new_id", id_of_then)
        make_run(scope)


def _move_back(webhook_id: str, length: timedelta) -> None:
    """Let it have been made so long ago."""
    execute("UPDATE webhook SET since = %s WHERE id = %s", [clock.now() - length, webhook_id])


# -- claiming ------------------------------------------------------------------------------------------


def test_two_that_look_and_claim_at_once_get_each_delivery_once() -> None:
    scope = fresh_scope()
    webhook_id, _ = add_webhook(scope, URL)
    for _ in range(6):
        make_run(scope)

    def deliver() -> list[Claimed]:
        Lookout().look()
        taken: list[Claimed] = []
        while claimed := claim_due():
            taken += claimed
        return taken

    outcomes = together([deliver] * 4)
    assert not [each for each in outcomes if isinstance(each, Exception)]
    taken = [each.id for some in outcomes if not isinstance(some, Exception) for each in some]
    assert len(taken) == len(set(taken)) == 6
    assert len(told(webhook_id)) == 6


def test_one_row_is_claimed_by_one_of_many(pinged: str) -> None:
    outcomes = together([claim_due] * 8)
    assert sorted(len(each) for each in outcomes if not isinstance(each, Exception)) == [0] * 7 + [1]


def test_what_a_killed_claimer_left_is_sent_again_and_only_then(pinged: str) -> None:
    [first] = claim_due()
    assert claim_due() == []
    with at(clock.now() + CLAIMED_FOR):
        [second] = claim_due()
        assert (second.told, second.attempt) == (first.told, 2)
        keep_answer(second, TAKEN)
    # It was only slow: its late answer changes nothing.
    keep_answer(first, FAILED)
    found = the_delivery(pinged)
    assert (found.state, found.attempts, found.last_status) == (DeliveryState.DELIVERED, 2, 204)


def test_a_claim_that_was_taken_over_settles_nothing_any_more(pinged: str) -> None:
    [slow] = claim_due()
    with at(clock.now() + CLAIMED_FOR):
        [now_ours] = claim_due()
        for late in (FAILED, TAKEN):
            keep_answer(slow, late)
            found = the_delivery(pinged)
            assert (found.state, found.attempts, found.last_status) == (DeliveryState.PENDING, 2, None)
            assert claim_due() == []
        keep_answer(now_ours, FAILED)
    assert the_delivery(pinged).last_status == FAILED.status


def test_what_was_found_while_a_webhook_was_being_disabled_is_not_sent(pinged: str, scope: str) -> None:
    webhooks.disable_webhook(caller(scope, Role.ADMIN), pinged)
    execute("UPDATE webhook_delivery SET state = 'pending', next_at = created_at")
    now = clock.now()
    assert in_transaction(claim_one, pinged, now, now + CLAIMED_FOR, 1) == []


def test_a_webhook_with_much_to_be_told_leaves_the_others_their_turn() -> None:
    scope = fresh_scope()
    busy, quiet = (add_webhook(scope, URL)[0] for _ in range(2))
    for _ in range(10):
        webhooks.ping_webhook(caller(scope, Role.ADMIN), busy)
    webhooks.ping_webhook(caller(scope, Role.ADMIN), quiet)
    claimed = [each.webhook_id for each in claim_due()]
    assert (claimed.count(busy), claimed.count(quiet)) == (deliveries.AT_ONCE, 1)


# -- what comes of it ------------------------------------------------------------------------------------


def test_after_each_failure_it_waits_longer_and_at_last_is_given_up(pinged: str) -> None:
    now = clock.now()
    for attempt, wait in enumerate(BACKOFF, 1):
        with at(now):
            [claimed] = claim_due()
            keep_answer(claimed, FAILED)
        found = the_delivery(pinged)
        assert (found.state, found.attempts, found.next_at) == (DeliveryState.PENDING, attempt, now + wait)
        with at(now + wait - timedelta(microseconds=1)):
            assert claim_due() == []
        now += wait
    with at(now):
        [claimed] = claim_due()
        keep_answer(claimed, Answer(None, "no connection"))
    found = the_delivery(pinged)
    assert (found.state, found.attempts, found.next_at) == (DeliveryState.FAILED, len(BACKOFF) + 1, None)
    assert (found.last_status, found.last_error) == (None, "no connection")


def test_what_was_given_up_is_tried_once_more_by_hand(pinged: str, scope: str) -> None:
    admin = caller(scope, Role.ADMIN)
    delivery_id = the_delivery(pinged).id
    with pytest.raises(InvalidState):
        webhooks.retry_delivery(admin, pinged, delivery_id)
    execute("UPDATE webhook_delivery SET state = 'failed', next_at = NULL, attempts = 7")
    webhooks.retry_delivery(admin, pinged, delivery_id)
    [claimed] = claim_due()
    keep_answer(claimed, FAILED)
    assert (the_delivery(pinged).state, the_delivery(pinged).attempts) == (DeliveryState.FAILED, 8)


def test_410_disables_the_webhook_and_gives_up_what_it_was_not_told(pinged: str, scope: str) -> None:
    webhooks.ping_webhook(caller(scope, Role.ADMIN), pinged)
    first, second = claim_due()
    keep_answer(first, Answer(410))
    found = webhooks.find_webhook(caller(scope, Role.ADMIN), pinged)
    assert found.disabled_at is not None and found.disabled_by is not None and found.disabled_by.via == "system"
    assert [each.state for each in list_deliveries(pinged, None, 9).items] == [DeliveryState.FAILED] * 2
    assert (claim_due(), Lookout().look(), backlog().pending) == ([], 0, 0)
    with pytest.raises(InvalidState):
        webhooks.ping_webhook(caller(scope, Role.ADMIN), pinged)
    # The other one was on its way, and was taken all the same.
    keep_answer(second, TAKEN)
    states = {each.id: each.state for each in list_deliveries(pinged, None, 9).items}
    assert states == {first.id: DeliveryState.FAILED, second.id: DeliveryState.DELIVERED}


def test_what_waits_is_counted_with_its_age(pinged: str) -> None:
    found = backlog()
    assert found.pending == 1
    assert found.oldest_at == the_delivery(pinged).created_at
    [claimed] = claim_due()
    keep_answer(claimed, TAKEN)
    assert (backlog().pending, backlog().oldest_at) == (0, None)


def test_what_was_settled_long_ago_is_forgotten_and_what_waits_stays(pinged: str, scope: str) -> None:
    [claimed] = claim_due()
    keep_answer(claimed, TAKEN)
    webhooks.ping_webhook(caller(scope, Role.ADMIN), pinged)
    assert deliveries.forget_settled() == 0
    with at(clock.now() + KEPT_FOR):
        assert deliveries.forget_settled() == 1
    assert [each.state for each in list_deliveries(pinged, None, 9).items] == [DeliveryState.PENDING]


@pytest.mark.parametrize("act", [webhooks.find_webhook, webhooks.renew_secret, webhooks.ping_webhook])
def test_a_webhooks_row_is_read_without_its_secret(act: Callable[..., Any], pinged: str, scope: str) -> None:
    given = act(caller(scope, Role.ADMIN), pinged)
    [kept] = rows("SELECT secret FROM webhook")
    assert (given == kept["secret"]) is (act is webhooks.renew_secret)
    assert kept["secret"] not in repr(webhooks.find_webhook(caller(scope, Role.ADMIN), pinged))
    assert kept["secret"] not in repr(claim_due())


def test_next_try_ends() -> None:
    now = clock.now()
    assert [next_try(attempt, now) for attempt in (1, 6, 7, 8)] == [now + BACKOFF[0], now + BACKOFF[5], None, None]


def test_what_was_told_of_a_run_goes_with_it() -> None:
    """With every other table that tells of runs; see the suite of retention."""
    scope = fresh_scope()
    webhook_id, _ = add_webhook(scope, URL)
    gone, kept = make_run(scope), make_run(scope)
    Lookout().look()
    claimed = claim_due()

    def remove() -> None:
        purge.open_window(clock.now())
        purge.remove_runs([gone.id])
        purge.close_window()

    in_transaction(remove)
    for each in claimed:
        keep_answer(each, TAKEN)
    assert the_delivery(webhook_id).told.run_id == kept.id
    assert the_delivery(webhook_id).state is DeliveryState.DELIVERED
