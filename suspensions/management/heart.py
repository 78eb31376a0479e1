"""A process's sign of life, now and then."""

import time
from socket import gethostname

import structlog
from django.db import DatabaseError

from suspensions.domain.errors import CortexError
from suspensions.operations.beats import say_alive

EVERY = 10.0

log = structlog.stdlib.get_logger("cortex.beats")


class Heart:
    """Beats at most every ten seconds, however often it gets its turn: each beat is a write."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._host = gethostname()
        self._last: float | None = None

    def turn(self) -> None:
        """Beat if it is time to. Trouble with it stops nothing: whoever works tells of a database that is not there."""
        now = time.monotonic()
        if self._last is not None and now - self._last < EVERY:
            return
        self._last = now
        try:
            say_alive(self._name, self._host)
        except (CortexError, DatabaseError) as error:
            log.debug("a beat was not kept", reason=type(error).__name__)
