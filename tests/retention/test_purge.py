"""Purging: what ended goes with everything of theirs, a record stays, and the door is open to nobody else.

A purge spans all scopes, so each test lives in a year of its own, long before every other test's.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.apps import apps
from django.db import DatabaseError, IntegrityError, OperationalError, connection, transaction

from suspensions.domain import clock, failpoints, ids, keys
from suspensions.domain.digests import PURGE
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import SYSTEM, NewInteraction, NewRun, Run
from suspensions.operations import closures, interactions, runs
from suspensions.operations.purge import PurgeReport, purge
from suspensions.operations.verification import verify_receipts
from suspensions.store.purge import PAUSE_TABLES, RUN_TABLES
from suspensions.store.seals import heads_of, purge_records
from tests.closing.test_proof import LATER, make_trouble
from tests.closing.test_verification import execute, without_triggers
from tests.store.rows import rows
from tests.store.support import everything
from tests.support.builders import admit, at, caller, fresh_scope, make_pause, make_run, start, take
from tests.support.threads import together

DAY = timedelta(days=1)
ASSISTANT = b'{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"ask","input":{}}]}'


@dataclass
class Era:
    """A stretch of time that no other test has: `now` moves, and a purge in it finds what ended in it, or before."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def purge(self, older_than: timedelta = DAY, **more: Any) -> PurgeReport:
        return purge(SYSTEM, older_than, **more)


@pytest.fixture
def era() -> Iterator[Era]:
    hands = Era(datetime(1971, 1, 1, tzinfo=UTC) + timedelta(seconds=secrets.randbelow(10**9)))
    with clock.use_clock(hands):
        yield hands


def ask(
    scope: Scope, run_id: str | None = None, *, resolved: bool = True, interaction_id: str = "", **more: Any
) -> str:
    interaction_id = interaction_id or f"q-{secrets.token_hex(4)}"
    new = NewInteraction(scope, interaction_id, "t1", ASSISTANT, run_id=run_id, **more)
    interactions.save_interaction(caller(scope), new, "0" * 64)
    if resolved:
        interactions.mark_resolved(caller(scope), scope, interaction_id)
    return interaction_id


def finished(scope: Scope) -> Run:
    """A run that was paused, decided, started and finished, with an input, a result and a question."""
    run = make_run(scope, input="the whole story", lease=take())
    ask(scope, run.id, resolved=False)
    started = start(admit(make_pause(scope, run=run)), lease=None)
    assert started.claimed_run is not None
    return runs.finish_run(caller(scope), scope, run.id, RunState.COMPLETED, output="done", error="")


def there(scope: Scope) -> int:
    return sum(len(found) for found in everything(scope).values())


def records_about(chain: str) -> list[int]:
    return [row["number"] for row in rows("SELECT number FROM purge_record_head WHERE chain = %s", [chain])]


def findings() -> list[str]:
    """What is wrong with purge records, and what lost its head: other tests' own damage is not counted."""
    return [str(finding) for finding in verify_receipts() if finding.kind == "purge"]


# -- what goes, and what stays -----------------------------------------------------------------------


def test_a_run_that_ended_long_ago_goes_with_everything_of_its_own(era: Era) -> None:
    scope, other = fresh_scope(3), fresh_scope()
    gone, beside = finished(scope), finished(other)
    head = rows("SELECT event_position, event_hash FROM run WHERE id = %s", [gone.id])[0]
    era.now += 2 * DAY
    young = finished(other)
    before = everything(other)

    report = era.purge(older_than=2 * DAY)

    assert report.runs >= 2 and report.kept == []
    assert there(scope) == 0
    assert records_about(gone.id) and records_about(beside.id) and not records_about(young.id)
    assert {row["id"] for row in rows("SELECT id FROM run WHERE scope = %s", [other.text])} == {young.id}
    assert there(other) == sum(len(found) for found in before.values()) - _size_of(before, beside.id)
    number = records_about(gone.id)[0]
    kept = next(each for each in heads_of("purge_record_head", number) if each.chain == gone.id)
    assert (kept.position, kept.hash) == (head["event_position"], head["event_hash"])
    assert findings() == []


