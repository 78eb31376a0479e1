"""Runs. Source: store.md section 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from suspensions.domain.scopes import Scope
from suspensions.domain.states import ResumeState, RunState
from suspensions.domain.values.common import Actor
from suspensions.domain.values.leases import Lease, LeaseTake


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
