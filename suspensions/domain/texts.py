"""Texts at the door: which characters a name, an id or a note may hold. Source: store.md section 2, "Exactness"."""

from __future__ import annotations

import re

from suspensions.domain import limits
from suspensions.domain.errors import Fault, InvalidLimit, InvalidRequest

# C0 and C1 controls and DEL. Tab and newline pass in names and notes, not in ids, owners and scopes.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ALL_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")


def invalid(pointer: str, detail: str) -> InvalidRequest:
    """One fault of a body, as the refusal."""
    return InvalidRequest(f"{pointer or 'The body'} {detail}.", faults=(Fault(pointer, detail),))


def require_text(value: object, pointer: str, *, longest: int, shortest: int = 0) -> str:
    """A name, reason or note: no control character but tab and newline. Raises: InvalidRequest."""
    text = _require_length(value, pointer, shortest, longest)
    if _CONTROLS.search(text):
        raise invalid(pointer, "holds a control character")
    return text


def require_identifier(value: object, pointer: str, *, longest: int = limits.MAX_CALL_ID) -> str:
    """A free id or an owner: not blank, no control characters at all. Raises: InvalidRequest."""
    text = _require_length(value, pointer, 1, longest)
    if _ALL_CONTROLS.search(text):
        raise invalid(pointer, "holds a control character")
    if not text.strip():
        raise invalid(pointer, "is blank")
    return text


def require_content(value: object, pointer: str, *, most_bytes: int = limits.MAX_CONTENT_BYTES) -> str:
    """A content (input, output, error): any text, NUL too, up to so many bytes of UTF-8. Raises: InvalidRequest."""
    if not isinstance(value, str):
        raise invalid(pointer, "must be a text")
    if len(value) > most_bytes or len(value.encode()) > most_bytes:
        raise invalid(pointer, f"is larger than {most_bytes:,} bytes")
    return value


def require_limit(value: object) -> int:
    """Raises: InvalidLimit unless 1 to 256."""
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= limits.MAX_LIMIT:
        return value
    raise InvalidLimit


def _require_length(value: object, pointer: str, shortest: int, longest: int) -> str:
    if not isinstance(value, str):
        raise invalid(pointer, "must be a text")
    if not shortest <= len(value) <= longest:
        raise invalid(pointer, f"must have {shortest} to {longest:,} characters")
    return value
