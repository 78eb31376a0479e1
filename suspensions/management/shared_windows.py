"""Windows of a rate that the processes of one server share: one file that all of them map, and lock for a moment.

The kernel takes a lock back from a process that was killed. Places are few and fixed: where all that a token may have
are taken, the one whose window began first is forgotten, in favour of whoever it was.
"""

import fcntl
import hashlib
import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

_PLACE = struct.Struct("=16sdQ")
_PLACES = 16_384
_TRIES = 16


class SharedWindows:
    """A place for each token: which one, since when, how often. The clock must be the machine's, as monotonic is."""

    def __init__(self, folder: str) -> None:
        size = _PLACES * _PLACE.size
        # Open as long as the process lives: the lock is on it.
        self._file = os.open(Path(folder) / "windows", os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(self._file, size)
        self._map = mmap.mmap(self._file, size)
        self._lock = Lock()

    def count(self, key: str, allowed: int, length: float, now: float) -> float:
        """Count a request at `now`; gives the seconds until the next may come, 0 where this one may."""
        name = hashlib.blake2b(key.encode(), digest_size=16).digest()
        with self._alone():
            place, started, used = self._find(name)
            if used == 0 or now - started >= length:
                started, used = now, 0
            if used >= allowed:
                return started + length - now
            _PLACE.pack_into(self._map, place, name, started, used + 1)
            return 0.0

    def _find(self, name: bytes) -> tuple[int, float, int]:
        """The token's place, or the best of those that it may take."""
        first = int.from_bytes(name[:4])
        places = [(first + step) % _PLACES * _PLACE.size for step in range(_TRIES)]
        oldest, began = places[0], float("inf")
        for place in places:
            holder, started, used = _PLACE.unpack_from(self._map, place)
            if holder == name:
                return place, started, used
            if started < began:
                oldest, began = place, started
        return oldest, 0.0, 0

    @contextmanager
    def _alone(self) -> Iterator[None]:
        # The file's lock keeps processes apart, and not the threads of one.
        with self._lock:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)
