"""The sweep: what time has decided is written down, once, whoever sweeps.

A sweep crosses all scopes, so these tests look at their own runs and never at the counts of a whole sweep, except
where they only ask for "at least".
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from suspensions.domain.clock import use_clock
from suspensions.domain.errors import ResumeAlreadyStarted, SuspensionExpired
from suspensions.domain.run_history import result_sha256
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Ending, Reason, Run, Suspension
from suspensions.operations import leases, progress, resumes, runs, suspensions
from suspensions.operations.sweep import Sweeper, SweepReport, sweep_once
from suspensions.operations.transactions import in_transaction
from suspensions.store import run_rows
from tests.support import builders
from tests.support.crowd import Crowd, analyse, load, load_history
from tests.support.engine import reset_database
from tests.support.threads import together

TICK = timedelta(microseconds=1)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


@dataclass
class Hands:
    """The hands of a clock that stands still until a test moves it."""

    instant: datetime

    def move(self, by: timedelta) -> None:
        self.instant += by


@pytest.fixture
def clock() -> Iterator[Hands]:
    hands = Hands(builders.now())
    with use_clock(lambda: hands.instant):
        yield hands


@pytest.fixture
def scope() -> Scope:
    return builders.fresh_scope(3)


def rows(statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def execute(statement: str, *parameters: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def read(run: Run | Suspension) -> Run:
    run_id = run.run_id if isinstance(run, Suspension) else run.id
    return in_transaction(lambda: run_rows.to_run(run_rows.require_run(run_id, run.scope)))


def state_of(pause: Suspension) -> str:
    """Read without a lock."""
    return str(rows("SELECT state FROM run WHERE id = %s", pause.run_id)[0][0])


def told(run_id: str) -> list[str]:
    """The types of a run's events, in order."""
    return [row[0] for row in rows("SELECT type FROM event WHERE run_id = %s ORDER BY position", run_id)]


def last_event(run_id: str) -> tuple[str, dict[str, str], dict[str, Any]]:
    kind, actor, data = rows(
        "SELECT type, actor, data FROM event WHERE run_id = %s ORDER BY position DESC LIMIT 1", run_id
    )[0]
    return kind, json.loads(actor), json.loads(bytes(data))


def expired_pause(scope: Scope, reason: Reason = Reason.APPROVAL, ago: timedelta = SECOND) -> Suspension:
    return builders.make_pause(scope, reason, expires_at=builders.now() - ago)


# -- expired pauses ----------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", Reason)
def test_an_expired_pause_is_claimed_and_its_run_fails(scope: Scope, reason: Reason) -> None:
    pause = expired_pause(scope, reason)
    assert pause.run is not None

    report = sweep_once(100)

    run = read(pause)
    assert report.expired_pauses >= 1
    assert (run.state, run.revision) == ("failed", pause.run.revision + 2)
    assert run.error == "The pause's deadline passed and nobody had answered it. Nothing was run."
    assert run.completed_at is not None and run.scope == scope
    assert told(run.id) == ["run.created", "run.paused", "run.claimed", "run.expired"]
    kind, actor, data = last_event(run.id)
    assert (kind, actor) == ("run.expired", {"principal": "system", "via": "system"})
    assert data == {"reason": run.error, "result_sha256": result_sha256(b"", run.error.encode())}
    kept = suspensions.read_suspension(builders.caller(scope), scope, pause.id)
    assert kept.claimed_at is not None
    assert kept.claimed_at == kept.retired_at == run.completed_at


def test_the_claim_names_the_instant_of_the_sweep(clock: Hands, scope: Scope) -> None:
    first, second = (builders.make_pause(scope, expires_at=clock.instant + SECOND) for _ in range(2))
    clock.move(MINUTE)

    sweep_once(1)

    claims = rows(
        "SELECT data FROM event WHERE type = 'run.claimed' AND run_id IN (%s, %s)", first.run_id, second.run_id
    )
    named = [json.loads(bytes(data))["expired_by"] for (data,) in claims]
    assert len(named) == 2
    assert len(set(named)) == 1


def test_a_pause_without_a_deadline_or_with_one_ahead_is_left_alone(clock: Hands, scope: Scope) -> None:
    endless = builders.make_pause(scope)
    ahead = builders.make_pause(scope, expires_at=clock.instant + TICK)

    sweep_once(100)

    assert read(endless).state == read(ahead).state == "paused"


