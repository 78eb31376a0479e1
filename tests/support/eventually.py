"""Waiting for what nothing tells of: a thread that sleeps, a process that got somewhere."""

import time
from collections.abc import Callable

PATIENCE = 30.0


def eventually(condition: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Return as soon as the condition holds; fail once patience is out."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.005)
