"""Events: one for every transition and receipt, in its commit, in an unbroken chain. Source: store.md section 10."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.db import DatabaseError
from pytest_django.fixtures import Settings

from suspensions.domain import ids
from suspensions.domain.clock import use_clock
from suspensions.domain.errors import CortexError
from suspensions.domain.policy import Caller
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Holder, Reason
from suspensions.models.fields import from_database
from suspensions.operations import leases, progress, resumes, runs, suspensions
from tests.store.rows import (
    chain,
    event_json,
    event_types,
    execute,
    hashed,
    insert_row,
    one_row,
    rows,
    run_chain,
    text_of,
)
from tests.store.scenarios import OPERATIONS, STARTED
from tests.store.support import Clock, unchanged
from tests.support import closing
from tests.support.builders import (
    admit,
    approve_all,
    caller,
    fresh_scope,
    make_pause,
    make_run,
    new_run,
    new_suspension,
    snapshot,
    start,
    take,
    version_of,
)


@pytest.fixture
def scope() -> Scope:
    return fresh_scope()


@pytest.fixture(autouse=True)
def _let_closures_through(settings: Settings) -> None:
    settings.CLOSURE_AUTHORIZER = closing.PERMISSIVE_AUTHORIZER
    settings.CLOSURE_FENCE = closing.PERMISSIVE_FENCE


def data_of(event: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(bytes(event["data"]))
    return found


# -- one event for each ----------------------------------------------------------------------------


@pytest.mark.parametrize("what", OPERATIONS)
def test_every_transition_and_receipt_has_one_event_with_the_revision_it_led_to(
    what: str, scope: Scope, time: Clock
) -> None:
    prepare, types, revisions = OPERATIONS[what]
    ready = prepare(scope, time)
    ready.act()
    events = run_chain(ready.run_id)
    assert [event["type"] for event in events] == types
    assert [event["revision"] for event in events] == revisions
    assert one_row("run", id=ready.run_id)["revision"] == revisions[-1]
    assert {event["run_id"] for event in events} == {event["chain"] for event in events} == {ready.run_id}
    assert {event["scope"] for event in events} == {scope.text}
    with_receipt = {event["type"] for event in events if event["record_sha256"] is not None}
    assert with_receipt == {kind for kind in types if kind.startswith("resume.")}


@pytest.mark.parametrize("what", OPERATIONS)
def test_a_repeat_tells_nothing_anew(what: str, scope: Scope, time: Clock) -> None:
    ready = OPERATIONS[what][0](scope, time)
    ready.act()
    with unchanged(scope), suppress(CortexError):
        ready.act()


def test_renewals_progress_and_a_deleted_pause_tell_nothing(scope: Scope, time: Clock) -> None:
    run = make_run(scope, lease=take())
    by, holder = caller(scope), Holder("worker-1", 1)
    leases.renew_lease(by, scope, run.id, holder, take(seconds=600))
    progress.save_progress(by, scope, snapshot(run.id), holder)
    progress.delete_progress(by, scope, run.id, holder)
    assert event_types(run.id) == ["run.created"]
    started = start(admit(make_pause(scope, Reason.AGENT_REPLY)))
    suspensions.delete_suspension(by, scope, started.version.run_id)
    assert event_types(started.version.run_id) == STARTED


def test_an_event_names_its_actor_its_pause_and_its_instant(scope: Scope, time: Clock) -> None:
    pause = make_pause(scope)
    time.tick(5)
    kim = caller(scope, principal="kim", via="session")
    admission = resumes.decide(kim, scope, pause.id, version_of(pause).run_revision, approve_all(pause))
    event = run_chain(pause.run_id)[-1]
    assert json.loads(event["actor"]) == {"principal": "kim", "via": "session"}
    assert event["suspension_id"] == pause.id
    assert from_database(event["at"]) == time.now
    assert event["id"] == admission.event_id
    assert data_of(event)["request_digest"] == admission.request_digest


def test_who_made_a_run_and_a_pause_stands_in_the_row_in_the_form_of_an_actor(scope: Scope) -> None:
    by = caller(scope, principal="care-desk", via="token:night")
    run = runs.create_run(by, new_run(scope))
    pause = suspensions.create_suspension(by, new_suspension(scope, run.id))
    actor = {"principal": "care-desk", "via": "token:night"}
    assert json.loads(one_row("run", id=run.id)["created_by"]) == actor
    assert json.loads(one_row("suspension", id=pause.id)["created_by"]) == actor
    assert [json.loads(event["actor"]) for event in run_chain(run.id)] == [actor, actor]


def test_what_the_system_does_is_told_as_such(scope: Scope, time: Clock) -> None:
    ready = OPERATIONS["a sweep"][0](scope, time)
    ready.act()
    last = [json.loads(event["actor"]) for event in run_chain(ready.run_id)[-2:]]
    assert last == [{"principal": "system", "via": "system"}] * 2


# -- one commit, one instant -----------------------------------------------------------------------


@pytest.mark.parametrize("what", OPERATIONS)
def test_an_operation_whose_event_cannot_be_written_does_not_happen(what: str, scope: Scope, time: Clock) -> None:
    """Somebody put an event in the place of its last one: nothing that it would tell of is there either."""
    prepare, types, _ = OPERATIONS[what]
    ready = prepare(scope, time)
    other = rows("SELECT * FROM event WHERE chain = %s", [make_run(scope).id])[0]
    insert_row("event", other, id=ids.new_id(ids.EVENT), chain=ready.run_id, position=len(types))
    with unchanged(scope):
        if what == "a sweep":
            ready.act()  # one row's trouble is logged, and stops nobody
        else:
            with pytest.raises(DatabaseError):
                ready.act()


@pytest.mark.parametrize("what", OPERATIONS)
def test_one_commit_happens_at_one_instant(what: str, scope: Scope, time: Clock) -> None:
    """Under a clock that moves with every look, all that one commit wrote bears one instant all the same."""
    ready = OPERATIONS[what][0](scope, time)
    first_new = len(chain(ready.run_id)) if rows("SELECT 1 FROM run WHERE id = %s", [ready.run_id]) else 0
    before = _instants(ready.run_id)
    with use_clock(lambda: time.tick(0.001)):
        ready.act()
    written = _instants(ready.run_id) - before
    written |= {("event", str(text_of(event["at"]))) for event in run_chain(ready.run_id)[first_new:]}
    assert len({at for _, at in written}) == 1, sorted(written)


_INSTANTS = {
    "run": ("id", ("created_at", "updated_at", "completed_at", "admitted_at")),
    "suspension": ("run_id", ("created_at", "updated_at", "claimed_at", "retired_at")),
    "resume_admission": ("run_id", ("admitted_at",)),
    "resume_start_or_expiry": ("run_id", ("at",)),
    "resume_closure": ("run_id", ("closed_at",)),
    "progress": ("run_id", ("updated_at",)),
    "interaction": ("run_id", ("created_at", "answered_at", "resolved_at")),
}


def _instants(run_id: str) -> set[tuple[str, str]]:
    """Every instant at which the run's rows say that something happened."""
    return {
        (f"{table}.{column}", at)
        for table, (key, columns) in _INSTANTS.items()
        for row in rows(f"SELECT * FROM {table} WHERE {key} = %s", [run_id])
        for column in columns
        if (at := text_of(row[column])) is not None
    }


