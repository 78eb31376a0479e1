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
    """The triggers that are not there as they were installed, or on PostgreSQL do not fire for everybody; sorted.

    One of the right name on another table, or with another body, guards nothing.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_INSTALLED_POSTGRESQL, [_FUNCTION.split("$$")[1]])
            there = {name for name, door in cursor.fetchall() if bytes(door) == _door(name).encode() + b"\0"}
        else:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            installed = set(cursor.fetchall())
            there = {name for name, statement in _sqlite_triggers() if (name, statement) in installed}
    return sorted(trigger_names(connection.vendor) - there)


# By what a trigger does: before each row's DELETE and UPDATE of any column (27), or before a TRUNCATE (34),
# unconditionally, by our function with our body.
_INSTALLED_POSTGRESQL = """
SELECT tgname, tgargs FROM pg_trigger
JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
WHERE NOT tgisinternal AND tgenabled IN ('O', 'A') AND tgqual IS NULL AND tgattr = ''::int2vector
AND tgname = relname || CASE tgtype WHEN 27 THEN '_insert_only_row' WHEN 34 THEN '_insert_only_truncate' END
AND pg_table_is_visible(pg_class.oid) AND proname = 'cortex_insert_only' AND prosrc = %s
"""


def _statements(vendor: str) -> list[str]:
    if vendor == "postgresql":
        return [_FUNCTION, *(statement for table in INSERT_ONLY for statement in _postgresql(table))]
    return [text for name, statement in _sqlite_triggers() for text in (f"DROP TRIGGER IF EXISTS {name}", statement)]


def _door(name: str) -> str:
    """Whether the table of a trigger of this name is one that a purge may delete from."""
    return "kept" if name.partition("_insert_only_")[0] in KEPT_FOR_GOOD else "purgeable"


def _postgresql(table: str) -> list[str]:
    row, truncate = f"{table}_insert_only_row", f"{table}_insert_only_truncate"
    call = f"EXECUTE FUNCTION cortex_insert_only('{_door(row)}')"
    return [
        f"CREATE OR REPLACE TRIGGER {row} BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW {call}",
        f"CREATE OR REPLACE TRIGGER {truncate} BEFORE TRUNCATE ON {table} FOR EACH STATEMENT {call}",
    ]


def _sqlite_triggers() -> list[tuple[str, str]]:
    """The triggers on SQLite, by name."""
    return [trigger for table, keys in INSERT_ONLY.items() for trigger in _sqlite(table, keys)]


def _sqlite(table: str, keys: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    refuse = f"SELECT RAISE(ABORT, '{table} is insert-only');"
    unless_purging = "" if table in KEPT_FOR_GOOD else " WHEN NOT EXISTS (SELECT 1 FROM purge_window)"
    # The wording is SQLite's own for a unique key, so that a plain INSERT fails as it would without the trigger.
    # The rowid is a key of each table as well, and a REPLACE may name it. Where none is named it reads -1 here.
    checks = " ".join(
        f"SELECT RAISE(ABORT, 'UNIQUE constraint failed: {', '.join(f'{table}.{column}' for column in key)}')"
        f" WHERE EXISTS (SELECT 1 FROM {table} WHERE {' AND '.join(f'{column} = NEW.{column}' for column in key)});"
        for key in (*keys, ("rowid",))
    )
    bodies = {
        "update": f"BEFORE UPDATE ON {table} BEGIN {refuse} END",
        "delete": f"BEFORE DELETE ON {table}{unless_purging} BEGIN {refuse} END",
        "insert": f"BEFORE INSERT ON {table} BEGIN {checks} END",
    }
    names = {kind: f"{table}_insert_only_{kind}" for kind in bodies}
    return [(names[kind], f"CREATE TRIGGER {names[kind]} {body}") for kind, body in bodies.items()]
