"""The application's clock, one reading per operation. Source: store.md section 1, "Time"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

_clock: ContextVar[Callable[[], datetime] | None] = ContextVar("cortex_clock", default=None)


def now() -> datetime:
    """This instant in UTC, of the application's clock (hosts keep NTP time)."""
    clock = _clock.get()
    return datetime.now(UTC) if clock is None else clock()


@contextmanager
def use_clock(clock: Callable[[], datetime]) -> Iterator[None]:
    """Another clock inside a `with` block: tests and drills decide what time it is."""
    token = _clock.set(clock)
    try:
        yield
    finally:
        _clock.reset(token)
