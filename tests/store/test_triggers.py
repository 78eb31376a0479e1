"""Receipts and events are insert-only: the database itself refuses what would change them.

Source: store.md section 3, "The database is the last guard". Everything that might succeed is tried inside a
transaction that is rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.checks import Tags, run_checks
from django.core.management import call_command
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.utils import OperationalError

from suspensions.domain import ids
from suspensions.models import Admission, Closure, Event, StartOrExpiry
from suspensions.models.triggers import INSERT_ONLY, KEPT_FOR_GOOD, install_triggers, missing_triggers, trigger_names
from suspensions.operations.transactions import in_transaction
from suspensions.store import starts
from tests.store import situations, support
from tests.store.rows import execute, insert, rows
from tests.store.situations import Made
from tests.store.support import this_moment, unchanged
from tests.support.builders import fresh_scope
from tests.support.threads import together

PURGEABLE = sorted(set(INSERT_ONLY) - KEPT_FOR_GOOD)
KEYS = {
    "resume_admission": ("suspension_id",),
    "resume_start_or_expiry": ("suspension_id",),
    "resume_closure": ("suspension_id",),
    "event": ("id",),
    "purge_record": ("number",),
    "purge_record_head": ("number", "chain"),
    "checkpoint": ("number",),
    "checkpoint_head": ("number", "chain"),
}
A_COLUMN = {
    "resume_admission": "input",
    "resume_start_or_expiry": "request_digest",
    "resume_closure": "proof_ref",
    "event": "data",
    "purge_record": "heads_sha256",
    "purge_record_head": "hash",
    "checkpoint": "signature",
    "checkpoint_head": "hash",
}
INSERTS = {
    "postgresql": ("INSERT INTO",),
    "sqlite": ("INSERT INTO", "INSERT OR REPLACE INTO", "REPLACE INTO", "INSERT OR IGNORE INTO"),
}
each_table = pytest.mark.parametrize("table", sorted(INSERT_ONLY))
each_purgeable_table = pytest.mark.parametrize("table", PURGEABLE)


@pytest.fixture
def made() -> Made:
    """A closed run: it has one row of every kind of receipt, and events."""
    return situations.closed(fresh_scope())


@contextmanager
def rolled_back() -> Iterator[None]:
    """A transaction of which nothing stays."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@contextmanager
def refused_by_the_database() -> Iterator[None]:
    """Fail unless the database refuses what the block asks of it."""
    with pytest.raises(IntegrityError, match=r"insert-only|UNIQUE|unique"), transaction.atomic():
        yield


def a_row(table: str, made: Made) -> dict[str, Any]:
    """A row of the table: the run's own, or one that is written for the occasion and rolled back."""
    if table in KEPT_FOR_GOOD:
        return _kept_row(table)
    column = "run_id"
    found = rows(f"SELECT * FROM {table} WHERE {column} = %s ORDER BY {KEYS[table][0]} LIMIT 1", [made.run_id])
    return {name: bytes(value) if isinstance(value, memoryview) else value for name, value in found[0].items()}


def _kept_row(table: str) -> dict[str, Any]:
    number, now = 1_000_000_000, this_moment()
    record = {"number": number, "at": now, "count": 0, "heads_sha256": "h", "previous": "p", "hash": "x"}
    whole: dict[str, dict[str, Any]] = {
        "purge_record": {**record, "purged_by": "{}", "ended_before": now, "key_id": "k", "signature": b"s"},
        "checkpoint": {**record, "purge_number": 0, "purge_hash": None, "key_id": "k", "signature": b"s"},
        "purge_record_head": {"number": number, "chain": "c", "position": 1, "hash": "x"},
        "checkpoint_head": {"number": number, "chain": "c", "position": 1, "hash": "x"},
    }
    insert(table, whole[table])
    return whole[table]


def where(table: str, row: dict[str, Any]) -> tuple[str, list[Any]]:
    return " AND ".join(f"{column} = %s" for column in KEYS[table]), [row[column] for column in KEYS[table]]


# -- what is refused ---------------------------------------------------------------------------------


@each_table
def test_an_update_is_refused(table: str, made: Made) -> None:
    column = A_COLUMN[table]
    with unchanged(made.scope), rolled_back():
        row = a_row(table, made)
        words, key = where(table, row)
        with refused_by_the_database():
            execute(f"UPDATE {table} SET {column} = {column} WHERE {words}", key)


