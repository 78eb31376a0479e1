"""Pauses, their calls, their claims, and progress. Source: store.md sections 1 and 2."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from suspensions.domain import digests
from suspensions.domain.digests import instant_or_none
from suspensions.domain.scopes import Scope
from suspensions.domain.values.common import Actor, Json
from suspensions.domain.values.leases import Holder
from suspensions.domain.values.runs import NewRun, Run


class Reason(StrEnum):
    APPROVAL = "approval"
    EXTERNAL_TOOL = "external_tool"
    AGENT_REPLY = "agent_reply"


class Outcome(StrEnum):
    """What was decided of a call."""

    APPROVED = "approved"
    DENIED = "denied"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PendingCall:
    """One call that waits. `arguments` is the model's text, verbatim: never parsed and re-dumped."""

    id: str
    name: str
    arguments: str
    note: str | None = None
    reply_with: str | None = None

    def to_json(self) -> Json:
        members: Json = {"id": self.id, "name": self.name, "arguments": self.arguments}
        if self.note is not None:
            members["note"] = self.note
        if self.reply_with is not None:
            members["reply_with"] = self.reply_with
        return members

    @property
    def arguments_sha256(self) -> str:
        return digests.sha256_hex(self.arguments.encode())


@dataclass(frozen=True, slots=True)
class Continuation:
    """Everything needed to continue, as UTF-8 JSON text with the members it was sent with.

    `step_index` and `tokens_used` are copies of its members, for the run's counters.
    Made by `continuations.read_continuation`, which checks it.
    """

    text: bytes
    step_index: int | None = None
    tokens_used: int | None = None


@dataclass(frozen=True, slots=True)
class NewSuspension:
    """A pause to be made; `run` is made with it where it does not exist yet."""

    scope: Scope
    run_id: str
    reason: Reason
    pending: tuple[PendingCall, ...]
    continuation: Continuation
    request_sha256: str
    id: str | None = None
    run: NewRun | None = None
    expires_at: datetime | None = None
    holder: Holder | None = None


@dataclass(frozen=True, slots=True)
class Suspension:
    """A pause, whole. `claimed_run` is there in a claim's answer alone, `run` in a pause's."""

    id: str
    run_id: str
    scope: Scope
    reason: Reason
    pending: tuple[PendingCall, ...]
    continuation: bytes
    expires_at: datetime | None
    created_by: Actor
    created_at: datetime
    updated_at: datetime
    claimed_at: datetime | None
    retired_at: datetime | None
    checkpoint_id: str | None
    pending_sha256: str
    continuation_sha256: str
    digest: str
    run: Run | None = field(default=None, compare=False)
    claimed_run: Run | None = field(default=None, compare=False)
    fresh: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class SuspensionItem:
    """A pause in a list: previews of its calls, no arguments beyond them, no continuation."""

    id: str
    run_id: str
    scope: Scope
    reason: Reason
    calls: tuple[Json, ...]
    agent_name: str | None
    expires_at: datetime | None
    created_by: Actor
    created_at: datetime
    updated_at: datetime
    claimed_at: datetime | None
    retired_at: datetime | None
    checkpoint_id: str | None
    pending_sha256: str
    continuation_sha256: str
    digest: str


def suspension_digest(
    suspension_id: str,
    run_id: str,
    scope: Scope,
    reason: Reason,
    pending_sha256: str,
    continuation_sha256: str,
    expires_at: datetime | None,
) -> str:
    """Binds a pause's exact content. Source: store.md section 4."""
    return digests.digest(
        digests.SUSPENSION,
        {
            "id": suspension_id,
            "run_id": run_id,
            "scope": scope.text,
            "reason": str(reason),
            "pending_sha256": pending_sha256,
            "continuation_sha256": continuation_sha256,
            "expires_at": instant_or_none(expires_at),
        },
    )


@dataclass(frozen=True, slots=True)
class ClaimVersion:
    """The pause and the run revision that the caller read before the claim."""

    run_id: str
    suspension_id: str
    run_revision: int

    def to_json(self) -> Json:
        return {"run_id": self.run_id, "suspension_id": self.suspension_id, "run_revision": self.run_revision}


@dataclass(frozen=True, slots=True)
class Ending:
    """The end that a claim was made to write: `cancel` or `expire`."""

    kind: str
    reason: str | None = None

    def to_json(self) -> Json:
        return {"kind": self.kind} if self.reason is None else {"kind": self.kind, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A progress snapshot to be saved, whole: it replaces the one before."""

    run_id: str
    owner: str
    continuation: Continuation
    started: tuple[PendingCall, ...] | None = None
    done: bytes | None = None
    """UTF-8 JSON text of the list of results, as checked at the door."""
    ending: Ending | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """The stored snapshot."""

    run_id: str
    scope: Scope
    owner: str
    epoch: int
    continuation: bytes
    started: tuple[PendingCall, ...] | None
    done: bytes | None
    ending: Ending | None
    updated_at: datetime
