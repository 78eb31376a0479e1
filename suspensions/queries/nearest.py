"""The waiting pauses with the nearest deadlines, of several scopes and reasons, each read from its own index.

No scope is ever sorted. On PostgreSQL a filter or search that the index's order does not serve is answered in steps
of one statement, and a step is only taken where the one before did not fill the page:

1. the thousand nearest pauses are looked at: enough for whatever is common;
2. what the inverted index finds is gathered and sorted, if that is little: enough for whatever is rare;
3. some thousands of the nearest pauses are looked at;
4. what is left is gathered and sorted: too rare for the third step, it cannot be very much.

SQLite reads on in the queue's order until the page is full. Source: pages.md, "Queue".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.db import connection
from django.db.models import Q

from suspensions.domain.reach import Reach
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Reason
from suspensions.models import Suspension
from suspensions.models.fields import FOR_EVER, to_database
from suspensions.models.search import TERMS
from suspensions.queries.fragments import (
    Sql,
    condition,
    for_each,
    in_scopes,
    joined,
    nothing,
    scope_column,
    sql,
    union,
    value,
)

NEAR = (1_000, 8_000)
"""How many of the nearest pauses are looked at, at first and then."""
MOST_RARE = 1_500
"""Of so many that the inverted index finds, the page's may be picked at once."""
MOST_OLD = 20_000
_FEW = 4
"""So many indexes are read to the page's end without asking first how far each must be read."""

