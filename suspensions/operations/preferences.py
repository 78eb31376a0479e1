"""How a person likes the pages."""

from __future__ import annotations

from suspensions.domain.policy import Caller
from suspensions.operations.transactions import in_transaction
from suspensions.queries.people import Preferences
from suspensions.store import preferences


def change_preferences(caller: Caller, likes: Preferences) -> None:
    """Keep what the caller chose for itself. Raises: NotFound for an account without a principal, InvalidRequest."""
    in_transaction(preferences.change, caller.principal, likes.time_zone, likes.theme, likes.single_keys)
