"""Opaque cursors, bound to their list, scope and filters. Source: api.md "Answers", store.md section 3."""

from __future__ import annotations

import base64
import json
from hashlib import sha256

from suspensions.domain.errors import InvalidCursor

_TAG = 16


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
    except ValueError:
        raise InvalidCursor from None
    if not isinstance(key, list) or len(key) != width or not all(isinstance(part, str) for part in key):
        raise InvalidCursor
    return tuple(key)


def _tag(binding: tuple[str, ...], payload: str) -> str:
    text = json.dumps([*binding, payload], ensure_ascii=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:_TAG]
