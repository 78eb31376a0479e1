"""What the queue is read in: segments, a scope and a reason each, from their own index and merged by their deadlines.

No scope is ever sorted. On PostgreSQL a few segments are merged while they are read; of very many the scopes' parents
are looked through first, and where these hold too little else, each segment is read by itself. SQLite always merges.
Source: pages.md, "Queue".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Q

from suspensions.domain.scopes import Scope
from suspensions.domain.values import Reason
from suspensions.models import Suspension
from suspensions.models.fields import FOR_EVER, to_database
from suspensions.models.search import TERMS
from suspensions.queries.fragments import Sql, condition, for_each, joined, nothing, scope_column, sql, union, value

MOST_MERGED = 24
"""So many segments PostgreSQL merges while it reads them; more cost it too much to begin with."""

WIDE = 10
"""So many pages of the scopes' parents are looked through, where that may do instead of reading very many scopes."""

MOST_FEW = 1_000
"""So many rows that terms find are gathered beforehand; where there are more, each row of the segments is looked at."""

LAST_ID = "\U0010ffff"
"""After every id."""
WAITS = "suspension.retired_at IS NULL AND suspension.claimed_at IS NULL"


@dataclass(frozen=True, slots=True)
class Segment:
    """One scope's waiting pauses of one reason, due later than `after` and no later than `until`."""

    scope: Scope
    reason: Reason
    after: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """Segments, of which `where` leaves some rows; where those are few, `terms` finds them without reading all.

    `but` takes away a few, which its own terms find: so an index alone is read, without looking at each row. One branch
    of those that are read together may have terms, and one `but`.
    """

    segments: Sequence[Segment]
    where: Q | None = None
    terms: str | None = None
    but: tuple[Q, str] | None = None


Place = tuple[datetime | None, str]
"""A deadline and an id: where a page ended."""


Given = tuple[Scope, Mapping[str, tuple[str, Any]]]
"""A scope and what bounds a segment of it: a type and a value each."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read of segments: the `due` and `id` of so many rows, in this order, and what `further` adds to them.

    Where rows are wanted with `everything` that lies in the segments, `{fits}` in `further` is whether one is asked
    for. `{of}` holds a segment's scope and reason. Nothing is read up to the place in `past`.
    """

    limit: int | str
    further: Mapping[str, str] = field(default_factory=dict)
    fits: Sql | None = None
    within: str = ""
    everything: bool = False
    past: str = ""

    @property
    def columns(self) -> str:
        return ", ".join(("due", "id", *self.further))


def due() -> str:
    return f"COALESCE(suspension.expires_at, {FOR_EVER[connection.vendor]})"


@dataclass(frozen=True, slots=True)
class _Part:
    """What is read of a branch at one depth, worded once for all of a statement's reads."""

    depth: int
    """Of all its scopes, but for those of rows that were gathered."""
    givens: Sequence[Given]
    wheres: Sequence[Sql]
    gathered: str | None = None
    """Under which name its rows were gathered beforehand."""
    only: str = ""
    """When it is read at all."""


