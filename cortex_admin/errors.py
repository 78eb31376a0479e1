"""Errors that no view sees: an unknown address, a bad request, a failed CSRF check, a defect.

Below /api/ they are problems as everywhere in the API; elsewhere pages.
"""

from __future__ import annotations

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse

from suspensions.domain.errors import BodyTooLarge, CortexError, InvalidRequest, NotFound
from suspensions.pages.views import errors as pages
from suspensions.problems import CsrfFailed, problem_response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """What Django takes for a suspicious request: a host that is not ours, a form that is too large."""
    if _is_api(request):
        too_big = isinstance(exception, RequestDataTooBig)
        return problem_response(
            request, BodyTooLarge() if too_big else InvalidRequest("The request is not one that is served here.")
        )
    return pages.bad_request(request)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A view refused."""
    if _is_api(request):
        return problem_response(request, NotFound())
    return pages.permission_denied(request)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """An address that is not there."""
    if _is_api(request):
        return problem_response(request, NotFound())
    return pages.not_found(request)


def server_error(request: HttpRequest) -> HttpResponse:
    """A defect outside of the API's views."""
    if _is_api(request):
        return problem_response(request, CortexError("The server failed; the log has more under this request's id."))
    return pages.server_error(request)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without its token."""
    if _is_api(request):
        return problem_response(request, CsrfFailed())
    return pages.csrf_failure(request)


def _is_api(request: HttpRequest) -> bool:
    return f"{request.path_info}/".startswith("/api/")
