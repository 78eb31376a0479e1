"""What happens to a request whose session has ended: a whole sign-in page, and back to the same place.

What was typed waits in the server's session, never in the browser, and is put back into the form once.
Source: pages.md, "Always".
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode

from suspensions.pages.rendering import wants_fragment

_KEPT = "kept"
MOST_KEPT = 200_000
"""Characters that are kept of one form; who sent it is not known, so it must stay small."""
_NOT_TYPED = frozenset({"csrfmiddlewaretoken", "then", "scope", "run_revision", "password"})


def lead_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Leave the page for the sign-in. Never a form inside a fragment; nothing that was posted is done."""
    back = place_of(request)
    if request.method == "POST":
        keep(request, back)
    query = {"next": back} | ({"ended": "1"} if had_session(request) else {})
    href = f"{reverse('pages:sign_in')}?{urlencode(query)}"
    if wants_fragment(request):
        return HttpResponse(status=401, headers={"HX-Redirect": href, "Vary": "HX-Request"})
    if back == "/" and request.method == "GET":
        href = reverse("pages:sign_in")
    return HttpResponseRedirect(href, status=303 if request.method == "POST" else 302)


def had_session(request: HttpRequest) -> bool:
    """Whether the browser was signed in before: it shows a session, or sends what only a page of ours sends.

    Who follows a link for the first time must not be told that something of theirs ended.
    """
    return settings.SESSION_COOKIE_NAME in request.COOKIES or request.method == "POST" or wants_fragment(request)


def place_of(request: HttpRequest) -> str:
    """The address of the page that the person sees: of a form's page, not of where it posts to."""
    if request.method in ("GET", "HEAD") and not wants_fragment(request):
        return request.get_full_path()
    shown = request.headers.get("HX-Current-URL") or request.headers.get("Referer") or ""
    parts = urlsplit(shown)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    return safe_place(path) if parts.netloc == request.get_host() else "/"


def safe_place(address: str) -> str:
    """The address where it stays on this site, else the queue."""
    return address if address.startswith("/") and url_has_allowed_host_and_scheme(address, None) else "/"


def keep(request: HttpRequest, place: str) -> None:
    """Keep what was typed for the page at `place`, unless there is too much of it."""
    # What was ticked is many values of one name, a line each.
    fields = {name: "\n".join(values) for name, values in request.POST.lists() if name not in _NOT_TYPED}
    if sum(map(len, fields.values())) <= MOST_KEPT:
        request.session[_KEPT] = {"place": urlsplit(place).path, "fields": fields}


def take_kept(request: HttpRequest) -> dict[str, str]:
    """What was typed for this page before the session ended, once; empty where there is nothing."""
    kept: Any = request.session.get(_KEPT)
    if not isinstance(kept, dict) or kept.get("place") != request.path:
        return {}
    del request.session[_KEPT]
    fields: dict[str, str] = kept["fields"]
    return fields
