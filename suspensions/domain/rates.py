"""How often somebody has asked in a window of time, which begins with the first request.

Windows are of this process alone, unless something is put in their place that processes share.
"""

from __future__ import annotations

import time
from threading import Lock
from typing import Protocol


class Windows(Protocol):
    """What keeps who has asked how often."""

    def count(self, key: str, allowed: int, length: float, now: float) -> float:
        """Count a request at `now`; gives the seconds until the next may come, 0 where this one may."""


class OwnWindows:
    """Windows of one process."""

    _FEW = 10_000

    def __init__(self) -> None:
        self._lock = Lock()
        self._clear_at = self._FEW
        self._windows: dict[str, tuple[float, int]] = {}

    def count(self, key: str, allowed: int, length: float, now: float) -> float:
        with self._lock:
            started, used = self._windows.get(key, (now, 0))
            if now - started >= length:
                started, used = now, 0
            if used >= allowed:
                return started + length - now
            if len(self._windows) >= self._clear_at:
                self._windows = {name: each for name, each in self._windows.items() if now - each[0] < length}
                # Where most are still open, looking again at each request would cost more than the request.
                self._clear_at = max(self._FEW, 2 * len(self._windows))
            self._windows[key] = started, used + 1
            return 0.0


_windows: Windows = OwnWindows()


def count(key: str, allowed: int, length: float) -> float:
    """Count a request now; gives the seconds until the next may come, 0 where this one may."""
    return _windows.count(key, allowed, length, time.monotonic())


def keep_in(windows: Windows) -> None:
    """Count there from now on: a server's processes share theirs."""
    global _windows  # noqa: PLW0603 - set once when a process starts
    _windows = windows
