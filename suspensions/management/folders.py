"""A folder of files that somebody else may write to at the same time: nothing in it is trusted to be what it seems.

Every file is opened below the folder's own descriptor and without following links, so that a folder or a file which is
swapped for a link meanwhile leads nowhere else.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# A pipe must not hang whoever opens it.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Unusable(Exception):
    """A file that is not to be read; the text says why."""


class Folder:
    """An open folder."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def names(self, suffix: str) -> list[str]:
        """The entries with this ending, in order; those with a dot in front are somebody's unfinished business."""
        with os.scandir(self._descriptor) as entries:
            names = [entry.name for entry in entries]
        return sorted(name for name in names if name.endswith(suffix) and not name.startswith("."))

    def read(self, name: str, most_bytes: int) -> bytes:
        """A regular file's content. Raises: Unusable."""
        try:
            descriptor = os.open(name, _READ, dir_fd=self._descriptor)
        except OSError as error:
            # ELOOP is how a link is told from a file that merely is not there.
            raise Unusable(error.strerror or "cannot be opened") from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Unusable("is no regular file")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                content = file.read(most_bytes + 1)
        except OSError as error:
            raise Unusable(error.strerror or "cannot be read") from None
        finally:
            os.close(descriptor)
        if len(content) > most_bytes:
            raise Unusable(f"is larger than {most_bytes:,} bytes")
        return content

    def write(self, name: str, content: bytes) -> None:
        """Write a file so that whoever looks sees the old one or the new one, also after a power cut.

        1. A new file of another name in the same folder. 2. Its content to the disk. 3. Rename it, which replaces
        whatever is there, a link included. 4. The rename to the disk. Raises: OSError, with the new file removed.
        """
        temporary = f".{secrets.token_hex(8)}.tmp"
        descriptor = os.open(temporary, _WRITE, 0o600, dir_fd=self._descriptor)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.rename(temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=self._descriptor)
            raise
        os.fsync(self._descriptor)


@contextmanager
def open_folder(path: str) -> Iterator[Folder]:
    """The folder of this path, which may not itself be a link. Raises: OSError."""
    descriptor = os.open(path.rstrip("/") or "/", _FOLDER)
    try:
        yield Folder(descriptor)
    finally:
        os.close(descriptor)
