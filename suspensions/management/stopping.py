"""Being asked to stop: a loop that finishes what it has in hand."""

import select
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType


class Stop:
    """Whether SIGTERM or SIGINT has asked for the end, and a wait that such a signal cuts short.

    A ``threading.Event`` would not do: its lock is not to be taken from a signal handler.
    """

    def __init__(self, wake: socket.socket) -> None:
        self._wake = wake
        self._asked = False

    def asked(self) -> bool:
        return self._asked

    def wait(self, seconds: float) -> bool:
        """Wait, unless asked to stop before or meanwhile; whether it was."""
        if not self._asked:
            select.select([self._wake], [], [], seconds)
            with suppress(BlockingIOError):
                self._wake.recv(1024)
        return self._asked

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._asked = True


@contextmanager
def stopping_gently() -> Iterator[Stop]:
    """Take SIGTERM and SIGINT as requests for the duration of the block. Main thread only."""
    wake, woken = socket.socketpair()
    for end in (wake, woken):
        end.setblocking(False)
    stop = Stop(wake)
    # The wakeup descriptor closes the gap between a look at the flag and the wait.
    before = signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
    handlers = {number: signal.signal(number, stop._ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        signal.set_wakeup_fd(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        wake.close()
        woken.close()
