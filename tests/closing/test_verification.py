"""A changed, removed, reordered or invented row is found and named, also when the triggers were dropped first."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from suspensions.domain import clock
from suspensions.domain.errors import CortexError, ResumeAdmissionConflict
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import NewInteraction, Reason
from suspensions.models.triggers import INSERT_ONLY, install_triggers
from suspensions.operations import closures, interactions, leases, receipts, resumes, runs
from suspensions.operations.verification import verify_receipts
from tests.closing.test_proof import LATER, make_trouble
from tests.support.builders import admit, at, caller, fresh_scope, holder_of, make_pause, make_run, start, take


def execute(statement: str, *parameters: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)


@contextmanager
def without_triggers() -> Iterator[None]:
    """As somebody who owns the database would: the triggers are dropped, and put back afterwards."""
    for table in INSERT_ONLY:
        if connection.vendor == "postgresql":
            execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        else:
            for kind in ("update", "delete", "insert"):
                execute(f"DROP TRIGGER IF EXISTS {table}_insert_only_{kind}")
    try:
        yield
    finally:
        if connection.vendor == "postgresql":
            for table in INSERT_ONLY:
                execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        install_triggers(connection)


@pytest.fixture
def history() -> Scope:
    """A scope with one run of each kind of end, and an interaction of each kind."""
    scope = fresh_scope(2)
    finished = start(admit(make_pause(scope)), lease=take())
    run = finished.claimed_run
    assert run is not None
    runs.finish_run(caller(scope), scope, run.id, RunState.COMPLETED, output="done", holder=holder_of(run))
    runs.cancel_run(caller(scope), scope, make_pause(scope).run_id, "not wanted")
    released = make_run(scope, lease=take("w", 5))
    leases.release_lease(caller(scope), scope, released.id, holder_of(released))
    leases.reclaim_lease(caller(scope), scope, released.id, take("w2", 5))
    late = admit(make_pause(scope, Reason.EXTERNAL_TOOL, expires_at=clock.now() + timedelta(minutes=1)))
    with at(clock.now() + timedelta(hours=1)):
        version = late.version
        resumes.expire_resume(caller(scope), scope, version.run_id, version.suspension_id, late.request_digest)
    assistant = b'{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"ask","input":{}}]}'
    for run_id in (None, make_run(scope).id):
        question = NewInteraction(scope, f"q-{run_id}", "t1", assistant, run_id=run_id)
        interactions.save_interaction(caller(scope), question, "0" * 64)
    return scope


def findings(scope: Scope) -> list[str]:
    return [f"{finding.kind}: {finding.detail}" for finding in verify_receipts(scope)]


def test_what_the_product_wrote_is_whole(history: Scope) -> None:
    assert findings(history) == []


def test_a_closed_resume_is_whole_and_its_changed_proof_is_found() -> None:
    trouble = make_trouble()
    with at(clock.now() + LATER):
        closures.close_resume(trouble.operator, *trouble.signed())
    assert findings(trouble.scope) == []
    with without_triggers():
        execute("UPDATE resume_closure SET proof = %s WHERE scope = %s", b"other", trouble.scope.text)
    assert [finding.split(":")[0] for finding in findings(trouble.scope)] == ["closure"]


CHANGES = {
    "an admission's person": 'UPDATE resume_admission SET admitted_by = \'{"principal":"eve","via":"session"}\'',
    "an admission's input": "UPDATE resume_admission SET input = input || input",
    "an admission's lease owner": "UPDATE resume_admission SET lease_owner = 'eve'",
    "an admission's digest": "UPDATE resume_admission SET request_digest = suspension_digest",
    "a start's request id": "UPDATE resume_start_or_expiry SET request_id = 'eve' WHERE kind = 'start'",
    "a start's actor": 'UPDATE resume_start_or_expiry SET actor = \'{"principal":"eve","via":"session"}\'',
    "an expiry's revision": "UPDATE resume_start_or_expiry SET expired_revision = 99 WHERE kind = 'expiry'",
    "an event's actor": 'UPDATE event SET actor = \'{"principal":"eve","via":"session"}\' WHERE position = 1',
    "an event's type": "UPDATE event SET type = 'run.claimed' WHERE type = 'run.cancelled'",
    "an event's hash": "UPDATE event SET hash = record_sha256 WHERE record_sha256 IS NOT NULL",
    "a removed event": "DELETE FROM event WHERE type = 'run.cancelled'",
    "a removed event in the middle": "DELETE FROM event WHERE type = 'run.paused'",
    "a removed admission": "DELETE FROM resume_admission",
    "a removed start": "DELETE FROM resume_start_or_expiry WHERE kind = 'start'",
    "a run's state": "UPDATE run SET state = 'failed' WHERE state = 'completed'",
    "a run's revision": "UPDATE run SET revision = 99 WHERE state = 'completed'",
    "a pause's arguments": "UPDATE suspension SET pending = calls WHERE claimed_at IS NOT NULL",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_changed_or_removed_row_is_found(change: str, history: Scope) -> None:
    joint = " AND " if " WHERE " in change else " WHERE "
    with without_triggers():
        assert execute(f"{change}{joint}scope = %s", history.text) >= 1
    assert findings(history)


def test_an_unreadable_event_is_named(history: Scope) -> None:
    with without_triggers():
        execute("UPDATE event SET data = %s WHERE scope = %s AND position = 1", b"{", history.text)
    assert any(finding.startswith("event: cannot be read") for finding in findings(history))


def test_swapped_events_are_found(history: Scope) -> None:
    run_id = "(SELECT run_id FROM resume_admission WHERE scope = %s LIMIT 1)"
    with without_triggers():
        for old, new in ((2, -2), (3, 2), (-2, 3)):
            execute(f"UPDATE event SET position = %s WHERE position = %s AND run_id = {run_id}", new, old, history.text)
    assert findings(history)


def test_an_invented_event_at_the_end_is_found(history: Scope) -> None:
    columns = "scope, scope_1, scope_2, scope_3, run_id, chain, type, at, actor, revision, data, previous, hash"
    with without_triggers():
        execute(
            f"INSERT INTO event (id, position, {columns}) SELECT 'evt_invented-' || run_id, position + 1, {columns}"
            " FROM event WHERE type = 'run.cancelled' AND scope = %s",
            history.text,
        )
    assert findings(history)


def test_an_interactions_changed_event_is_found(history: Scope) -> None:
    with without_triggers():
        execute("UPDATE event SET previous = hash WHERE run_id IS NULL AND scope = %s", history.text)
    assert findings(history)


def test_the_command_names_the_row_and_exits_with_one(history: Scope) -> None:
    out = io.StringIO()
    call_command("verify_receipts", scope=history.text, stdout=out)
    assert "whole" in out.getvalue()
    with without_triggers():
        execute("UPDATE resume_admission SET lease_owner = 'eve' WHERE scope = %s", history.text)
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("verify_receipts", scope=history.text, stdout=out, stderr=io.StringIO())
    assert ended.value.code == 1
    assert "admission sus_" in out.getvalue()


def test_a_pause_that_goes_on_meanwhile_is_no_finding() -> None:
    """The first look may fall between two commits; the second, under the lock, does not."""
    scope = fresh_scope()
    pause = make_pause(scope)
    with pytest.raises(CortexError):
        make_pause(scope, run=pause.run)
    assert findings(scope) == []


def test_an_input_that_was_changed_since_its_admission_is_not_started() -> None:
    scope = fresh_scope()
    admission = admit(make_pause(scope, Reason.AGENT_REPLY))
    with without_triggers():
        execute("UPDATE resume_admission SET input = %s WHERE scope = %s", b"{}", scope.text)
    with pytest.raises(ResumeAdmissionConflict):
        start(admission)


# What parses and yet cannot be hashed: numbers that no canonical JSON carries, an instant without a zone.
UNHASHABLE = {
    "an event's revision": ("event", "revision", 1 << 60),
    "an event's position": ("event", "position", 1 << 60),
    "an event's data": ("event", "data", b'{"calls":123456789012345678901234567890}'),
    "an event's data as a list": ("event", "data", b"[1]"),
    "an event's actor": ("event", "actor", '{"principal":123456789012345678901234567890,"via":"session"}'),
    "a start's epoch": ("resume_start_or_expiry", "lease_epoch", 1 << 60),
    "a start's actor": ("resume_start_or_expiry", "actor", '{"principal":1e300,"via":9007199254740993}'),
    "an admission's epoch": ("resume_admission", "lease_epoch", 1 << 60),
    "a pause's person": ("suspension", "created_by", '{"principal":"eve"}'),
}


@pytest.mark.parametrize(("table", "column", "value"), UNHASHABLE.values(), ids=UNHASHABLE.keys())
def test_a_row_that_cannot_be_hashed_is_named_and_hides_nothing_behind_it(table: str, column: str, value: Any) -> None:
    """One such row must not end the verification of every run behind it, nor keep a purge from going on."""
    scope = fresh_scope()
    admission = start(admit(make_pause(scope)))
    behind = start(admit(make_pause(scope)))
    words = " AND type = 'run.paused'" if table == "event" else ""
    with without_triggers():
        execute(f"UPDATE {table} SET {column} = %s WHERE run_id = %s{words}", value, admission.version.run_id)
        execute("UPDATE resume_admission SET lease_owner = 'eve' WHERE run_id = %s", behind.version.run_id)
    named = {finding.chain for finding in verify_receipts(scope)}
    assert named == {admission.version.run_id, behind.version.run_id}
    for kind in ("admission", "start"):
        version = admission.version
        checks = receipts.verify_receipt(caller(scope), scope, kind, version.run_id, version.suspension_id)
        assert all(check.detail for check in checks)
