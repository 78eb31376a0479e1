"""What a database says that it does for a statement, and how many rows went through it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection


@dataclass(frozen=True, slots=True)
class Sent:
    """A statement as it was sent."""

    text: str
    params: Any


def sent_by(call: Callable[[], Any]) -> list[Sent]:
    """The statements that a call sends."""
    sent: list[Sent] = []

    def keep(execute: Any, text: str, params: Any, many: bool, context: Any) -> Any:
        sent.append(Sent(text, params))
        return execute(text, params, many, context)

    with connection.execute_wrapper(keep):
        call()
    return sent


@dataclass(frozen=True, slots=True)
class Step:
    """A node of a plan of PostgreSQL that ran. `read` are the rows that reached it, in all of its runs."""

    kind: str
    index: str
    given: int
    read: int


def steps(sent: Sent) -> list[Step]:
    """What PostgreSQL did for the statement; what it planned and never ran is left out."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sent.text}", sent.params)
        (found,) = cursor.fetchone()
    plan = json.loads(found) if isinstance(found, str) else found
    return list(_walk(plan[0]["Plan"]))


def _walk(node: dict[str, Any]) -> Iterator[Step]:
    below = node.get("Plans", [])
    if node["Actual Loops"]:
        given = round(node["Actual Rows"] * node["Actual Loops"])
        # What an initial plan or a CTE hands on is not read by the node that it hangs on.
        inner = [each for each in below if each["Parent Relationship"] in ("Outer", "Inner", "Member", "Subquery")]
        dropped = node.get("Rows Removed by Filter", 0) * node["Actual Loops"]
        fed = sum(each["Actual Rows"] * each["Actual Loops"] for each in inner)
        yield Step(node["Node Type"], node.get("Index Name", ""), given, round(fed if inner else given + dropped))
    for each in below:
        yield from _walk(each)


def outline(sent: Sent) -> list[str]:
    """The lines of SQLite's plan of the statement."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sent.text}", sent.params)
        return [str(row[3]) for row in cursor.fetchall()]
