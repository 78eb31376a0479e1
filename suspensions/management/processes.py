"""Child processes that live and die together: started, restarted, and stopped as one."""

import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType

TICK = 0.25
"""Seconds between two looks at what is not signalled: readiness, a restart that is due."""

_PR_SET_PDEATHSIG = 1


def die_with_parent(number: int = signal.SIGTERM) -> None:
    """Let the kernel send this process a signal when its parent ends, where the kernel can.

    A killed parent stops nobody; an orphan would go on and hold the port.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)


@dataclass
class Child:
    """A process to keep running.

    The end of an *essential* one ends all; another is started again, a little later each time
    it ends early. With ``needs_ready`` it starts once the announcement was made.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    essential: bool = False
    needs_ready: bool = False
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_due_at: float = 0.0
    failures: int = 0

    def start(self) -> None:
        """Start the process in a session of its own, bound to the life of this one."""
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            env=os.environ | dict(self.environment),
            stdin=subprocess.DEVNULL,
            # Ctrl-C reaches the whole foreground group. The supervisor alone shall get it, and
            # stop the others in order.
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509  # this process has one thread
        )


class Supervisor:
    """Runs children until one essential ends or a signal asks to stop."""

    def __init__(
        self,
        children: Sequence[Child],
        *,
        report: Callable[[str], None],
        stop_within: float = 15.0,
    ) -> None:
        self._children = children
        self._report = report
        self._stop_within = stop_within
        self._asked_to_stop = False

    def run(self, announce: Callable[[], bool]) -> int:
        """Start the children, stay until the end, stop what still runs; give the exit code.

        ``announce`` is asked again and again until it says that all is ready. The code is 0
        where a signal asked for the end, else that of the essential child which ended.
        """
        wake, woken = socket.socketpair()
        for end in (wake, woken):
            end.setblocking(False)
        # The wakeup descriptor closes the gap between a look at the children and the wait: a
        # signal that arrives in it leaves a byte, and the wait returns at once.
        before = signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
        handlers = {
            signal.SIGINT: signal.signal(signal.SIGINT, self._ask_to_stop),
            signal.SIGTERM: signal.signal(signal.SIGTERM, self._ask_to_stop),
            signal.SIGCHLD: signal.signal(signal.SIGCHLD, _note),
        }
        try:
            return self._watch(wake, announce)
        finally:
            self._stop_all()
            signal.set_wakeup_fd(before)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            wake.close()
            woken.close()

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        self._asked_to_stop = True

    def _watch(self, wake: socket.socket, announce: Callable[[], bool]) -> int:
        ready = False
        while not self._asked_to_stop:
            for child in self._children:
                code = self._look_after(child, ready=ready)
                if code is not None:
                    return code
            ready = ready or announce()
            select.select([wake], [], [], TICK)
            _drain(wake)
        return 0

    def _look_after(self, child: Child, *, ready: bool) -> int | None:
        """Start the child where that is due; give a code where its end is the end of all."""
        now = time.monotonic()
        if child.process is None:
            if now >= child.start_due_at and (ready or not child.needs_ready):
                child.start()
            return None
        code = child.process.poll()
        if code is None:
            return None
        _kill_group(child.process)
        if child.essential:
            self._report(f"{child.name} ended ({_spell(code)}): stopping everything")
            return code if code > 0 else 1
        # A minute of life is a success: what fails at once is not tried in a tight loop.
        child.failures = 0 if now - child.started_at > 60 else child.failures + 1
        pause = min(2.0**child.failures, 60.0)
        self._report(f"{child.name} ended ({_spell(code)}): starting it again in {pause:.0f} s")
        child.process, child.start_due_at = None, now + pause
        return None

    def _stop_all(self) -> None:
        """Ask every child to end, wait a bounded time, then end it by force."""
        running = [child.process for child in self._children if child.process is not None]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + self._stop_within
        for process in running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=max(0.0, deadline - time.monotonic()))
            _kill_group(process)
            process.wait()


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End what a child left behind, or all of it where it does not end by itself.

    Each child leads a group of its own, so that its workers are found when it is gone.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _note(number: int, frame: FrameType | None) -> None:
    """Handle SIGCHLD only so that it wakes the wait."""


def _drain(wake: socket.socket) -> None:
    with suppress(BlockingIOError):
        while wake.recv(1024):
            pass


def _spell(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
