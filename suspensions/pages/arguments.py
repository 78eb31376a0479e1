"""Makes a call's arguments ready for the page: a flat tree to show, and what about the text misleads.

The reading itself is the domain's; here it only takes the shape that a template can walk without
recursion, however deep the arguments nest.
Source: pages.md, "One pause".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from suspensions.domain import arguments as domain
from suspensions.domain import odd_text
from suspensions.domain.arguments import ArgumentsTree, ArgumentsWarning, Node, NodeKind, NotJson, WarningKind
from suspensions.domain.json_as_written import written
from suspensions.pages.contexts import Change, TextWarning, TreeStep
from suspensions.pages.folding import VALUE_LIMIT, fold

MAX_STEPS = 1_000
"""Beyond so many steps the tree stops and points to the verbatim text, so that pages stay light."""
MAX_ODD_PLACES = 20
MAX_MISSED = 5
"""So many warnings that the tree does not carry are told above it; the others are counted."""
ROOT = "root"
_INLINE_MEMBERS = 4
_INLINE_LETTERS = 72
_NESTED = (NodeKind.OBJECT, NodeKind.ARRAY)


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments as steps of a tree; none where the text is no JSON. `cut`: the tree is longer."""

    steps: Sequence[TreeStep]
    warnings: Sequence[TextWarning]
    is_json: bool
    cut: bool = False


def read_arguments(text: str) -> Arguments:
    """The tree of an arguments text and the places in it that do not read the way they look."""
    tree = domain.parse_arguments(text)
    if isinstance(tree, NotJson):
        return Arguments((), _odd_places([("", text)]), is_json=False)
    flags: dict[str, list[ArgumentsWarning]] = {}
    for warning in tree.warnings:
        flags.setdefault(warning.pointer, []).append(warning)
    steps, cut = _drawn(_walk(tree.root, flags))
    if cut:
        opened = sum((step.kind == "open") - (step.kind == "close") for step in steps)
        steps.extend(TreeStep(kind="close") for _ in range(opened - 1))
        steps.append(TreeStep(kind="close", literal=ROOT))
    places = [(step.pointer, _text(step)) for step in _all(steps)] if not cut else [("", text)]
    return Arguments(steps, [*_missed(tree, steps), *_odd_places(places)], is_json=True, cut=cut)


def changes(original: str, edited: str) -> list[Change]:
    """What an edit changed, in the words of the page. `json-text.js` says the same beforehand."""
    return [_change(change) for change in domain.diff(original, edited)]


def _change(change: domain.Change) -> Change:
    before, after = change.before, change.after
    aside = _ASIDES.get(change.kind, "same value, written differently" if change.same_value else "")
    recast = False
    if change.kind is domain.ChangeKind.CHANGED and before and after:
        was, now = _sort(before), _sort(after)
        recast = was != now
        aside = f"{now} instead of {was}" if recast else aside
    return Change(change.pointer, before, after, aside, recast)


_ASIDES: Final = {
    domain.ChangeKind.ORDER: "order of members",
    domain.ChangeKind.SPACING: "white space or escapes only",
}
_SORTS: Final = {
    '"': "a text",
    "{": "an object",
    "[": "a list",
    "n": "null",
    "t": "true or false",
    "f": "true or false",
}


def _sort(written: str) -> str:
    return _SORTS.get(written[:1], "a number")


def edited_text(posted: str, original: str) -> str | None:
    """The edit as it is to be admitted, or None where nothing was edited.

    A browser sends every line end of a text area as CR LF; a text that differs in nothing else is
    the original, not an edit.
    """
    typed = domain.normalise_typed(posted)
    return None if typed == domain.normalise_typed(original) else typed


def _drawn(walk: Iterator[TreeStep]) -> tuple[list[TreeStep], bool]:
    """The steps as far as the tree is drawn, and whether there are more."""
    steps: list[TreeStep] = []
    letters = 0
    for step in walk:
        if len(steps) == MAX_STEPS or letters > domain.MAX_LETTERS:
            return steps, True
        steps.append(step)
        letters += len(step.pointer)
    return steps, False


_Flags = Mapping[str, Sequence[ArgumentsWarning]]


