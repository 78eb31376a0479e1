"""``/metrics`` in Prometheus' text form: what waits, who was heard of when, what was refused.

Gauges are read from the database at each scrape, so that every process of every server gives the same. Refusals are
this server's, of all its processes, since it started. Source: operate.md `/metrics`, api.md "Open to all".
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from ipaddress import ip_address

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from suspensions.domain import clock, refusals
from suspensions.domain.errors import CortexError, StoreBusy, Unauthenticated
from suspensions.operations.access import caller_for_token
from suspensions.problems import PROBLEMS, MethodNotAllowed, problem_response
from suspensions.queries.gauges import Gauges, read_gauges

# Whoever comes through a proxy on this machine has its address, and is somebody else.
_FORWARDED = ("HTTP_FORWARDED", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_REAL_IP", "HTTP_VIA")

log = structlog.stdlib.get_logger("cortex.metrics")


def metrics(request: HttpRequest) -> HttpResponse:
    """The numbers, for this machine or a bearer token; a problem for everybody else."""
    try:
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(request.method or "", ("GET", "HEAD"))
        _require_watcher(request)
    except CortexError as refusal:
        return problem_response(request, refusal)
    except DatabaseError:
        return problem_response(request, StoreBusy())
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector())
    headers = {"Cache-Control": "no-store"}
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4, headers=headers)


def _require_watcher(request: HttpRequest) -> None:
    """Raises: Unauthenticated."""
    scheme, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() == "bearer":
        caller_for_token(token.strip())
    elif not _is_local(request):
        raise Unauthenticated


def _is_local(request: HttpRequest) -> bool:
    if any(name in request.META for name in _FORWARDED):
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


class _Collector(Collector):
    """Reads everything when it is asked."""

    def collect(self) -> Iterator[Metric]:
        """Without a database the refusals are still told, and that there is none."""
        now = clock.now()
        try:
            gauges = read_gauges(now, settings.UNCERTAIN_AFTER)
        except DatabaseError as error:
            log.error("the database is not ready", reason=type(error).__name__)
            yield GaugeMetricFamily("cortex_database_up", "Whether the database answered this scrape.", 0)
        else:
            yield GaugeMetricFamily("cortex_database_up", "Whether the database answered this scrape.", 1)
            yield from _gauges(gauges, now)
        yield _refusals()


def _gauges(gauges: Gauges, now: datetime) -> Iterator[Metric]:
    waiting = GaugeMetricFamily("cortex_pauses_waiting", "Pauses that nobody has answered.", labels=["reason"])
    for reason, number in gauges.waiting.items():
        waiting.add_metric([reason], number)
    yield waiting
    for name, help_text, value in (
        (
            "oldest_waiting_seconds",
            "Age of the pause that waits longest; 0 for none.",
            _age(gauges.oldest_waiting_at, now),
        ),
        ("pauses_overdue", "Waiting pauses whose deadline has passed: the sweeper's work.", gauges.overdue),
        ("decided_not_picked_up", "Admitted resumes that no worker has started.", gauges.decided),
        ("oldest_decided_seconds", "Age of the oldest of these; 0 for none.", _age(gauges.oldest_decided_at, now)),
        ("uncertain_resumes", "Resumes that were started and then fell silent.", gauges.uncertain),
        ("interactions_open", "Questions that nobody has answered.", gauges.open_interactions),
        ("webhooks_pending", "Deliveries that wait to be sent, or sent again.", gauges.webhooks.pending),
        ("oldest_webhook_seconds", "Age of the oldest of these; 0 for none.", _age(gauges.webhooks.oldest_at, now)),
    ):
        yield GaugeMetricFamily(f"cortex_{name}", help_text, value)
    beats = GaugeMetricFamily(
        "cortex_last_beat_timestamp_seconds", "When a process was last heard of.", labels=["name", "host"]
    )
    for (process, host), at in sorted(gauges.beats.items()):
        beats.add_metric([process, host], at.timestamp())
    yield beats
    if gauges.last_checkpoint_at is not None:
        signed = gauges.last_checkpoint_at.timestamp()
        yield GaugeMetricFamily("cortex_last_checkpoint_timestamp_seconds", "When the last was signed.", signed)


def _refusals() -> Metric:
    refused = CounterMetricFamily("cortex_refusals", "What was refused by this server, by code.", labels=["code"])
    counted = refusals.totals()
    for code in sorted(PROBLEMS):
        refused.add_metric([code], counted.get(code, 0))
    return refused


def _age(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())
