"""Renders a page, or the one fragment of it that htmx asked for; both from the same template.

Source: pages.md, "Always"; the layout's rule that a listing page is a shell plus an included file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers, patch_vary_headers


def wants_fragment(request: HttpRequest) -> bool:
    """Whether htmx asks for a piece of the page. Going back and boosted links want the whole one."""
    headers = request.headers
    return (
        headers.get("HX-Request") == "true"
        and headers.get("HX-Boosted") != "true"
        and headers.get("HX-History-Restore-Request") != "true"
    )


def render_page(
    request: HttpRequest,
    template: str,
    page: object,
    *,
    fragment: str = "",
    variables: Mapping[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    """The whole page with `page` as its only name, or `fragment` with `variables` for htmx.

    `fragment` is a template that the page itself includes `with … only`; `variables` are the names
    it is given there. Without a fragment htmx gets the whole page too. The answer varies by
    `HX-Request`, and no cache keeps it: it holds a person's work.
    """
    if fragment and wants_fragment(request):
        return render_fragment(request, fragment, variables or {}, status=status)
    return _guarded(render(request, template, {"page": page}, status=status))


def render_fragment(
    request: HttpRequest, template: str, variables: Mapping[str, Any], *, status: int = 200
) -> HttpResponse:
    """One fragment by itself, for an address that never is a page."""
    return _guarded(render(request, template, dict(variables), status=status))


def redirect_whole_page(href: str) -> HttpResponse:
    """Makes htmx leave the page: for a sign-in, or the next pause. Nothing is swapped anywhere."""
    response = HttpResponse(status=204, headers={"HX-Redirect": href})
    return _guarded(response)


def _guarded(response: HttpResponse) -> HttpResponse:
    patch_vary_headers(response, ["HX-Request"])
    add_never_cache_headers(response)
    return response
