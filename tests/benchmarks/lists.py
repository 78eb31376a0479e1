"""One size of the queue in a process of its own: load it, and measure what standard input names. Started by `queue`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import django
import psycopg
from psycopg.pq import Format

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from suspensions.domain import clock  # noqa: E402
from suspensions.domain.values import Reason  # noqa: E402
from suspensions.queries import counts, queue  # noqa: E402
from suspensions.queries.queue import Answerer, QueueFilters  # noqa: E402
from tests.benchmarks.queue import COUNTS, FILTERS, PEOPLE  # noqa: E402
from tests.support.crowd import RARE_AGENT, RARE_TOOL, Crowd, analyse, code, load  # noqa: E402


class Bench:
    """All that can be measured, by name; each call does it once."""

    def __init__(self, pending: int) -> None:

        call_command("migrate", verbosity=0, interactive=False)
        self.crowd = Crowd("acme", "beta")
        self.now = clock.now()
        load(self.crowd, pending, self.now)
        analyse()
        self._measured: dict[str, Callable[[], Any]] = {}
        for person in PEOPLE:
            self._prepare(person)

    def _prepare(self, person: str) -> None:

        desks = tuple(self.crowd.desks)
        reach = dict(zip(PEOPLE, (desks[:1], desks[:5], desks, (self.crowd.broad,)), strict=True))[person]
        who = Answerer("dana", self.now, reach, reach)

        def listed(mine: bool, filters: QueueFilters) -> Callable[[], Any]:
            return lambda: queue.list_waiting(reach, who, filters, None, 50, mine=mine)

        for mine, which in ((True, ""), (False, " others")):
            call = listed(mine, QueueFilters())
            items = call().items
            raw = _raw(who, mine)
            if [row[0] for row in raw()[:50]] != [item.pause.id for item in items]:
                raise AssertionError(f"{person}: the raw statement lists other rows")
            self._measured |= {
                f"{person}/raw{which}": raw,
                f"{person}/statement{which}": _statement(call),
                f"{person}/call{which}": call,
            }
        for name, filters in self._filters().items():
            self._measured[f"{person}/{name}"] = listed(True, filters)
        day = self.now - timedelta(hours=9)
        self._measured[f"{person}/{COUNTS}"] = lambda: counts.count(reach, who, self.now, day, timedelta(hours=1))

    def _filters(self) -> dict[str, QueueFilters]:

        made = {
            "reason": QueueFilters(reason=Reason.EXTERNAL_TOOL),
            "tool": QueueFilters(tool="cancel_seat"),
            "tool, rare": QueueFilters(tool=RARE_TOOL),
            "agent": QueueFilters(agent_name="agent-3"),
            "agent, rare": QueueFilters(agent_name=RARE_AGENT),
            "age": QueueFilters(created_before=self.now - timedelta(days=1)),
            "age, rare": QueueFilters(created_before=self.now - timedelta(days=6, hours=23, minutes=55)),
            "deadline": QueueFilters(expires_before=self.now + timedelta(minutes=15)),
            "search: a common word": QueueFilters(words="cancel"),
            "search: one in a hundred": QueueFilters(words="lane 77"),
            "search: a guest": QueueFilters(words="guest-4711"),
            "search: a reservation": QueueFilters(words=code(1_234)),
            "search: nothing": QueueFilters(words="zebra"),
            "search: a pause's id": QueueFilters(words=f"sus_acme{1_234:020}"),
            "tool, agent and word": QueueFilters(words="oberberg", tool="book_bag", agent_name="agent-5"),
        }
        assert tuple(made) == FILTERS
        return made

    def measure(self, name: str) -> float:
        """Seconds that it took, once."""
        measured = self._measured[name]
        begun = time.perf_counter()
        measured()
        return time.perf_counter() - begun


def _statement(call: Callable[[], Any]) -> Callable[[], Any]:
    """The call's own statement, sent again as it was sent, and all of its rows."""

    sent: list[tuple[str, Any, Format]] = []

    def keep(execute: Any, text: str, params: Any, many: bool, context: Any) -> Any:
        sent.append((text, params, context["cursor"].cursor.format))
        return execute(text, params, many, context)

    with connection.execute_wrapper(keep):
        call()
    ((text, params, form),) = sent

    def run() -> list[Any]:
        with connection.cursor() as cursor:
            cursor.cursor.format = form
            cursor.execute(text, params)
            return list(cursor.fetchall())

    return run


_COLUMNS = (
    "p.id, p.run_id, p.scope, p.reason, p.calls, p.agent_name, p.expires_at, p.created_by, p.created_at, p.updated_at,"
    " p.claimed_at, p.retired_at, p.checkpoint_id, p.pending_sha256, p.continuation_sha256, p.digest"
)


def _raw(who: Answerer, mine: bool) -> Callable[[], list[Any]]:
    """The leanest statement for the same rows: every value in its text, prepared beforehand, on the bare driver."""

    connection.ensure_connection()
    assert connection.connection is not None
    info = connection.connection.info
    raw = psycopg.connect(info.dsn, password=info.password, autocommit=True, options="-c jit=off")
    due, now = "COALESCE(expires_at, 'infinity')", f"'{who.now.isoformat()}'"
    held = (("approval", "true"), ("external_tool", "true"))
    wheres = [(reason, f"{due} > {now}") for reason, _ in held]
    if not mine:
        wheres = [("agent_reply", "true")] + [(reason, f"{due} <= {now}") for reason, _ in held]
    parts = [
        f"(SELECT {due} AS due, id FROM suspension WHERE {('scope_1', 'scope_2')[scope.depth - 1]} = '{scope.text}'"
        f" AND reason = '{reason}' AND retired_at IS NULL AND claimed_at IS NULL AND {where} ORDER BY 1, 2 LIMIT 51)"
        for scope in who.approves
        for reason, where in wheres
    ]
    text = (
        f"SELECT {_COLUMNS} FROM (SELECT due, id FROM ({' UNION ALL '.join(parts)}) AS u"
        " ORDER BY due, id LIMIT 51) AS f JOIN suspension AS p ON p.id = f.id"
        " ORDER BY f.due, f.id"
    )
    cursor = raw.cursor(binary=True)

    def run() -> list[Any]:
        return cursor.execute(text, prepare=True).fetchall()

    return run


def main() -> None:
    """Say when everything is loaded; then answer each name with the seconds that it took, once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pending", type=int, required=True)
    bench = Bench(parser.parse_args().pending)
    _say("ready")
    for line in sys.stdin:
        _say(str(bench.measure(line.strip())))


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
