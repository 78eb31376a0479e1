"""Single questions to a human."""

from __future__ import annotations

from typing import Any

from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Interaction, NewInteraction, Page
from suspensions.operations.transactions import in_transaction
from suspensions.store import interactions


def save_interaction(caller: Caller, new: NewInteraction, content_sha256: str) -> Interaction:
    """Raises: as `store.interactions.save_interaction`."""
    caller.require(new.scope, Role.AGENT)
    return in_transaction(interactions.save_interaction, new, content_sha256, caller.actor)


def load_interaction(caller: Caller, scope: Scope, interaction_id: str) -> Interaction:
    """Raises: InteractionNotFound, InteractionResolved."""
    caller.require(scope)
    return interactions.load_interaction(scope, interaction_id)


def read_interaction(caller: Caller, scope: Scope, interaction_id: str) -> Interaction:
    """Raises: InteractionNotFound."""
    caller.require(scope)
    return interactions.read_interaction(scope, interaction_id)


def answer_interaction(caller: Caller, scope: Scope, interaction_id: str, result: Any) -> Interaction:
    """Raises: InteractionNotFound, InteractionResolved, ToolResultMismatch, InteractionConflict."""
    caller.require(scope, Role.APPROVER)
    return in_transaction(interactions.answer_interaction, scope, interaction_id, result, caller.actor)


def resume_messages(caller: Caller, scope: Scope, interaction_id: str, result: Any = None) -> list[Any]:
    """Raises: InteractionNotFound, InteractionResolved, ToolResultMismatch, InteractionConflict, InvalidRequest."""
    caller.require(scope, Role.AGENT)
    return in_transaction(interactions.resume_messages, scope, interaction_id, result)


def resolve_interaction(caller: Caller, scope: Scope, interaction_id: str, result: Any = None) -> list[Any]:
    """Raises: as `resume_messages`."""
    caller.require(scope, Role.AGENT)
    return in_transaction(interactions.resolve_interaction, scope, interaction_id, result, caller.actor)


def mark_resolved(caller: Caller, scope: Scope, interaction_id: str) -> None:
    """Raises: InteractionNotFound."""
    caller.require(scope, Role.AGENT)
    in_transaction(interactions.mark_resolved, scope, interaction_id, caller.actor)


def list_interactions(
    caller: Caller, scope: Scope, cursor: str | None, limit: int, *, resolved: bool = False
) -> Page[Interaction]:
    """Raises: InvalidCursor, InvalidLimit."""
    caller.require(scope)
    return interactions.list_interactions(scope, cursor, limit, resolved=resolved)
