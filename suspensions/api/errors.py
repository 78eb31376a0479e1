"""Whatever goes wrong in a view becomes a problem; a defect is told in the log without payloads, SQL or values."""

from __future__ import annotations

import traceback
from typing import Any

import structlog
from django.core.exceptions import SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import APIException

from suspensions.domain.errors import CortexError, InvalidRequest, NotFound, StoreBusy
from suspensions.problems import PROBLEMS, problem_response

log = structlog.stdlib.get_logger("cortex.api")
_FRAMES = 6


def handle_exception(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """REST framework's exception handler: always an answer, never an HTML page."""
    request: HttpRequest = context["request"]._request
    refusal = as_refusal(error)
    structlog.contextvars.bind_contextvars(code=refusal.code)
    return problem_response(request, refusal)


@csrf_exempt
def unknown_address(request: HttpRequest, rest: str = "") -> HttpResponse:
    """An address of the API that is not there: a problem with DEBUG on, too."""
    return problem_response(request, NotFound())


def as_refusal(error: Exception) -> CortexError:
    """The refusal that an exception stands for; a defect is logged."""
    match error:
        case CortexError():
            if PROBLEMS[error.code].status == 500:
                log.error("a stored record could not be read", error=type(error).__name__)
            return error
        case Http404():
            return NotFound()
        case SuspiciousOperation():
            return InvalidRequest("The request is not one that is served here.")
        case OperationalError() | InterfaceError():
            # Every write that may have been committed has said so by itself.
            log.error("the database failed", error=type(error).__name__)
            return StoreBusy()
        case APIException() if error.status_code < 500:
            return InvalidRequest()
        case _:
            return defect(error)


def defect(error: BaseException) -> CortexError:
    """Log a defect by its class and place; its message may hold values, so it stays out."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
    log.error("defect", error=type(error).__name__, at=places)
    return CortexError("The server failed; the log has more under this request's id.")
