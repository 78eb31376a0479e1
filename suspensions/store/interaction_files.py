"""Bringing questions in from files, and reading them all for files. Source: store.md section 5, "Files"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum

from suspensions.domain.errors import InteractionConflict
from suspensions.domain.interaction_files import InteractionFile, same_content
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Actor, Interaction
from suspensions.store import interactions, run_rows, sql
from suspensions.store.interaction_rows import SELECT, InteractionRow, to_interaction


class Imported(StrEnum):
    """What became of a file."""

    MADE = "made"
    RESOLVED = "resolved"
    THERE = "there already"


def import_interaction(file: InteractionFile, actor: Actor) -> Imported:
    """Keep what a file says: a new question, or that a question which is there was resolved. The same again is nothing.

    A run of this scope is bound as by a save; any other run is kept as a name.

    Raises: InteractionConflict, InvalidState (the run has ended), NotSingletonSuspension.
    """
    sql.require_transaction()
    new = file.new
    run = None if file.known_run_id is None else run_rows.find_run(file.known_run_id, new.scope)
    new = replace(new, run_id=run.id) if run is not None else replace(new, origin_run_id=file.run_id)
    held = interactions.find_held(new.scope, new.interaction_id)
    if held is None:
        interactions.save_interaction(new, file.content_sha256, actor)
        if file.resolved:
            interactions.mark_resolved(new.scope, new.interaction_id, actor)
        return Imported.MADE
    if not same_content(new, to_interaction(held.row)):
        raise InteractionConflict
    if file.resolved and held.row.resolved_at is None:
        interactions.resolve_held(held, actor)
        return Imported.RESOLVED
    return Imported.THERE


def interactions_of(scope: Scope) -> Iterator[Interaction]:
    """Every question of exactly this scope, oldest first, whole and one at a time."""
    after = 0
    while True:
        values = sql.fetch_one(
            f"SELECT {SELECT} FROM interaction WHERE scope = %s AND id > %s ORDER BY id LIMIT 1", (scope.text, after)
        )
        if values is None:
            return
        row = InteractionRow(*values)
        after = row.id
        yield to_interaction(row)
