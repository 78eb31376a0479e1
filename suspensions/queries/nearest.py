"""The waiting pauses with the nearest deadlines, of several scopes and reasons, each read from its own index.

On PostgreSQL a filter or search that the index's order does not serve is answered in steps
of one statement, and a step is only taken where the one before did not fill the page:

1. the thousand nearest pauses are looked at: enough for whatever is common;
2. what the inverted index finds is gathered and sorted, if that is little: enough for whatever is rare. What the
   first step found often enough is not asked for here;
3. some thousands of the nearest pauses are looked at, by how much the first step found;
4. what is left is gathered and sorted: too rare for the third step, it cannot be very much.

SQLite reads on in the queue's order until the page is full. Source: pages.md, "Queue".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from django.db import connection
from django.db.models import Q

from suspensions.domain.reach import Reach
from suspensions.models import Suspension
from suspensions.models.search import TERMS
from suspensions.queries.fragments import Sql, condition, in_scopes, joined, nothing, sql, union, value
from suspensions.queries.segments import WAITS, Branch, Place, Reader, Reading, as_text

NEAR = (1_000, 8_000)
"""How many of the nearest pauses are looked at, at first and then at most."""
MOST_RARE = 1_500
"""Of so many that the inverted index finds, the page's may be picked at once."""
MOST_OLD = 20_000


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


def nearest(branches: Sequence[Branch], after: Place | None, limit: int, narrowing: Narrowing | None = None) -> Sql:
    """The ids of the first `limit` pauses; branches must not overlap."""
    branches = [branch for branch in branches if branch.segments]
    if not branches:
        return nothing("id")
    if connection.vendor == "postgresql" and narrowing is not None:
        narrowed = _Narrowed(branches, after)
        return narrowed.complete(sql("SELECT id FROM ({rows}) AS page", rows=narrowed.steps(limit, narrowing)))
    fits = None if narrowing is None else condition(Suspension, narrowing.fits)
    reader = Reader(branches, after)
    return reader.complete(sql("SELECT id FROM ({rows}) AS page", rows=reader.page(limit, fits)))


def some(branches: Sequence[Branch], most: int) -> Sql:
    """A SELECT of waiting pauses: as many as there are, and at least `most` where there are more."""
    reader = Reader([branch for branch in branches if branch.segments], None)
    return reader.complete(sql("SELECT due, id FROM ({rows}) AS each_one", rows=reader.each(Reading(most))))


