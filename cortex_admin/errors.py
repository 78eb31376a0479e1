"""Errors that no view sees: an unknown address, a bad request, a failed CSRF check, a defect.

Below /api/ they are problems as everywhere in the API; elsewhere pages.
"""

from __future__ import annotations

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.views import defaults
from django.views.csrf import csrf_failure as csrf_failure_page

from suspensions.domain.errors import BodyTooLarge, CortexError, InvalidRequest, NotFound
from suspensions.problems import CsrfFailed, problem_response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """What Django takes for a suspicious request: a host that is not ours, a form that is too large."""
    if _is_api(request):
        too_big = isinstance(exception, RequestDataTooBig)
        return problem_response(
            request, BodyTooLarge() if too_big else InvalidRequest("The request is not one that is served here.")
        )
    return defaults.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A view refused."""
    if _is_api(request):
        return problem_response(request, NotFound())
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """An address that is not there."""
    if _is_api(request):
        return problem_response(request, NotFound())
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """A defect outside of the API's views."""
    if _is_api(request):
        return problem_response(request, CortexError("The server failed; the log has more under this request's id."))
    return defaults.server_error(request)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without its token."""
    if _is_api(request):
        return problem_response(request, CsrfFailed())
    return csrf_failure_page(request, reason)


def _is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/")
