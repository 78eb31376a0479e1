"""What answers where no view does: an unknown address, a form without its token, a defect."""

from __future__ import annotations

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from suspensions.domain.errors import CortexError, InvalidRequest, NotFound
from suspensions.pages import ended_sessions
from suspensions.pages.closing_forms import kept_closing
from suspensions.pages.contexts import Chrome, KeptText, Link, Problem
from suspensions.pages.forms import kept_texts, read_kept
from suspensions.pages.refusals import bare_chrome, problem_response, refusal_response
from suspensions.pages.rendering import wants_fragment
from suspensions.pages.visits import visit_of, zone_of


def not_found(request: HttpRequest) -> HttpResponse:
    """An address that is not there: the same page as for what no grant covers."""
    return refusal_response(request, NotFound(), lambda: _chrome(request))


def permission_denied(request: HttpRequest) -> HttpResponse:
    """Something below the views refused."""
    return render(request, "403.html", status=403)


def bad_request(request: HttpRequest) -> HttpResponse:
    """A request that cannot be read. Who sent it is not asked: it may be what cannot be read."""
    return refusal_response(request, InvalidRequest(), bare_chrome)


def server_error(request: HttpRequest) -> HttpResponse:
    """A defect. Nothing is asked of the database, which may be what broke."""
    if wants_fragment(request):
        return refusal_response(request, CortexError(), bare_chrome)
    return render(request, "500.html", status=500)


def csrf_failure(request: HttpRequest) -> HttpResponse:
    """A form without a valid token: says so, and keeps what was typed."""
    place = ended_sessions.place_of(request)
    posted = request.POST.dict()
    kept: list[KeptText] = [*kept_texts(read_kept(posted)), *kept_closing(posted)]
    if request.user.is_authenticated:
        ended_sessions.keep(request, place)
    problem = Problem(
        "This page was older than your sign-in",
        "Nothing was decided. You signed in or out in another tab since, so this form cannot be trusted any more. Open "
        "the page again and send once more.",
        403,
        "csrf_failed",
        aside="What you typed is put back into the form when you do." if kept else "",
        links=[Link("Open it again", place, primary=True)],
        kept=kept,
    )
    return problem_response(request, problem, lambda: _chrome(request))


def _chrome(request: HttpRequest) -> Chrome:
    """The frame of whoever is signed in, where that can be told."""
    try:
        if not request.user.is_authenticated:
            return bare_chrome()
        visit = visit_of(request, anywhere=True)
        with timezone.override(zone_of(visit.likes)):
            return visit.chrome()
    except (AttributeError, DatabaseError):
        return bare_chrome()
