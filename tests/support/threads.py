"""Several threads at one point at one time, each with a database connection of its own."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from django.db import connections

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds after which a thread that never came is a failure, not a hang."""


def together(calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
    """Run every call in a thread of its own, all let go at once.

    Gives, in the order of the calls, what each returned or the exception that it raised. Each
    thread's connection is open before the start and closed after the end.
    """
    start = Barrier(len(calls))

    def run(call: Callable[[], T]) -> T | Exception:
        try:
            connections["default"].ensure_connection()
            start.wait(timeout=PATIENCE)
            return call()
        except Exception as error:  # the caller asserts on it
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=len(calls)) as pool:
        return list(pool.map(run, calls, timeout=PATIENCE * 2))
