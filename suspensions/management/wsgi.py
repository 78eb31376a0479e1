"""The WSGI application of every way to serve: Django's own, and what Django cannot take put right before it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.core.handlers.wsgi import WSGIHandler
from django.core.wsgi import get_wsgi_application


class _Application:
    """Django makes its request from the headers before anything of ours, which would answer, is there."""

    def __init__(self, django: WSGIHandler) -> None:
        self._django = django

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer a request."""
        # RFC 8187 allows no extended parameters here, and an unknown encoding in one ends in an exception.
        if "*=" in environ.get("CONTENT_TYPE", ""):
            environ["CONTENT_TYPE"] = "application/octet-stream"
        return self._django(environ, start_response)


def wsgi_application() -> _Application:
    """Set Django up, and give the application."""
    return _Application(get_wsgi_application())