LAST_ID = "\U0010ffff"
"""After every id."""
_GIVEN = "given.scope AS scope, given.reason AS reason, given.until AS until"
_WAITS = "suspension.retired_at IS NULL AND suspension.claimed_at IS NULL"


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

    `but` takes away a few, which its own terms find: so an index alone is read, without looking at each row.
    """

    segments: Sequence[Segment]
    where: Q | None = None
    terms: str | None = None
    but: tuple[Q, str] | None = None


@dataclass(frozen=True, slots=True)
class Narrowing:
    """A filter that no segment expresses; `whole` describes all rows that are asked for.

    They are found by `terms` and by each of `ids`; where there are neither, and they are `older` than something, by
    their age in each of the scopes; else by whatever index the planner knows.
    """

    reach: Reach
    fits: Q
    whole: Q
    terms: str | None = None
    ids: tuple[Q, ...] = ()
    older: datetime | None = None


Place = tuple[datetime | None, str]
"""A deadline and an id: where a page ended."""


def due() -> str:
    return f"COALESCE(suspension.expires_at, {FOR_EVER[connection.vendor]})"


def nearest(branches: Sequence[Branch], after: Place | None, limit: int, narrowing: Narrowing | None = None) -> Sql:
    """The ids of the first `limit` pauses; branches must not overlap."""
    branches = [branch for branch in branches if branch.segments]
    if not branches:
        return nothing("id")
    reader = _Reader(branches, after)
    if connection.vendor == "postgresql" and narrowing is not None:
        return reader.narrowed(limit, narrowing)
    fits = None if narrowing is None else condition(Suspension, narrowing.fits)
    return sql("SELECT id FROM ({rows}) AS page", rows=reader.page(limit, fits))


def some(branches: Sequence[Branch], most: int) -> Sql:
    """A SELECT of waiting pauses: as many as there are, and at least `most` where there are more."""
    return _Reader([branch for branch in branches if branch.segments], None).each(most)


class _Reader:
    """Words the statements for some branches, after some place."""

    def __init__(self, branches: Sequence[Branch], after: Place | None) -> None:
        self._branches = branches
        self._after = after
        self._count = sum(len(branch.segments) for branch in branches)
        self._due = due()
        self._key = f"({self._due}, suspension.id)"
        self._place = f"row_number() OVER (ORDER BY {self._due}, suspension.id)"

    # -- in the index's order -----------------------------------------------------------------------

    def each(
        self, limit: int, further: str = "", *, fits: Sql | None = None, within: str = "", everything: bool = False
    ) -> Sql:
        """So many rows of each segment in its order: their `due` and `id`, and what `further` adds to them.

        Where rows are wanted with `everything` that lies in the segments, `{fits}` in `further` is whether one is
        asked for.
        """
        parts = [self._each_of(branch, limit, further, fits, within, everything) for branch in self._branches]
        names = _names(further)
        return union(names, parts) if parts else nothing(names)

    def _each_of(
        self,
        branch: Branch,
        limit: int,
        further: str = "",
        fits: Sql | None = None,
        within: str = "",
        everything: bool = False,
    ) -> Sql:
        by_terms = branch.terms is not None and connection.vendor == "postgresql"
        own = _wheres(branch)
        asked = own if fits is None else [*own, fits]
        # Terms find more than the segments hold of a branch's own.
        left = asked if not everything else own if by_terms else []
        head = sql(
            "SELECT {due} AS due, suspension.id AS id{further} FROM suspension WHERE {waits}",
            due=self._due,
            further=sql(f", {further}", fits=joined(" AND ", asked)) if further else "",
            waits=_WAITS,
        )
        tail = sql(
            "{within}{left} ORDER BY {due}, suspension.id LIMIT {limit}",
            within=within,
            left=joined("", [sql(" AND {where}", where=where) for where in left]),
            due=self._due,
            limit=limit,
        )
        return (self._by_terms if by_terms else self._by_order)(_names(further), branch, head, tail)

    def _by_order(self, columns: str, branch: Branch, head: Sql, tail: Sql) -> Sql:
        def body(column: str, given: Mapping[str, Sql]) -> Sql:
            return sql("{head} AND {lies}{tail}", head=head, lies=self._lies(column, given), tail=tail)

        return for_each(columns, [(segment.scope, self._bounds(segment)) for segment in branch.segments], body)

    def _by_terms(self, columns: str, branch: Branch, head: Sql, tail: Sql) -> Sql:
        """The same rows, found by their terms."""

        def body(column: str, given: Mapping[str, Sql]) -> Sql:
            return sql("SELECT 1 AS found WHERE {lies}", lies=self._lies(column, given))

        segments = for_each("found", [(segment.scope, self._bounds(segment)) for segment in branch.segments], body)
        asked = sql(" AND {terms} @@ {asked}::tsquery", terms=TERMS, asked=value(branch.terms))
        found = sql("{head}{asked} AND EXISTS ({segments}){tail}", head=head, asked=asked, segments=segments, tail=tail)
        return sql("SELECT {columns} FROM ({found}) AS found", columns=columns, found=found)

    def _lies(self, column: str, given: Mapping[str, Sql]) -> Sql:
        """That a row lies in a segment, and after the place to begin after."""
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
            since, beyond = _instant(segment.after), LAST_ID
        if self._after is not None:
            at, pause_id = self._after
            if segment.after is None or at is None or at > segment.after:
                since, beyond = last if at is None else _instant(at), pause_id
        return {
            "reason": ("text", segment.reason.value),
            "since": ("timestamptz", since),
            "beyond": ("text", beyond),
            "until": ("timestamptz", last if segment.until is None else _instant(segment.until)),
        }

    # -- merged -------------------------------------------------------------------------------------

    def page(self, limit: int, fits: Sql | None = None) -> Sql:
        """The first `limit` rows of all segments together."""
        if self._count > _FEW and connection.vendor == "postgresql":
            return self._page_of_many(limit)
        rows = self.each(limit, fits=fits)
        return sql("SELECT due, id FROM ({rows}) AS each_one ORDER BY due, id LIMIT {limit}", rows=rows, limit=limit)

    def _page_of_many(self, limit: int) -> Sql:
        """The first `limit` rows of many segments: a few of each, and more of those whose few lie before the edge.

        The edge is the last of the first `limit` among those few: what lies beyond it is not on the page. Mostly one
        or two segments are read on, so that each index is gone down into once.
        """
        few = 2 * limit // self._count + 2
        steps, begun, further = [], [], []
        for number, branch in enumerate(_by_depth(self._branches)):
            if branch.terms is not None:
                begun.append(self._each_of(branch, limit))
                continue
            name = f"few_{number}"
            rows = self._each_of(branch, few, f"{_GIVEN}, {self._place} = {few} AS cut")
            steps.append(sql("{name} AS MATERIALIZED ({rows})", name=name, rows=rows))
            begun.append(Sql(f"SELECT due, id FROM {name}"))
            further.append(self._further(name, branch, limit))
        return sql(
            "WITH {steps}begun AS MATERIALIZED ({begun}), edge AS MATERIALIZED (SELECT due, id FROM"
            " (SELECT due, id, row_number() OVER (ORDER BY due, id) AS place FROM begun) AS placed"
            " WHERE place = {limit})"
            " SELECT due, id FROM ({rows}) AS each_one ORDER BY due, id LIMIT {limit}",
            steps=joined("", [sql("{step}, ", step=step) for step in steps]),
            begun=union("due, id", begun),
            rows=union("due, id", [Sql("SELECT due, id FROM begun"), *further]),
            limit=limit,
        )

    def _further(self, name: str, branch: Branch, limit: int) -> Sql:
        """What follows of the segments of which `name` holds a few, up to the edge; without one as far as `limit`."""
        given = {column: Sql(f"{name}.{column}") for column in ("scope", "reason", "until")}
        last = f"COALESCE((SELECT id FROM edge), '{LAST_ID}')"
        return sql(
            "SELECT found.due, found.id FROM {name} CROSS JOIN LATERAL (SELECT {due} AS due, suspension.id AS id"
            " FROM suspension WHERE {waits} AND {lies} AND {key} <= {edge}{left}"
            " ORDER BY {due}, suspension.id LIMIT {limit}) AS found"
            " WHERE {name}.cut AND ({name}.due, {name}.id) <= {edge}",
            name=name,
            due=self._due,
            waits=_WAITS,
            lies=self._lies(
                scope_column(branch.segments[0].scope.depth),
                given | {"since": Sql(f"{name}.due"), "beyond": Sql(f"{name}.id")},
            ),
            key=self._key,
            edge=f"(COALESCE((SELECT due FROM edge), {FOR_EVER['postgresql']}), {last})",
            left=joined("", [sql(" AND {where}", where=where) for where in _wheres(branch)]),
            limit=limit,
        )

    def _edge(self, name: str, limit: int) -> Sql:
        """How far each of several segments must be read: to the last of the first `limit` among a few of each.

        What lies beyond cannot be among the first `limit`.
        """
        each = int(1.3 * limit / self._count) + 2
        return sql(
            "{name}_few AS MATERIALIZED ({few}),"
            " {name} AS MATERIALIZED (SELECT due, id,"
            " (SELECT COALESCE(bool_or(place = {each}), false) FROM {name}_few) AS cut FROM"
            " (SELECT due, id FROM {name}_few ORDER BY due, id LIMIT {limit}) AS first"
            " ORDER BY 1 DESC, 2 DESC LIMIT 1)",
            name=name,
            few=self.each(each, f"{self._place} AS place", everything=True),
            each=each,
            limit=limit,
        )

    def _within(self, name: str) -> str:
        return f" AND {self._key} <= ((SELECT due FROM {name}), (SELECT id FROM {name}))"

    # -- narrowed, on PostgreSQL --------------------------------------------------------------------

    def narrowed(self, limit: int, narrowing: Narrowing) -> Sql:
        """The first `limit` rows that the filter leaves, in steps of which the later ones mostly do not run."""
        fits = condition(Suspension, narrowing.fits)
        few, many = NEAR
        steps = [("near", self._look("near", few, limit, fits))]
        by_terms = narrowing.terms is not None or bool(narrowing.ids)
        if by_terms or narrowing.older is not None:
            steps.append(("rare", self._gather("rare", limit, narrowing, "near", MOST_RARE)))
        steps.append(("far", self._look("far", many, limit, fits)))
        if not by_terms and narrowing.older is not None:
            # Without a bound a planner that takes old pauses for many, as those are that do not wait, reads them all.
            steps.append(("old", self._gather("old", limit, narrowing, "far", MOST_OLD)))
        steps.append(("rest", self._gather("rest", limit, narrowing, steps[-1][0])))
        answers, missed = [], "true"
        for name, _ in steps:
            answers.append(Sql(f"SELECT due, id FROM {name}_hits WHERE {missed} AND (SELECT done FROM {name}_end)"))
            missed += f" AND NOT (SELECT done FROM {name}_end)"
        return sql(
            "WITH {steps} SELECT id FROM ({answers}) AS answer ORDER BY due, id LIMIT {limit}",
            steps=joined(", ", [step for _, step in steps]),
            answers=union("due, id", answers),
            limit=limit,
        )

    def _look(self, name: str, many: int, limit: int, fits: Sql) -> Sql:
        """The `many` nearest rows, those of them that fit, and whether these are the answer."""
        edge, within, more = Sql(""), "", f"(SELECT count(id) FROM {name}) >= {many}"
        if self._count > 1:
            edge = sql("{edge}, ", edge=self._edge(f"{name}_edge", many))
            within = self._within(f"{name}_edge")
            more = f"({more} OR COALESCE((SELECT cut FROM {name}_edge), false))"
        return sql(
            "{edge}{name} AS MATERIALIZED (SELECT due, id, fits FROM ({rows}) AS near ORDER BY due, id LIMIT {many}),"
            " {name}_hits AS MATERIALIZED (SELECT due, id FROM {name} WHERE fits ORDER BY due, id LIMIT {limit}),"
            " {name}_end AS MATERIALIZED"
            " (SELECT (SELECT count(id) FROM {name}_hits) >= {limit} OR NOT {more} AS done)",
            edge=edge,
            name=name,
            rows=self.each(many, "{fits} AS fits", fits=fits, within=within, everything=True),
            many=many,
            limit=limit,
            more=more,
        )

    def _gather(self, name: str, limit: int, narrowing: Narrowing, before: str, most: int | None = None) -> Sql:
        """All rows that the filter leaves, and their first ones; no answer where an index finds more than `most`.

        The condition is what the index knows and no more, or a planner that thinks little of that index would read a
        whole scope instead; whether a row is asked for is told beside it. Nothing is read where `before` was done.
        """
        whole = condition(Suspension, narrowing.whole)
        if self._after is not None:
            at, pause_id = self._after
            since = value("infinity" if at is None else _instant(at))
            beyond = sql("{key} > ({at}::timestamptz, {id})", key=self._key, at=since, id=value(pause_id))
            whole = sql("{whole} AND {beyond}", whole=whole, beyond=beyond)
        bound = "" if most is None else f" LIMIT {most + 1}"
        read = sql(
            "SELECT {due} AS due, suspension.id AS id, {whole} AS fits FROM suspension"
            " WHERE NOT (SELECT done FROM {before}_end) AND {waits}",
            due=self._due,
            whole=whole,
            before=before,
            waits=_WAITS,
        )
        return sql(
            "{name} AS MATERIALIZED (SELECT due, id, fits FROM ({found}) AS found{bound}),"
            " {name}_hits AS MATERIALIZED (SELECT due, id FROM {name} WHERE fits ORDER BY due, id LIMIT {limit}),"
            " {name}_end AS MATERIALIZED (SELECT {few} AS done)",
            name=name,
            found=self._found(read, narrowing, bound),
            bound=bound,
            limit=limit,
            few="true" if most is None else f"(SELECT count(id) FROM {name}) <= {most}",
        )

    def _found(self, read: Sql, narrowing: Narrowing, bound: str) -> Sql:
        """Reads by conditions of an index each, of which no two hold for one row."""
        wheres = [condition(Suspension, ids) for ids in narrowing.ids]
        if narrowing.terms is not None:
            asked = sql("{terms} @@ {asked}::tsquery", terms=TERMS, asked=value(narrowing.terms))
            wheres = [asked, *(sql("{where} AND NOT {asked}", where=where, asked=asked) for where in wheres)]
        if wheres:
            return union("due, id, fits", [sql("{read} AND {where}", read=read, where=where) for where in wheres])
        if narrowing.older is not None and bound:
            return in_scopes(
                "due, id, fits",
                narrowing.reach,
                "{read} AND {covered} AND suspension.created_at < {older}"
                " ORDER BY suspension.created_at, suspension.id{bound}",
                table="suspension",
                read=read,
                older=value(narrowing.older),
                bound=bound,
            )
        # How much a planner must expect depends on the values: no plan is kept for a text that never comes again.
        whole = condition(Suspension, narrowing.whole)
        return sql("{read} AND {whole} /* {once} */", read=read, whole=whole, once=uuid4().hex)


def _names(further: str) -> str:
    """All columns of a read: `due`, `id`, and what further ones are called."""
    return ", ".join(["due", "id", *re.findall(r" AS (\w+)", further)])


def _by_depth(branches: Sequence[Branch]) -> Iterator[Branch]:
    """The branches in parts whose scopes are of one depth each, but for those that terms find."""
    for branch in branches:
        if branch.terms is not None:
            yield branch
            continue
        for depth in sorted({segment.scope.depth for segment in branch.segments}):
            yield replace(branch, segments=[each for each in branch.segments if each.scope.depth == depth])


def _wheres(branch: Branch) -> list[Sql]:
    """Which rows of its segments a branch is about."""
    wheres = [] if branch.where is None else [condition(Suspension, branch.where)]
    if branch.but is not None:
        few, terms = branch.but
        if connection.vendor == "postgresql":
            found = "suspension.id NOT IN (SELECT suspension.id FROM suspension WHERE {waits} AND {asked} AND {few})"
            asked = sql("{terms} @@ {asked}::tsquery", terms=TERMS, asked=value(terms))
            wheres.append(sql(found, waits=_WAITS, asked=asked, few=condition(Suspension, few)))
        else:
            wheres.append(condition(Suspension, ~few))
    return wheres


def _instant(instant: datetime) -> Any:
    """As it stands in a column; text on PostgreSQL too, where it stands beside "for ever"."""
    kept = to_database(instant, connection.vendor)
    return kept.isoformat() if isinstance(kept, datetime) else kept