@each_table
def test_a_delete_is_refused(table: str, made: Made) -> None:
    with unchanged(made.scope), rolled_back():
        words, key = where(table, a_row(table, made))
        with refused_by_the_database():
            execute(f"DELETE FROM {table} WHERE {words}", key)


@each_table
def test_emptying_the_table_is_refused(table: str, made: Made, engine: str) -> None:
    # SQLite has no TRUNCATE; a DELETE without a WHERE takes the same short way there.
    statement = f"TRUNCATE {table} CASCADE" if engine == "postgresql" else f"DELETE FROM {table}"
    with unchanged(made.scope), rolled_back():
        a_row(table, made)
        with refused_by_the_database():
            execute(statement)


def test_emptying_the_runs_does_not_take_the_receipts_along(made: Made, engine: str) -> None:
    statement = "TRUNCATE run CASCADE" if engine == "postgresql" else "DELETE FROM run"
    with unchanged(made.scope), pytest.raises(IntegrityError):
        execute(statement)


@each_table
def test_an_insert_over_an_existing_row_is_refused(table: str, made: Made, engine: str) -> None:
    for words in INSERTS[engine]:
        with unchanged(made.scope), rolled_back():
            row = a_row(table, made)
            with refused_by_the_database():
                insert(table, row, words)


@each_table
@pytest.mark.parametrize("rest", ["DO UPDATE SET {column} = excluded.{column}", "DO UPDATE SET {column} = 'x'"])
def test_an_upsert_over_an_existing_row_is_refused(table: str, rest: str, made: Made) -> None:
    conflict = f"ON CONFLICT ({', '.join(KEYS[table])}) {rest.format(column=A_COLUMN[table])}"
    with unchanged(made.scope), rolled_back():
        row = a_row(table, made)
        with refused_by_the_database():
            insert(table, row, rest=conflict)


def test_an_insert_that_gives_way_changes_nothing(made: Made, engine: str) -> None:
    row = a_row("event", made) | {"data": b"{}"}
    with unchanged(made.scope):
        if engine == "postgresql":
            insert("event", row, rest="ON CONFLICT DO NOTHING")
        else:
            with refused_by_the_database():
                insert("event", row, rest="ON CONFLICT DO NOTHING")


@pytest.mark.parametrize(
    ("table", "changes"),
    [
        ("resume_closure", lambda: {"suspension_id": ids.new_id(ids.SUSPENSION)}),
        ("event", lambda: {"id": ids.new_id(ids.EVENT)}),
    ],
)
def test_a_new_row_cannot_push_out_one_that_collides_on_another_key(
    table: str, changes: Callable[[], dict[str, Any]], made: Made, engine: str
) -> None:
    for words in INSERTS[engine]:
        with unchanged(made.scope), refused_by_the_database():
            insert(table, a_row(table, made) | changes(), words)


def test_a_start_cannot_push_out_another_of_the_same_request(engine: str) -> None:
    scope = fresh_scope()
    situations.admitted(scope)
    start = in_transaction(starts.start_next, scope, situations.take(), support.ACTOR, request_id="request-1")
    assert start is not None
    row = rows("SELECT * FROM resume_start_or_expiry WHERE run_id = %s", [start.version.run_id])[0]
    for words in INSERTS[engine]:
        with unchanged(scope), refused_by_the_database():
            insert("resume_start_or_expiry", row | {"suspension_id": ids.new_id(ids.SUSPENSION)}, words)


PLACES = {"postgresql": ("ctid",), "sqlite": ("rowid", "_rowid_", "oid")}
"""What an engine calls the place of a row, beside its declared keys."""


@each_table
def test_a_new_row_cannot_push_out_one_by_taking_its_place(table: str, made: Made, engine: str) -> None:
    fresh = {"number": 2_000_000_000, "previous": "p2", "hash": "x2"} if table in KEPT_FOR_GOOD else {}
    for place in PLACES[engine]:
        for words in INSERTS[engine]:
            with unchanged(made.scope), rolled_back():
                row = a_row(table, made)
                conditions, key = where(table, row)
                taken = rows(f"SELECT {place} AS place FROM {table} WHERE {conditions}", key)[0]["place"]
                other = row | {column: f"other-{row[column]}" for column in KEYS[table] if column != "number"}
                other |= {"position": 99, "proof_ref": "other"} | fresh
                with pytest.raises(DatabaseError), transaction.atomic():
                    insert(table, {column: other[column] for column in row} | {place: taken}, words)