# -- the chain -------------------------------------------------------------------------------------


def test_a_long_life_is_one_unbroken_chain(scope: Scope, time: Clock) -> None:
    run = make_run(scope, lease=take())
    by = caller(scope)
    holder = Holder("worker-1", 1)
    for _ in range(4):
        new = new_suspension(scope, run.id, Reason.AGENT_REPLY, holder=holder)
        pause = suspensions.create_suspension(by, new)
        started = start(admit(pause), lease=take())
        assert started.lease_epoch is not None
        holder = Holder("worker-1", started.lease_epoch)
    leases.release_lease(by, scope, run.id, holder)
    runs.finish_run(by, scope, run.id, RunState.FAILED)
    events = run_chain(run.id)
    assert len(events) == 1 + 4 * 3 + 2
    assert [event["position"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["previous"] is None
    assert len({event["hash"] for event in events}) == len(events)


def test_chains_of_two_runs_do_not_touch(scope: Scope) -> None:
    first, second = make_run(scope), make_run(scope)
    runs.finish_run(caller(scope), scope, second.id, RunState.COMPLETED)
    assert event_types(first.id) == ["run.created"]
    assert event_types(second.id) == ["run.created", "run.finished"]


@pytest.mark.parametrize(
    "member",
    [
        "id",
        "run_id",
        "scope",
        "type",
        "at",
        "actor",
        "revision",
        "suspension_id",
        "data",
        "position",
        "previous",
        "record_sha256",
    ],
)
def test_each_member_of_an_event_is_bound_by_its_hash(member: str, scope: Scope, time: Clock) -> None:
    ready = OPERATIONS["an admission"][0](scope, time)
    ready.act()
    event = event_json(run_chain(ready.run_id)[-1])
    changed: Any = {
        "actor": {"principal": "mallory", "via": "session"},
        "data": {**event["data"], "request_digest": "0" * 64},
        "revision": 99,
        "position": 99,
    }.get(member, f"{event[member]}x")
    assert hashed("cortex/event/v1", {**event, member: changed}) != hashed("cortex/event/v1", event)


def test_events_are_insert_only(scope: Scope, time: Clock) -> None:
    run = make_run(scope)
    event = run_chain(run.id)[0]
    for statement in (
        "UPDATE event SET type = 'run.finished' WHERE id = %s",
        "DELETE FROM event WHERE id = %s",
    ):
        with unchanged(scope), pytest.raises(DatabaseError):
            execute(statement, [event["id"]])
    with unchanged(scope), pytest.raises(DatabaseError):
        insert_row("event", event, position=2)
    with unchanged(scope), pytest.raises(DatabaseError):
        insert_row("event", event, id=ids.new_id(ids.EVENT))
    with unchanged(scope), pytest.raises(DatabaseError):
        insert_row("event", event, id=ids.new_id(ids.EVENT), position=2, type="run.invented")


def test_a_refused_operation_tells_nothing(scope: Scope, time: Clock) -> None:
    run = make_run(scope, lease=take())
    stranger: Caller = caller(scope)
    attempts: list[Callable[[], object]] = [
        lambda: runs.finish_run(stranger, scope, run.id, RunState.COMPLETED),
        lambda: runs.cancel_run(stranger, scope, run.id, "x"),
        lambda: leases.reclaim_lease(stranger, scope, run.id, take("other")),
        lambda: leases.release_lease(stranger, scope, run.id, Holder("other", 1)),
        lambda: suspensions.create_suspension(stranger, new_suspension(scope, run.id)),
    ]
    for attempt in attempts:
        with unchanged(scope), pytest.raises(CortexError):
            attempt()
    assert event_types(run.id) == ["run.created"]
