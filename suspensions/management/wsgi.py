"""The WSGI application, put right where Django and the server cannot serve a client well between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

Environ = dict[str, Any]
Application = Callable[[Environ, Any], Iterable[bytes]]


def wsgi_application() -> Application:
    """Set Django up, and give the application for any server."""
    return _ReadableContentType(get_wsgi_application())


def served_application() -> Application:
    """The same for `manage.py serve`, whose server takes a Connection header from an application."""
    return _ClosesWhereUnread(wsgi_application())


class _ReadableContentType:
    """Django makes its request from the headers before anything of ours, which would answer, is there."""

    def __init__(self, inner: Application) -> None:
        self._inner = inner

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        """Answer a request."""
        # RFC 8187 allows no extended parameters here, and an unknown encoding in one ends in an exception.
        if "*=" in environ.get("CONTENT_TYPE", ""):
            environ["CONTENT_TYPE"] = "application/octet-stream"
        return self._inner(environ, start_response)


class _ClosesWhereUnread:
    """Says so where the server is going to close the connection because part of a body was not read.

    Told nothing, a client sends its next request on that connection, and loses it.
    """

    def __init__(self, inner: Application) -> None:
        self._inner = inner

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        """Answer a request."""
        length = environ.get("CONTENT_LENGTH", "")
        if length in ("", "0") and "HTTP_TRANSFER_ENCODING" not in environ:
            return self._inner(environ, start_response)
        body = environ["wsgi.input"] = _Watched(environ["wsgi.input"], int(length) if length.isdigit() else None)

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            return start_response(status, headers if body.is_read else [*headers, ("Connection", "close")], *more)

        return self._inner(environ, start)


class _Watched:
    """A request's body that knows whether it was read to its end."""

    def __init__(self, stream: Any, length: int | None) -> None:
        self._stream, self._left, self._ended = stream, length, False

    @property
    def is_read(self) -> bool:
        return self._ended or self._left == 0

    def read(self, size: int = -1) -> bytes:
        """Read on."""
        piece: bytes = self._stream.read(size)
        return self._seen(piece, ended=size < 0 or len(piece) < min(size, 1))

    def readline(self, size: int = -1) -> bytes:
        """Read on to the end of a line."""
        line: bytes = self._stream.readline(size)
        return self._seen(line, ended=size != 0 and not line)

    def _seen(self, piece: bytes, *, ended: bool) -> bytes:
        self._ended = self._ended or ended
        if self._left is not None:
            self._left = max(0, self._left - len(piece))
        return piece
