"""From an event to its receiver: turns of a deliverer, several of them, and the commands that run one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from threading import Event, Thread

import pytest
from django.core.management import call_command
from django.db import OperationalError, connections

from suspensions.domain import clock
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.webhooks import CLAIMED_FOR, DeliveryState
from suspensions.management import delivering
from suspensions.notify.deliverer import Deliverer, DeliveryReport
from suspensions.notify.sending import Sender
from suspensions.operations import webhooks
from suspensions.operations.deliveries import AT_ONCE, claim_due
from suspensions.operations.sweep import sweep_once
from suspensions.queries.health_page import beats
from suspensions.queries.webhooks import list_deliveries
from tests.store.rows import rows
from tests.support.builders import at, caller, fresh_scope, make_pause, make_run
from tests.support.eventually import eventually
from tests.support.receivers import Receiver, add_webhook, running_receiver
from tests.support.threads import PATIENCE, together

ROOT = Path(__file__).resolve().parents[2]


def never() -> bool:
    return False


def turn() -> DeliveryReport:
    """One turn of a deliverer of its own."""
    with Sender(allow_private=True) as sender:
        return Deliverer(sender, never).turn()


@contextmanager
def process_of(command: str) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, which ends with the block at the latest."""
    with subprocess.Popen(
        [sys.executable, "manage.py", command],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"LOG_LEVEL": "DEBUG", "WEBHOOK_ALLOW_PRIVATE": "true"},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def states(webhook_id: str) -> list[DeliveryState]:
    return [delivery.state for delivery in list_deliveries(webhook_id, None, 100).items]


def test_an_expired_pause_is_told_once_with_its_signature(receiver: Receiver) -> None:
    scope = fresh_scope()
    webhook_id, secret = add_webhook(scope, receiver.url, "run.expired")
    pause = make_pause(scope, expires_at=clock.now())
    sweep_once()
    assert turn() == DeliveryReport(found=1, delivered=1)
    assert turn() == DeliveryReport()
    [body] = receiver.verified(secret)
    assert (body["type"], body["scope"], body["run_id"]) == ("run.expired", scope.text, pause.run_id)
    assert set(body) == {"type", "id", "at", "scope", "run_id", "suspension_id", "url"}
    assert states(webhook_id) == [DeliveryState.DELIVERED]


def test_several_deliverers_send_each_event_once(receiver: Receiver) -> None:
    scope = fresh_scope()
    webhook_id, secret = add_webhook(scope, receiver.url)
    for _ in range(10):
        make_run(scope)
    reports = [each for each in together([turn] * 3) if isinstance(each, DeliveryReport)]
    assert sum(report.delivered for report in reports) == 10
    assert len(receiver.ids()) == len(set(receiver.ids())) == len(receiver.verified(secret)) == 10
    assert states(webhook_id) == [DeliveryState.DELIVERED] * 10


def test_no_transaction_is_open_while_it_sends(receiver: Receiver) -> None:
    """Otherwise nobody could write on SQLite until the receiver has answered."""
    scope = fresh_scope()
    webhook_id, _ = add_webhook(scope, receiver.url)
    make_run(scope)
    receiver.hold = Event()

    def run() -> None:
        turn()
        connections.close_all()

    thread = Thread(target=run)
    thread.start()
    eventually(lambda: len(receiver.received) == 1)
    make_run(fresh_scope())
    [row] = rows("SELECT state, attempts FROM webhook_delivery")
    assert row == {"state": "pending", "attempts": 1}
    receiver.hold.set()
    thread.join(PATIENCE)
    assert states(webhook_id) == [DeliveryState.DELIVERED]


def test_one_that_was_killed_before_it_sent_is_made_up_for(receiver: Receiver) -> None:
    scope = fresh_scope()
    add_webhook(scope, receiver.url)
    make_run(scope)
    with Sender(allow_private=True) as sender:
        killed = Deliverer(sender, lambda: True)
        assert killed.turn().found == 1
    assert len(claim_due()) == 1
    assert turn() == DeliveryReport()
    with at(clock.now() + CLAIMED_FOR):
        assert turn() == DeliveryReport(delivered=1)
    assert len(receiver.received) == 1


