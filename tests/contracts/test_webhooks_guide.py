"""What the guide to webhooks tells receivers, run as it stands against what is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from suspensions.domain.webhooks import BACKOFF, new_secret
from suspensions.notify.deliverer import Deliverer
from suspensions.notify.sending import WITHIN, Sender
from suspensions.operations.deliveries import KEPT_FOR
from tests.support.builders import fresh_scope, make_pause
from tests.support.receivers import Receiver, add_webhook, forget_webhooks, running_receiver

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "webhooks.md").read_text(encoding="utf-8")


@pytest.fixture
def told(settings: Settings) -> Iterator[tuple[Receiver, str]]:
    """A receiver that was told of one pause, and its secret."""
    settings.WEBHOOK_ALLOW_PRIVATE = True
    settings.PUBLIC_URL = "https://cortex.example.com"
    forget_webhooks()
    with running_receiver() as receiver, Sender(allow_private=True) as sender:
        scope = fresh_scope()
        _, secret = add_webhook(scope, receiver.url, "run.paused")
        make_pause(scope)
        Deliverer(sender, lambda: False).turn()
        yield receiver, secret
    forget_webhooks()


def receive_of_the_guide(secret: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    [code] = re.findall(r"```python file=receiver.py\n(.*?)```", GUIDE, re.DOTALL)
    monkeypatch.setenv("WEBHOOK_SECRET", secret)
    names: dict[str, Any] = {}
    exec(code, names)
    return names["receive"]


def test_its_receiver_takes_a_delivery_once(
    told: tuple[Receiver, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver, secret = told
    [got] = receiver.received
    receive = receive_of_the_guide(secret, monkeypatch)
    assert [receive(got.headers, got.body) for _ in range(2)] == [204, 204]
    assert capsys.readouterr().out == f"run.paused {got.json['url']}\n"


def test_its_receiver_refuses_what_is_not_signed_so(
    told: tuple[Receiver, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver, secret = told
    [got] = receiver.received
    assert receive_of_the_guide(new_secret(), monkeypatch)(got.headers, got.body) == 401
    receive = receive_of_the_guide(secret, monkeypatch)
    assert receive(got.headers, got.body.replace(b"run.paused", b"run.failed")) == 401
    assert receive(got.headers | {"webhook-timestamp": "1"}, got.body) == 401
    assert receive({}, got.body) == 401


def test_its_example_has_the_members_that_are_sent(told: tuple[Receiver, str]) -> None:
    [example] = re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)
    sent, shown = told[0].received[0].json, json.loads(example)
    assert list(sent) == list(shown)
    for name in ("url", "at", "id", "run_id", "suspension_id"):
        assert re.sub(r"_\w{26}|\d", "x", sent[name]) == re.sub(r"_\w{26}|\d", "x", shown[name])


def test_its_numbers_are_those_of_the_code() -> None:
    units = {"s": 1, "min": 60, "h": 3600}
    [line] = re.findall(r"tried again after (.*?), then given up", GUIDE)
    waits = [int(number) * units[unit] for number, unit in re.findall(r"(\d+) (s|min|h)\b", line)]
    assert waits == [wait.total_seconds() for wait in BACKOFF]
    assert f"within {WITHIN:g} seconds" in GUIDE
    assert f"for {KEPT_FOR.days} days" in GUIDE
