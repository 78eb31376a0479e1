"""Webhooks in the list of the access page, and one with its deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from suspensions.pages.contexts.frame import Banner, Chrome, Empty, Link
from suspensions.pages.contexts.pause import Fact


@dataclass(frozen=True, slots=True)
class WebhookRow:
    """A webhook in the list. Its whole address may hold a secret, so that here its host stands for it."""

    href: str
    name: str
    host: str
    scope: str
    events: str
    at: datetime
    by: str
    pending: int = 0
    disabled_at: datetime | None = None
    disabled_by: str = ""


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """One event, and whether the receiver took it. `retry` is its key where it may be tried by hand."""

    type: str
    event_id: str
    at: datetime
    href: str
    about: str
    state: str
    attempts: int
    answer: str
    """What the last attempt came to."""
    delivered_at: datetime | None = None
    next_at: datetime | None = None
    retry: str = ""


@dataclass(frozen=True, slots=True)
class WebhookPage:
    """One webhook: what it is told, what became of it, and what an admin may do."""

    chrome: Chrome
    crumbs: Sequence[Link]
    id: str
    name: str
    facts: Sequence[Fact]
    enabled: bool
    action: str
    deliveries: Sequence[DeliveryRow]
    empty: Empty | None = None
    older_href: str = ""
    banner: Banner | None = None
    shown_secret: str = ""
