"""Opaque cursors, bound to their list, scope and filters. Source: api.md "Answers", store.md section 3."""

from __future__ import annotations

import base64
import json
import re
from datetime import datetime
from hashlib import sha256

from suspensions.domain.errors import InvalidCursor, InvalidRequest
from suspensions.domain.instants import parse_instant

_TAG = 16
_UNKEPT = re.compile("[\0\ud800-\udfff]")


def make_cursor(binding: tuple[str, ...], *key: str) -> str:
    """A cursor that continues after `key` in the list that `binding` names (list, scope, filters)."""
    payload = json.dumps(key, ensure_ascii=True, separators=(",", ":"))
    text = f"{_tag(binding, payload)}{payload}".encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def read_cursor(cursor: str | None, binding: tuple[str, ...], width: int) -> tuple[str, ...] | None:
    """The key to continue after; None without a cursor.

    Raises: InvalidCursor for one of another list, scope or filter.
    """
    if cursor is None:
        return None
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
        tag, payload = text[:_TAG], text[_TAG:]
        if tag != _tag(binding, payload):
            raise InvalidCursor
        key = json.loads(payload)
    except (ValueError, RecursionError):
        raise InvalidCursor from None
    if not isinstance(key, list) or len(key) != width or not all(_is_sane(part) for part in key):
        raise InvalidCursor
    return tuple(key)


def cursor_number(part: str) -> int:
    """A number in a cursor's key. Raises: InvalidCursor: a cursor can be made up, and a database's numbers end."""
    if not (part.isascii() and part.isdigit()) or len(part) > 18:
        raise InvalidCursor
    return int(part)


def cursor_instant(part: str) -> datetime:
    """An instant in a cursor's key. Raises: InvalidCursor."""
    try:
        return parse_instant(part)
    except InvalidRequest:
        raise InvalidCursor from None


def _is_sane(part: object) -> bool:
    # Keys are ids and instants; a made-up cursor must not make a database or its driver fail, as PostgreSQL
    # does on a NUL, and both on half a surrogate pair.
    return isinstance(part, str) and not _UNKEPT.search(part)


def _tag(binding: tuple[str, ...], payload: str) -> str:
    text = json.dumps([*binding, payload], ensure_ascii=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:_TAG]
