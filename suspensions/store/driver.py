"""The store's way to the database: its statements go straight to the driver, on the connection that Django keeps.

Django's own cursor costs more than many a statement here: it rewrites placeholders anew each time, asks after
listeners, and makes a cursor of its own class. Connection, transaction and exceptions stay Django's. See docs/adr/0019.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, Error, connection, connections
from django.db.transaction import Atomic, TransactionManagementError
from psycopg import Connection, OperationalError, RawCursor
from psycopg.errors import error_from_result
from psycopg.pq import DiagnosticField, ExecStatus, TransactionStatus

T = TypeVar("T")
Parameters = Sequence[Any]
Rows = list[tuple[Any, ...]]

_NOTHING_OPEN = (TransactionStatus.IDLE, TransactionStatus.UNKNOWN)


@cache
def vendor() -> str:
    """The engine of this process, which never changes."""
    return connection.vendor


_open: ContextVar[DurableTransaction | None] = ContextVar("cortex_open_transaction", default=None)


def this_connection() -> Any:
    """The connection of the transaction that is open here, else Django's of this thread, or of this task in a loop."""
    held = _open.get()
    return connections[DEFAULT_DB_ALIAS] if held is None else held.database


class DurableTransaction(Atomic):
    """Django's durable block with a shorter way in and out, where Django's own costs as much as two writes.

    The short way is for the plain case alone: connected, nobody listening, nothing amiss. Everything else, and every
    failure, goes Django's way, from the same state of the connection.
    """

    def __init__(self) -> None:
        super().__init__(DEFAULT_DB_ALIAS, savepoint=True, durable=True)
        self.database = this_connection()
        self.is_short = False
        self.cursor: RawCursor[Any] | None = None

    def __enter__(self) -> None:
        try:
            self._begin()
            self.entered = _open.set(self)
        except Error:
            # Refused, or the connection is lost: nothing is begun.
            raise
        except BaseException as interrupted:
            self._take_back(interrupted)
            raise

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        # Used again, the block may find another connection; and a result is not kept for longer than it is asked for.
        self.cursor = None
        try:
            _open.reset(self.entered)
        finally:
            self._end(kind, error, traceback)

    def _begin(self) -> None:
        database = self.database
        plain = _may_be_short(database) and not database.in_atomic_block and database.autocommit
        self.is_short = plain and (database.vendor != "postgresql" or _begins_plainly(database.connection))
        if not self.is_short:
            super().__enter__()
            return
        with database.wrap_database_errors:
            if database.vendor == "postgresql":
                _begin_on_postgresql(database.connection)
            else:
                database.connection.execute(f"BEGIN {database.transaction_mode}")
        database.commit_on_exit, database.needs_rollback = True, False
        database.autocommit, database.in_atomic_block = False, True
        database.atomic_blocks.append(self)

    def _take_back(self, interrupted: BaseException) -> None:
        """Undo what was begun: nobody comes to the end of a block that was not entered.

        Whatever came next on the connection would join the open transaction, and be kept or undone by its end.
        """
        if _open.get() is self:
            _open.set(None)
        if self.is_short:
            super().__exit__(type(interrupted), interrupted, interrupted.__traceback__)

    def _end(self, kind: Any, error: Any, traceback: Any) -> None:
        database = self.database
        nested = bool(database.savepoint_ids)
        plain = self.is_short and kind is None and not nested and not database.needs_rollback
        if not plain or not _may_be_short(database):
            super().__exit__(kind, error, traceback)
            return
        try:
            with database.wrap_database_errors:
                if database.vendor == "postgresql":
                    _require_not_aborted(database.connection)
                database.connection.commit()
        except BaseException as failed:
            # An interruption too: a block left open would wedge the connection for whoever comes next.
            super().__exit__(type(failed), failed, failed.__traceback__)
            raise
        # In this order: an interruption falls after a call, and finds everything done.
        database.in_atomic_block, database.autocommit = False, True
        database.atomic_blocks.pop()

    def one_cursor(self) -> RawCursor[Any]:
        """One for all statements of the transaction, on PostgreSQL: each is read to its end before the next."""
        if self.cursor is None:
            self.cursor = RawCursor(self.database.connection)
        return self.cursor


def _may_be_short(database: Any) -> bool:
    """Whether this is connected, with nobody who wants to hear of statements or of the commit."""
    return (
        database.connection is not None
        and (database.vendor == "postgresql" or database.transaction_mode is not None)
        and not database.force_debug_cursor
        and not database.execute_wrappers
        and not database.run_on_commit
    )


def _begins_plainly(connected: Connection[Any]) -> bool:
    """Whether a bare BEGIN does what psycopg's would: no mode is set, and no transaction that nobody owns is open.

    The server would but warn of one, and commit its leftovers with the operation. Of a lost connection BEGIN tells.
    """
    return (
        connected.pgconn.transaction_status in _NOTHING_OPEN
        and connected.isolation_level is None
        and connected.read_only is None
        and connected.deferrable is None
    )


def _begin_on_postgresql(connected: Connection[Any]) -> None:
    """Begin at once; psycopg would wait for the first statement, and look up its own mode four times on the way."""
    result = connected.pgconn.exec_(b"BEGIN")
    if result.status == ExecStatus.COMMAND_OK:
        return
    if result.error_field(DiagnosticField.SQLSTATE) is None:
        # Nobody was there to give a code: the connection is lost, and the operation is begun anew on another one.
        raise OperationalError("the connection was lost")
    raise error_from_result(result)


def _require_not_aborted(connected: Connection[Any]) -> None:
    """A statement failed, and whoever made it went on: the server would undo everything and call it a commit."""
    if connected.pgconn.transaction_status == TransactionStatus.INERROR:
        raise TransactionManagementError("a statement failed inside this block: nothing of it can be kept")


def run(statement: str, parameters: Parameters, take: Callable[[Any], T], on: Any = None) -> T:
    """Run a statement with %s for each parameter, and give what `take` takes from its cursor.

    `on` is this thread's connection, for whoever runs several: looking it up costs as much as a small statement.

    Raises: django.db's errors.
    """
    database = on or this_connection()
    if database.force_debug_cursor or database.execute_wrappers:
        # Whoever listens, such as a test that counts statements, hears the store's as well.
        with database.cursor() as listened:
            listened.execute(statement, parameters)
            return take(listened)
    if database.connection is None:
        database.ensure_connection()
    with database.wrap_database_errors:
        if database.vendor == "postgresql":
            held = _open.get()
            cursor = RawCursor(database.connection) if held is None else held.one_cursor()
            cursor.execute(_numbered(statement), parameters, binary=True)
            return take(cursor)
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
