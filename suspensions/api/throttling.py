"""Requests per token, where the site sets a rate. Source: api.md "Answers", operate.md `RATE_LIMIT`."""

from __future__ import annotations

from math import ceil

from django.conf import settings

from suspensions.domain import rates
from suspensions.domain.policy import Caller
from suspensions.problems import RateLimited


def count(caller: Caller) -> None:
    """Count a request of this token; each server counts for itself, over all of its processes. Raises: RateLimited."""
    if settings.RATE_LIMIT is None or not caller.via.startswith("token:"):
        return
    allowed, window = settings.RATE_LIMIT
    wait = rates.count(f"{caller.principal}\n{caller.via}", allowed, window.total_seconds())
    if wait > 0:
        raise RateLimited(max(1, ceil(wait)))
