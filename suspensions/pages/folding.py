"""Folds a long text: its head and tail stay in sight, and the page says how much lies between."""

from __future__ import annotations

from suspensions.domain import odd_text
from suspensions.pages.contexts import Folded

VALUE_LIMIT = 160
"""A value of the argument tree up to this long is shown whole."""
TEXT_LIMIT = 2_000
"""A message, or a verbatim text, up to this long is shown whole."""


def fold(text: str, limit: int = VALUE_LIMIT) -> Folded:
    """The text in three parts, of which the middle is empty unless the text is longer than `limit`.

    A shortened text never ends at its cut: what is dangerous may stand at the end, so the tail is
    kept as well. Unlike the domain's folding the middle stays at hand, to be shown by one press.
    """
    ends = odd_text.fold(text, limit // 2, limit * 3 // 10) if len(text) > limit else None
    if ends is None:
        return Folded(text)
    return Folded(ends.head, text[len(ends.head) : len(text) - len(ends.tail)], ends.tail)
