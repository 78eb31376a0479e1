"""Questions to people. Source: store.md section 5."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from suspensions.domain.scopes import Scope
from suspensions.domain.values.common import Actor


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