class Reader:
    """Words the statements for some branches, after some place."""

    def __init__(self, branches: Sequence[Branch], after: Place | None) -> None:
        self._after = after
        self._gathered: list[Sql] = []
        self._parts = [part for branch in branches for part in self._parts_of(branch)]
        self._count = _count((part, part.givens) for part in self._parts)
        self.merges = self._count <= MOST_MERGED or connection.vendor != "postgresql"
        """Whether all segments are read in one merged order, each no further than it must."""
        self._due = due()
        self._key = f"({self._due}, suspension.id)"
        self._place = f"row_number() OVER (ORDER BY {self._due}, suspension.id)"

    def _parts_of(self, branch: Branch) -> Iterator[_Part]:
        wheres = [] if branch.where is None else [condition(Suspension, branch.where)]
        if branch.but is not None:
            wheres.append(self._but(*branch.but))
        givens = [(segment.scope, self._bounds(segment)) for segment in branch.segments]
        only = ""
        if branch.where is not None and branch.terms is not None and connection.vendor == "postgresql":
            few = self._find("few", branch.where, branch.terms)
            yield _Part(0, givens, wheres, gathered="few", only=f" AND {few}")
            only = f" AND NOT {few}"
            wheres = [_looked_at(branch.where)]
        for depth in sorted({scope.depth for scope, _ in givens}):
            yield _Part(depth, [given for given in givens if given[0].depth == depth], wheres, only=only)

    def _find(self, name: str, where: Q, terms: str) -> str:
        """Has ids gathered that terms find; answers with whether these are all."""
        ids = sql(
            "SELECT suspension.id AS id FROM suspension WHERE {waits} AND {terms} @@ {asked}::tsquery AND {where}"
            " LIMIT {most}",
            waits=WAITS,
            terms=TERMS,
            asked=value(terms),
            where=condition(Suspension, where),
            most=MOST_FEW + 1,
        )
        self._gathered.append(sql("{name} AS MATERIALIZED ({ids})", name=name, ids=ids))
        return f"(SELECT count(id) <= {MOST_FEW} FROM {name})"

    def _but(self, where: Q, terms: str) -> Sql:
        if connection.vendor != "postgresql":
            return condition(Suspension, ~where)
        few = self._find("but", where, terms)
        return sql(
            "suspension.id NOT IN (SELECT id FROM but) AND ({few} OR {not_it})", few=few, not_it=_looked_at(~where)
        )

    def complete(self, statement: Sql) -> Sql:
        """The statement with what it gathers beforehand."""
        if not self._gathered:
            return statement
        return sql("WITH {gathered} {statement}", gathered=joined(", ", self._gathered), statement=statement)

    # -- in the index's order -----------------------------------------------------------------------

    def each(self, reading: Reading) -> Sql:
        """Of each segment as many rows as are asked for, one segment after the other."""
        parts = [self._read(part, reading, part.givens, merging=False) for part in self._parts]
        return union(reading.columns, parts) if parts else nothing(reading.columns)

    def _read(self, part: _Part, reading: Reading, givens: Sequence[Given], *, merging: bool) -> Sql:
        asked = [*part.wheres] if reading.fits is None else [*part.wheres, reading.fits]
        left = [] if reading.everything else asked
        added = "".join(f", {column} AS {name}" for name, column in reading.further.items())
        tail = sql(
            "{only}{within}{left} ORDER BY {due}, suspension.id LIMIT {limit}",
            only=part.only,
            within=reading.within,
            left=joined("", [sql(" AND {where}", where=where) for where in left]),
            due=self._due,
            limit=reading.limit,
        )

        def head(of: str, fits: Sequence[Sql]) -> Sql:
            return sql(
                "SELECT {due} AS due, suspension.id AS id{further} FROM suspension WHERE {waits}",
                due=self._due,
                further=sql(added, fits=joined(" AND ", [Sql("1 = 1"), *fits]), of=of),
                waits=WAITS,
            )

        def body(column: str, given: Mapping[str, Sql]) -> Sql:
            fits = asked
            if "members" in given:
                inner = scope_column(part.depth)
                fits = [sql("suspension.{inner} IN (SELECT unnest({members}))", inner=inner, members=given["members"])]
                fits += asked
            lies = self._lies(column, given, reading.past)
            return sql("{head} AND {lies}{tail}", head=head("given", fits), lies=lies, tail=tail)

        if part.gathered is not None:
            return self._of_gathered(part, reading, head("suspension", asked), tail)
        return for_each(reading.columns, givens, body, merging=merging)

    def _of_gathered(self, part: _Part, reading: Reading, head: Sql, tail: Sql) -> Sql:
        """The same rows, of those that were gathered."""

        def body(column: str, given: Mapping[str, Sql]) -> Sql:
            return sql("SELECT 1 AS found WHERE {lies}", lies=self._lies(column, given, reading.past))

        return sql(
            "SELECT {columns} FROM ({head} AND suspension.id IN (SELECT id FROM {ids}) AND EXISTS ({segments}){tail})"
            " AS found",
            columns=reading.columns,
            head=head,
            ids=str(part.gathered),
            segments=for_each("found", part.givens, body),
            tail=tail,
        )

    def _lies(self, column: str, given: Mapping[str, Sql], past: str = "") -> Sql:
        """That a row lies in a segment, and after the place to begin after, or after that in `past` if it is further.

        There is one such place and no second condition, since an index begins where the first of its conditions says.
        """
        if past:
            due, pause_id = f"(SELECT due FROM {past})", f"(SELECT id FROM {past})"
            beyond = (
                f"CASE WHEN {{since}} > {due} THEN {{beyond}} WHEN {{since}} < {due} THEN {pause_id}"
                f" ELSE GREATEST({{beyond}}, {pause_id}) END"
            )
            given = {**given, "since": sql(f"GREATEST({{since}}, {due})", **given), "beyond": sql(beyond, **given)}
        return sql(
            "suspension.{column} = {scope} AND suspension.reason = {reason}"
            " AND {key} > ({since}, {beyond}) AND {due} >= {since} AND {due} <= {until}",
            column=column,
            key=self._key,
            due=self._due,
            **given,
        )

    def _bounds(self, segment: Segment) -> dict[str, tuple[str, Any]]:
        """The segment as one place to begin after and one instant to end with."""
        first, last = ("-infinity", "infinity") if connection.vendor == "postgresql" else ("", "~")
        since, beyond = first, ""
        if segment.after is not None:
            since, beyond = as_text(segment.after), LAST_ID
        if self._after is not None:
            deadline, pause_id = self._after
            if segment.after is None or deadline is None or deadline > segment.after:
                since, beyond = last if deadline is None else as_text(deadline), pause_id
        return {
            "reason": ("text", segment.reason.value),
            "since": ("timestamptz", since),
            "beyond": ("text", beyond),
            "until": ("timestamptz", last if segment.until is None else as_text(segment.until)),
        }

    # -- merged -------------------------------------------------------------------------------------

    def merged(self, reading: Reading) -> Sql:
        """The first rows of all segments together, where they are few enough to be merged."""
        return self._merged(reading, [(part, part.givens) for part in self._parts])

    def _merged(self, reading: Reading, parts: Sequence[tuple[_Part, Sequence[Given]]]) -> Sql:
        return sql(
            "SELECT {columns} FROM ({rows}) AS each_one ORDER BY due, id LIMIT {limit}",
            columns=reading.columns,
            rows=union(reading.columns, [self._read(part, reading, givens, merging=True) for part, givens in parts]),
            limit=reading.limit,
        )

    def page(self, limit: int, fits: Sql | None = None) -> Sql:
        """The ids of the first `limit` rows of all segments together."""
        if self.merges:
            return sql("SELECT id FROM ({rows}) AS page", rows=self.merged(Reading(limit, fits=fits)))
        parents = self._parents()
        if parents is None:
            first = self.first("page", Reading(limit), few=self.share(2 * limit))
            return sql("WITH {first} SELECT id FROM page", first=first)
        many = WIDE * limit
        wide = Reading(many, {"fits": "{fits}"}, everything=True)
        return sql(
            "WITH wide AS MATERIALIZED (SELECT id FROM ({wide}) AS each_one WHERE fits ORDER BY due, id LIMIT {limit}),"
            " wide_end AS MATERIALIZED (SELECT (SELECT count(id) FROM wide) = {limit}"
            " OR (SELECT count(id) FROM ({everything}) AS each_one) < {many} AS done), {first}"
            " SELECT id FROM wide WHERE (SELECT done FROM wide_end) UNION ALL SELECT id FROM page",
            wide=self._merged(wide, parents),
            limit=limit,
            everything=self._merged(Reading(many, everything=True), parents),
            many=many,
            first=self.first(
                "page",
                Reading(limit, within=" AND NOT (SELECT done FROM wide_end)"),
                few=self.share(2 * limit),
            ),
        )

    def _parents(self) -> Sequence[tuple[_Part, Sequence[Given]]] | None:
        """What holds all segments, and others beside them, few enough to be merged; None where nothing does."""
        for depth in (2, 1):
            parents = [(part, _parents_of(part, depth)) for part in self._parts]
            if _count(parents) <= MOST_MERGED:
                return parents
        return None

    def share(self, limit: int) -> int:
        """How many rows of each segment so many rows are, and two more."""
        return limit // self._count + 2

    def first(self, name: str, reading: Reading, *, few: int | str) -> Sql:
        """What stands behind WITH for a `name` that holds the first rows of all segments together.

        A `few` of each are read first. The last of the first `limit` among them is the edge: what lies beyond it is not
        wanted, and only segments whose few all lie before it are read on. Of many segments those are one or two, so
        that an index is hardly gone down into twice for any.
        """
        steps, begun, further = [], [], []
        for number, part in enumerate(self._parts):
            if part.gathered is not None:
                begun.append(self._read(part, reading, part.givens, merging=False))
                continue
            few_of = f"{name}_few_{number}"
            cut = {column: f"given.{column}" for column in ("scope", "reason", "until")} | {
                "cut": f"{self._place} = {few}"
            }
            rows = self._read(part, replace(reading, limit=few, further=cut), part.givens, merging=False)
            steps.append(sql("{name} AS MATERIALIZED ({rows}), ", name=few_of, rows=rows))
            begun.append(Sql(f"SELECT due, id FROM {few_of}"))
            wheres = [] if reading.everything else part.wheres
            further.append(self._further(few_of, part.depth, reading.limit, f"{name}_edge", wheres))
        return sql(
            "{steps}{name}_begun AS MATERIALIZED ({begun}), {name}_edge AS MATERIALIZED (SELECT due, id FROM"
            " (SELECT due, id, row_number() OVER (ORDER BY due, id) AS place FROM {name}_begun) AS placed"
            " WHERE place = {limit}), {name} AS MATERIALIZED"
            " (SELECT due, id FROM ({rows}) AS each_one ORDER BY due, id LIMIT {limit})",
            steps=joined("", steps),
            name=name,
            begun=union("due, id", begun),
            rows=union("due, id", [Sql(f"SELECT due, id FROM {name}_begun"), *further]),
            limit=reading.limit,
        )

    def _further(self, few: str, depth: int, limit: int | str, edge: str, wheres: Sequence[Sql]) -> Sql:
        """What follows of the segments of which `few` was read, up to the edge; without one as far as `limit`."""
        given = {column: Sql(f"{few}.{column}") for column in ("scope", "reason", "until")}
        last = f"COALESCE((SELECT id FROM {edge}), '{LAST_ID}')"
        return sql(
            "SELECT found.due, found.id FROM {few} CROSS JOIN LATERAL (SELECT {due} AS due, suspension.id AS id"
            " FROM suspension WHERE {waits} AND {lies} AND {key} <= {edge}{left}"
            " ORDER BY {due}, suspension.id LIMIT {limit}) AS found"
            " WHERE {few}.cut AND ({few}.due, {few}.id) <= {edge}",
            few=few,
            due=self._due,
            waits=WAITS,
            lies=self._lies(
                scope_column(depth),
                given | {"since": Sql(f"{few}.due"), "beyond": Sql(f"{few}.id")},
            ),
            key=self._key,
            edge=f"(COALESCE((SELECT due FROM {edge}), {FOR_EVER['postgresql']}), {last})",
            left=joined("", [sql(" AND {where}", where=where) for where in wheres]),
            limit=limit,
        )