def _size_of(before: dict[str, list[str]], run_id: str) -> int:
    own = sum(text.count(run_id) > 0 for found in before.values() for text in found)
    # A continuation's row names its pause alone.
    pauses = [text for text in before["suspension"] if run_id in text]
    return own + len(pauses)


@pytest.mark.parametrize("after_end", [timedelta(0), timedelta(microseconds=1)])
def test_the_age_is_counted_from_the_end_to_the_microsecond(era: Era, after_end: timedelta) -> None:
    scope = fresh_scope()
    finished(scope)
    era.now += DAY - timedelta(microseconds=1) + after_end
    era.purge(DAY)
    assert (there(scope) == 0) == (after_end > timedelta(0))


def test_what_has_not_ended_stays_however_old_it_is(era: Era) -> None:
    scope = fresh_scope()
    make_run(scope)
    make_pause(scope)
    start(admit(make_pause(scope)), lease=take(seconds=1))
    ask(scope, resolved=False)
    before = everything(scope)
    era.now += 1000 * DAY
    era.purge()
    assert everything(scope) == before


def test_each_kind_of_end_goes(era: Era) -> None:
    trouble = make_trouble()
    scope = trouble.scope
    era.now += LATER
    closures.close_resume(trouble.operator, *trouble.signed())
    for outcome in (RunState.FAILED, RunState.CANCELLED, RunState.INCOMPLETE):
        runs.finish_run(caller(scope), scope, make_run(scope).id, outcome, output="", error="")
    runs.cancel_run(caller(scope), scope, make_pause(scope).run_id, "not wanted")
    era.now += 2 * DAY
    era.purge()
    assert there(scope) == 0


def test_a_question_without_a_run_goes_once_it_was_resolved_long_enough_ago(era: Era) -> None:
    scope = fresh_scope(2)
    gone, stays = ask(scope), ask(scope, resolved=False)
    era.now += 2 * DAY
    young = ask(scope)
    report = era.purge()
    left = {
        row["interaction_id"] for row in rows("SELECT interaction_id FROM interaction WHERE scope = %s", [scope.text])
    }
    assert left == {stays, young}
    assert report.interactions >= 1
    assert records_about(f"{scope}\n{gone}") and not records_about(f"{scope}\n{young}")
    assert findings() == []


def test_what_does_not_verify_is_kept_and_named(era: Era) -> None:
    scope = fresh_scope()
    damaged, whole = finished(scope), finished(scope)
    with without_triggers():
        assert execute("UPDATE resume_admission SET lease_owner = 'eve' WHERE run_id = %s", damaged.id) == 1
    era.now += 2 * DAY
    report = era.purge()
    assert [finding.kind for finding in report.kept if finding.chain == damaged.id] == ["admission"]
    assert rows("SELECT id FROM run WHERE scope = %s", [scope.text]) == [{"id": damaged.id}]
    assert records_about(whole.id) and not records_about(damaged.id)
    with without_triggers():
        execute("UPDATE resume_admission SET lease_owner = NULL WHERE run_id = %s", damaged.id)
    assert era.purge().kept == []
    assert there(scope) == 0


# -- records -----------------------------------------------------------------------------------------


def test_batches_each_leave_a_record_that_names_the_one_before(era: Era) -> None:
    scope = fresh_scope()
    made = [finished(scope).id for _ in range(5)]
    era.now += 2 * DAY
    report = era.purge(limit=2)
    assert report.records >= 3
    assert there(scope) == 0
    assert all(len(records_about(run_id)) == 1 for run_id in made)
    kept = [record for _, record, _ in purge_records() if record is not None]
    assert [record.number for record in kept] == list(range(1, len(kept) + 1))
    assert [record.previous for record in kept] == [None, *(record.hash for record in kept[:-1])]
    assert kept[-1].purged_by == SYSTEM
    assert kept[-1].ended_before == era.now - DAY
    assert kept[-1].key_id is None
    assert findings() == []


