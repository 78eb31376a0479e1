"""What happened last to each run of a list, and what its latest pause asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import OuterRef, Subquery

from suspensions.domain.values import Event, Start, SuspensionItem
from suspensions.models import Admission, Suspension
from suspensions.models import Event as EventRow
from suspensions.models import Run as RunRow
from suspensions.queries.receipts import starts_of
from suspensions.queries.rows import EVENT_COLUMNS, ITEM_COLUMNS, to_event, to_item


@dataclass(frozen=True, slots=True)
class Lately:
    """A run's latest event and its latest pause; None where it has none."""

    event: Event | None
    pause: SuspensionItem | None


def read_lately(run_ids: Sequence[str]) -> Mapping[str, Lately]:
    """By run; one look into an index for each of them and kind, never a continuation. Raises: StoredRecordBroken."""
    last_event = EventRow.objects.filter(chain=OuterRef("id")).order_by("-position").values("id")[:1]
    last_pause = Suspension.objects.filter(run_id=OuterRef("id")).order_by("-id").values("id")[:1]
    rows = RunRow.objects.filter(id__in=run_ids).values_list("id", Subquery(last_event), Subquery(last_pause))
    last = {run_id: (event_id, pause_id) for run_id, event_id, pause_id in rows}
    events = {
        row["id"]: to_event(row)
        for row in EventRow.objects.filter(id__in=[each for each, _ in last.values() if each]).values(*EVENT_COLUMNS)
    }
    pauses = pauses_of([each for _, each in last.values() if each])
    return {run_id: Lately(events.get(event or ""), pauses.get(pause or "")) for run_id, (event, pause) in last.items()}


SHORT_ANSWER = 4096
"""A list reads answers up to so many bytes; of a longer one it says only that it was given."""


def short_answers(suspension_ids: Sequence[str]) -> dict[str, bytes]:
    """The answers that were admitted to these pauses, by pause, those that are short enough for a list to read."""
    rows = Admission.objects.filter(suspension_id__in=suspension_ids, input_bytes__lte=SHORT_ANSWER)
    return {suspension_id: bytes(text) for suspension_id, text in rows.values_list("suspension_id", "input") if text}


def last_start(run_id: str) -> Start | None:
    """The start of the run's latest admission; None where none was granted. Raises: StoredRecordBroken."""
    admitted = Admission.objects.filter(run_id=run_id).order_by("-suspension_id")
    suspension_id = admitted.values_list("suspension_id", flat=True).first()
    return None if suspension_id is None else starts_of([suspension_id]).get(suspension_id)


def pauses_of(suspension_ids: Sequence[str]) -> dict[str, SuspensionItem]:
    """Pauses as lists show them, by id; purged ones are left out. For ids that the reader may see already."""
    rows = Suspension.objects.filter(id__in=suspension_ids).values(*ITEM_COLUMNS)
    return {row["id"]: to_item(row) for row in rows}