def test_one_that_does_not_answer_is_left_alone_and_the_others_are_served(receiver: Receiver, scope: str) -> None:
    admin = caller(scope, Role.ADMIN)
    receiver.hold = Event()
    with running_receiver() as prompt, Sender(allow_private=True, within=0.2) as sender:
        slow, quick = (add_webhook(Scope.parse(scope), url)[0] for url in (receiver.url, prompt.url))
        for webhook_id in (slow, quick):
            for _ in range(AT_ONCE * 2):
                webhooks.ping_webhook(admin, webhook_id)
        deliverer = Deliverer(sender, never)
        assert deliverer.turn() == DeliveryReport(delivered=AT_ONCE * 2, failed=AT_ONCE)
        assert deliverer.turn() == DeliveryReport()
    attempts = [delivery.attempts for delivery in list_deliveries(slow, None, 100).items]
    assert sorted(attempts) == [0] * AT_ONCE + [1] * AT_ONCE


def test_one_that_was_killed_while_it_sent_is_made_up_for_with_the_same_id(receiver: Receiver) -> None:
    scope = fresh_scope()
    webhook_id, secret = add_webhook(scope, receiver.url)
    make_run(scope)
    receiver.hold = Event()
    with process_of("deliver") as process:
        eventually(lambda: len(receiver.received) == 1)
        process.kill()
        process.wait(PATIENCE)
    receiver.hold.set()
    with at(clock.now() + CLAIMED_FOR):
        assert turn() == DeliveryReport(delivered=1)
    first, second = receiver.verified(secret)
    assert first == second
    assert states(webhook_id) == [DeliveryState.DELIVERED]


def test_a_secret_that_was_renewed_signs_the_next_delivery(receiver: Receiver, scope: str) -> None:
    admin = caller(scope, Role.ADMIN)
    webhook_id, old = add_webhook(Scope.parse(scope), receiver.url)
    webhooks.ping_webhook(admin, webhook_id)
    new = webhooks.renew_secret(admin, webhook_id)
    turn()
    assert new != old
    assert [body["type"] for body in receiver.verified(new)] == ["webhook.ping"]


def test_a_receiver_that_is_gone_is_told_no_more(receiver: Receiver) -> None:
    scope = fresh_scope()
    webhook_id, _ = add_webhook(scope, receiver.url)
    receiver.statuses = [410]
    make_run(scope)
    assert turn() == DeliveryReport(found=1, failed=1)
    make_run(scope)
    assert turn() == DeliveryReport()
    assert len(receiver.received) == 1
    assert states(webhook_id) == [DeliveryState.FAILED]


# -- the loop and the commands ---------------------------------------------------------------------------


def test_the_loop_beats_delivers_and_outlives_trouble(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = fresh_scope()
    webhook_id, _ = add_webhook(scope, receiver.url)
    make_run(scope)
    trouble: list[Exception] = [OperationalError("gone"), ValueError("a defect")]
    rests: list[float] = []
    real = Deliverer.turn

    def troubled(self: Deliverer) -> DeliveryReport:
        if trouble:
            raise trouble.pop(0)
        return real(self)

    monkeypatch.setattr(Deliverer, "turn", troubled)
    delivering.deliver_until(lambda: len(rests) == 3, rests.append, 1.5)
    assert rests == [delivering.AFTER_TROUBLE, delivering.AFTER_TROUBLE, 1.5]
    assert states(webhook_id) == [DeliveryState.DELIVERED]
    assert "deliverer" in [name for name, _, _ in beats()]


def test_beside_a_sweeper_it_ends_with_it(receiver: Receiver) -> None:
    scope = fresh_scope()
    webhook_id, _ = add_webhook(scope, receiver.url)
    with delivering.delivering_beside(0.01):
        make_run(scope)
        eventually(lambda: states(webhook_id) == [DeliveryState.DELIVERED])
    make_run(scope)
    assert len(states(webhook_id)) == 1


def test_deliver_once_says_what_it_did(receiver: Receiver) -> None:
    scope = fresh_scope()
    add_webhook(scope, receiver.url)
    make_run(scope)
    receiver.statuses = [500]
    out = StringIO()
    call_command("deliver", "--once", stdout=out)
    assert out.getvalue() == "found 1, delivered 0, failed 1\n"


@pytest.mark.parametrize("command", ["deliver", "sweep"])
def test_a_process_delivers_until_it_is_asked_to_stop(receiver: Receiver, command: str) -> None:
    scope = fresh_scope()
    webhook_id, secret = add_webhook(scope, f"{receiver.url}/secret-path")
    make_run(scope)
    with process_of(command) as process:
        eventually(lambda: states(webhook_id) == [DeliveryState.DELIVERED])
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert secret not in said
    assert "secret-path" not in said
    assert len(receiver.verified(secret)) == 1