def test_an_update_is_refused_however_it_is_worded(made: Made, engine: str) -> None:
    for words in ("UPDATE ONLY",) if engine == "postgresql" else ("UPDATE OR REPLACE", "UPDATE OR IGNORE"):
        with unchanged(made.scope), refused_by_the_database():
            execute(f"{words} event SET position = position + 1 WHERE run_id = %s", [made.run_id])


@pytest.mark.parametrize("model", [Admission, StartOrExpiry, Closure, Event], ids=lambda model: model.__name__)
def test_the_orm_is_refused_like_anybody(model: Any, made: Made) -> None:
    found = model.objects.filter(run_id=made.run_id)
    one = found.first()
    assert one is not None
    with unchanged(made.scope):
        with refused_by_the_database():
            found.update(run_id="arun_x")
        with refused_by_the_database():
            one.delete()
        with refused_by_the_database():
            one.save()
        with refused_by_the_database():
            found.delete()


# -- the one named door ------------------------------------------------------------------------------


def open_window() -> None:
    insert("purge_window", {"id": 1, "opened_at": this_moment(), "closed_by_id": 0})


@each_purgeable_table
def test_a_purge_window_opens_delete(table: str, made: Made) -> None:
    with rolled_back():
        open_window()
        words, key = where(table, a_row(table, made))
        assert execute(f"DELETE FROM {table} WHERE {words}", key) == 1
    assert rows(f"SELECT 1 FROM {table} WHERE run_id = %s", [made.run_id])


@each_table
def test_a_purge_window_opens_nothing_but_delete(table: str, made: Made, engine: str) -> None:
    with unchanged(made.scope), rolled_back():
        row = a_row(table, made)
        open_window()
        words, key = where(table, row)
        with refused_by_the_database():
            execute(f"UPDATE {table} SET {A_COLUMN[table]} = {A_COLUMN[table]} WHERE {words}", key)
        with refused_by_the_database():
            insert(table, row)
        if engine == "postgresql" and table in PURGEABLE:
            with refused_by_the_database():
                execute(f"TRUNCATE {table}")


@pytest.mark.parametrize("table", sorted(KEPT_FOR_GOOD))
def test_the_door_is_not_for_what_tells_of_removals(table: str, made: Made) -> None:
    with rolled_back():
        words, key = where(table, a_row(table, made))
        open_window()
        with refused_by_the_database():
            execute(f"DELETE FROM {table} WHERE {words}", key)


def test_a_window_that_is_left_open_takes_its_transaction_with_it(made: Made) -> None:
    def purge() -> None:
        open_window()
        execute("DELETE FROM event WHERE run_id = %s", [made.run_id])

    with unchanged(made.scope), pytest.raises(IntegrityError):
        transaction.atomic(purge)()
    assert rows("SELECT * FROM purge_window") == []


def test_a_window_that_was_closed_again_lets_the_removal_stand() -> None:
    made = situations.completed(fresh_scope())
    with transaction.atomic():
        open_window()
        assert execute("DELETE FROM event WHERE run_id = %s", [made.run_id]) == 4
        execute("DELETE FROM purge_window")
    assert rows("SELECT * FROM event WHERE run_id = %s", [made.run_id]) == []
    with refused_by_the_database():
        execute("DELETE FROM event WHERE run_id IS NOT NULL")


def test_nobody_else_gets_through_the_door(made: Made, engine: str) -> None:
    def delete() -> int:
        # On SQLite there is but one writer, and the other one is not kept waiting here.
        if engine == "sqlite":
            execute("PRAGMA busy_timeout = 0")
        return execute("DELETE FROM event WHERE run_id = %s", [made.run_id])

    with unchanged(made.scope), rolled_back():
        open_window()
        (outcome,) = together([delete])
        assert isinstance(outcome, IntegrityError if engine == "postgresql" else OperationalError)


# -- installed, and looked for -----------------------------------------------------------------------


