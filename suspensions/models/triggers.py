"""Triggers that make receipts and events insert-only, on both engines. Source: store.md section 3.

The database itself refuses UPDATE, DELETE, TRUNCATE and an INSERT over an existing row. They are installed after every
migration, because SQLite drops them silently when a table is altered, and a system check looks for them. The one
named door is a row in `purge_window`, which cannot outlive the transaction that wrote it (see its model).
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.backends.base.base import BaseDatabaseWrapper

# Each table with its unique keys: SQLite's REPLACE removes a row that collides on any of them, without asking
# a delete trigger.
INSERT_ONLY: dict[str, tuple[tuple[str, ...], ...]] = {
    "resume_admission": (("suspension_id",),),
    "resume_start_or_expiry": (("suspension_id",), ("scope", "principal", "request_id")),
    "resume_closure": (("suspension_id",), ("proof_ref",)),
    "event": (("id",), ("chain", "position")),
    "purge_record": (("number",), ("previous",), ("hash",)),
    "purge_record_head": (("number", "chain"),),
    "checkpoint": (("number",), ("previous",), ("hash",)),
    "checkpoint_head": (("number", "chain"),),
}
# What tells of removals, and what was signed: the door of a purge is not for these.
KEPT_FOR_GOOD = frozenset({"purge_record", "purge_record_head", "checkpoint", "checkpoint_head"})

_FUNCTION = """
CREATE OR REPLACE FUNCTION cortex_insert_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND TG_ARGV[0] = 'purgeable' AND EXISTS (SELECT 1 FROM purge_window) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is insert-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$
"""


def trigger_names(vendor: str) -> frozenset[str]:
    """The triggers that must be there."""
    kinds = ("row", "truncate") if vendor == "postgresql" else ("update", "delete", "insert")
    return frozenset(f"{table}_insert_only_{kind}" for table in INSERT_ONLY for kind in kinds)


def install_triggers(connection: BaseDatabaseWrapper) -> None:
    """Install the triggers, replacing what is there."""
    with connection.cursor() as cursor:
        for statement in _statements(connection.vendor):
            cursor.execute(statement)


def missing_triggers(connection: BaseDatabaseWrapper) -> list[str]:
    """The triggers that are not there, or on PostgreSQL do not fire for everybody; sorted."""
    if connection.vendor == "postgresql":
        query = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')"
    else:
        query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    with connection.cursor() as cursor:
        cursor.execute(query)
        there = {row[0] for row in cursor.fetchall()}
    return sorted(trigger_names(connection.vendor) - there)


def _statements(vendor: str) -> list[str]:
    if vendor == "postgresql":
        return [_FUNCTION, *(statement for table in INSERT_ONLY for statement in _postgresql(table))]
    return [statement for table, keys in INSERT_ONLY.items() for statement in _sqlite(table, keys)]


def _postgresql(table: str) -> list[str]:
    row, truncate = f"{table}_insert_only_row", f"{table}_insert_only_truncate"
    call = f"EXECUTE FUNCTION cortex_insert_only('{'kept' if table in KEPT_FOR_GOOD else 'purgeable'}')"
    return [
        f"CREATE OR REPLACE TRIGGER {row} BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW {call}",
        f"CREATE OR REPLACE TRIGGER {truncate} BEFORE TRUNCATE ON {table} FOR EACH STATEMENT {call}",
    ]


def _sqlite(table: str, keys: Sequence[Sequence[str]]) -> list[str]:
    refuse = f"SELECT RAISE(ABORT, '{table} is insert-only');"
    unless_purging = "" if table in KEPT_FOR_GOOD else " WHEN NOT EXISTS (SELECT 1 FROM purge_window)"
    statements = [
        f"CREATE TRIGGER {table}_insert_only_update BEFORE UPDATE ON {table} BEGIN {refuse} END",
        f"CREATE TRIGGER {table}_insert_only_delete BEFORE DELETE ON {table}{unless_purging} BEGIN {refuse} END",
    ]
    # The wording is SQLite's own for a unique key, so that a plain INSERT fails as it would without the trigger.
    checks = " ".join(
        f"SELECT RAISE(ABORT, 'UNIQUE constraint failed: {', '.join(f'{table}.{column}' for column in key)}')"
        f" WHERE EXISTS (SELECT 1 FROM {table} WHERE {' AND '.join(f'{column} = NEW.{column}' for column in key)});"
        for key in keys
    )
    statements.append(f"CREATE TRIGGER {table}_insert_only_insert BEFORE INSERT ON {table} BEGIN {checks} END")
    dropped = [f"DROP TRIGGER IF EXISTS {table}_insert_only_{kind}" for kind in ("update", "delete", "insert")]
    return [*dropped, *statements]
