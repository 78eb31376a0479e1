"""How a person likes the pages, and the names that people are shown by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from suspensions.models.access import Principal


@dataclass(frozen=True, slots=True)
class Preferences:
    """Time zone, theme (`system`, `light`, `dark`), and whether single keys do something."""

    time_zone: str = "UTC"
    theme: str = "system"
    single_keys: bool = True


def preferences_of(principal: str) -> Preferences:
    """What the person chose; the defaults for an account without a principal."""
    row = Principal.objects.filter(name=principal).values_list("time_zone", "theme", "single_keys").first()
    return Preferences() if row is None else Preferences(*row)


def display_names(principals: Iterable[str]) -> dict[str, str]:
    """The names to show people by, where they have one beside the principal's."""
    wanted = set(principals)
    if not wanted:
        return {}
    rows = Principal.objects.filter(name__in=wanted).values_list("name", "user__first_name", "user__last_name")
    return {name: shown for name, first, last in rows if (shown := f"{first} {last}".strip())}