class _Narrowed(Reader):
    """Words the statement for what a filter leaves, on PostgreSQL."""

    def steps(self, limit: int, narrowing: Narrowing) -> Sql:
        """The first `limit` rows that the filter leaves, in steps of which the later ones mostly do not run."""
        fits = condition(Suspension, narrowing.fits)
        few, many = NEAR
        by_terms = narrowing.terms is not None or bool(narrowing.ids)
        steps = [("near", self._look("near", few, limit, fits))]
        if by_terms or narrowing.older is not None:
            # An inverted index gathers all that it finds before it gives the first; an index of ages does not.
            unlikely = f"2 * hits * {many} < 3 * {limit} * {few}" if by_terms else "true"
            rare = f"(SELECT NOT done AND {unlikely} FROM near_end)"
            steps.append(("rare", self._gather("rare", limit, narrowing, rare, MOST_RARE)))
        steps.append(("far", self._far(limit, fits)))
        left = "(SELECT NOT done FROM far_end)"
        if not by_terms and narrowing.older is not None:
            # Without a bound a planner that takes old pauses for many, as those are that do not wait, reads them all.
            steps.append(("old", self._gather("old", limit, narrowing, left, MOST_OLD)))
            left = "(SELECT NOT done FROM old_end)"
        steps.append(("rest", self._gather("rest", limit, narrowing, left)))
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

    def _look(self, name: str, many: int | str, limit: int, fits: Sql, *, few: int | str = "", after: str = "") -> Sql:
        """The `many` nearest rows after those that `after` looked at, those of both that fit, and if they are enough.

        Which rows these are is read from the index alone; no other row is looked at.
        """
        whole = Reading(many, {"fits": "{fits}"}, fits=fits, everything=True, past=after and f"{after}_last")
        seen = name if self.merges else f"{name}_first"
        last = Sql(f"{name}_last AS MATERIALIZED (SELECT due, id FROM {seen} ORDER BY due DESC, id DESC LIMIT 1)")
        if self.merges:
            rows = sql("{name} AS MATERIALIZED ({rows}), {last}", name=name, rows=self.merged(whole), last=last)
        else:
            near = replace(
                whole,
                limit=NEAR[1],
                further={**whole.further, "scope": "{of}.scope", "reason": "{of}.reason"},
                within=f" AND {self._key} <= ((SELECT due FROM {name}_last), (SELECT id FROM {name}_last))",
            )
            rows = sql(
                "{first}, {last}, {name} AS MATERIALIZED ({rows})",
                first=self.first(seen, replace(whole, further={}, fits=None), few=few or self.share(NEAR[0])),
                last=last,
                name=name,
                rows=self.each(near),
            )
        return sql(
            "{rows}, {name}_hits AS MATERIALIZED"
            " (SELECT due, id FROM {name} WHERE fits{before} ORDER BY due, id LIMIT {limit}),"
            " {name}_end AS MATERIALIZED"
            " (SELECT hits, hits >= {limit} OR (SELECT count(id) FROM {seen}) < {many} AS done"
            " FROM (SELECT count(id) AS hits FROM {name}_hits) AS counted)",
            rows=rows,
            name=name,
            before=f" UNION ALL SELECT due, id FROM {after}_hits" if after else "",
            seen=seen,
            many=many,
            limit=limit,
        )

    def _far(self, limit: int, fits: Sql) -> Sql:
        """As many more of the nearest rows as should be enough, by what the nearest few held.

        Where segments are not merged, each one's share of those few tells how far its index must be read.
        """
        few, many = NEAR
        counted = "near_counts.reason = given.reason AND near_counts.scope = given.scope"
        held = f"SELECT COALESCE((SELECT held FROM near_counts WHERE {counted}), 0) AS held"
        counts = (
            "near_counts AS MATERIALIZED (SELECT scope, reason, count(id) AS held FROM near GROUP BY scope, reason),"
        )
        return sql(
            "{counts}"
            # Twice what should do: a few are no good measure of the many.
            " asked AS MATERIALIZED (SELECT LEAST({many}, 2 * {few} * {limit} / GREATEST(hits, 1)) - {few} AS many"
            " FROM near_end), {look}",
            counts="" if self.merges else counts,
            few=few,
            many=many,
            limit=limit,
            look=self._look(
                "far",
                "(SELECT many FROM asked)",
                limit,
                fits,
                few=f"(SELECT ceil((held + sqrt(held) + 1) * many / {few}) + 1 FROM ({held}) AS of_few, asked)",
                after="near",
            ),
        )

    def _gather(self, name: str, limit: int, narrowing: Narrowing, asked: str, most: int | None = None) -> Sql:
        """All rows that the filter leaves, and their first ones; no answer where an index finds more than `most`.

        The condition is what the index knows and no more, or a planner that thinks little of that index would read a
        whole scope instead; whether a row is asked for is told beside it. Nothing is read unless it is `asked` for.
        """
        whole = condition(Suspension, narrowing.whole)
        if self._after is not None:
            deadline, pause_id = self._after
            since = value("infinity" if deadline is None else as_text(deadline))
            beyond = sql("{key} > ({since}::timestamptz, {id})", key=self._key, since=since, id=value(pause_id))
            whole = sql("{whole} AND {beyond}", whole=whole, beyond=beyond)
        bound = "" if most is None else f" LIMIT {most + 1}"
        shown = sql("SELECT {due} AS due, suspension.id AS id, {whole} AS fits", due=self._due, whole=whole)
        these = sql("FROM suspension WHERE {asked} AND {waits}", asked=asked, waits=WAITS)
        return sql(
            "{name} AS MATERIALIZED (SELECT due, id, fits FROM ({found}) AS found{bound}),"
            " {name}_hits AS MATERIALIZED (SELECT due, id FROM {name} WHERE fits ORDER BY due, id LIMIT {limit}),"
            " {name}_end AS MATERIALIZED (SELECT {few} AS done)",
            name=name,
            found=self._found(shown, these, narrowing, bound),
            bound=bound,
            limit=limit,
            few="true" if most is None else f"{asked} AND (SELECT count(id) FROM {name}) <= {most}",
        )

    def _found(self, shown: Sql, these: Sql, narrowing: Narrowing, bound: str) -> Sql:
        """Reads by conditions of an index each, of which no two hold for one row."""
        wheres = [condition(Suspension, ids) for ids in narrowing.ids]
        if narrowing.terms is not None:
            asked = sql("{terms} @@ {asked}::tsquery", terms=TERMS, asked=value(narrowing.terms))
            wheres = [asked, *(sql("{where} AND NOT {asked}", where=where, asked=asked) for where in wheres)]
        if wheres:
            return joined(
                " UNION ALL ",
                [sql("{shown} {these} AND {where}", shown=shown, these=these, where=where) for where in wheres],
            )
        if narrowing.older is not None and bound:
            return in_scopes(
                "due, id, fits",
                narrowing.reach,
                "{shown} {these} AND {covered} AND suspension.created_at < {older}"
                " ORDER BY suspension.created_at, suspension.id{bound}",
                table="suspension",
                shown=shown,
                these=these,
                older=value(narrowing.older),
                bound=bound,
            )
        # How much a planner must expect depends on the values: no plan is kept for a text that never comes again.
        whole = condition(Suspension, narrowing.whole)
        once = uuid4().hex
        return sql("{shown} {these} AND {whole} /* {once} */", shown=shown, these=these, whole=whole, once=once)