def _walk(root: Node, flags: _Flags) -> Iterator[TreeStep]:
    """The tree in the text's order, with a stack of its own instead of recursion.

    The root has no line of its own, since that would say nothing: its members stand at the margin.
    """
    yield TreeStep(kind="open", literal=ROOT)
    nests = root.kind in _NESTED and root.length > 0
    stack = [root.each() if nests else iter((root,))]
    while stack:
        node = next(stack[-1], None)
        if node is None:
            stack.pop()
            yield TreeStep(kind="close", literal="" if stack else ROOT)
            continue
        inline = _inline(node, flags)
        if node.kind in _NESTED and node.length > 0 and not inline:
            yield _step(node, flags, kind="open")
            stack.append(node.each())
        else:
            yield _step(node, flags, inline=inline)


def _step(node: Node, flags: _Flags, kind: str = "leaf", inline: Sequence[TreeStep] = ()) -> TreeStep:
    return TreeStep(
        kind=kind,
        key=node.key,
        index=node.index,
        value=None if node.kind in _NESTED else fold(written(node.raw)),
        literal=node.kind.value,
        size=node.length,
        pointer=node.pointer,
        flags=_flags_of(node, flags),
        inline=inline,
    )


def _inline(node: Node, flags: _Flags) -> tuple[TreeStep, ...]:
    """The members of a small flat object within a list, so that it stands on one line."""
    if node.index is None or node.kind is not NodeKind.OBJECT or not 1 <= node.length <= _INLINE_MEMBERS:
        return ()
    members = node.children
    if any(one.kind in _NESTED or one.length > VALUE_LIMIT for one in members):
        return ()
    steps = tuple(_step(one, flags) for one in members)
    letters = sum(len(step.key or "") + (step.value.total if step.value else 0) for step in steps)
    return () if letters > _INLINE_LETTERS or any(step.flags for step in steps) else steps


def _flags_of(node: Node, flags: _Flags) -> tuple[str, ...]:
    sentences = (
        _sentence(warning)
        for warning in flags.get(node.pointer, ())
        # Two values of one name share a pointer; only the odd number among them is odd.
        if warning.kind is not WarningKind.NUMBER or node.reads_as
    )
    return tuple(dict.fromkeys(sentences))  # a thousand values of one name would each say all that it is warned of


def _sentence(warning: ArgumentsWarning) -> str:
    text = f"{warning.detail[0].upper()}{warning.detail[1:]}."
    return f"{text} Cortex keeps every digit." if warning.kind is WarningKind.NUMBER else text


def _missed(tree: ArgumentsTree, steps: Sequence[TreeStep]) -> list[TextWarning]:
    """A line for each warning that no step carries, doubled names first; beyond a handful they are counted."""
    marked = {(step.pointer, flag) for step in steps for flag in step.flags}
    missed = [one for one in tree.warnings if (one.pointer, _sentence(one)) not in marked]
    missed.sort(key=lambda one: one.kind is not WarningKind.DUPLICATE)
    lines = [TextWarning(_path(one.pointer), _sentence(one)) for one in missed[:MAX_MISSED]]
    if rest := len(missed) - len(lines) + tree.more_warnings:
        words = "1 more place is" if rest == 1 else f"{rest:,} more places are"
        lines.append(TextWarning("", f"{words} not marked below."))
    return lines


def _path(pointer: str) -> str:
    """A pointer as the page writes it, with both its ends however long its names are."""
    path = pointer.removeprefix("/") or pointer
    folded = odd_text.fold(path)
    return f"{folded.head}\u2026{folded.tail}" if folded else path


def _all(steps: Sequence[TreeStep]) -> Iterator[TreeStep]:
    for step in steps:
        yield step
        yield from step.inline


def _text(step: TreeStep) -> str:
    value = step.value
    return (step.key or "") + (value.head + value.middle + value.tail if value else "")


def _odd_places(places: Sequence[tuple[str, str]]) -> list[TextWarning]:
    """A line for each place whose text holds odd characters, which are counted and named."""
    found = [
        TextWarning(pointer.removeprefix("/"), words) for pointer, text in places if (words := odd_text.warning(text))
    ]
    if len(found) > MAX_ODD_PLACES:
        rest = len(found) - MAX_ODD_PLACES
        found[MAX_ODD_PLACES:] = [TextWarning("", f"and {rest} more places, marked below")]
    return found
