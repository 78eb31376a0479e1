"""Saying that one is there."""

from __future__ import annotations

from suspensions.domain import clock
from suspensions.operations.transactions import in_transaction
from suspensions.store import beats


def say_alive(name: str, host: str) -> None:
    """Keep the time at which a process of this name lived on this host, for Health and the metrics."""
    in_transaction(beats.keep_beat, name, host, clock.now())