def test_nothing_to_purge_leaves_no_record(era: Era) -> None:
    era.purge()
    before = rows("SELECT MAX(number) AS last FROM purge_record")
    report = era.purge()
    assert (report.runs, report.interactions, report.records) == (0, 0, 0)
    assert rows("SELECT MAX(number) AS last FROM purge_record") == before


def test_a_key_signs_the_record(era: Era) -> None:
    key = Ed25519PrivateKey.generate()
    run = finished(fresh_scope())
    era.now += 2 * DAY
    era.purge(key=key)
    (record,) = [each for _, each, heads in purge_records() if any(head.chain == run.id for head in heads)]
    assert record is not None and record.signature is not None
    assert record.key_id == keys.key_id(key.public_key())
    assert keys.signature_holds(key.public_key(), record.signature, PURGE, record.hash)
    assert not keys.signature_holds(key.public_key(), record.signature, "cortex/other/v1", record.hash)


DAMAGES = {
    "a record's time": "UPDATE purge_record SET ended_before = at WHERE number = %s",
    "a record's person": "UPDATE purge_record SET purged_by = replace(purged_by, 'system', 'eve') WHERE number = %s",
    "an unreadable person": "UPDATE purge_record SET purged_by = '{{' WHERE number = %s",
    "a record's hash": "UPDATE purge_record SET hash = heads_sha256 WHERE number = %s",
    "a removed record": "DELETE FROM purge_record WHERE number = %s",
    "a removed head": "DELETE FROM purge_record_head WHERE number = %s AND chain = '{chain}'",
    "a changed head": "UPDATE purge_record_head SET position = 99 WHERE number = %s AND chain = '{chain}'",
    "an invented head": "INSERT INTO purge_record_head (number, chain, position, hash) VALUES (%s, 'arun_x', 1, 'x')",
}


@contextmanager
def restored(*tables: str) -> Iterator[None]:
    """Whatever is done to the tables is undone afterwards: all tests share their chains."""
    kept = {table: rows(f"SELECT * FROM {table}") for table in tables}
    try:
        with without_triggers():
            yield
    finally:
        with without_triggers():
            for table, there_were in kept.items():
                execute(f"DELETE FROM {table}")
                for row in there_were:
                    places = ", ".join(["%s"] * len(row))
                    execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", *row.values())


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_changed_or_removed_record_is_found(damage: str, era: Era) -> None:
    scope = fresh_scope()
    first, _ = finished(scope), finished(scope)
    era.now += 2 * DAY
    era.purge(limit=1)
    assert findings() == []
    with restored("purge_record", "purge_record_head"):
        assert execute(damage.format(chain=first.id), records_about(first.id)[0]) == 1
        assert findings()
    assert findings() == []


def test_a_record_of_a_removal_that_did_not_happen_is_found(era: Era) -> None:
    run = ended(named(fresh_scope(), ids.id_at(ids.RUN, era.now, secrets.randbits(60))))
    era.now += 2 * DAY
    era.purge()
    # As a restored backup would bring it back.
    era.now -= DAY
    named(run.scope, run.id)
    assert any("still there" in finding and run.id in finding for finding in findings())
    with without_triggers():
        execute("DELETE FROM event WHERE chain = %s", run.id)
        execute("DELETE FROM run WHERE id = %s", run.id)
    assert findings() == []


def test_a_younger_run_under_an_id_that_was_purged_is_another_run(era: Era) -> None:
    run = ended(named(fresh_scope(), ids.id_at(ids.RUN, era.now, secrets.randbits(60))))
    era.now += 2 * DAY
    era.purge()
    era.now += timedelta(seconds=1)
    assert named(run.scope, run.id).fresh
    assert findings() == []


