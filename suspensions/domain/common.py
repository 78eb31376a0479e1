"""What several calls of one tool have in common, and where they differ: for deciding them together.

Nothing is left out: a value that is the same in all is said once, every other one is said for each call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from suspensions.domain.json_as_written import Members, Reading, Unreadable, sendable, written


@dataclass(frozen=True, slots=True)
class Comparison:
    """`same` are names and values as written that all calls share. `differing` has, for each call, its other members.

    `whole`: the arguments cannot be compared by their members (no JSON object, a name stands twice, or two names read
    as one), so that each call's `differing` is its text as one member without a name.
    """

    same: tuple[tuple[str, str], ...]
    differing: tuple[tuple[tuple[str, str], ...], ...]
    whole: bool = False


def compare(arguments: Sequence[str]) -> Comparison:
    """Compare the arguments of several calls."""
    members = [_members(text) for text in arguments]
    known = [found for found in members if found is not None]
    if len(known) < len(members) or _read_as_one(known):
        return Comparison((), tuple((("", text),) for text in arguments), whole=True)
    first = known[0] if known else {}
    same = {name: value for name, value in first.items() if all(found.get(name) == value for found in known)}
    differing = tuple(_shown((name, found[name]) for name in found if name not in same) for found in known)
    return Comparison(_shown(same.items()), differing)


def _members(text: str) -> dict[str, str] | None:
    """The members by their real names; None for what is no object, or has a name twice."""
    try:
        raw = Reading(text).raw
    except Unreadable:
        return None
    if not isinstance(raw, Members) or raw.repeated:
        return None
    return {name: written(value) for name, value in raw.pairs}


def _read_as_one(known: Iterable[Mapping[str, str]]) -> bool:
    """Tell whether two names, of one call or of two, are shown alike: half a surrogate pair and its escape's letters.

    By what is shown, one value would hide the other, and two calls would seem to be the same.
    """
    names = {name for found in known for name in found}
    return len({sendable(name) for name in names}) < len(names)


def _shown(members: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((sendable(name), value) for name, value in members)
