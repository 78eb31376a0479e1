"""Page or fragment by the header, never from a cache."""

from django.http import HttpRequest
from django.test import RequestFactory

from suspensions.pages.rendering import redirect_whole_page, render_page, wants_fragment
from tests.support.page_samples import queue_page


def request(**headers: str) -> HttpRequest:
    return RequestFactory().get("/", headers={name.replace("_", "-"): value for name, value in headers.items()})


def test_htmx_gets_a_fragment_but_not_when_it_goes_back() -> None:
    assert not wants_fragment(request())
    assert wants_fragment(request(HX_Request="true"))
    assert not wants_fragment(request(HX_Request="true", HX_History_Restore_Request="true"))
    assert not wants_fragment(request(HX_Request="true", HX_Boosted="true"))


def test_the_fragment_is_the_very_markup_that_stands_in_the_page() -> None:
    page = queue_page()
    variables = {
        "groups": page.groups,
        "news": page.news,
        "empty": page.empty,
        "older_href": page.older_href,
        "now": page.chrome.now,
    }
    results = "suspensions/_queue_results.html"
    whole, part = (
        render_page(request(**headers), "suspensions/queue.html", page, fragment=results, variables=variables)
        for headers in ({}, {"HX_Request": "true"})
    )
    assert part.content.strip() in whole.content
    assert part.content.strip().startswith(b'<div id="queue-results">')


def test_answers_vary_by_the_header_and_are_kept_nowhere() -> None:
    response = render_page(request(), "suspensions/queue.html", queue_page(), status=409)
    assert response.status_code == 409
    assert "HX-Request" in response["Vary"]
    assert "no-store" in response["Cache-Control"]


def test_leaving_the_page_swaps_nothing() -> None:
    response = redirect_whole_page("/sign-in/?next=/")
    assert (response.status_code, response.content) == (204, b"")
    assert response["HX-Redirect"] == "/sign-in/?next=/"