def test_a_question_that_is_brought_back_from_a_file_after_its_purge_is_another_question(era: Era) -> None:
    """It keeps the time at which it was asked, long before the purge that removed it."""
    scope, asked_at = fresh_scope(), era.now
    interaction_id = ask(scope)
    era.now += 2 * DAY
    era.purge()
    era.now += timedelta(seconds=1)
    ask(scope, interaction_id=interaction_id, created_at=asked_at)
    assert findings() == []


def named(scope: Scope, run_id: str) -> Run:
    """A run under an id of the client's choice."""
    return runs.create_run(caller(scope), NewRun(scope=scope, request_sha256="0" * 64, id=run_id))


def ended(run: Run) -> Run:
    return runs.finish_run(caller(run.scope), run.scope, run.id, RunState.COMPLETED, output="", error="")


# -- the door ----------------------------------------------------------------------------------------


OPEN = "INSERT INTO purge_window (id, opened_at, closed_by_id) VALUES (1, %s, 0)"


def _instant() -> Any:
    now = clock.now()
    return now if connection.vendor == "postgresql" else now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_a_window_cannot_be_committed() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        execute(OPEN, _instant())
    assert rows("SELECT * FROM purge_window") == []


@pytest.mark.parametrize(("row", "closed_by"), [(2, 0), (1, 1)], ids=["another row", "a record that is there"])
def test_no_other_window_can_be_written(row: int, closed_by: int, era: Era) -> None:
    finished(fresh_scope())
    era.now += 2 * DAY
    era.purge()
    with pytest.raises(IntegrityError), transaction.atomic():
        execute(
            "INSERT INTO purge_window (id, opened_at, closed_by_id) VALUES (%s, %s, %s)", row, _instant(), closed_by
        )
    assert rows("SELECT * FROM purge_window") == []


def test_no_purge_record_can_let_a_window_be_committed() -> None:
    """The window's foreign key would be satisfied by a record 0."""
    columns = "number, at, purged_by, ended_before, count, heads_sha256, previous, hash"
    with pytest.raises(IntegrityError), transaction.atomic():
        execute(f"INSERT INTO purge_record ({columns}) VALUES (0, %s, '', %s, 0, '', 'p', 'h')", *[_instant()] * 2)


@contextmanager
def opened_window() -> Iterator[None]:
    """A window of this connection's own."""
    with transaction.atomic():
        execute(OPEN, _instant())
        yield


INSIDE = {
    "an update": "UPDATE event SET position = position WHERE chain = %s",
    "an insert over an existing row": "INSERT INTO event SELECT * FROM event WHERE chain = %s",
    "a purge record's removal": "DELETE FROM purge_record WHERE hash <> %s",
    "a purge record's head's removal": "DELETE FROM purge_record_head WHERE chain <> %s",
}


@pytest.mark.parametrize("statement", INSIDE.values(), ids=INSIDE.keys())
def test_the_window_opens_to_deletes_of_receipts_and_events_alone(statement: str, era: Era) -> None:
    scope = fresh_scope()
    finished(scope)
    era.now += 2 * DAY
    era.purge()
    run = finished(scope)
    before = everything(scope)
    with pytest.raises(DatabaseError) as refusal, opened_window():
        execute(statement, run.id)
    assert any(words in str(refusal.value) for words in ("insert-only", "UNIQUE", "unique"))
    assert everything(scope) == before


