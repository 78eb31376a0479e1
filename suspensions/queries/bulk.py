"""Several pauses with their calls and where their runs stand, without continuations: what a common decision needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from suspensions.domain.pending import restore_pending
from suspensions.domain.reach import Reach
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Actor, PendingCall, Reason
from suspensions.models import Suspension
from suspensions.models.receipt_rows import read_actor
from suspensions.queries.reach import within

_COLUMNS = (
    "id",
    "scope",
    "reason",
    "pending",
    "agent_name",
    "expires_at",
    "created_by",
    "claimed_at",
    "retired_at",
    "run__state",
    "run__revision",
)


@dataclass(frozen=True, slots=True)
class PinnedPause:
    """A pause with all of its calls, pinned at its run's revision."""

    id: str
    scope: Scope
    reason: Reason
    pending: tuple[PendingCall, ...]
    agent_name: str | None
    expires_at: datetime | None
    created_by: Actor
    revision: int
    is_waiting: bool

    def is_late(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now


def read_pinned(reach: Reach, suspension_ids: Sequence[str]) -> list[PinnedPause]:
    """Those that the reach covers, in the order asked for. Raises: StoredRecordBroken."""
    # PostgreSQL fails on being asked for a text with a NUL in it.
    asked = [name for name in suspension_ids if "\0" not in name]
    rows = Suspension.objects.filter(within(reach), id__in=asked).values(*_COLUMNS)
    found = {
        row["id"]: PinnedPause(
            id=row["id"],
            scope=Scope(row["scope"]),
            reason=Reason(row["reason"]),
            pending=restore_pending(bytes(row["pending"])),
            agent_name=row["agent_name"],
            expires_at=row["expires_at"],
            created_by=read_actor(row["created_by"]),
            revision=row["run__revision"],
            is_waiting=row["claimed_at"] is None
            and row["retired_at"] is None
            and row["run__state"] == RunState.PAUSED.value,
        )
        for row in rows
    }
    return [found[one] for one in dict.fromkeys(suspension_ids) if one in found]