def _drop(name: str, engine: str) -> None:
    table = name.partition("_insert_only")[0]
    execute(f"DROP TRIGGER {name} ON {table}" if engine == "postgresql" else f"DROP TRIGGER {name}")


def _found() -> list[str]:
    return [
        message.msg
        for message in run_checks(tags=[Tags.database], databases=["default"])
        if message.id == "suspensions.E010"
    ]


def test_all_triggers_are_there() -> None:
    assert missing_triggers(connection) == []
    assert _found() == []


def test_each_trigger_that_is_gone_is_found_by_the_check_and_installed_again_by_a_migration(engine: str) -> None:
    made = situations.closed(fresh_scope())
    gone: list[str] = []
    try:
        for name in sorted(trigger_names(engine)):
            _drop(name, engine)
            gone.append(name)
            assert missing_triggers(connection) == gone
            (message,) = _found()
            assert name in message
        call_command("migrate", verbosity=0, interactive=False)
        assert missing_triggers(connection) == []
    finally:
        install_triggers(connection)
    with unchanged(made.scope), refused_by_the_database():
        execute("UPDATE event SET data = data WHERE run_id = %s", [made.run_id])


@pytest.mark.parametrize("switch", ["DISABLE TRIGGER", "ENABLE REPLICA TRIGGER"])
def test_a_trigger_that_is_switched_off_is_found_and_switched_on_again(switch: str, made: Made, engine: str) -> None:
    if engine == "sqlite":
        # SQLite cannot switch one off; what it does instead is to drop them when a table is made anew.
        with connection.schema_editor() as editor:
            editor._remake_table(Event)  # type: ignore[attr-defined]
        expected = ["event_insert_only_delete", "event_insert_only_insert", "event_insert_only_update"]
    else:
        execute(f"ALTER TABLE event {switch} event_insert_only_row")
        expected = ["event_insert_only_row"]
    try:
        assert missing_triggers(connection) == expected
        assert len(_found()) == 1
        call_command("migrate", verbosity=0, interactive=False)
        assert missing_triggers(connection) == []
        with unchanged(made.scope), refused_by_the_database():
            execute("UPDATE event SET data = data WHERE run_id = %s", [made.run_id])
    finally:
        install_triggers(connection)


_HOLLOW = {
    "postgresql": (
        "CREATE OR REPLACE FUNCTION cortex_insert_only() RETURNS trigger LANGUAGE plpgsql"
        " AS 'BEGIN RETURN COALESCE(NEW, OLD); END'",
        "CREATE OR REPLACE TRIGGER event_insert_only_row BEFORE UPDATE OF data ON event"
        " FOR EACH ROW EXECUTE FUNCTION cortex_insert_only('purgeable')",
        "CREATE OR REPLACE TRIGGER event_insert_only_row BEFORE UPDATE OR DELETE ON event"
        " FOR EACH ROW WHEN (false) EXECUTE FUNCTION cortex_insert_only('purgeable')",
        "CREATE OR REPLACE TRIGGER checkpoint_insert_only_row BEFORE UPDATE OR DELETE ON checkpoint"
        " FOR EACH ROW EXECUTE FUNCTION cortex_insert_only('purgeable')",
    ),
    "sqlite": (
        "CREATE TRIGGER event_insert_only_update BEFORE UPDATE ON event BEGIN SELECT 1; END",
        "CREATE TRIGGER event_insert_only_delete BEFORE DELETE ON looking BEGIN SELECT RAISE(ABORT, 'no'); END",
    ),
}


def test_a_trigger_that_bears_the_name_alone_is_found_and_replaced(engine: str) -> None:
    for hollow in _HOLLOW[engine]:
        try:
            if engine == "sqlite":
                _drop(hollow.split()[2], engine)
            execute(hollow)
            assert missing_triggers(connection)
            assert len(_found()) == 1
            call_command("migrate", verbosity=0, interactive=False)
            assert missing_triggers(connection) == []
        finally:
            install_triggers(connection)


def test_installing_twice_is_installing_once(made: Made) -> None:
    install_triggers(connection)
    install_triggers(connection)
    assert missing_triggers(connection) == []
    with pytest.raises(DatabaseError), transaction.atomic():
        execute("DELETE FROM resume_admission WHERE run_id = %s", [made.run_id])
