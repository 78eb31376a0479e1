"""The few things that the store's statements share: parameters, locking, and guarded writes in one round trip.

Source: store.md sections 3 and 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Any

from django.db import transaction

from suspensions.domain.failpoints import Point, reach
from suspensions.models.fields import to_database
from suspensions.store import driver


@dataclass(frozen=True, slots=True)
class Write:
    """One INSERT or UPDATE that must touch exactly one row: its WHERE repeats the state that was read.

    With `exactly` False it may touch none: retiring a pause that may not be there.
    """

    sql: str
    parameters: tuple[Any, ...]
    exactly: bool = True


class GuardFailed(Exception):
    """A guarded write touched no row although its run was locked and read: the transaction must not commit."""


def require_transaction() -> None:
    """A store function outside a transaction would write half of an operation: that is a defect."""
    if not driver.this_connection().in_atomic_block:
        raise transaction.TransactionManagementError("a store function needs an open transaction")


def is_postgresql() -> bool:
    return driver.vendor() == "postgresql"


def instant(value: datetime | None) -> Any:
    """An instant as a parameter, the same as the ORM's column writes it."""
    return to_database(value, driver.vendor())


def lock_run(run_id: str, scope: str, scope_column: str = "scope") -> None:
    """Lock the run's row at its exact scope, or where `scope_column` says that the scope covers it.

    It goes before everything that may decide. On SQLite the IMMEDIATE transaction holds the one write lock already. On
    PostgreSQL the read that follows is a statement of its own: it sees what the holder before us committed, which a
    join in the locking statement would not.
    """
    reach(Point.BEFORE_LOCK)
    if is_postgresql():
        statement = f"SELECT 1 FROM run WHERE id = %s AND {scope_column} = %s FOR UPDATE"
        driver.run(statement, (run_id, scope), driver.first)
    reach(Point.AFTER_LOCK)


def fetch_locked(sql: str, parameters: Sequence[Any]) -> tuple[Any, ...] | None:
    """Lock and read one row in one statement: for columns of that very row alone.

    PostgreSQL reads the row that it locked anew, once its last holder has committed; not so what is joined to it.
    """
    reach(Point.BEFORE_LOCK)
    row = driver.run(f"{sql} FOR UPDATE" if is_postgresql() else sql, parameters, driver.first)
    reach(Point.AFTER_LOCK)
    return row


def lock_request(*names: str) -> None:
    """Let a request that is under way be waited for by its own repeat, which then finds the record.

    There is no row yet that the two could meet at. On SQLite the IMMEDIATE transaction orders them.
    """
    reach(Point.BEFORE_LOCK)
    if is_postgresql():
        driver.run("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", ("\n".join(names),), driver.first)
    reach(Point.AFTER_LOCK)


def fetch_one(sql: str, parameters: Sequence[Any]) -> tuple[Any, ...] | None:
    row = driver.run(sql, parameters, driver.first)
    reach(Point.AFTER_READ)
    return row


def fetch_all(sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    rows = driver.run(sql, parameters, driver.every)
    reach(Point.AFTER_READ)
    return rows


def insert(table: str, values: Mapping[str, Any]) -> Write:
    """One row to be inserted; instants are adapted."""
    return Write(_insert_text(table, tuple(values)), _adapt(values.values()))


def update(table: str, values: Mapping[str, Any], guard: Mapping[str, Any], *, exactly: bool = True) -> Write:
    """One row to be updated where it still stands as it was read; a None in the guard means IS NULL."""
    text = _update_text(table, tuple(values), tuple((column, value is None) for column, value in guard.items()))
    given = [value for value in guard.values() if value is not None]
    return Write(text, _adapt([*values.values(), *given]), exactly)


# An operation writes the same columns each time, so its texts are put together once.


@lru_cache(maxsize=512)
def _insert_text(table: str, columns: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})"


@lru_cache(maxsize=512)
def _update_text(table: str, columns: tuple[str, ...], guard: tuple[tuple[str, bool], ...]) -> str:
    assignments = ", ".join(f"{column} = %s" for column in columns)
    where = " AND ".join(f"{column} IS NULL" if is_null else f"{column} = %s" for column, is_null in guard)
    return f"UPDATE {table} SET {assignments} WHERE {where}"


@lru_cache(maxsize=512)
def _as_one_statement(writes: tuple[str, ...]) -> str:
    """Data-modifying CTEs that say how many rows each of them touched."""
    parts = ", ".join(f"w{index} AS ({text} RETURNING 1)" for index, text in enumerate(writes))
    counts = ", ".join(f"(SELECT count(*) FROM w{index})" for index in range(len(writes)))
    return f"WITH {parts} SELECT {counts}"


def insert_rows(table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows of the same columns in one statement; instants are not adapted here."""
    reach(Point.BEFORE_WRITE)
    places = ", ".join([f"({', '.join(['%s'] * len(columns))})"] * len(rows))
    values = [value for row in rows for value in row]
    driver.run(f"INSERT INTO {table} ({', '.join(columns)}) VALUES {places}", values, driver.count)
    reach(Point.AFTER_WRITE)


def delete(table: str, where: str, parameters: Sequence[Any]) -> int:
    """Delete rows; how many there were."""
    reach(Point.BEFORE_WRITE)
    count = driver.run(f"DELETE FROM {table} WHERE {where}", parameters, driver.count)
    reach(Point.AFTER_WRITE)
    return count


def among(column: str, values: Sequence[Any]) -> str:
    """The words that say that a column is one of the values, a placeholder for each."""
    return f"{column} IN ({', '.join(['%s'] * len(values))})"


def write(*writes: Write) -> None:
    """Perform the writes: on PostgreSQL in one statement, on SQLite one by one.

    Raises: GuardFailed where one of them touched no row; database errors of constraints and triggers.
    """
    reach(Point.BEFORE_WRITE)
    if len(writes) > 1 and is_postgresql():
        _write_in_one_statement(writes)
        reach(Point.AFTER_WRITE)
        return
    database = driver.this_connection()
    for each in writes:
        touched = driver.run(each.sql, each.parameters, driver.count, database)
        if each.exactly and touched != 1:
            raise GuardFailed(each.sql)
        reach(Point.AFTER_WRITE)


def _write_in_one_statement(writes: Sequence[Write]) -> None:
    text = _as_one_statement(tuple(each.sql for each in writes))
    parameters = [parameter for each in writes for parameter in each.parameters]
    counts = driver.run(text, parameters, driver.first) or ()
    for touched, each in zip(counts, writes, strict=True):
        if each.exactly and touched != 1:
            raise GuardFailed(each.sql)


# What both drivers take as it is.
_PLAIN = frozenset({str, int, bytes, type(None)})


def _adapt(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple([value if type(value) in _PLAIN else _adapted(value) for value in values])


def _adapted(value: Any) -> Any:
    if isinstance(value, datetime):
        return instant(value)
    return value.value if isinstance(value, Enum) else value
