"""The request id: taken over from the caller where it is sane, else made; on every log line."""

import re
import secrets
from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse

_SANE = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestContextMiddleware:
    """Give each request an id, bind it to the logs, and send it back as ``X-Request-ID``.

    Views find it as ``request.META["HTTP_X_REQUEST_ID"]``. Never binds headers, bodies or query
    texts: those can carry tokens and payloads.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = request.META.get("HTTP_X_REQUEST_ID", "")
        if not _SANE.fullmatch(request_id):
            request_id = secrets.token_hex(12)
        request.META["HTTP_X_REQUEST_ID"] = request_id
        # Threads are used again: what the last request bound must not stand on this one's lines.
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = self.get_response(request)
        response.headers["X-Request-ID"] = request_id
        return response
