"""What the Accept header lets through: answers are JSON. Source: RFC 9110 section 12.5.1."""

from __future__ import annotations

_RANGES = {"application/json": 2, "application/*": 1, "*/*": 0}


def accepts_json(header: str | None) -> bool:
    """Whether application/json is acceptable; the most specific range that matches decides."""
    if header is None or not header.strip():
        return True
    best, acceptable = -1, False
    for part in header.split(","):
        media_range, *parameters = (piece.strip().lower() for piece in part.split(";"))
        precision = _RANGES.get(media_range, -1)
        if precision > best:
            best, acceptable = precision, _weight(parameters) > 0
    return acceptable


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 1.0
    return 1.0
