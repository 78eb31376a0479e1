"""Uncertain resumes over all scopes that a person may see, with what is known of each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from suspensions.domain.cursors import make_cursor, read_cursor
from suspensions.domain.errors import MalformedJson, StoredRecordBroken
from suspensions.domain.pending import restore_pending
from suspensions.domain.reach import Reach
from suspensions.domain.strict_json import loads
from suspensions.domain.values import Page, Run, Start
from suspensions.models import Progress
from suspensions.models import Run as RunRow
from suspensions.queries import counts
from suspensions.queries.fragments import first
from suspensions.queries.receipts import starts_of
from suspensions.queries.rows import RUN_COLUMNS, to_run


@dataclass(frozen=True, slots=True)
class Uncertain:
    """A start of which nothing more was heard. `handed_out`: calls that may have happened, by name."""

    run: Run
    start: Start
    progress_at: datetime | None
    handed_out: tuple[str, ...]
    done: int


def list_uncertain(
    reach: Reach, cursor: str | None, limit: int, now: datetime, silent_for: timedelta
) -> Page[Uncertain]:
    """Newest pause first. Raises: InvalidCursor, StoredRecordBroken."""
    binding = ("uncertain", *(scope.text for scope in reach))
    rows = counts.uncertain_everywhere(now, silent_for)
    after = read_cursor(cursor, binding, 1)
    if after is not None:
        rows = rows.filter(admission_id__lt=after[0])
    rows = RunRow.objects.filter(id__in=first("id", reach, rows, ("-admission_id",), limit + 1, counts.UNDER_WAY))
    found = list(rows.order_by("-admission_id").values(*RUN_COLUMNS, "admission_id"))
    shown = found[:limit]
    starts = starts_of([row["admission_id"] for row in shown])
    work = _work([row["id"] for row in shown])
    items = [
        Uncertain(to_run(row), starts[row["admission_id"]], *work.get(row["id"], (None, (), 0)))
        for row in shown
        if row["admission_id"] in starts
    ]
    following = make_cursor(binding, shown[-1]["admission_id"]) if len(found) > limit else None
    return Page(tuple(items), following)


def _work(run_ids: list[str]) -> dict[str, tuple[datetime, tuple[str, ...], int]]:
    """When each run last saved progress, which calls it had handed out, and how many were done."""
    rows = Progress.objects.filter(run_id__in=run_ids).values_list("run_id", "updated_at", "started", "done")
    work = {}
    for run_id, at, started, done in rows:
        try:
            results = [] if done is None else loads(bytes(done))
        except MalformedJson:
            raise StoredRecordBroken from None
        known = {result["call_id"] for result in results}
        calls = () if started is None else restore_pending(bytes(started))
        work[run_id] = (at, tuple(call.name for call in calls if call.id not in known), len(known))
    return work
