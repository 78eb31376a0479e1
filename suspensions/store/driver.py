"""The store's way to the database: its statements go straight to the driver, on the connection that Django keeps.

Django's own cursor costs more than many a statement here: it rewrites placeholders anew each time, asks after
listeners, and makes a cursor of its own class. Connection, transaction and exceptions stay Django's. See docs/adr/0019.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections
from psycopg import RawCursor

T = TypeVar("T")
Parameters = Sequence[Any]
Rows = list[tuple[Any, ...]]


@cache
def vendor() -> str:
    """The engine of this process, which never changes."""
    return connection.vendor


def run(statement: str, parameters: Parameters, take: Callable[[Any], T]) -> T:
    """Run a statement with %s for each parameter, and give what `take` takes from its cursor.

    Raises: django.db's errors.
    """
    database: Any = connections[DEFAULT_DB_ALIAS]
    if database.queries_logged or database.execute_wrappers:
        # Whoever listens, such as a test that counts statements, hears the store's as well.
        with database.cursor() as listened:
            listened.execute(statement, parameters)
            return take(listened)
    if database.connection is None:
        database.ensure_connection()
    with database.wrap_database_errors:
        if database.vendor == "postgresql":
            cursor = RawCursor(database.connection)
            cursor.execute(_numbered(statement), parameters)
        else:
            cursor = database.connection.execute(_marked(statement), parameters)
        taken = take(cursor)
        cursor.close()
    return taken


def first(cursor: Any) -> tuple[Any, ...] | None:
    row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def every(cursor: Any) -> Rows:
    rows: Rows = cursor.fetchall()
    return rows


def count(cursor: Any) -> int:
    """How many rows a write touched."""
    touched: int = cursor.rowcount
    return touched


@lru_cache(maxsize=512)
def _numbered(statement: str) -> bytes:
    """With PostgreSQL's own placeholders, which psycopg passes on unread."""
    head, *rest = statement.split("%s")
    return (head + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))).encode()


@lru_cache(maxsize=512)
def _marked(statement: str) -> str:
    return statement.replace("%s", "?")
