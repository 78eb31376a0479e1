"""Leases and their holders. Source: store.md section 2, "Leases"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from suspensions.domain import limits
from suspensions.domain.errors import RunLeaseLost
from suspensions.domain.instants import format_instant
from suspensions.domain.texts import invalid, require_identifier
from suspensions.domain.values.common import Json


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