@contextmanager
def somebody_elses_window() -> Iterator[None]:
    """Another connection is in the middle of a purge."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN IMMEDIATE" if other.vendor == "sqlite" else "BEGIN")
            cursor.execute(OPEN, [_instant()])
            cursor.execute("SELECT count(*) FROM purge_window")
            assert cursor.fetchone() == (1,)
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
    finally:
        other.close()


ELSEWHERE = {
    f"{words.split()[0]} {table}": words.format(table=table)
    for table in ("event", "resume_admission", "resume_start_or_expiry", "resume_closure")
    for words in ("DELETE FROM {table} WHERE run_id = %s", "UPDATE {table} SET scope = scope WHERE run_id = %s")
}


@pytest.mark.parametrize("statement", ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_somebody_elses_window_opens_nothing_here(statement: str, engine: str) -> None:
    trouble = make_trouble()
    with at(clock.now() + LATER):
        closures.close_resume(trouble.operator, *trouble.signed())
    run_id = trouble.admission.version.run_id
    before = everything(trouble.scope)
    with somebody_elses_window():
        if engine == "sqlite":
            execute("PRAGMA busy_timeout = 0")
        try:
            # On SQLite whoever purges holds the one write lock; on PostgreSQL the row is not seen.
            with pytest.raises(OperationalError if engine == "sqlite" else IntegrityError):
                execute(statement, run_id)
        finally:
            if engine == "sqlite":
                execute("PRAGMA busy_timeout = 20000")
    assert everything(trouble.scope) == before


# -- rivals, and ends in between ---------------------------------------------------------------------


def test_purges_at_once_remove_everything_once(era: Era) -> None:
    scope = fresh_scope()
    made = [finished(scope).id for _ in range(6)]
    era.now += 2 * DAY
    then = era.now

    def go() -> PurgeReport:
        with clock.use_clock(lambda: then):
            return purge(SYSTEM, DAY, limit=2)

    reports = together([go] * 3)
    assert all(isinstance(report, PurgeReport) for report in reports), reports
    assert there(scope) == 0
    assert all(len(records_about(run_id)) == 1 for run_id in made)
    assert findings() == []


class _Ended(Exception):
    """The process ends here."""


def test_an_end_at_any_point_leaves_whole_batches(era: Era) -> None:
    """Each time at one point further on, until a purge passes them all."""
    scope = fresh_scope()
    made = [finished(scope).id for _ in range(2)]
    ask(scope)
    era.now += 2 * DAY
    for last in range(1, 500):
        left = {row["id"] for row in rows("SELECT id FROM run WHERE scope = %s", [scope.text])}
        for run_id in made:
            assert (run_id in left) == (records_about(run_id) == [])
        assert list(verify_receipts(scope)) == []
        points = 0

        def stop(point: failpoints.Point) -> None:
            nonlocal points
            points += 1
            if points == last:  # noqa: B023
                raise _Ended

        try:
            with failpoints.installed(stop):
                era.purge(limit=1)
        except _Ended:
            continue
        break
    assert last > 20
    assert there(scope) == 0
    assert findings() == []


def test_a_run_in_somebody_elses_hands_is_left_for_another_time(era: Era, engine: str) -> None:
    if engine == "sqlite":
        # Whoever holds a run there holds the whole database: a purge waits its turn.
        return
    scope = fresh_scope()
    held, free = finished(scope), finished(scope)
    era.now += 2 * DAY
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT 1 FROM run WHERE id = %s FOR UPDATE", [held.id])
        era.purge()
        cursor.execute("ROLLBACK")
    other.close()
    assert rows("SELECT id FROM run WHERE scope = %s", [scope.text]) == [{"id": held.id}]
    assert records_about(free.id)
    era.purge()
    assert there(scope) == 0


# -- contracts ---------------------------------------------------------------------------------------

OF_NO_RUN = {"purge_record_head", "checkpoint_head"}
"""What tells of chains and stays."""


def test_every_table_that_tells_of_runs_is_purged() -> None:
    """A table added later must be removed with its run, or be named here."""
    known = {table for table, _ in RUN_TABLES} | set(PAUSE_TABLES) | OF_NO_RUN
    telling = {
        model._meta.db_table
        for model in apps.get_app_config("suspensions").get_models()
        for field in model._meta.concrete_fields
        if field.column in ("run_id", "suspension_id", "chain")
    }
    assert telling <= known
