"""Instants: UTC, RFC 3339, always six fractional digits and `Z`. Source: store.md section 1, "Time"."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

from suspensions.domain.texts import invalid

_RFC3339 = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})\Z", re.ASCII
)


@lru_cache(maxsize=256)
def format_instant(instant: datetime) -> str:
    """The one text of an instant, in JSON, in digests and on SQLite. Naive datetimes are a defect.

    An operation writes its one reading of the clock into every row and digest that it makes, so the text is kept.
    """
    if instant.tzinfo is not UTC:
        if instant.tzinfo is None:
            raise ValueError("an instant needs a zone")
        instant = instant.astimezone(UTC)
    text = instant.isoformat(timespec="microseconds")
    return text[:-6] + "Z"


def parse_instant(text: object, pointer: str = "") -> datetime:
    """An RFC 3339 text with a zone, as UTC.

    Digits past the microsecond are refused rather than cut: a digest over a silently changed time
    would not be the caller's.

    Raises: InvalidRequest.
    """
    match = _RFC3339.match(text) if isinstance(text, str) else None
    if match is None:
        raise invalid(pointer, "must be an RFC 3339 time with a zone, like 2031-05-01T12:00:00Z")
    fraction = match.group(7) or ""
    if fraction[6:].strip("0"):
        raise invalid(pointer, "has more than six fractional digits")
    zone = match.group(8).upper().replace("Z", "+00:00")
    year, month, day, hour, minute, second = match.groups()[:6]
    try:
        return datetime.fromisoformat(
            f"{year}-{month}-{day}T{hour}:{minute}:{second}.{fraction[:6]:0<6}{zone}"
        ).astimezone(UTC)
    except (ValueError, OverflowError):
        raise invalid(pointer, "is not a time that exists") from None
