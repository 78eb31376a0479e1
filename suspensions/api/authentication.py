"""Who calls: a bearer token, or a signed-in browser session with its CSRF token. Source: api.md "Who calls"."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, QueryDict
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.datastructures import MultiValueDict
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from suspensions.domain.errors import Unauthenticated
from suspensions.domain.policy import Caller
from suspensions.operations.access import caller_for_token, caller_for_user
from suspensions.problems import CsrfFailed

_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>`; another scheme, or a header that is not of the form, is no credential."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        """Raises: Unauthenticated where the header is there and the token is not good."""
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthenticated
        return caller_for_token(token.strip()), None


class SessionAuthentication(BaseAuthentication):
    """A signed-in browser; what changes something needs the session's CSRF token in a header."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        """Raises: CsrfFailed."""
        django_request = request._request
        user = django_request.user
        if not user.is_authenticated:
            return None
        if django_request.method not in _SAFE:
            _require_csrf_token(django_request)
        return caller_for_user(user), None


class _Check(CsrfViewMiddleware):
    """Django's own check, which tells its reason instead of answering."""

    def _reject(self, request: HttpRequest, reason: str) -> HttpResponse:
        raise CsrfFailed


def _require_csrf_token(request: HttpRequest) -> None:
    """Raises: CsrfFailed."""
    # The token comes in the header alone: looking for it in a form would read the body, without our limit.
    request._post, request._files = QueryDict(), MultiValueDict()  # type: ignore[attr-defined]
    check = _Check(_no_view)
    check.process_request(request)
    check.process_view(request, _no_view, (), {})


def _no_view(request: HttpRequest) -> HttpResponse:
    return HttpResponse()
