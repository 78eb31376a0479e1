"""Columns that behave the same on both engines. Source: store.md sections 1 and 2."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from suspensions.domain.instants import format_instant, parse_instant

if TYPE_CHECKING:
    _Text = models.TextField[Any, Any]
    _Instant = models.Field[Any, Any]
else:
    _Text, _Instant = models.TextField, models.Field


class ExactTextField(_Text):
    """A text compared byte by byte: ids, scopes, names. A database's locale must not decide their order."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        """In capitals on PostgreSQL: for a unique `text` Django adds a second index, which "C" makes a mere copy."""
        return "TEXT" if connection.vendor == "postgresql" else super().db_type(connection)

    def db_parameters(self, connection: BaseDatabaseWrapper) -> Any:
        parameters = super().db_parameters(connection)
        if connection.vendor == "postgresql":
            parameters["collation"] = "C"
        return parameters


class InstantField(_Instant):
    """An instant in UTC: `timestamptz` on PostgreSQL, one fixed-width RFC 3339 text on SQLite.

    SQLite compares instants as text; Django's own column drops `.000000`, so that two spellings of one
    width would not be sure to sort by time.
    """

    def get_internal_type(self) -> str:
        return "InstantField"

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "timestamp with time zone" if connection.vendor == "postgresql" else "text"

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        return to_database(value, connection.vendor)

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> datetime | None:
        return from_database(value)

    def to_python(self, value: Any) -> Any:
        return parse_instant(value) if isinstance(value, str) else value

    def value_to_string(self, obj: models.Model) -> str:
        return format_instant(self.value_from_object(obj))


class Due(models.Func):
    """When a pause must be answered, and for ever where it has no deadline: what the queue's order compares.

    Only to compare by: no driver reads "for ever". `DUE` is its text, which must be that of the indexes.
    """

    arity = 1
    function = "COALESCE"

    def __init__(self, *expressions: Any, **extra: Any) -> None:
        super().__init__(*expressions, output_field=InstantField(), **extra)

    def as_postgresql(self, compiler: Any, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template=f"COALESCE(%(expressions)s, {FOR_EVER['postgresql']})")

    def as_sqlite(self, compiler: Any, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template=f"COALESCE(%(expressions)s, {FOR_EVER['sqlite']})")


FOR_EVER = {"postgresql": "'infinity'::timestamptz", "sqlite": "'~'"}
"""An instant after all others, as it stands in SQL."""


def to_database(instant: datetime | None, vendor: str) -> Any:
    """The one adapter for instants, of ORM and raw SQL alike."""
    if instant is None or vendor == "postgresql":
        return instant
    return format_instant(instant)


def from_database(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def read_instant(value: Any) -> datetime:
    """An instant of a column that is never null."""
    instant = from_database(value)
    if instant is None:
        raise TypeError("an instant that must be there is not")
    return instant
