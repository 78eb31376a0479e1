"""Refusals as pages: what happened, what it means here, what to do. For htmx the same words as a fragment.

Whatever is not there looks the same, whether it never was, or is in a scope that the reader has no grant for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.http import HttpRequest, HttpResponse

from suspensions.domain import clock, refusals
from suspensions.domain.errors import CortexError, NotFound
from suspensions.pages.contexts import Chrome, KeptText, Link, Problem, ProblemPage
from suspensions.pages.rendering import render_fragment, render_page, wants_fragment
from suspensions.problems import PROBLEMS, RETRY_AFTER

_QUEUE = Link("Open the queue", "/", primary=True)

_WORDS: dict[int, tuple[str, str]] = {
    400: (
        "This request cannot be read",
        "Part of it is missing or not in the form that this page expects. Nothing was changed.",
    ),
    404: (
        "Nothing is here",
        "The address is wrong, or what it names is in a scope that you have no grant for. The two look alike on "
        "purpose.",
    ),
}
_BY_CODE: dict[str, tuple[str, str]] = {
    "forbidden": ("You may not do this", "Nothing was changed. An admin can grant a role under People and access."),
    "self_approval": (
        "You asked for this yourself, so you cannot approve it",
        "Nothing was admitted. You may deny it, or leave it to somebody else.",
    ),
    "store_busy": (
        "The store is busy",
        "Nothing was written. Wait a moment and send the same again; it is taken once.",
    ),
    "commit_unknown": (
        "It is not known whether this was taken",
        "The connection was lost while it was written. Send the same again: what was taken already is found, and "
        "nothing is taken twice.",
    ),
    "internal_error": (
        "Something broke on the server",
        "Whether your last press took effect is not known: open the page again to see what stands. Repeating the "
        "same decision is safe; it is taken once.",
    ),
}


def problem_of(error: CortexError, kept: Sequence[KeptText] = (), request_id: str = "") -> Problem:
    """The refusal in a person's words; it counts as told."""
    refusals.count(error)
    known = PROBLEMS[error.code]
    # Missing ones have one code for every kind of thing; here they must be one and the same page.
    code = NotFound.code if known.status == 404 else error.code
    title, text = _BY_CODE.get(code) or _WORDS.get(known.status) or (known.title, error.detail)
    if code == "forbidden":
        text = f"{error.detail} {text}"
    shown_id = request_id if known.status >= 500 else ""
    return Problem(title, text, known.status, code, links=[_QUEUE], kept=kept, request_id=shown_id)


def refusal_response(
    request: HttpRequest, error: CortexError, chrome: Callable[[], Chrome], kept: Sequence[KeptText] = ()
) -> HttpResponse:
    """The answer to a request that was refused."""
    problem = problem_of(error, kept, request.META.get("HTTP_X_REQUEST_ID", ""))
    response = problem_response(request, problem, chrome)
    if problem.status == 503:
        response.headers["Retry-After"] = str(RETRY_AFTER)
    return response


def problem_response(request: HttpRequest, problem: Problem, chrome: Callable[[], Chrome]) -> HttpResponse:
    """A problem as a fragment where htmx asks, as a page elsewhere."""
    if wants_fragment(request):
        return render_fragment(request, "shared/_problem.html", {"problem": problem}, status=problem.status)
    return render_page(request, "problem.html", ProblemPage(chrome(), problem), status=problem.status)


def bare_chrome() -> Chrome:
    """The frame for whoever is not signed in."""
    return Chrome(now=clock.now())
