"""Pages for those who come rarely: uncertain resumes, questions, people and access, health."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from suspensions.pages.contexts.frame import Banner, Chrome, Empty, Option, Search, Tab
from suspensions.pages.contexts.pause import Fact, Folded, TextWarning, TreeStep
from suspensions.pages.contexts.webhooks import WebhookRow


@dataclass(frozen=True, slots=True)
class UncertainRow:
    """A start of which nothing more was heard."""

    run_id: str
    run_href: str
    start_href: str
    agent: str
    scope: str
    started_at: datetime
    holder: str
    silent_since: datetime
    progress_at: datetime | None
    handed_out: Sequence[str]
    done: int
    close_href: str = ""


@dataclass(frozen=True, slots=True)
class UncertainPage:
    chrome: Chrome
    rows: Sequence[UncertainRow]
    empty: Empty | None = None
    older_href: str = ""


@dataclass(frozen=True, slots=True)
class QuestionView:
    """One question to a human, with its answer box where it can be answered."""

    key: str
    """Unique on the page, for the ids of its elements."""
    id: str
    scope: str
    tool: str
    at: datetime
    by: str
    said: Sequence[Folded]
    steps: Sequence[TreeStep]
    verbatim: Folded | None
    warnings: Sequence[TextWarning] = ()
    run_id: str = ""
    run_href: str = ""
    answer_href: str = ""
    typed: str = ""
    typed_error: bool = False
    fault: str = ""
    banner: Banner | None = None
    answer: Folded | None = None
    answer_is_error: bool = False
    answered_by: str = ""
    answered_at: datetime | None = None
    resolved_by: str = ""
    resolved_at: datetime | None = None
    cannot: str = ""
    """Why this reader has no answer box."""


@dataclass(frozen=True, slots=True)
class InteractionsPage:
    chrome: Chrome
    tabs: Sequence[Tab]
    search: Search
    questions: Sequence[QuestionView]
    empty: Empty | None = None
    older_href: str = ""


@dataclass(frozen=True, slots=True)
class GrantRow:
    principal: str
    name: str
    service: bool
    active: bool
    role: str
    scope: str
    by: str
    at: datetime
    own: bool = False
    may_revoke: bool = False
    lost: str = ""
    """What is lost with it, asked before it is revoked."""


@dataclass(frozen=True, slots=True)
class TokenRow:
    principal: str
    name: str
    prefix: str
    at: datetime
    by: str
    expires_at: datetime | None
    last_used_at: datetime | None
    state: str
    """``live``, ``expired`` or ``revoked``."""
    may_revoke: bool = False


@dataclass(frozen=True, slots=True)
class IssuerRow:
    name: str
    revision: str
    scope: str
    fingerprint: str
    at: datetime
    by: str
    revoked_at: datetime | None
    revoked_by: str = ""
    may_revoke: bool = False


@dataclass(frozen=True, slots=True)
class Typed:
    """What a form of the page was sent with, and what is wrong with it."""

    form: str = ""
    values: dict[str, str] | None = None
    fault: str = ""
    fault_field: str = ""


@dataclass(frozen=True, slots=True)
class AccessPage:
    """Grants, tokens, issuers and webhooks; the forms are there for an admin alone."""

    chrome: Chrome
    grants: Sequence[GrantRow]
    tokens: Sequence[TokenRow]
    issuers: Sequence[IssuerRow]
    is_admin: bool
    scopes: Sequence[str]
    """Where the reader is an admin."""
    roles: Sequence[Option]
    services: Sequence[str]
    people: Sequence[str]
    action: str
    typed: Typed
    banner: Banner | None = None
    shown_token: str = ""
    shown_for: str = ""
    shown_idle: bool = False
    """Whether whom the token is for holds no role, so that it can do nothing."""
    roleless: Sequence[str] = ()
    """Accounts that hold no role anywhere."""
    me_address: str = ""
    """What a first request with a token asks, at the address that this page was asked for by."""
    webhooks: Sequence[WebhookRow] = ()
    webhook_types: Sequence[Option] = ()


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One thing that is looked at: ``good``, ``soon`` or ``stop``, and a few words."""

    label: str
    tone: str
    text: str
    at: datetime | None = None
    href: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class SilentRun:
    id: str
    href: str
    agent: str
    scope: str
    since: datetime
    holder: str


@dataclass(frozen=True, slots=True)
class HealthPage:
    chrome: Chrome
    checks: Sequence[HealthCheck]
    facts: Sequence[Fact]
    silent: Sequence[SilentRun]
    more_silent: bool = False