def _looked_at(where: Q) -> Sql:
    """The condition of a row that is looked up by its id, so that the index alone is read where nothing asks for it.

    PostgreSQL would think little of rows of which it expects few, and sort a whole segment instead of reading in order.
    """
    return sql(
        "(SELECT {where} FROM (SELECT suspension.id AS this) AS looked_at"
        " JOIN suspension ON suspension.id = looked_at.this)",
        where=condition(Suspension, where),
    )


def _parents_of(part: _Part, depth: int) -> list[Given]:
    """The scopes that hold the part's, cut to `depth` levels, with the `members` that each of them holds."""
    if part.depth <= depth:  # so it is, with depth 0, of rows that were gathered
        return list(part.givens)
    found: dict[tuple[str, ...], tuple[Scope, Mapping[str, tuple[str, Any]], list[str]]] = {}
    for scope, bounds in part.givens:
        parent = Scope(scope.prefixes[depth - 1])
        key = (parent.text, *(str(one) for _, one in bounds.values()))
        found.setdefault(key, (parent, bounds, []))[2].append(scope.text)
    return [(parent, {**bounds, "members": ("text", members)}) for parent, bounds, members in found.values()]


def _count(parts: Iterable[tuple[_Part, Sequence[Given]]]) -> int:
    """How many reads these are."""
    return sum(len(givens) if part.gathered is None else 1 for part, givens in parts)


def as_text(instant: datetime) -> Any:
    """As it stands in a column; text on PostgreSQL too, where it stands beside "for ever"."""
    kept = to_database(instant, connection.vendor)
    return kept.isoformat() if isinstance(kept, datetime) else kept
