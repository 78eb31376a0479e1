"""Folds what is long: a text keeps its head and tail in sight, a pause of many calls shows most as a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from suspensions.domain import odd_text
from suspensions.domain.preview import CallPreview, call_preview
from suspensions.pages.contexts import CallLine, CallView, Folded, PreviewPart

VALUE_LIMIT = 160
"""A value of the argument tree up to this long is shown whole."""
TEXT_LIMIT = 2_000
"""A message, or a verbatim text, up to this long is shown whole."""
MOST_UNFOLDED = 5
"""A pause of up to so many calls shows each of them whole."""
FIRST_OPEN = 3
"""Of more calls so many are open from the start, and so many of those that are to be mended."""


def fold(text: str, limit: int = VALUE_LIMIT) -> Folded:
    """The text in three parts, of which the middle is empty unless the text is longer than `limit`.

    A shortened text never ends at its cut: what is dangerous may stand at the end, so the tail is
    kept as well. Unlike the domain's folding the middle stays at hand, to be shown by one press.
    """
    ends = odd_text.fold(text, limit // 2, limit * 3 // 10) if len(text) > limit else None
    if ends is None:
        return Folded(text)
    return Folded(ends.head, text[len(ends.head) : len(text) - len(ends.tail)], ends.tail)


def preview_line(preview: CallPreview) -> CallLine:
    """A call in one line, as its preview has it."""
    parts = [PreviewPart(member.key, member.value) for member in preview.members]
    if preview.raw:
        parts.append(PreviewPart("", preview.raw))
    return CallLine(preview.name, parts, preview.more)


def fold_calls(calls: Sequence[CallView]) -> list[CallView]:
    """The calls of one pause, each with a line to stand for it where there are many.

    An edit stays open, and so do the first faults: what is to be mended must be in sight.
    """
    if len(calls) <= MOST_UNFOLDED:
        return list(calls)
    faulty = [call.index for call in calls if call.faults][:FIRST_OPEN]
    return [
        replace(
            call,
            line=preview_line(call_preview(call.tool, call.arguments)),
            open=call.index < FIRST_OPEN or call.edited is not None or call.index in faulty,
        )
        for call in calls
    ]
