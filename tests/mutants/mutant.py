"""What a mutant is: one guard, taken away by an edit of the text that makes it.

An edit names a text that must stand in the file exactly once, rather than lines: it survives code that moves, and it
fails loudly where the guard itself was rewritten, so that nobody believes in a mutant that no longer mutates.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SQLITE, POSTGRESQL = "sqlite", "postgresql"
BOTH = (SQLITE, POSTGRESQL)
# A rule in Python is the same on either engine, and SQLite's lane is the cheaper one.
EITHER = (SQLITE,)

MIGRATION = "suspensions/migrations/0001_initial.py"


class NoLongerApplies(Exception):
    """The text that an edit replaces is not there exactly once."""


@dataclass(frozen=True)
class Edit:
    """Replace `old`, which stands in the file exactly once, by `new`; without `old` the file gets `new` at its end."""

    file: str
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Raises: NoLongerApplies."""
        path = root / self.file
        text = path.read_text() if path.exists() else ""
        if not self.old:
            path.write_text(f"{text}\n{self.new}\n")
            return
        count = text.count(self.old)
        if count != 1:
            raise NoLongerApplies(f"{self.file} holds {count} times: {self.old!r}")
        path.write_text(text.replace(self.old, self.new))


@dataclass(frozen=True)
class Mutant:
    """`guard` says what is gone; `tests` is where a test should die of it, before the whole suite is asked."""

    guard: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]
    engines: tuple[str, ...] = BOTH


def without(guard: str, file: str, old: str, new: str, *tests: str, engines: tuple[str, ...] = EITHER) -> Mutant:
    """A mutant of one edit."""
    return Mutant(guard, (Edit(file, old, new),), tests, engines)


def without_constraint(model: str, name: str, *tests: str, engines: tuple[str, ...] = BOTH) -> Mutant:
    """A database without one of its constraints. The migration fails where there is none of this name."""
    undo = f'Migration.operations.append(migrations.RemoveConstraint("{model}", "{name}"))'
    return Mutant(f"the constraint {name}", (Edit(MIGRATION, "", undo),), tests, engines)


def without_key(table: str, *tests: str) -> Mutant:
    """A table without its primary key; on PostgreSQL alone, since SQLite cannot drop one."""
    drop = f'Migration.operations.append(migrations.RunSQL("ALTER TABLE {table} DROP CONSTRAINT {table}_pkey"))'
    return Mutant(f"the primary key of {table}", (Edit(MIGRATION, "", drop),), tests, (POSTGRESQL,))


_NO_TRIGGER = """
_every_statement = _statements


def _statements(vendor: str) -> list[str]:
    left = [text for text in _every_statement(vendor) if "{create}" not in text]
    assert len(left) == len(_every_statement(vendor)) - 1
    return left
"""


def without_trigger(table: str, kind: str, *tests: str) -> Mutant:
    """A table without one of its triggers. It does not start where there is none of this name."""
    trigger = f"{table}_insert_only_{kind}"
    engines = (POSTGRESQL,) if kind in ("row", "truncate") else (SQLITE,)
    create = "CREATE TRIGGER" if engines == (SQLITE,) else "CREATE OR REPLACE TRIGGER"
    undo = _NO_TRIGGER.replace("{create}", f"{create} {trigger} ")
    return Mutant(f"the trigger {trigger}", (Edit("suspensions/models/triggers.py", "", undo),), tests, engines)
