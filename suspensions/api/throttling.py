"""Requests per token, where the site sets a rate. Source: api.md "Answers", operate.md `RATE_LIMIT`."""

from __future__ import annotations

import threading
import time
from math import ceil

from django.conf import settings

from suspensions.domain.policy import Caller
from suspensions.problems import RateLimited

_lock = threading.Lock()
_windows: dict[tuple[str, str], tuple[float, int]] = {}
_MOST_KEPT = 10_000


def count(caller: Caller) -> None:
    """Count a request of this token; each process counts for itself. Raises: RateLimited."""
    if settings.RATE_LIMIT is None or not caller.via.startswith("token:"):
        return
    allowed, window = settings.RATE_LIMIT
    length, now = window.total_seconds(), time.monotonic()
    key = (caller.principal, caller.via)
    with _lock:
        started, used = _windows.get(key, (now, 0))
        if now - started >= length:
            started, used = now, 0
        if used >= allowed:
            raise RateLimited(max(1, ceil(started + length - now)))
        if len(_windows) >= _MOST_KEPT:
            _forget_old(now, length)
        _windows[key] = started, used + 1


def forget() -> None:
    """Forget what was counted."""
    with _lock:
        _windows.clear()


def _forget_old(now: float, length: float) -> None:
    for key in [key for key, (started, _) in _windows.items() if now - started >= length]:
        del _windows[key]
