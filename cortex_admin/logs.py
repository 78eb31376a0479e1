"""The request id and the access log: one structured line for each request."""

import re
import secrets
import time
from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse

_SANE = re.compile(r"[A-Za-z0-9._-]{1,64}")
_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})

access_log = structlog.stdlib.get_logger("cortex.access")


class RequestContextMiddleware:
    """Give each request an id, taken over from the caller where it is sane; log the answer.

    Views find the id as ``request.META["HTTP_X_REQUEST_ID"]``; the answer carries it as
    ``X-Request-ID``, and every log line meanwhile has it. What views bind to structlog's
    contextvars (``run_id``, ``actor``) stands on the access line too. Headers, bodies and query
    texts never do: those can carry tokens and payloads.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Run the request with its id bound to every log line."""
        request_id = request.META.get("HTTP_X_REQUEST_ID", "")
        if not _SANE.fullmatch(request_id):
            request_id = secrets.token_hex(12)
        request.META["HTTP_X_REQUEST_ID"] = request_id
        # Threads are used again: what the last request bound must not stand on this one's lines.
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        started = time.perf_counter()
        response = self.get_response(request)
        response.headers["X-Request-ID"] = request_id
        if request.path_info not in _PROBES:
            access_log.info(
                "request",
                method=request.method,
                path=request.path_info,
                status=response.status_code,
                milliseconds=round((time.perf_counter() - started) * 1000, 1),
            )
        return response
