"""One pause with everything that its page shows, read without a lock. Source: pages.md, "One pause"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from suspensions.domain.errors import StoredRecordBroken, SuspensionNotFound
from suspensions.domain.pending import restore_pending
from suspensions.domain.reach import Reach
from suspensions.domain.scopes import Scope
from suspensions.domain.standing import Stand, stand_of
from suspensions.domain.values import Admission, Closure, Expiry, Reason, Run, Start, Suspension
from suspensions.models import Run as RunRow
from suspensions.models import Suspension as SuspensionRow
from suspensions.models.receipt_rows import read_actor
from suspensions.queries import receipts
from suspensions.queries.reach import within
from suspensions.queries.rows import RUN_COLUMNS, to_run

_COLUMNS = (
    "id",
    "run_id",
    "scope",
    "reason",
    "pending",
    "expires_at",
    "created_by",
    "created_at",
    "updated_at",
    "claimed_at",
    "retired_at",
    "checkpoint_id",
    "pending_sha256",
    "continuation_sha256",
    "digest",
)
_BODY = "suspensioncontinuation__body"


@dataclass(frozen=True, slots=True)
class PauseRead:
    """A pause, its run as it is now, and the receipts that followed."""

    pause: Suspension
    run: Run
    admission: Admission | None = None
    outcome: Start | Expiry | None = None
    closure: Closure | None = None

    def stand(self, now: datetime) -> Stand:
        return stand_of(self.pause, self.run.state, now, self.admission, self.outcome, self.closure)


def read_pause(reach: Reach, suspension_id: str) -> PauseRead:
    """A pause that the reach covers, live or not. Raises: SuspensionNotFound, StoredRecordBroken."""
    row = SuspensionRow.objects.filter(within(reach), id=suspension_id).values(*_COLUMNS, _BODY).first()
    if row is None:
        raise SuspensionNotFound
    run = RunRow.objects.filter(id=row["run_id"]).values(*RUN_COLUMNS).first()
    if run is None:
        raise StoredRecordBroken
    pause = _to_suspension(row)
    if pause.claimed_at is None:
        return PauseRead(pause, to_run(run))
    admission, outcome, closure = receipts.of_pause(pause.id)
    return PauseRead(pause, to_run(run), admission, outcome, closure)


def _to_suspension(row: Mapping[str, Any]) -> Suspension:
    if row[_BODY] is None:
        raise StoredRecordBroken("A stored continuation is missing.")
    plain = {name: row[name] for name in _COLUMNS if name not in ("scope", "reason", "pending", "created_by")}
    return Suspension(
        **plain,
        scope=Scope(row["scope"]),
        reason=Reason(row["reason"]),
        pending=restore_pending(bytes(row["pending"])),
        continuation=bytes(row[_BODY]),
        created_by=read_actor(row["created_by"]),
    )
