"""What several calls of one tool have in common, and where they differ: for deciding them together.

Nothing is left out: a value that is the same in all is said once, every other one is said for each call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suspensions.domain.arguments import ArgumentsTree, Node, NodeKind, NotJson, parse_arguments
from suspensions.domain.json_as_written import written


@dataclass(frozen=True, slots=True)
class Comparison:
    """`same` are names and values as written that all calls share. `differing` has, for each call, its other members.

    `whole`: the arguments cannot be compared by their members (no JSON object, or a name stands twice), so that each
    call's `differing` is its text as one member without a name.
    """

    same: tuple[tuple[str, str], ...]
    differing: tuple[tuple[tuple[str, str], ...], ...]
    whole: bool = False


def compare(arguments: Sequence[str]) -> Comparison:
    """Compare the arguments of several calls."""
    members = [_members(text) for text in arguments]
    if any(found is None for found in members):
        return Comparison((), tuple((("", text),) for text in arguments), whole=True)
    known = [found for found in members if found is not None]
    first = known[0] if known else {}
    same = {name: value for name, value in first.items() if all(found.get(name) == value for found in known)}
    differing = tuple(tuple((name, value) for name, value in found.items() if name not in same) for found in known)
    return Comparison(tuple(same.items()), differing)


def _members(text: str) -> dict[str, str] | None:
    tree: ArgumentsTree | NotJson = parse_arguments(text)
    if isinstance(tree, NotJson) or tree.root.kind is not NodeKind.OBJECT:
        return None
    children: tuple[Node, ...] = tree.root.children
    if any(child.duplicate for child in children):
        return None
    return {child.key or "": written(child.raw) for child in children}
