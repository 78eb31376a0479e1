"""Named points between the steps of an operation, at which a test can stop, hold or kill its process.

In production nothing is installed, and reaching a point costs one comparison.
Source: store.md section 3, "Each is one transaction"; docs/adr/0017.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

Hook = Callable[["Point"], None]


class Point(StrEnum):
    """What lies behind and what ahead, in the order of an operation; locks, reads and writes may come again."""

    BEFORE_BEGIN = "before begin"
    BEFORE_LOCK = "before lock"
    AFTER_LOCK = "after lock"
    AFTER_READ = "after read"
    BEFORE_WRITE = "before write"
    AFTER_WRITE = "after write"
    BEFORE_COMMIT = "before commit"
    AFTER_COMMIT = "after commit"


_hook: Hook | None = None


def reach(point: Point) -> None:
    """Tell the hook, where one is installed, that an operation has come to this point."""
    if _hook is not None:
        _hook(point)


@contextmanager
def installed(hook: Hook) -> Iterator[None]:
    """Call `hook` at every point, in every thread of this process, inside a `with` block."""
    global _hook  # noqa: PLW0603 - a context variable would be looked up at each point, and not reach new threads
    before = _hook
    _hook = hook
    try:
        yield
    finally:
        _hook = before
