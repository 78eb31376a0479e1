"""``/metrics`` answers ahead of everything else, like the health checks and for the same reason."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from suspensions.api.metrics import metrics


class MetricsMiddleware:
    """A scraper comes by the address of a container, which no list of allowed hosts names, and without TLS."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a scrape, or pass the request on."""
        return metrics(request) if request.path_info == "/metrics" else self.get_response(request)
