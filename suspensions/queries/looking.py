"""Who has a pause open right now: a soft mark that expires by itself and blocks nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from suspensions.models import Looking

LASTS = timedelta(minutes=2)
"""A mark that was not renewed for so long is no mark any more."""


@dataclass(frozen=True, slots=True)
class Looker:
    """Somebody who has a pause open, and since when."""

    principal: str
    name: str
    since: datetime


def lookers(suspension_ids: Sequence[str], now: datetime, reader: str) -> dict[str, list[Looker]]:
    """Everybody but the reader who has one of these pauses open, by pause, longest first."""
    rows = Looking.objects.filter(suspension_id__in=suspension_ids, seen_at__gt=now - LASTS)
    columns = ("suspension_id", "principal__name", "principal__user__first_name", "principal__user__last_name", "since")
    found: dict[str, list[Looker]] = {}
    for suspension_id, name, first, last, since in (
        rows.exclude(principal__name=reader).order_by("since").values_list(*columns)
    ):
        found.setdefault(suspension_id, []).append(Looker(name, f"{first} {last}".strip() or name, since))
    return found
