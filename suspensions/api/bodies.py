"""Reading a request's body: bounded bytes, then strict JSON. Source: api.md "Answers", store.md "Exactness"."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.http import HttpRequest, UnreadablePostError
from django.utils.http import parse_header_parameters

from suspensions.domain.errors import BodyTooLarge, MalformedJson, StoreBusy
from suspensions.domain.limits import MAX_BODY_BYTES
from suspensions.problems import LengthRequired, UnsupportedMediaType

_CHUNK = 1 << 20
_LARGE = 1 << 20
_PATIENCE = 15.0
"""Seconds that a large body waits for its turn."""


def require_media_type(request: HttpRequest) -> None:
    """Raises: UnsupportedMediaType unless the body is said to be application/json in UTF-8."""
    try:
        media_type, parameters = parse_header_parameters(request.META.get("CONTENT_TYPE", ""))
    except (ValueError, LookupError):
        raise UnsupportedMediaType from None
    charset = parameters.get("charset", "utf-8").lower()
    if media_type != "application/json" or charset not in ("utf-8", "utf8"):
        raise UnsupportedMediaType


class Room:
    """Room in memory for so many bytes of large bodies at a time, in this process."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Take room for a body, waiting for it. Raises: StoreBusy where those in front do not end in time."""
        if size <= _LARGE:
            yield
            return
        with self._changed:
            if not self._changed.wait_for(lambda: self._free >= size, _PATIENCE):
                raise StoreBusy("Too many large requests at once; nothing was written. Try again.")
            self._free -= size
        try:
            yield
        finally:
            with self._changed:
                self._free += size
                self._changed.notify_all()


ARRIVING = Room(256 << 20)
"""For bodies while they come in, which may take as long as the client likes."""
PARSED = Room(40 << 20)
"""For bodies while they are parsed and kept: a text of 32 MiB can become a tree of twenty times that."""


def expected_size(request: HttpRequest) -> int:
    """How large the body may become; one that comes in chunks without a length may be as large as any."""
    length = _declared_length(request)
    return MAX_BODY_BYTES if length is None else min(length, MAX_BODY_BYTES)


def read_body(request: HttpRequest) -> bytes:
    """The whole body, never more than 32 MiB of it in memory, whatever its length header says.

    Raises: BodyTooLarge; LengthRequired where the server cannot tell where the body ends; MalformedJson where the
    client went away in the middle of it.
    """
    length = _declared_length(request)
    if length is None:
        # Django takes a body without a length for empty, so the server's own stream is read.
        if not request.META.get("wsgi.input_terminated"):
            raise LengthRequired
        stream = request.META["wsgi.input"]
    elif length > MAX_BODY_BYTES:
        raise BodyTooLarge
    else:
        stream = request
    chunks: list[bytes] = []
    size = 0
    try:
        while chunk := stream.read(min(_CHUNK, MAX_BODY_BYTES + 1 - size)):
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                raise BodyTooLarge
            chunks.append(chunk)
    except (UnreadablePostError, OSError):
        raise MalformedJson("The body ended early.") from None
    if length is None and not size:
        # One that broke off before its first chunk looks like this too, and must not do what an empty one does.
        raise MalformedJson("The body is empty, or ended before it began.")
    if length is not None and size != length:
        raise MalformedJson("The body is shorter than its Content-Length.")
    return b"".join(chunks)


def read_rest(request: HttpRequest) -> None:
    """Read and drop what is left of a small body, so that the connection serves the next request too.

    The server closes a connection on which part of a body stands unread, and whatever was sent after it is lost.
    """
    if 0 < (_declared_length(request) or 0) <= _CHUNK:
        with suppress(UnreadablePostError, OSError):
            while request.read(_CHUNK):
                pass


def _declared_length(request: HttpRequest) -> int | None:
    """The length that the request declares; None where a body may follow without one."""
    if request.META.get("HTTP_TRANSFER_ENCODING"):
        return None
    given = request.META.get("CONTENT_LENGTH", "")
    if not given:
        # HTTP/1 has no body without a length or an encoding; HTTP/2 needs neither.
        return 0 if request.META.get("SERVER_PROTOCOL", "").startswith("HTTP/1") else None
    return int(given) if given.isascii() and given.isdigit() else None
