"""How the pages write durations, instants, ids, digests and counts. Plain functions, tested by themselves.

Source: the words of the pages: "1 min 26 s" below 15 minutes, then "34 min", "3 h 12 min".
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

NOW = timedelta(minutes=2)
"""Below this the time left is filled with colour."""
SOON = timedelta(minutes=15)
"""Below this the time left has a clock and weight, and counts seconds."""


def duration(value: timedelta) -> str:
    """ "50 s", "1 min 26 s" below 15 minutes, then "34 min", "3 h 12 min", "2 days 4 h". Never negative."""
    seconds = max(0, int(value.total_seconds()))
    minutes, rest = divmod(seconds, 60)
    if minutes == 0:
        return f"{rest} s"
    if seconds < SOON.total_seconds():
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours == 0:
        return f"{minutes} min"
    days, hours = divmod(hours, 24)
    if days == 0:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    words = f"{days} day{'s' if days > 1 else ''}"
    return f"{words} {hours} h" if hours else words


def rough(value: timedelta) -> str:
    """As `duration`, without the seconds once there are minutes: how long somebody has waited."""
    seconds = max(0, int(value.total_seconds()))
    return duration(timedelta(seconds=seconds if seconds < 60 else seconds - seconds % 60))


def urgency(left: timedelta) -> str:
    """``past``, ``now``, ``soon`` or nothing: the shape that the time left takes."""
    if left <= timedelta(0):
        return "past"
    if left < NOW:
        return "now"
    return "soon" if left < SOON else ""


def clock_time(value: datetime, now: datetime, zone: tzinfo, *, seconds: bool = False) -> str:
    """The time of day in the reader's zone, with the date before it when that is not today."""
    local, today = value.astimezone(zone), now.astimezone(zone).date()
    text = local.strftime("%H:%M:%S" if seconds else "%H:%M")
    if local.date() == today:
        return text
    date = f"{local.day} {local.strftime('%b')}"
    return f"{date} {text}" if local.year == today.year else f"{date} {local.year} {text}"


def utc_text(value: datetime) -> str:
    """The instant in full, as receipts and digests write it: six digits and Z."""
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def digest_groups(value: str) -> list[str]:
    """Eight groups of eight; copying them gives the 64 digits, since nothing stands between."""
    return [value[start : start + 8] for start in range(0, len(value), 8)]


def short_digest(value: str) -> str:
    """8…4: enough to recognise one, never enough to compare two."""
    return value if len(value) <= 12 else f"{value[:8]}…{value[-4:]}"


def short_id(value: str) -> str:
    """``arun_…bnd8dx``: the prefix and the last six characters of a TypeID; other texts stay whole."""
    prefix, mark, suffix = value.rpartition("_")
    return f"{prefix}_…{suffix[-6:]}" if mark and len(suffix) > 8 else value


def grouped(value: int) -> str:
    """1904 as ``1,904``."""
    return f"{value:,}"


MOST = 1_000
"""Counts stop here: counting on would read a whole scope for a number that nobody compares."""


def bounded(count: int) -> str:
    """A count for a tab: nothing for none, ``1,000+`` for more than are counted."""
    if not count:
        return ""
    return grouped(count) if count <= MOST else f"{grouped(MOST)}+"
