"""Events. Source: store.md section 10."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from suspensions.domain import digests
from suspensions.domain.instants import format_instant
from suspensions.domain.scopes import Scope
from suspensions.domain.values.common import Actor, Json


class EventType(StrEnum):
    RUN_CREATED = "run.created"
    RUN_PAUSED = "run.paused"
    RUN_CLAIMED = "run.claimed"
    RUN_LEASE_TAKEN = "run.lease_taken"
    RUN_LEASE_RELEASED = "run.lease_released"
    RUN_FINISHED = "run.finished"
    RUN_CANCELLED = "run.cancelled"
    RUN_EXPIRED = "run.expired"
    RESUME_ADMITTED = "resume.admitted"
    RESUME_STARTED = "resume.started"
    RESUME_EXPIRED = "resume.expired"
    RESUME_CLOSED = "resume.closed"
    INTERACTION_SAVED = "interaction.saved"
    INTERACTION_ANSWERED = "interaction.answered"
    INTERACTION_RESOLVED = "interaction.resolved"


@dataclass(frozen=True, slots=True)
class Event:
    """One link of a chain: a transition or a receipt, written in the same commit. Source: store.md section 10."""

    id: str
    run_id: str | None
    scope: Scope
    type: EventType
    at: datetime
    actor: Actor
    revision: int | None
    suspension_id: str | None
    data: Mapping[str, Any]
    position: int
    previous: str | None
    record_sha256: str | None
    hash: str = ""

    def to_json(self) -> Json:
        return {
            "id": self.id,
            "run_id": self.run_id,
            "scope": self.scope.text,
            "type": str(self.type),
            "at": format_instant(self.at),
            "actor": self.actor.to_json(),
            "revision": self.revision,
            "suspension_id": self.suspension_id,
            "data": dict(self.data),
            "position": self.position,
            "previous": self.previous,
            "record_sha256": self.record_sha256,
        }

    def compute_hash(self) -> str:
        return digests.digest(digests.EVENT, self.to_json())
