"""SQL in pieces that carry their parameters, and reading several scopes, each from its own index.

`scope_1 = a OR scope_2 = b` in the order of a deadline makes a database sort all that it finds. Asked for one scope at
a time, an index gives the order, a LIMIT ends the reading, and little is left to merge. Django's ORM cannot say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any

from django.core.exceptions import EmptyResultSet, FullResultSet
from django.db import connection
from django.db.models import Model, Q, QuerySet
from django.db.models.expressions import RawSQL

from suspensions.domain.reach import Reach
from suspensions.domain.scopes import Scope

_COLUMNS = {1: "scope_1", 2: "scope_2", 3: "scope"}
# SQLite takes at most 500 parts in one UNION.
_MOST_PARTS = 200
_EXPECTED = 10
"""How many members PostgreSQL expects of an array that it does not know."""


@dataclass(frozen=True, slots=True)
class Sql:
    """A piece of SQL and its parameters."""

    text: str
    params: tuple[Any, ...] = ()

    def as_raw(self) -> RawSQL:
        """For the right side of an `__in`."""
        return RawSQL(self.text, self.params)  # noqa: S611 - put together here; whatever was given is a parameter


def sql(template: str, **pieces: Sql | str | int) -> Sql:
    """The template with its `{pieces}` put in, parameters in the order of their places."""
    text: list[str] = []
    params: list[Any] = []
    for literal, name, _, _ in Formatter().parse(template):
        text.append(literal)
        if name is not None:
            piece = pieces[name]
            text.append(piece.text if isinstance(piece, Sql) else str(piece))
            params += piece.params if isinstance(piece, Sql) else ()
    return Sql("".join(text), tuple(params))


def scope_column(depth: int) -> str:
    """The column that holds a row's scope cut to so many levels."""
    return _COLUMNS[depth]


def value(given: Any) -> Sql:
    return Sql("%s", (given,))


def nothing(columns: str) -> Sql:
    """No row of these columns."""
    return Sql(f"SELECT {', '.join(f'NULL AS {name}' for name in columns.split(', '))} WHERE 1 = 0")


def array(kind: str, members: Iterable[str]) -> Sql:
    """An array of PostgreSQL in its text form; the driver writes hundreds slower than they are read."""
    quoted = (member.replace("\\", "\\\\").replace('"', '\\"') for member in members)
    return Sql(f"%s::{kind}[]", ("{" + ",".join(f'"{member}"' for member in quoted) + "}",))


def joined(between: str, parts: Sequence[Sql]) -> Sql:
    return Sql(between.join(part.text for part in parts), tuple(one for part in parts for one in part.params))


def union(columns: str, parts: Iterable[Sql]) -> Sql:
    """All rows of the parts, which have these columns."""
    listed = list(parts)
    if len(listed) > _MOST_PARTS:
        chunks = [listed[start : start + _MOST_PARTS] for start in range(0, len(listed), _MOST_PARTS)]
        listed = [
            sql("SELECT {columns} FROM ({part}) AS chunk", columns=columns, part=union(columns, chunk))
            for chunk in chunks
        ]
    return joined(" UNION ALL ", listed)


def condition(model: type[Model], where: Q) -> Sql:
    """A condition as the ORM words it, on the model's own table by its own name."""
    return where_of(model._default_manager.filter(where))


def where_of(rows: QuerySet[Any]) -> Sql:
    """The condition of a queryset over one table."""
    query = rows.query
    compiler = query.get_compiler(connection=connection)
    try:
        text, params = compiler.compile(query.where)
    except FullResultSet:
        return Sql("1 = 1")
    except EmptyResultSet:
        return Sql("1 = 0")
    return Sql(f"({text})", tuple(params))


Body = Callable[[str, Mapping[str, Sql]], Sql]
"""What is read of one row of givens: from the scope's column and what was given for this row, to a SELECT."""


