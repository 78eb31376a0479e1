"""How often what was refused, by code: each refusal counts once, wherever it passes.

It is counted where an operation refuses, and where a refusal is told, since some never come to an operation (a missing
token, a body of the wrong shape) and some are told in several ways. Counts are of this process alone, unless something
is put in their place that processes share. Source: store.md section 10, the last sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from threading import Lock
from typing import Protocol

from suspensions.domain.errors import CortexError


class Tally(Protocol):
    """What keeps the counts."""

    def add(self, code: str) -> None:
        """One more of this code."""

    def totals(self) -> Mapping[str, int]:
        """How many of each code there were; codes that never came may be missing."""


class OwnTally:
    """Counts of one process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()

    def add(self, code: str) -> None:
        with self._lock:
            self._counts[code] += 1

    def totals(self) -> Mapping[str, int]:
        with self._lock:
            return dict(self._counts)


_tally: Tally = OwnTally()


def count(refusal: CortexError) -> None:
    """Count a refusal, unless it was counted already."""
    if not refusal.counted:
        refusal.counted = True
        _tally.add(refusal.code)


def totals() -> Mapping[str, int]:
    """How many of each code there were."""
    return _tally.totals()


def keep_in(tally: Tally) -> None:
    """Keep the counts there from now on: a server's processes share theirs."""
    global _tally  # noqa: PLW0603 - one place for every layer, set once when a process starts
    _tally = tally
