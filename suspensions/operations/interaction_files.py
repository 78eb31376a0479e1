"""Questions to and from files. Whoever calls these is at the machine: see `operations.access`."""

from __future__ import annotations

from collections.abc import Iterator

from suspensions.domain.interaction_files import InteractionFile
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Actor, Interaction
from suspensions.operations.transactions import in_transaction
from suspensions.store import interaction_files as store


def import_interaction(actor: Actor, file: InteractionFile) -> str:
    """Keep what a file says; what became of it: `made`, `resolved` or `there already`.

    Raises: as `store.interaction_files.import_interaction`.
    """
    return str(in_transaction(store.import_interaction, file, actor))


def export_interactions(scope: Scope) -> Iterator[Interaction]:
    """Every question of exactly this scope, oldest first."""
    return store.interactions_of(scope)
