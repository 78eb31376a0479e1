"""TypeIDs: a prefix, an underscore and 26 base32 characters of a UUIDv7. Source: store.md section 1, "Ids".

As text they sort by their time, so "latest" is the greatest id.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from uuid_utils import uuid7

from suspensions.domain.errors import InvalidId, StoredRecordBroken

RUN, SUSPENSION, AGENT, SESSION = "arun", "sus", "agt", "ses"
CHECKPOINT, EVENT, PROOF = "acp", "evt", "prf"

AHEAD_LIMIT = timedelta(minutes=5)

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_VALUES = {letter: value for value, letter in enumerate(_ALPHABET)}
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]
_SHIFTS = range(120, -1, -10)
_MAXIMUM = (1 << 128) - 1
_ANY = re.compile(r"[a-z]+_[0-7][0-9a-hjkmnp-tv-z]{25}", re.ASCII)


def _encode(number: int) -> str:
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in _SHIFTS])


def _decode(text: str) -> int:
    number = 0
    for letter in text:
        number = number << 5 | _VALUES[letter]
    return number


def new_id(prefix: str) -> str:
    """A fresh id. Ids made in one process are strictly increasing."""
    return f"{prefix}_{_encode(uuid7().int)}"


def new_id_after(prefix: str, latest: str | None) -> str:
    """A fresh id greater than `latest`: the larger of now and the latest plus one.

    Without this a client-chosen id a few minutes ahead would make the next pause the older one.

    Raises: StoredRecordBroken where an imported `latest` leaves no room above it.
    """
    fresh = new_id(prefix)
    if latest is None or fresh > latest:
        return fresh
    number = _decode(latest.rpartition("_")[2]) + 1
    # The version and variant bits lie inside; stepping over them keeps the successor a UUIDv7.
    while not _is_uuid7(number):
        if number > _MAXIMUM:
            raise StoredRecordBroken("No id is greater than the run's latest.")
        number += 1 << (76 if (number >> 76) & 15 != 7 else 62)
    return f"{prefix}_{_encode(number)}"


def require_id(text: object, prefix: str) -> str:
    """`text` as it is where it is a TypeID with this prefix.

    Raises: InvalidId.
    """
    if isinstance(text, str):
        head, _, tail = text.partition("_")
        if head == prefix and len(tail) == 26 and tail[0] <= "7" and all(letter in _VALUES for letter in tail):
            return text
    raise InvalidId(f"An id of the form {prefix}_ and 26 characters is expected.")


def looks_like_id(text: str) -> bool:
    """Whether the text has the form of a TypeID, of whatever prefix."""
    return _ANY.fullmatch(text) is not None


def require_chosen_id(text: object, prefix: str, now: datetime) -> str:
    """A client's own choice of an id: a UUIDv7 at most five minutes ahead of `now`.

    Raises: InvalidId.
    """
    chosen = require_id(text, prefix)
    number = _decode(chosen.rpartition("_")[2])
    if not _is_uuid7(number):
        raise InvalidId("A chosen id must be a UUIDv7.")
    if (number >> 80) > (now + AHEAD_LIMIT).timestamp() * 1000:
        raise InvalidId("A chosen id may lie at most five minutes ahead of the server's clock.")
    return chosen


def id_at(prefix: str, instant: datetime, sequence: int = 0) -> str:
    """A UUIDv7 id for `instant`, for imports and tests; `sequence` breaks ties."""
    milliseconds = int(instant.timestamp() * 1000)
    return f"{prefix}_{_encode(milliseconds << 80 | 7 << 76 | 2 << 62 | (sequence & ((1 << 62) - 1)))}"


def _is_uuid7(number: int) -> bool:
    return 0 <= number <= _MAXIMUM and (number >> 76) & 15 == 7 and (number >> 62) & 3 == 2