def test_the_deadline_exactly_at_the_instant_goes_to_the_sweep_and_not_to_the_answer(
    clock: Hands, scope: Scope
) -> None:
    pause = builders.make_pause(scope, expires_at=clock.instant + SECOND)

    clock.move(SECOND - TICK)
    sweep_once(100)
    assert read(pause).state == "paused"

    clock.move(TICK)
    with pytest.raises(SuspensionExpired):
        builders.admit(pause)
    sweep_once(100)
    assert read(pause).state == "failed"


def test_an_answer_one_tick_before_the_deadline_keeps_the_run(clock: Hands, scope: Scope) -> None:
    pause = builders.make_pause(scope, expires_at=clock.instant + SECOND)
    clock.move(SECOND - TICK)
    builders.admit(pause)
    clock.move(TICK)

    sweep_once(100)

    assert read(pause).state == "running"


def test_a_claimed_pause_is_not_expired_again(scope: Scope) -> None:
    pause = builders.make_pause(scope, Reason.EXTERNAL_TOOL, expires_at=builders.now() + HOUR)
    suspensions.claim_suspension(builders.caller(scope), scope, pause.run_id)

    later = builders.now() + 2 * HOUR
    with use_clock(lambda: later):
        sweep_once(100)

    assert read(pause).state == "running"


def test_a_second_sweep_finds_nothing_of_the_first(scope: Scope) -> None:
    pause = expired_pause(scope)
    sweep_once(100)
    before = (read(pause), told(pause.run_id))

    sweep_once(100)

    assert (read(pause), told(pause.run_id)) == before


