"""Without what keeps the queue's lists whole, within a person's scopes, and read no further than a page."""

from __future__ import annotations

from tests.mutants.mutant import POSTGRESQL, Mutant, without

_SEGMENTS = "suspensions/queries/segments.py"
_LISTS, _PLANS = "tests/store/test_queue_lists.py", "tests/store/test_queue_plans.py"


def _listing(guard: str, old: str, new: str, test: str = _LISTS) -> Mutant:
    return without(guard, _SEGMENTS, old, new, test, engines=(POSTGRESQL,))


MUTANTS = (
    _listing(
        "the scopes that somebody holds, among all of their parent",
        'fits = [sql("suspension.{inner} IN (SELECT unnest({members}))", inner=inner, members=given["members"])]',
        "fits = []",
    ),
    _listing(
        "what is asked for, among all that a parent holds", "AS each_one WHERE fits ORDER BY", "AS each_one ORDER BY"
    ),
    _listing(
        "the reading of each scope where its parent holds too much else",
        'within=" AND NOT (SELECT done FROM wide_end)"',
        'within=" AND false"',
    ),
    _listing(
        "the reading in order of what is too much to gather",
        'only = f" AND NOT {few}"',
        'only = " AND false"',
    ),
    _listing(
        "the place after which a page begins",
        '" AND {key} > ({since}, {beyond}) AND {due} >= {since} AND {due} <= {until}"',
        '" AND {due} >= {since} AND {due} <= {until}"',
    ),
    without(
        "the quoting of an array's members",
        "suspensions/queries/fragments.py",
        """member.replace("\\\\", "\\\\\\\\").replace('"', '\\\\"')""",
        "member",
        "tests/store/test_fragments.py",
    ),
    _listing(
        "the merging of a few indexes while they are read",
        "self._read(part, reading, givens, merging=True)",
        "self._read(part, reading, givens, merging=False)",
        _PLANS,
    ),
    _listing(
        "the look through the parents of very many scopes",
        "            if _count(parents) <= MOST_MERGED:",
        "            if False:",
        _PLANS,
    ),
)
