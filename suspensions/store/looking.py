"""Writing who has a pause open. It waits for nobody, and losing a mark loses nothing."""

from __future__ import annotations

from datetime import datetime, timedelta

from suspensions.models.access import Looking
from suspensions.store import sql
from suspensions.store.access import require_principal

RENEWED_EVERY = timedelta(seconds=30)
FORGOTTEN_AFTER = timedelta(minutes=10)


def is_marked(principal: str, suspension_id: str, now: datetime) -> bool:
    """Whether the mark is there and young enough to be left as it is."""
    marks = Looking.objects.filter(principal__name=principal, suspension_id=suspension_id)
    return marks.filter(seen_at__gt=now - RENEWED_EVERY).exists()


def mark(principal: str, suspension_id: str, now: datetime, lasts: timedelta) -> None:
    """Say that the person has the pause open, and since when without a break. Raises: NotFound."""
    sql.require_transaction()
    key = require_principal(principal)
    Looking.objects.filter(principal_id=key, seen_at__lt=now - FORGOTTEN_AFTER).delete()
    mine = Looking.objects.filter(principal_id=key, suspension_id=suspension_id)
    mine.filter(seen_at__lte=now - lasts).delete()
    if not mine.update(seen_at=now):
        Looking.objects.create(principal_id=key, suspension_id=suspension_id, since=now, seen_at=now)
