"""Instants in the store: one reading of the clock per operation, written and compared alike. Source: store.md 1."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import connection

from suspensions.domain.clock import use_clock
from suspensions.domain.errors import CortexError, RunLeaseLost
from suspensions.domain.states import RunState
from suspensions.domain.values import Holder, Reason
from suspensions.models import Event, Run, Suspension
from suspensions.operations import leases, progress, runs, suspensions
from suspensions.operations.transactions import in_transaction
from suspensions.store import closures, expiries, starts
from suspensions.store import suspensions as store
from tests.store import situations, support
from tests.store.rows import one_row, rows
from tests.store.situations import Made, Situation, closing
from tests.store.support import ACTOR, HOUR, MINUTE, TICK, at, claim, instant_of, statements, this_moment
from tests.support.builders import (
    admit,
    caller,
    fresh_scope,
    make_pause,
    make_run,
    new_run,
    new_suspension,
    snapshot,
    take,
)

INSTANTS = [
    datetime(2031, 5, 1, 12, 0, 0, 0, tzinfo=UTC),
    datetime(2031, 5, 1, 12, 0, 0, 1, tzinfo=UTC),
    datetime(2031, 5, 1, 12, 0, 0, 100_000, tzinfo=UTC),
    datetime(2031, 5, 1, 12, 0, 0, 999_999, tzinfo=UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(999, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
]


# -- written and read --------------------------------------------------------------------------------


@pytest.mark.parametrize("instant", INSTANTS, ids=str)
def test_an_instant_comes_back_as_it_is_from_the_store_and_from_the_orm(instant: datetime) -> None:
    pause = make_pause(fresh_scope(), expires_at=instant)
    found = suspensions.get_suspension(caller(pause.scope), pause.scope, pause.run_id)

    assert found.expires_at == instant
    assert found.expires_at.utcoffset() == timedelta(0)
    assert Suspension.objects.get(id=pause.id).expires_at == instant
    assert Suspension.objects.filter(id=pause.id, expires_at=instant).exists()
    assert Suspension.objects.filter(id=pause.id, expires_at__lte=instant).exists()
    assert not Suspension.objects.filter(id=pause.id, expires_at__lt=instant).exists()


@pytest.mark.parametrize("instant", INSTANTS, ids=str)
def test_on_sqlite_an_instant_is_one_text_of_one_width(instant: datetime, engine: str) -> None:
    pause = make_pause(fresh_scope(), expires_at=instant)
    stored = one_row("suspension", id=pause.id)["expires_at"]
    if engine == "sqlite":
        assert stored == instant.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
        assert len(stored) == 27
    else:
        assert stored == instant
    Suspension.objects.filter(id=pause.id).update(expires_at=instant)
    assert one_row("suspension", id=pause.id)["expires_at"] == stored, "the ORM writes what the store writes"


def test_instants_sort_the_same_on_either_engine() -> None:
    scope = fresh_scope()
    made = {make_pause(scope, expires_at=instant).id: instant for instant in INSTANTS}
    found = rows("SELECT id FROM suspension WHERE scope = %s ORDER BY expires_at", [scope.text])
    assert [made[row["id"]] for row in found] == sorted(INSTANTS)


def test_an_instant_of_another_zone_is_the_same_instant() -> None:
    there = datetime(2031, 5, 1, 12, 0, tzinfo=timezone(timedelta(hours=14)))
    pause = make_pause(fresh_scope(), expires_at=there)
    found = suspensions.get_suspension(caller(pause.scope), pause.scope, pause.run_id)
    assert found.expires_at == there
    assert found.digest == pause.digest


# -- deadlines split every pause ---------------------------------------------------------------------


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 2])
def test_claim_and_sweep_never_both_and_never_neither(offset: int) -> None:
    deadline = this_moment() - HOUR
    pause = make_pause(fresh_scope(), expires_at=deadline)
    with at(deadline + offset * TICK) as now:
        taken = []
        for expired_by in (None, now):
            try:
                taken.append(claim(pause.scope, pause.run_id, expired_by=expired_by).id)
            except CortexError:
                continue
    assert taken == [pause.id]
    assert one_row("run", id=pause.run_id)["revision"] == 3


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 2])
def test_start_and_expiry_never_both_and_never_neither(offset: int) -> None:
    made = situations.overdue(fresh_scope())
    assert made.admission is not None and made.admission.start_by is not None
    resume = (made.scope, made.run_id, made.version.suspension_id, made.admission.request_digest)
    acts: dict[str, Callable[..., Any]] = {"start": starts.start_resume, "expire": expiries.expire_resume_admission}
    done = []
    with at(made.admission.start_by + offset * TICK):
        for name, act in acts.items():
            try:
                in_transaction(act, *resume, ACTOR)
            except CortexError:
                continue
            done.append(name)
    assert done == (["start"] if offset < 0 else ["expire"])


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 2])
def test_a_lease_binds_or_has_lapsed_and_never_both(offset: int) -> None:
    scope, now = fresh_scope(), this_moment()
    with at(now):
        run = make_run(scope, lease=take(seconds=60))
    with at(now + MINUTE + offset * TICK):
        try:
            leases.reclaim_lease(caller(scope), scope, run.id, take("worker-2"))
            taken = True
        except RunLeaseLost:
            taken = False
    assert taken == (offset >= 0)


# -- one reading -------------------------------------------------------------------------------------


class Readings:
    """A clock that runs on with every reading, and remembers what had been sent to the database by then."""

    def __init__(self, begin: datetime) -> None:
        self.begin = begin
        self.sent: list[list[str]] = []

    def __call__(self) -> datetime:
        self.sent.append([query["sql"] for query in connection.queries_log])
        return self.begin + len(self.sent) * TICK


def _holder(made: Made) -> Holder:
    assert made.holder is not None
    return made.holder


def _resume(made: Made) -> tuple[Any, str, str, str]:
    assert made.admission is not None
    return made.scope, made.run_id, made.version.suspension_id, made.admission.request_digest


WRITES: dict[str, tuple[Situation, Callable[[Made], Any]]] = {
    "create": (situations.running, lambda made: runs.create_run(caller(made.scope), new_run(made.scope, lease=take()))),
    "pause": (
        situations.running,
        lambda made: suspensions.create_suspension(caller(made.scope), new_suspension(made.scope, made.run_id)),
    ),
    "claim": (
        situations.paused,
        lambda made: claim(made.scope, made.run_id, lease=take(), first=snapshot(made.run_id)),
    ),
    "claim expired": (
        situations.paused_past_its_deadline,
        lambda made: claim(made.scope, made.run_id, expired_by=this_moment() - MINUTE / 2),
    ),
    "claim continuation": (
        situations.incomplete,
        lambda made: leases.claim_continuation(caller(made.scope), made.scope, made.run_id, take()),
    ),
    "delete": (
        situations.claimed,
        lambda made: suspensions.delete_suspension(caller(made.scope), made.scope, made.run_id),
    ),
    "renew": (
        situations.leased,
        lambda made: leases.renew_lease(caller(made.scope), made.scope, made.run_id, _holder(made), take(seconds=1800)),
    ),
    "release": (
        situations.leased,
        lambda made: leases.release_lease(caller(made.scope), made.scope, made.run_id, _holder(made)),
    ),
    "reclaim": (
        situations.lapsed,
        lambda made: leases.reclaim_lease(caller(made.scope), made.scope, made.run_id, take("worker-2")),
    ),
    "save": (
        situations.leased,
        lambda made: progress.save_progress(caller(made.scope), made.scope, snapshot(made.run_id), _holder(made)),
    ),
    "finish": (
        situations.claimed,
        lambda made: runs.finish_run(caller(made.scope), made.scope, made.run_id, RunState.COMPLETED),
    ),
    "cancel": (situations.paused, lambda made: runs.cancel_run(caller(made.scope), made.scope, made.run_id, "stop")),
    "admit": (
        lambda scope: situations.paused(scope, Reason.AGENT_REPLY),
        lambda made: admit(made.pause, lease=take()) if made.pause else None,
    ),
    "start": (
        situations.admitted,
        lambda made: in_transaction(starts.start_resume, *_resume(made), ACTOR, lease=take()),
    ),
    "expire": (
        situations.overdue,
        lambda made: in_transaction(expiries.expire_resume_admission, *_resume(made), ACTOR),
    ),
    "close": (
        situations.started_and_lapsed,
        lambda made: in_transaction(closures.close_resume, closing(made), b"proof", ACTOR),
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_an_operation_reads_the_clock_once_and_after_its_lock(name: str, engine: str) -> None:
    situation, act = WRITES[name]
    made = situation(fresh_scope())
    clock = Readings(this_moment())

    with statements() as sent, use_clock(clock):
        act(made)

    assert len(clock.sent) == 1
    before = clock.sent[0]
    if name == "create":
        return  # there is no row yet that could be locked
    if engine == "postgresql":
        assert any("FOR UPDATE" in query for query in before)
    else:
        assert any(query.startswith("BEGIN IMMEDIATE") for query in before)
    assert not any(query.startswith(("UPDATE", "INSERT", "WITH")) for query in before)
    assert len(sent) > len(before)


@pytest.mark.parametrize("name", [name for name in WRITES if name != "create"])
def test_everything_that_an_operation_writes_bears_one_instant(name: str) -> None:
    situation, act = WRITES[name]
    made = situation(fresh_scope())
    events = Event.objects.filter(run_id=made.run_id).count()

    with at(this_moment() + TICK) as now:
        act(made)

    row = Run.objects.get(id=made.run_id)
    if name != "delete":
        assert row.updated_at == now
    for event in Event.objects.filter(run_id=made.run_id).order_by("position")[events:]:
        assert event.at == now
    for pause in rows("SELECT * FROM suspension WHERE run_id = %s AND updated_at = %s", [made.run_id, now]):
        times = [instant_of(pause[column]) for column in ("created_at", "claimed_at", "retired_at")]
        assert now in times


def test_listing_reads_the_clock_once() -> None:
    clock = Readings(this_moment())
    with use_clock(clock):
        store.list_expired(fresh_scope(), support.ANCIENT, 5)
    assert len(clock.sent) == 1
