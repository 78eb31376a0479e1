"""Being asked to stop."""

import os
import signal
import threading

import pytest

from suspensions.management.stopping import stopping_gently


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_to_stop_and_cuts_the_wait_short(number: signal.Signals) -> None:
    with stopping_gently() as stop:
        assert not stop.asked()
        threading.Timer(0.05, os.kill, (os.getpid(), number)).start()
        assert stop.wait(30)
        assert stop.asked()
        assert stop.wait(30), "asked once, it waits no more"


def test_without_a_signal_the_wait_ends_by_itself() -> None:
    with stopping_gently() as stop:
        assert not stop.wait(0.01)


def test_the_handlers_of_before_are_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    with stopping_gently():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
