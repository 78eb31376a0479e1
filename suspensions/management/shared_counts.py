"""Counts that the processes of one server share, each writing a file of its own that all of them read.

A process never writes another's file, so there is nothing to lock between them and nothing that a killed one leaves
locked; its file stays and still counts.
"""

import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

FOLDER = "CORTEX_COUNTS"
"""The environment variable by which a server tells its processes where."""
_WIDTH = 8


class SharedTally:
    """A slot of eight bytes for each code, in a file for each process."""

    def __init__(self, folder: str, codes: Sequence[str]) -> None:
        self._folder = Path(folder)
        self._slots = {code: slot for slot, code in enumerate(sorted(codes))}
        self._lock = Lock()
        self._process = 0
        self._counts = memoryview(bytearray())

    def add(self, code: str) -> None:
        """One more of this code; one that no problem has is left out."""
        if code not in self._slots:
            return
        with self._lock:
            if self._process != os.getpid():
                self._open_own()
            self._counts[self._slots[code]] += 1

    def totals(self) -> Mapping[str, int]:
        """Over all processes that there were since the server started."""
        totals = dict.fromkeys(self._slots, 0)
        for file in self._folder.glob("*.counts"):
            content = file.read_bytes()
            # A file that is just being made holds nothing yet.
            if len(content) == len(self._slots) * _WIDTH:
                counts = memoryview(content).cast("Q")
                for code, slot in self._slots.items():
                    totals[code] += counts[slot]
        return totals

    def _open_own(self) -> None:
        """Map this process's file. One that a dead process of the same number left is counted on."""
        self._process = os.getpid()
        size = len(self._slots) * _WIDTH
        with (self._folder / f"{self._process}.counts").open("a+b") as file:
            file.truncate(size)
            self._counts = memoryview(mmap.mmap(file.fileno(), size)).cast("Q")


@contextmanager
def shared_counts() -> Iterator[None]:
    """Make the place for the counts of the processes that are started inside the block; they begin at zero."""
    with TemporaryDirectory(prefix="cortex-counts-") as folder:
        os.environ[FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[FOLDER]
