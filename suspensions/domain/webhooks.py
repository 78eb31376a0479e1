"""Webhooks and their deliveries as values, and the rules that need no database. Source: ADR 51."""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from suspensions.domain.scopes import Scope
from suspensions.domain.texts import invalid
from suspensions.domain.values import Actor, EventType

WEBHOOK = "whk"
"""Opens the id of a webhook."""
PING = "webhook.ping"
"""The type of a delivery that an admin asked for: it tells of no event."""
EVENT_TYPES = tuple(str(kind) for kind in EventType)

MAX_URL = 2000
MAX_DESCRIPTION = 200
MAX_ERROR = 200
GONE = 410
"""By this status a receiver says that it wants no more."""

BACKOFF = (
    timedelta(seconds=5),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
)
"""How long to wait after each attempt that failed; after one more it is given up."""
CLAIMED_FOR = timedelta(minutes=1)
"""How long a claimed delivery is its claimer's: longer than sending takes, or two would send the same."""

_ADDRESS = re.compile(r"[!-~]{1,2000}", re.ASCII)
_NAT64 = IPv6Network("64:ff9b::/96")


class DeliveryState(StrEnum):
    """What has become of a delivery."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where events of a scope, and of all below it, are sent. Without its secret, which only signing needs."""

    id: str
    scope: Scope
    url: str
    description: str
    types: tuple[str, ...]
    """The types that it is told of; empty: all."""
    created_by: Actor
    created_at: datetime
    disabled_at: datetime | None
    disabled_by: Actor | None


@dataclass(frozen=True, slots=True)
class Listener:
    """What decides whether a webhook is told of an event."""

    webhook_id: str
    scope: Scope
    types: tuple[str, ...]
    since: datetime
    """What happened before is not told: it was made, or enabled again, at this instant."""

    def wants(self, told: Told) -> bool:
        chosen = not self.types or told.type in self.types
        return chosen and told.at >= self.since and self.scope.covers(told.scope)


@dataclass(frozen=True, slots=True)
class Told:
    """What a delivery tells: which event there was, and nothing of its contents."""

    event_id: str
    type: str
    at: datetime
    scope: Scope
    run_id: str | None = None
    suspension_id: str | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event for one webhook, and what has become of it."""

    id: int
    told: Told
    state: DeliveryState
    attempts: int
    next_at: datetime | None
    last_status: int | None
    last_error: str
    created_at: datetime
    delivered_at: datetime | None


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery that is ours to send, until its time is over; `attempt` is this one's number."""

    id: int
    webhook_id: str
    attempt: int
    told: Told
    url: str = field(repr=False)
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of sending: a status, or in few words why there was none."""

    status: int | None
    error: str = ""
    late: bool = False
    """Whether it took all the time there was: whoever is sent to with it had to wait as long."""

    @property
    def taken(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def next_try(attempt: int, now: datetime) -> datetime | None:
    """When a delivery is tried again whose attempt of this number failed; None: it is given up."""
    return now + BACKOFF[attempt - 1] if attempt <= len(BACKOFF) else None


def new_secret() -> str:
    """A key of 256 bits in the form that receivers' libraries take."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def require_types(types: Iterable[str]) -> tuple[str, ...]:
    """Known types in their own order, each once. Raises: InvalidRequest."""
    chosen = set(types)
    if not chosen <= set(EVENT_TYPES):
        raise invalid("/types", "names a type of event that there is not")
    return tuple(kind for kind in EVENT_TYPES if kind in chosen)


def require_url(text: str, *, private: bool) -> str:
    """An address that may be sent to, as far as it shows without asking for its host. Raises: InvalidRequest.

    `private`: whether addresses of one's own network may be named. What a name leads to is looked at when sending.
    """
    if not _ADDRESS.fullmatch(text):
        raise invalid("/url", f"must be an address of at most {MAX_URL:,} plain characters")
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise invalid("/url", "is no address") from None
    if parts.scheme not in ("http", "https") or not host or parts.fragment or "\\" in text:
        raise invalid("/url", "must have the form https://host/path")
    if parts.username is not None or parts.password is not None:
        raise invalid("/url", "must not name a user or password: the signature tells who sends")
    if parts.scheme == "http" and not is_loopback_host(host):
        raise invalid("/url", "must begin with https://; plain http is for this machine alone")
    if not private and (is_loopback_host(host) or _is_refused_literal(host)):
        raise invalid("/url", "leads into a private network, which WEBHOOK_ALLOW_PRIVATE does not allow here")
    return text


def is_loopback_host(host: str) -> bool:
    """Whether a host's name or number means this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_refused_literal(host: str) -> bool:
    try:
        return not is_public(ip_address(host))
    except ValueError:
        return False


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address lies in the open internet; one that carries an IPv4 address inside counts as that one."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local or address.teredo is not None:
            return False
    return address.is_global and not address.is_multicast
