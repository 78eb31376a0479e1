"""The leanest transaction that writes the same rows: hand-made SQL, values known beforehand, no product code.

Its statements lock the run, read what decides and what the answer gives, write exactly the rows and columns that the
product writes, and commit, on a connection of its own with the same durability. What it leaves out is everything else:
values, digests, rules.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import psycopg
from django.db import connection

from suspensions.store import sql

Parameters = Sequence[Any]


@dataclass(frozen=True)
class Floor:
    """One transaction: the read that decides, and the writes as they were found to be."""

    read: str
    about: Parameters
    run_id: str
    scope: str
    writes: tuple[sql.Write, ...]


class _Recorded(Exception):
    """Ends the recording of a transaction before it writes."""


def record(call: Callable[[], Any]) -> tuple[sql.Write, ...]:
    """What a call is about to write, without writing it."""
    found: list[sql.Write] = []

    def keep(*writes: sql.Write) -> None:
        found.extend(writes)
        raise _Recorded

    with patch.object(sql, "write", keep):
        try:
            call()
        except _Recorded:
            return tuple(found)
    raise AssertionError("the call wrote nothing")


class PostgresFloor:
    """psycopg, nothing above it: BEGIN, lock, read, one statement of writes, COMMIT."""

    def __init__(self) -> None:
        connection.ensure_connection()
        assert connection.connection is not None
        info = connection.connection.info
        self._raw = psycopg.connect(info.dsn, password=info.password, prepare_threshold=1)
        # psycopg's usual cursor reads a long statement's placeholders anew each time.
        self._cursor = psycopg.RawCursor(self._raw)

    def prepare(self, floor: Floor) -> Callable[[], None]:
        """The transaction as a call, its texts put together beforehand."""
        execute, commit = self._cursor.execute, self._raw.commit
        fetchone = self._cursor.fetchone
        lock, key = "SELECT 1 FROM run WHERE id = $1 AND scope = $2 FOR UPDATE", (floor.run_id, floor.scope)
        parts = ", ".join(f"w{number} AS ({write.sql} RETURNING 1)" for number, write in enumerate(floor.writes))
        counts = ", ".join(f"(SELECT count(*) FROM w{number})" for number in range(len(floor.writes)))
        read, text = _numbered(floor.read), _numbered(f"WITH {parts} SELECT {counts}")
        values = [value for write in floor.writes for value in write.parameters]
        expected = tuple(1 for _ in floor.writes)
        loose = not all(write.exactly for write in floor.writes)

        def run() -> None:
            execute(lock, key)
            execute(read, floor.about)
            assert fetchone() is not None
            execute(text, values)
            assert fetchone() == expected or loose
            commit()

        return run

    def close(self) -> None:
        self._raw.close()


def _numbered(statement: str) -> bytes:
    head, *rest = statement.split("%s")
    return (head + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))).encode()


class SqliteFloor:
    """The sqlite3 module, nothing above it: BEGIN IMMEDIATE, read, the writes, COMMIT."""

    def __init__(self) -> None:
        self._raw = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            self._raw.execute(f"PRAGMA {pragma}")

    def prepare(self, floor: Floor) -> Callable[[], None]:
        """The transaction as a call, its texts put together beforehand."""
        execute = self._raw.cursor().execute
        read = floor.read.replace("%s", "?")
        writes = [(write.sql.replace("%s", "?"), write.parameters, write.exactly) for write in floor.writes]

        def run() -> None:
            execute("BEGIN IMMEDIATE")
            assert execute(read, floor.about).fetchone() is not None
            for text, values, exactly in writes:
                done = execute(text, values)
                assert done.rowcount == 1 or not exactly
            execute("COMMIT")

        return run

    def close(self) -> None:
        self._raw.close()


def open_floor() -> PostgresFloor | SqliteFloor:
    """The floor of the engine that the settings name."""
    return PostgresFloor() if connection.vendor == "postgresql" else SqliteFloor()