def for_each(
    columns: str,
    givens: Sequence[tuple[Scope, Mapping[str, tuple[str, Any]]]],
    body: Body,
    *,
    merging: bool = False,
) -> Sql:
    """The rows that `body` reads for each scope with what is given beside it: by name, a type and a value.

    PostgreSQL plans a LATERAL once, however many there are, where each part of a UNION takes time to plan. Of a UNION's
    parts in one order (`merging`) it reads each no further than their merged order asks. SQLite has no LATERAL, and
    plans a UNION's parts at no cost.
    """
    parts: list[Sql] = []
    for depth, column in _COLUMNS.items():
        alike = [(scope, given) for scope, given in givens if scope.depth == depth]
        if not alike:
            continue
        if connection.vendor == "postgresql" and not merging:
            parts.append(_lateral(columns, column, alike, body))
            continue
        for scope, given in alike:
            own = {name: _typed(kind, one) for name, (kind, one) in given.items()}
            rows = body(column, {"scope": _typed("text", scope.text), **own})
            parts.append(sql("SELECT {columns} FROM ({rows}) AS found", columns=columns, rows=rows))
    return union(columns, parts) if parts else nothing(columns)


def _typed(kind: str, given: Any) -> Sql:
    if isinstance(given, list):
        return array(kind, given)
    return Sql(f"%s::{kind}" if connection.vendor == "postgresql" else "%s", (given,))


def _lateral(
    columns: str, column: str, alike: Sequence[tuple[Scope, Mapping[str, tuple[str, Any]]]], body: Body
) -> Sql:
    types = {"scope": "text"} | {name: kind for name, (kind, _) in alike[0][1].items()}
    values = {"scope": [scope.text for scope, _ in alike]}
    for name in alike[0][1]:
        values[name] = [given[name][1] for _, given in alike]
    # A plan that is kept expects ten of an array whose length it cannot know. Where one for fewer looks cheaper,
    # PostgreSQL plans anew each time, which takes as long as the statement does.
    few = f"(SELECT {{names}} FROM unnest({{arrays}}) AS few ({{names}}) LIMIT {len(alike)})"
    given = few if len(alike) < _EXPECTED else "unnest({arrays})"
    return sql(
        f"SELECT {{columns}} FROM {given} AS given ({{names}}) CROSS JOIN LATERAL ({{body}}) AS found",
        columns=", ".join(f"found.{name}" for name in columns.split(", ")),
        arrays=joined(", ", [array(kind, values[name]) for name, kind in types.items()]),
        names=", ".join(types),
        body=body(column, {name: Sql(f"given.{name}") for name in types}),
    )


def in_scopes(columns: str, reach: Reach, template: str, *, table: str, **pieces: Sql | str | int) -> Sql:
    """The rows that the template reads of each scope; `{covered}` is that the scope covers a row of `table`."""

    def body(column: str, given: Mapping[str, Sql]) -> Sql:
        covered = sql("{table}.{column} = {scope}", table=table, column=column, scope=given["scope"])
        return sql(template, covered=covered, **pieces)

    return for_each(columns, [(scope, {}) for scope in reach], body)


def first(key: str, reach: Reach, rows: QuerySet[Any], order: Sequence[str], limit: int, also: str = "1 = 1") -> RawSQL:
    """The keys of the first rows of a queryset over one table, of all scopes together, for the right side of an `__in`.

    The queryset holds no condition on a scope. `order` names columns as the ORM does, without ties. `also` says in
    SQL what a partial index is about: a prepared plan cannot know that a parameter will say it.
    """
    model = rows.model
    table = model._meta.db_table
    columns = [(f"{table}.{model._meta.get_field(name.lstrip('-')).column}", name.startswith("-")) for name in order]
    by = ", ".join(f"{column} DESC" if down else column for column, down in columns)
    names = ", ".join(f"by_{number}" for number in range(len(columns)))
    again = ", ".join(f"by_{number}{' DESC' if down else ''}" for number, (_, down) in enumerate(columns))
    found = in_scopes(
        f"{key}, {names}",
        reach,
        f"SELECT {table}.{key} AS {key}, {', '.join(f'{column} AS by_{n}' for n, (column, _) in enumerate(columns))}"
        f" FROM {table} WHERE {{covered}} AND {{also}} AND {{where}} ORDER BY {by} LIMIT {{limit}}",
        table=table,
        also=also,
        where=where_of(rows),
        limit=limit,
    )
    merged = sql(
        "SELECT {key} FROM ({found}) AS each_one ORDER BY {again} LIMIT {limit}",
        key=key,
        found=found,
        again=again,
        limit=limit,
    )
    return merged.as_raw()
