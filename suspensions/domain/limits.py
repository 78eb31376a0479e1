"""Sizes and lengths, in bytes, characters or levels. Source: store.md section 2, "Exactness"; api.md."""

from __future__ import annotations

from datetime import timedelta

MAX_INPUT_BYTES = 8 << 20
MAX_CONTENT_BYTES = 8 << 20
MAX_BODY_BYTES = 32 << 20
MAX_DEPTH = 64
MAX_CALLS = 128
MAX_CALL_ID = 256
MAX_NAME = 256
MAX_OWNER = 256
MAX_NOTE = 10_000
MAX_LIMIT = 256
DEFAULT_LIMIT = 50
MIN_LEASE = timedelta(seconds=1)
MAX_LEASE = timedelta(seconds=3600)
MAX_SAFE_INTEGER = (1 << 53) - 1
