"""Rows as they lie in the database, and their chains, past the product.

Rows are read by raw SQL and hashed by hand, so that a fault of the code under test cannot hide in its own reading.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import rfc8785
from django.db import connection

from suspensions.domain.values import Admission
from suspensions.models.fields import from_database, to_database


def execute(statement: str, parameters: Sequence[Any] = ()) -> int:
    """Run a statement that the product would not; instants are written as its columns write them."""
    with connection.cursor() as cursor:
        cursor.execute(statement, _adapt(parameters))
        return int(cursor.rowcount)


def rows(statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """The rows of a query, by column."""
    with connection.cursor() as cursor:
        cursor.execute(statement, _adapt(parameters))
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, values, strict=True)) for values in cursor.fetchall()]


def one_row(table: str, **where: Any) -> dict[str, Any]:
    """The one row of a table where the columns equal the values."""
    words = " AND ".join(f"{column} = %s" for column in where)
    found = rows(f"SELECT * FROM {table} WHERE {words}", list(where.values()))
    assert len(found) == 1, f"{len(found)} rows of {table}"
    return found[0]


def _adapt(parameters: Sequence[Any]) -> list[Any]:
    return [to_database(value, connection.vendor) if isinstance(value, datetime) else value for value in parameters]


# -- digests and chains, by hand -------------------------------------------------------------------


def hashed(domain: str, members: dict[str, Any]) -> str:
    """A digest as anybody would recompute it: SHA-256 over the domain, a line end and RFC 8785's form."""
    return sha256(domain.encode() + b"\n" + rfc8785.dumps(members)).hexdigest()


def text_of(instant: Any) -> str | None:
    """An instant of a column in its one text."""
    value = from_database(instant)
    return None if value is None else value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def event_json(row: dict[str, Any]) -> dict[str, Any]:
    """What an event's hash is over, from its row."""
    return {
        "id": row["id"],
        "run_id": row["run_id"],
        "scope": row["scope"],
        "type": row["type"],
        "at": text_of(row["at"]),
        "actor": json.loads(row["actor"]),
        "revision": row["revision"],
        "suspension_id": row["suspension_id"],
        "data": json.loads(bytes(row["data"])),
        "position": row["position"],
        "previous": row["previous"],
        "record_sha256": row["record_sha256"],
    }


def chain(key: str) -> list[dict[str, Any]]:
    """The events of a chain (a run's id, or an interaction's own), oldest first, each link checked."""
    events = rows("SELECT * FROM event WHERE chain = %s ORDER BY position", [key])
    previous = None
    for position, event in enumerate(events, 1):
        assert event["position"] == position, "a position is missing"
        assert event["previous"] == previous, f"link {position} does not name the one before"
        assert event["hash"] == hashed("cortex/event/v1", event_json(event)), f"link {position} was changed"
        previous = event["hash"]
    return events


def run_chain(run_id: str) -> list[dict[str, Any]]:
    """The events of a run, its head checked too."""
    events = chain(run_id)
    run = one_row("run", id=run_id)
    assert (run["event_position"], run["event_hash"]) == (len(events), events[-1]["hash"])
    return events


def event_types(run_id: str) -> list[str]:
    """The kinds of a run's events, oldest first, the chain checked."""
    return [event["type"] for event in run_chain(run_id)]


def run_state(run_id: str) -> tuple[str, int]:
    """State and revision of a run."""
    row = one_row("run", id=run_id)
    return row["state"], row["revision"]


def lease_of(run_id: str) -> tuple[str | None, int]:
    """Owner and epoch of a run's lease."""
    row = one_row("run", id=run_id)
    return row["lease_owner"], row["lease_epoch"]


# -- faults that only raw SQL can make -------------------------------------------------------------


def insert(table: str, columns: dict[str, Any], words: str = "INSERT INTO", rest: str = "") -> None:
    """One row, past the store."""
    places = ", ".join(["%s"] * len(columns))
    execute(f"{words} {table} ({', '.join(columns)}) VALUES ({places}) {rest}", list(columns.values()))


def insert_row(table: str, row: dict[str, Any], **changes: Any) -> None:
    """A copy of a row with some columns changed."""
    insert(table, {**row, **changes})


def closure_row(admission: Admission, at: datetime) -> dict[str, Any]:
    """A closure's row as an import might bring one, for an admission that was never started."""
    one, two, three = admission.scope.prefixes
    nothing = "0" * 64
    return {
        "suspension_id": admission.version.suspension_id,
        "run_id": admission.version.run_id,
        "scope": admission.scope.text,
        "scope_1": one,
        "scope_2": two,
        "scope_3": three,
        "schema_version": 1,
        "version_revision": admission.version.run_revision,
        "admission_digest": admission.request_digest,
        "start_digest": nothing,
        "request_revision": admission.claimed_revision,
        "actor": "imported",
        "issuer": "imported",
        "issuer_revision": "1",
        "proof_ref": f"prf-{admission.version.suspension_id}",
        "proof_digest": nothing,
        "proof": b"",
        "observed_at": at,
        "expires_at": at,
        "request_digest": nothing,
        "event_id": f"evt-{admission.version.suspension_id}",
        "run_revision": admission.claimed_revision + 1,
        "closed_at": at,
        "closed_by": '{"principal":"imported","via":"system"}',
        "record_sha256": nothing,
    }
