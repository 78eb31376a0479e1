"""Writing how a person likes the pages."""

from __future__ import annotations

from suspensions.domain.errors import NotFound
from suspensions.domain.texts import invalid
from suspensions.models.access import Principal
from suspensions.store import sql

THEMES = ("system", "light", "dark")


def change(principal: str, time_zone: str, theme: str, single_keys: bool) -> None:
    """Raises: InvalidRequest for a theme that is none, NotFound."""
    sql.require_transaction()
    if theme not in THEMES:
        raise invalid("/theme", f"must be one of {', '.join(THEMES)}")
    chosen = {"time_zone": time_zone, "theme": theme, "single_keys": single_keys}
    if not Principal.objects.filter(name=principal).update(**chosen):
        raise NotFound