def test_a_small_batch_is_followed_by_the_next(scope: Scope) -> None:
    pauses = [expired_pause(scope, ago=SECOND * (index // 2 + 1)) for index in range(5)]

    sweep_once(2)

    assert [read(pause).state for pause in pauses] == ["failed"] * 5


def test_every_scope_is_swept_under_its_own(scope: Scope) -> None:
    pauses = [expired_pause(builders.fresh_scope(levels)) for levels in (1, 2, 3)]

    sweep_once(100)

    scopes = [rows("SELECT DISTINCT scope FROM event WHERE run_id = %s", pause.run_id) for pause in pauses]
    assert scopes == [[(pause.scope.text,)] for pause in pauses]


# -- admitted, never started ---------------------------------------------------------------------------


def admitted(clock: Hands, scope: Scope) -> Suspension:
    """A pause that was answered; the clock stands at the last instant at which the resume may be started, less one."""
    pause = builders.make_pause(scope, expires_at=clock.instant + HOUR)
    builders.admit(pause)
    clock.move(HOUR - TICK)
    return pause


def test_an_answer_that_no_worker_picked_up_expires_exactly_at_its_time(clock: Hands, scope: Scope) -> None:
    pause = admitted(clock, scope)
    sweep_once(100)
    assert read(pause).state == "running"
    clock.move(TICK)

    report = sweep_once(100)

    assert report.expired_resumes >= 1
    expiry = resumes.get_expiry(builders.caller(scope), scope, pause.run_id, pause.id)
    assert expiry.expired_by.to_json() == {"principal": "system", "via": "system"}
    assert (read(pause).state, last_event(pause.run_id)[0]) == ("failed", "resume.expired")


def test_a_started_resume_is_nobodys_to_expire(clock: Hands, scope: Scope) -> None:
    pause = builders.make_pause(scope, expires_at=clock.instant + HOUR)
    builders.start(builders.admit(pause))
    clock.move(2 * HOUR)

    sweep_once(100)

    assert read(pause).state == "running"


def test_an_answer_without_an_end_waits_for_ever(clock: Hands, scope: Scope) -> None:
    pause = builders.make_pause(scope)
    builders.admit(pause)
    clock.move(timedelta(days=400))

    sweep_once(100)

    assert read(pause).state == "running"


# -- endings that a worker recorded and did not write ------------------------------------------------


def leased_run_with_ending(scope: Scope, ending: Ending | None) -> Run:
    """A run whose worker saved its progress with an ending, under a lease of a minute."""
    run = builders.make_run(scope, lease=builders.take(seconds=60))
    saved = builders.snapshot(run.id, ending=ending)
    progress.save_progress(builders.caller(scope), scope, saved, builders.holder_of(run))
    return run


@pytest.mark.parametrize(
    ("ending", "state", "error", "event"),
    [
        (Ending("cancel", "not needed"), "cancelled", "not needed", "run.cancelled"),
        (Ending("cancel"), "cancelled", "", "run.cancelled"),
        (Ending("expire", "too late"), "failed", "too late", "run.expired"),
        (
            Ending("expire"),
            "failed",
            "The pause's deadline passed and nobody had answered it. Nothing was run.",
            "run.expired",
        ),
    ],
)
def test_a_recorded_ending_is_written_once_the_lease_lapsed(
    clock: Hands, scope: Scope, ending: Ending, state: str, error: str, event: str
) -> None:
    run = leased_run_with_ending(scope, ending)
    clock.move(MINUTE - TICK)
    sweep_once(100)
    assert read(run).state == "running"
    clock.move(TICK)

    report = sweep_once(100)

    assert report.finished_endings >= 1
    ended = read(run)
    assert (ended.state, ended.error, ended.lease) == (state, error, None)
    kind, actor, _ = last_event(run.id)
    assert (kind, actor["via"]) == (event, "system")


def test_a_recorded_ending_is_written_once_the_lease_was_given_up(scope: Scope) -> None:
    run = leased_run_with_ending(scope, Ending("cancel", "enough"))
    leases.release_lease(builders.caller(scope), scope, run.id, builders.holder_of(run))

    sweep_once(100)

    assert read(run).state == "cancelled"


def test_progress_without_an_ending_is_not_an_end(clock: Hands, scope: Scope) -> None:
    run = leased_run_with_ending(scope, None)
    clock.move(HOUR)

    sweep_once(100)

    assert read(run).state == "running"


def test_an_ending_from_before_the_last_pause_is_not_an_end(clock: Hands, scope: Scope) -> None:
    run = leased_run_with_ending(scope, Ending("cancel", "earlier"))
    pause = builders.make_pause(scope, Reason.EXTERNAL_TOOL, run=run)
    suspensions.claim_suspension(builders.caller(scope), scope, run.id, lease=builders.take(seconds=60))
    clock.move(HOUR)

    sweep_once(100)

    assert read(pause).state == "running"


def test_the_worker_that_comes_back_late_finds_its_own_cancellation(clock: Hands, scope: Scope) -> None:
    run = leased_run_with_ending(scope, Ending("cancel", "enough"))
    clock.move(HOUR)
    sweep_once(100)
    ended = read(run)

    again = runs.cancel_run(builders.caller(scope), scope, run.id, "enough", holder=builders.holder_of(run))

    assert (again.state, again.revision, again.fresh) == ("cancelled", ended.revision, False)


# -- several at once -----------------------------------------------------------------------------------


def test_several_sweepers_share_the_work_and_double_none(scope: Scope) -> None:
    pauses = [expired_pause(scope) for _ in range(12)]

    reports = together([lambda: sweep_once(5)] * 4)

    assert all(isinstance(report, SweepReport) for report in reports), reports
    for pause in pauses:
        assert Counter(told(pause.run_id)) == Counter(
            {"run.created": 1, "run.paused": 1, "run.claimed": 1, "run.expired": 1}
        )
        assert read(pause).state == "failed"


def test_overdue_resumes_are_expired_once_by_several_sweepers(scope: Scope) -> None:
    long_ago = Hands(builders.now() - 3 * HOUR)
    with use_clock(lambda: long_ago.instant):
        pauses = [builders.make_pause(scope, expires_at=long_ago.instant + HOUR) for _ in range(6)]
        for pause in pauses:
            builders.admit(pause)

    together([lambda: sweep_once(5)] * 4)

    for pause in pauses:
        assert told(pause.run_id).count("resume.expired") == 1


def test_an_overdue_resume_is_either_started_or_expired(scope: Scope) -> None:
    """Whatever the order, the start and the sweep split it between them."""
    long_ago = Hands(builders.now() - 3 * HOUR)
    with use_clock(lambda: long_ago.instant):
        pause = builders.make_pause(scope, expires_at=long_ago.instant + HOUR)
        admission = builders.admit(pause)
        started = builders.start(admission)
    sweep_once(100)
    assert started.fresh and read(pause).state == "running"
    operator = builders.caller(scope)
    with pytest.raises(ResumeAlreadyStarted):
        resumes.expire_resume(operator, scope, pause.run_id, pause.id, admission.request_digest)


# -- rows that cannot be handled -----------------------------------------------------------------------


def break_pause(pause: Suspension) -> None:
    execute("UPDATE suspension SET pending = %s WHERE id = %s", b"\xff", pause.id)


def mend(pause: Suspension) -> None:
    """Later sweeps of other tests shall not meet it."""
    execute("UPDATE suspension SET retired_at = claimed_at, pending = %s WHERE id = %s", b"[]", pause.id)
    execute("UPDATE suspension SET expires_at = NULL WHERE id = %s", pause.id)


@pytest.fixture
def broken(scope: Scope) -> Iterator[list[Suspension]]:
    """Two pauses at the very head of the order that no longer decode, and no other trouble."""
    # Rows that other tests broke on purpose would be counted, and rest, beside these two.
    reset_database()
    pauses = [expired_pause(scope, ago=timedelta(days=4000 + index)) for index in range(2)]
    for pause in pauses:
        break_pause(pause)
    yield pauses
    for pause in pauses:
        mend(pause)


def test_rows_that_cannot_be_handled_neither_stop_nor_starve_the_rest(
    scope: Scope, broken: list[Suspension], caplog: pytest.LogCaptureFixture
) -> None:
    waiting = [expired_pause(scope) for _ in range(3)]

    with caplog.at_level(logging.ERROR, "cortex.sweeper"):
        report = sweep_once(2)

    assert [read(pause).state for pause in waiting] == ["failed"] * 3
    assert [read(pause).state for pause in broken] == ["paused"] * 2
    assert report.failed == 2
    logged = "\n".join(record.getMessage() for record in caplog.records)
    for pause in broken:
        assert pause.run_id in logged


def test_nothing_of_a_row_that_cannot_be_handled_was_written(scope: Scope, broken: list[Suspension]) -> None:
    sweep_once(100)

    assert [told(pause.run_id) for pause in broken] == [["run.created", "run.paused"]] * 2


def test_a_row_that_cannot_be_handled_rests_and_is_tried_again(scope: Scope, broken: list[Suspension]) -> None:
    moment = Hands(builders.now())
    sweeper = Sweeper(100)
    failures = []
    with use_clock(lambda: moment.instant):
        for wait in (timedelta(0), SECOND, 30 * SECOND, 30 * SECOND, 30 * SECOND):
            moment.move(wait)
            failures.append(sweeper.sweep().failed)
        # Tried at once, then after half a minute, then after a whole one.
        assert failures == [2, 0, 2, 0, 2]


def test_a_locked_run_is_left_to_whoever_holds_it(engine: str, scope: Scope) -> None:
    """On PostgreSQL a sweeper goes on past a locked row; on SQLite there is one lock for all and it would wait."""
    held, free = expired_pause(scope, ago=MINUTE), expired_pause(scope)
    holder = connection.copy()
    with closing(holder):
        if engine == "postgresql":
            holder.set_autocommit(False)
            with holder.cursor() as cursor:
                cursor.execute("SELECT 1 FROM run WHERE id = %s FOR UPDATE", (held.run_id,))
            report = sweep_once(100)
            assert (state_of(held), state_of(free)) == ("paused", "failed")
            assert report.skipped >= 1
            holder.rollback()
    sweep_once(100)
    assert (read(held).state, read(free).state) == ("failed", "failed")


def test_it_stops_between_two_rows_when_asked(scope: Scope) -> None:
    pauses = [expired_pause(scope, ago=timedelta(days=300)) for _ in range(3)]
    answers = iter([False, False])

    def asked() -> bool:
        return next(answers, True)

    report = Sweeper(100, asked).sweep()

    assert report.did == 1
    assert [str(read(pause).state) for pause in pauses].count("failed") <= 1
    sweep_once(100)


@pytest.fixture
def many_snapshots() -> Iterator[None]:
    """Thousands of runs that saved progress, wait, or wait for a start: tables that are worth an index."""
    reset_database()
    load(Crowd("sweep", "other"), 2_000, builders.now(), continuation=100)
    load_history(Crowd("sweep", "other"), 1_000, builders.now())
    execute("UPDATE suspension SET expires_at = NULL")
    columns = "run_id, owner, epoch, continuation, updated_at"
    execute(f"INSERT INTO progress ({columns}) SELECT id, 'worker-1', 1, metadata, updated_at FROM run")
    analyse()
    yield
    reset_database()
    analyse()


@pytest.mark.usefixtures("many_snapshots")
@pytest.mark.parametrize(
    ("begins", "index"),
    [
        ("SELECT suspension.expires_at", "suspension_expiry"),
        ("SELECT run.start_by", "run_start_overdue"),
        ("SELECT progress.run_id", "progress_ending"),
    ],
)
def test_each_search_uses_its_index(engine: str, begins: str, index: str) -> None:
    with CaptureQueriesContext(connection) as seen:
        sweep_once(100)
    statement = next(query["sql"] for query in seen if query["sql"].startswith(begins))

    plan = rows(f"{'EXPLAIN' if engine == 'postgresql' else 'EXPLAIN QUERY PLAN'} {statement}")

    assert index in "\n".join(str(row) for row in plan)
