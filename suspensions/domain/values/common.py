"""What every value is made of: actors, pages, and what is given late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Json = dict[str, Any]
T = TypeVar("T")


def complete(value: T, **late: Any) -> T:
    """Give a frozen value the members that are computed over all its others, and give it back.

    For whoever makes the value and has shown it to nobody yet: making it twice costs more than the digest.
    """
    for name, member in late.items():
        object.__setattr__(value, name, member)
    return value


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it, and how they were signed in: `session`, `token:<name>` or `system`."""

    principal: str
    via: str

    def to_json(self) -> dict[str, str]:
        return {"principal": self.principal, "via": self.via}


SYSTEM = Actor("system", "system")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: tuple[T, ...]
    next: str | None
