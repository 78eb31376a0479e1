"""Scopes: 1 to 3 ordered levels, one text everywhere. Source: store.md section 1, "Scope"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from suspensions.domain.errors import InvalidScope, NoScope

MAX_LEVELS = 3
_LEVEL = re.compile(r"[A-Za-z0-9_.-]{1,64}=[A-Za-z0-9_.:@+~-]{1,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Scope:
    """A place in the tree of scopes. `text` is its one form: `key=value/key=value`."""

    text: str

    @classmethod
    def parse(cls, text: str | None) -> Scope:
        """Raises: NoScope where there is none, InvalidScope where it is not of the form."""
        if text is None or text == "":
            raise NoScope
        if not isinstance(text, str):
            raise InvalidScope
        levels = text.split("/")
        if len(levels) > MAX_LEVELS or not all(_LEVEL.fullmatch(level) for level in levels):
            raise InvalidScope
        return cls(text)

    @property
    def depth(self) -> int:
        return self.text.count("/") + 1

    @property
    def prefixes(self) -> tuple[str, str, str]:
        """What stands in scope_1, scope_2 and scope_3: the scope cut to so many levels, empty below its depth.

        Covering is then equality on the one column of the covering scope's depth. A LIKE would read
        `_` as any letter, and on SQLite ignore case.
        """
        return _prefixes(self.text)

    def covers(self, other: Scope) -> bool:
        """Whether `other` is this scope or lies below it."""
        return other.text == self.text or other.text.startswith(f"{self.text}/")

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=1024)
def _prefixes(text: str) -> tuple[str, str, str]:
    levels = text.split("/")
    cut = ["/".join(levels[:depth]) if depth <= len(levels) else "" for depth in (1, 2, 3)]
    return cut[0], cut[1], cut[2]
