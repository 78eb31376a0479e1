"""Frozen values: what callers give to the store and get from it. Rows never leave the store.

Times are aware UTC datetimes, ids are TypeIDs as text, sizes are bytes.
Source: store.md sections 1 to 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Generic, TypeVar

from suspensions.domain import digests, limits
from suspensions.domain.digests import instant_or_none
from suspensions.domain.errors import RunLeaseLost
from suspensions.domain.instants import format_instant
from suspensions.domain.scopes import Scope
from suspensions.domain.states import ResumeState, RunState
from suspensions.domain.texts import invalid, require_identifier

Json = dict[str, Any]
T = TypeVar("T")


def complete(value: T, **late: Any) -> T:
    """Give a frozen value the members that are computed over all its others, and give it back.

    For whoever makes the value and has shown it to nobody yet: making it twice costs more than the digest.
    """
    for name, member in late.items():
        object.__setattr__(value, name, member)
    return value


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
class Actor:
    """Who did it, and how they were signed in: `session`, `token:<name>` or `system`."""

    principal: str
    via: str

    def to_json(self) -> dict[str, str]:
        return {"principal": self.principal, "via": self.via}


SYSTEM = Actor("system", "system")


# -- leases ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Holder:
    """A lease's holder is owner *and* epoch, so that a stalled process with its successor's name is fenced."""

    owner: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Lease:
    owner: str
    expires_at: datetime
    epoch: int

    def lapsed(self, now: datetime) -> bool:
        return self.expires_at <= now

    def to_json(self) -> Json:
        return {"owner": self.owner, "expires_at": format_instant(self.expires_at), "epoch": self.epoch}


@dataclass(frozen=True, slots=True)
class LeaseTake:
    """A lease to take: an owner, and either an instant or seconds from now."""

    owner: str
    expires_at: datetime | None = None
    seconds: int | None = None

    def until(self, now: datetime) -> datetime:
        """When the lease ends, counted from the operation's clock reading.

        Raises: RunLeaseLost for half a lease or an empty owner; InvalidRequest out of 1 to 3600 seconds
        ahead, for both forms at once, or for an owner with control characters.
        """
        if not self.owner or (self.expires_at is None and self.seconds is None):
            raise RunLeaseLost("A lease has an owner and an end, both or neither.")
        require_identifier(self.owner, "/lease/owner", longest=limits.MAX_OWNER)
        if self.expires_at is not None and self.seconds is not None:
            raise invalid("/lease", "has both expires_at and seconds")
        if self.seconds is not None:
            until = now + timedelta(seconds=self.seconds) if abs(self.seconds) <= 86_400 else now
        else:
            assert self.expires_at is not None
            until = self.expires_at
        if not limits.MIN_LEASE <= until - now <= limits.MAX_LEASE:
            raise invalid("/lease", "must end 1 to 3600 seconds ahead")
        return until


# -- runs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be made. `request_sha256` is over its content as the caller sent it (see `strict_json`)."""

    scope: Scope
    request_sha256: str
    id: str | None = None
    agent_id: str | None = None
    agent_name: str | None = None
    session_id: str | None = None
    input: str = ""
    metadata: bytes = b"{}"
    persona_ref: str = ""
    lease: LeaseTake | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it stands. `input`, `output` and `error` are None in lists, which never load them."""

    id: str
    scope: Scope
    agent_id: str | None
    agent_name: str | None
    session_id: str | None
    state: RunState
    revision: int
    step_count: int
    tokens_used: int
    persona_ref: str
    metadata: bytes
    lease: Lease | None
    lease_epoch: int
    created_by: Actor
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    input: str | None = None
    output: str | None = None
    error: str | None = None
    resume: ResumeState | None = None
    """Whether its latest admission still waits for a start, or was started and not yet ended."""
    fresh: bool = field(default=False, compare=False)


# -- pauses ----------------------------------------------------------------------------------------


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


# -- claims and progress ---------------------------------------------------------------------------


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


# -- resumes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """Binds the exact input to a pinned pause. Its digest is what receipts and starts name."""

    scope: Scope
    version: ClaimVersion
    input: bytes

    def digest(self) -> str:
        return admission_request_digest(self.scope, self.version, digests.sha256_hex(self.input), len(self.input))


def admission_request_digest(scope: Scope, version: ClaimVersion, input_sha256: str, input_bytes: int) -> str:
    return digests.digest(
        digests.RESUME_REQUEST,
        {
            "schema_version": digests.SCHEMA_VERSION,
            "scope": scope.text,
            "version": version.to_json(),
            "input_sha256": input_sha256,
            "input_bytes": input_bytes,
        },
    )


@dataclass(frozen=True, slots=True)
class Admission:
    """The receipt that an answer was admitted. `input` is None in lists."""

    schema_version: int
    scope: Scope
    version: ClaimVersion
    input: bytes | None
    input_sha256: str
    input_bytes: int
    request_digest: str
    suspension_digest: str
    claimed_revision: int
    admitted_at: datetime
    admitted_by: Actor
    reason: Reason
    start_by: datetime | None
    lease_owner: str | None
    lease_epoch: int | None
    event_id: str
    record_sha256: str = ""
    lease: Lease | None = field(default=None, compare=False)
    """The lease that was taken with it, in the fresh answer alone."""
    fresh: bool = field(default=False, compare=False)

    @property
    def digest(self) -> str:
        return self.request_digest

    def record(self) -> Json:
        """All stored members, for `record_sha256`."""
        return {
            "schema_version": self.schema_version,
            "scope": self.scope.text,
            "version": self.version.to_json(),
            "input_sha256": self.input_sha256,
            "input_bytes": self.input_bytes,
            "request_digest": self.request_digest,
            "suspension_digest": self.suspension_digest,
            "claimed_revision": self.claimed_revision,
            "admitted_at": format_instant(self.admitted_at),
            "admitted_by": self.admitted_by.to_json(),
            "reason": str(self.reason),
            "start_by": instant_or_none(self.start_by),
            "lease_owner": self.lease_owner,
            "lease_epoch": self.lease_epoch,
            "event_id": self.event_id,
        }


@dataclass(frozen=True, slots=True)
class Start:
    """The receipt that execution was granted, once. Only the fresh answer carries what to execute."""

    schema_version: int
    version: ClaimVersion
    scope: Scope
    request_digest: str
    started_at: datetime
    started_by: Actor
    lease_owner: str | None
    lease_epoch: int | None
    request_id: str | None
    event_id: str
    record_sha256: str = ""
    suspension: Suspension | None = field(default=None, compare=False)
    input: bytes | None = field(default=None, compare=False)
    claimed_run: Run | None = field(default=None, compare=False)
    fresh: bool = field(default=False, compare=False)

    @property
    def digest(self) -> str:
        return digests.digest(
            digests.RESUME_START,
            {
                "schema_version": self.schema_version,
                "version": self.version.to_json(),
                "scope": self.scope.text,
                "request_digest": self.request_digest,
                "started_at": format_instant(self.started_at),
            },
        )

    def record(self) -> Json:
        return {
            "kind": "start",
            "schema_version": self.schema_version,
            "version": self.version.to_json(),
            "scope": self.scope.text,
            "request_digest": self.request_digest,
            "started_at": format_instant(self.started_at),
            "started_by": self.started_by.to_json(),
            "lease_owner": self.lease_owner,
            "lease_epoch": self.lease_epoch,
            "request_id": self.request_id,
            "event_id": self.event_id,
        }


@dataclass(frozen=True, slots=True)
class Expiry:
    """The receipt that an admitted resume expired before anybody started it."""

    schema_version: int
    version: ClaimVersion
    scope: Scope
    request_digest: str
    event_id: str
    run_revision: int
    expired_at: datetime
    expired_by: Actor
    record_sha256: str = ""
    fresh: bool = field(default=False, compare=False)

    @property
    def digest(self) -> str:
        return digests.digest(
            digests.RESUME_EXPIRY,
            {
                "schema_version": self.schema_version,
                "version": self.version.to_json(),
                "scope": self.scope.text,
                "request_digest": self.request_digest,
                "event_id": self.event_id,
                "run_revision": self.run_revision,
                "expired_at": format_instant(self.expired_at),
            },
        )

    def record(self) -> Json:
        return {
            "kind": "expiry",
            "schema_version": self.schema_version,
            "version": self.version.to_json(),
            "scope": self.scope.text,
            "request_digest": self.request_digest,
            "event_id": self.event_id,
            "run_revision": self.run_revision,
            "expired_at": format_instant(self.expired_at),
            "expired_by": self.expired_by.to_json(),
        }


@dataclass(frozen=True, slots=True)
class ClosureRequest:
    """The thirteen members that close an uncertain start as incomplete. Source: store.md section 6."""

    schema_version: int
    scope: Scope
    version: ClaimVersion
    admission_digest: str
    start_digest: str
    run_revision: int
    actor: str
    issuer: str
    issuer_revision: str
    proof_ref: str
    proof_digest: str
    observed_at: datetime
    expires_at: datetime

    def to_json(self) -> Json:
        return {
            "schema_version": self.schema_version,
            "scope": self.scope.text,
            "version": self.version.to_json(),
            "admission_digest": self.admission_digest,
            "start_digest": self.start_digest,
            "run_revision": self.run_revision,
            "actor": self.actor,
            "issuer": self.issuer,
            "issuer_revision": self.issuer_revision,
            "proof_ref": self.proof_ref,
            "proof_digest": self.proof_digest,
            "observed_at": format_instant(self.observed_at),
            "expires_at": format_instant(self.expires_at),
        }

    def digest(self) -> str:
        return digests.digest(digests.RESUME_CLOSURE, self.to_json())


@dataclass(frozen=True, slots=True)
class Closure:
    """The receipt of an incomplete end with proof. It accepts no output and allows no replay."""

    request: ClosureRequest
    request_digest: str
    event_id: str
    run_revision: int
    closed_at: datetime
    closed_by: Actor
    record_sha256: str = ""
    fresh: bool = field(default=False, compare=False)

    @property
    def digest(self) -> str:
        return self.request_digest

    def record(self) -> Json:
        return {
            "request": self.request.to_json(),
            "request_digest": self.request_digest,
            "event_id": self.event_id,
            "run_revision": self.run_revision,
            "closed_at": format_instant(self.closed_at),
            "closed_by": self.closed_by.to_json(),
        }


# -- events ----------------------------------------------------------------------------------------


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


# -- interactions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NewInteraction:
    """One question to a human, to be kept. Contents are UTF-8 JSON texts, blocks whole.

    `origin_run_id` and `created_at` are an imported question's: the run that it names where there is none here, and
    when it was asked there.
    """

    scope: Scope
    interaction_id: str
    tool_use_id: str
    assistant: bytes
    session_id: str | None = None
    run_id: str | None = None
    tool_name: str | None = None
    tool_input: bytes | None = None
    messages: bytes | None = None
    origin_run_id: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Interaction:
    scope: Scope
    interaction_id: str
    session_id: str | None
    run_id: str | None
    tool_use_id: str
    tool_name: str | None
    tool_input: bytes | None
    assistant: bytes | None
    messages: bytes | None
    content_sha256: str
    digest: str
    created_by: Actor
    created_at: datetime
    answer: bytes | None
    answered_by: Actor | None
    answered_at: datetime | None
    resolved: bool
    resolved_at: datetime | None
    resolved_by: Actor | None
    origin_run_id: str | None = None
    version: int = 1
    fresh: bool = field(default=False, compare=False)


# -- lists -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: tuple[T, ...]
    next: str | None
