"""The sweeper's sign of life: kept by each sweep, seldom enough, and in nobody's way."""

from __future__ import annotations

import secrets
from datetime import timedelta
from socket import gethostname
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError

from suspensions.domain import clock
from suspensions.management import heart as module
from suspensions.management.commands.sweep import NAME
from suspensions.management.heart import EVERY, Heart
from suspensions.operations.beats import say_alive
from suspensions.queries.health_page import beats
from tests.commands.test_access_commands import run
from tests.store.rows import execute
from tests.support.builders import at
from tests.support.threads import together


@pytest.fixture
def name() -> str:
    return f"process-{secrets.token_hex(4)}"


def kept(name: str) -> dict[str, Any]:
    return {host: when for there, host, when in beats() if there == name}


@pytest.mark.usefixtures("empty_database")
def test_a_sweep_beats() -> None:
    before = clock.now()
    execute("DELETE FROM beat WHERE name = %s", [NAME])
    run("sweep", "--once")
    assert list(kept("sweeper")) == [gethostname()]
    assert before <= kept("sweeper")[gethostname()] <= clock.now()


def test_each_host_has_one_and_the_later_beat_stands(name: str) -> None:
    now = clock.now()
    for host, seconds in (("a", 0), ("b", 1), ("a", 5), ("a", 3)):
        with at(now + timedelta(seconds=seconds)):
            say_alive(name, host)
    assert kept(name) == {"a": now + timedelta(seconds=5), "b": now + timedelta(seconds=1)}


def test_hosts_that_are_long_gone_are_forgotten(name: str) -> None:
    now = clock.now()
    with at(now - timedelta(days=7, seconds=1)):
        say_alive(name, "old")
    with at(now - timedelta(days=7) + timedelta(seconds=1)):
        say_alive(name, "quiet")
    say_alive(name, "here")
    assert set(kept(name)) == {"quiet", "here"}


def test_sweepers_of_one_host_beat_at_once(name: str) -> None:
    said = together([lambda: say_alive(name, "a")] * 4)
    assert said == [None] * 4
    assert list(kept(name)) == ["a"]


def test_a_heart_beats_seldom_however_often_it_may(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 0.0
    said: list[float] = []
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: seconds))
    monkeypatch.setattr(module, "say_alive", lambda *who: said.append(seconds))
    heart = Heart(name)
    for step in range(61):
        seconds = step / 2
        heart.turn()
    assert said == [0, EVERY, 2 * EVERY, 3 * EVERY]


def test_a_beat_that_is_not_kept_stops_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*who: str) -> None:
        raise OperationalError("no database")

    monkeypatch.setattr(module, "say_alive", fail)
    Heart(name).turn()
    assert kept(name) == {}
