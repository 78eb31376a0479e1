"""Start next: the oldest admitted resume of the exact scope, in one step. Source: store.md section 3."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytest_django.fixtures import Settings

from suspensions.domain.errors import (
    CortexError,
    Forbidden,
    InvalidRequest,
    NotFound,
    ResumeAlreadyStarted,
    RunLeaseLost,
)
from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Admission, Holder, LeaseTake, Reason, Start
from suspensions.operations import leases, progress, resumes, runs
from tests.store.rows import event_types, execute, insert_row, lease_of, one_row, run_chain
from tests.store.support import TICK, Clock, refused, statements, unchanged
from tests.support.builders import admit, caller, fresh_scope, make_pause, make_run, snapshot, take
from tests.support.builders import start as start_by_name


@pytest.fixture
def scope(time: Clock) -> Scope:  # time: each admission of a test gets its own instant
    return fresh_scope()


def admitted(
    scope: Scope, time: Clock, *, agent_name: str | None = None, lease: LeaseTake | None = None, seconds: float = 0
) -> Admission:
    """An admission that waits for its start, one second after the one before."""
    time.tick()
    run = make_run(scope, agent_name=agent_name)
    expires_at = time.ahead(seconds) if seconds else None
    return admit(make_pause(scope, Reason.AGENT_REPLY, run=run, expires_at=expires_at), lease=lease)


def next_start(
    scope: Scope,
    *,
    by: Caller | None = None,
    owner: str = "worker",
    seconds: int = 60,
    request_id: str | None = None,
    agent_name: str | None = None,
) -> Start | None:
    return resumes.start_next(
        by or caller(scope, Role.AGENT),
        scope,
        take(owner, seconds),
        request_id=request_id,
        agent_name=agent_name,
    )


def run_of(started: Start | None) -> str | None:
    return None if started is None else started.version.run_id


# -- which one -------------------------------------------------------------------------------------


def test_the_oldest_admission_goes_first_and_each_goes_once(scope: Scope, time: Clock) -> None:
    waiting = [admitted(scope, time) for _ in range(3)]
    order = [run_of(next_start(scope)) for _ in range(4)]
    assert order == [*(each.version.run_id for each in waiting), None]


def test_it_is_the_time_of_the_answer_that_counts_not_that_of_the_pause(scope: Scope, time: Clock) -> None:
    older, newer = make_pause(scope, Reason.AGENT_REPLY), make_pause(scope, Reason.AGENT_REPLY)
    time.tick()
    admit(newer)
    time.tick()
    admit(older)
    assert [run_of(next_start(scope)), run_of(next_start(scope))] == [newer.run_id, older.run_id]


def test_answers_of_one_instant_go_by_their_id(scope: Scope) -> None:
    pauses = [make_pause(scope, Reason.AGENT_REPLY) for _ in range(3)]
    for pause in reversed(pauses):
        admit(pause)
    assert [run_of(next_start(scope)) for _ in range(3)] == [pause.run_id for pause in pauses]


def test_every_reason_is_started_alike(scope: Scope, time: Clock) -> None:
    expected = []
    for reason in Reason:
        time.tick()
        expected.append(admit(make_pause(scope, reason)).version.run_id)
    assert [run_of(next_start(scope)) for _ in Reason] == expected


def test_the_start_is_fresh_leased_and_carries_the_work(scope: Scope, time: Clock) -> None:
    admission = admitted(scope, time)
    time.tick()
    by = caller(scope, Role.AGENT, principal="care-desk", via="token:7")
    started = next_start(scope, by=by, owner="worker-9", seconds=30)

    assert started is not None and started.fresh
    assert (started.lease_owner, started.lease_epoch) == ("worker-9", 1)
    assert started.started_at == time.now
    assert started.started_by == by.actor
    assert started.input == admission.input
    assert started.suspension is not None and started.suspension.id == admission.version.suspension_id
    assert started.claimed_run is not None and started.claimed_run.lease is not None
    assert started.claimed_run.lease.expires_at == time.ahead(30)
    assert event_types(admission.version.run_id)[-1] == "resume.started"
    assert run_chain(admission.version.run_id)[-1]["record_sha256"] == started.record_sha256


def test_a_healthy_admitter_keeps_its_own_until_its_lease_ends(scope: Scope, time: Clock) -> None:
    kept = admitted(scope, time, lease=take("admitter", 60))
    free = admitted(scope, time)
    assert run_of(next_start(scope)) == free.version.run_id
    assert next_start(scope) is None
    time.now = kept.admitted_at
    time.tick(59.999999)
    assert next_start(scope) is None
    time.tick(0.000001)
    started = next_start(scope)
    assert run_of(started) == kept.version.run_id
    assert started is not None and started.lease_epoch == 2


def test_an_admitter_may_start_its_own_by_name_while_its_lease_lives(scope: Scope, time: Clock) -> None:
    kept = admitted(scope, time, lease=take("admitter"))
    assert next_start(scope, owner="admitter") is None
    assert start_by_name(kept, lease=take("admitter")).fresh


def test_only_the_exact_scope_is_looked_at(time: Clock) -> None:
    parent = fresh_scope()
    scope = Scope.parse(f"{parent.text}/p=here")
    admission = admitted(scope, time)
    for at in (parent, Scope.parse(f"{scope.text}/t=below"), Scope.parse(f"{parent.text}/p=her")):
        with unchanged(scope):
            assert next_start(at) is None
    assert run_of(next_start(scope)) == admission.version.run_id


def test_nobody_elses_resumes_are_looked_at_on_the_way(scope: Scope, time: Clock) -> None:
    """They would be locked, and passed over one after another, however many there are."""
    for _ in range(3):
        admitted(fresh_scope(), time)
    admitted(scope, time)
    assert looks(scope) == 1


def looks(scope: Scope) -> int:
    """How often a run is looked for until one is started."""
    with statements() as sent:
        assert next_start(scope) is not None
    return len([text for text in sent if "resume = 'admitted'" in text and "LIMIT 1" in text])


def test_an_agent_may_ask_for_its_own_runs_by_name(scope: Scope, time: Clock) -> None:
    admitted(scope, time)
    admitted(scope, time, agent_name="Refund-Desk")
    mine = admitted(scope, time, agent_name="refund-desk")
    admitted(scope, time, agent_name="refund-desk-2")
    assert run_of(next_start(scope, agent_name="refund-desk")) == mine.version.run_id
    assert next_start(scope, agent_name="refund-desk") is None
    assert next_start(scope, agent_name="refund%") is None


def test_a_window_that_has_passed_hands_out_nothing(scope: Scope, time: Clock, settings: Settings) -> None:
    first, second = admitted(scope, time, seconds=1000), admitted(scope, time, seconds=1000)
    assert first.start_by is not None
    time.now = first.start_by - TICK
    assert run_of(next_start(scope)) == first.version.run_id
    assert second.start_by is not None
    time.now = second.start_by
    assert next_start(scope) is None


def test_answers_whose_window_has_passed_are_not_looked_at_on_the_way(scope: Scope, time: Clock) -> None:
    """The sweep may be late: many of them must not make each worker slow, nor be locked by it."""
    late = [admitted(scope, time, seconds=1000) for _ in range(3)]
    assert late[-1].start_by is not None
    time.now = late[-1].start_by
    admitted(scope, time)
    assert looks(scope) == 1


@pytest.mark.parametrize("end", ["cancel", "start", "expire", "finish"])
def test_what_is_no_longer_waiting_is_not_handed_out(end: str, scope: Scope, time: Clock) -> None:
    admission = admitted(scope, time, seconds=1)
    by, run_id = caller(scope), admission.version.run_id
    if end == "cancel":
        runs.cancel_run(by, scope, run_id, "stop")
    elif end == "expire":
        time.tick(3600)
        resumes.expire_resume(by, scope, run_id, admission.version.suspension_id, admission.request_digest)
    else:
        start_by_name(admission)
        if end == "finish":
            runs.finish_run(by, scope, run_id, RunState.INCOMPLETE)
    with unchanged(scope):
        assert next_start(scope) is None


def test_a_changed_pause_is_passed_over_and_starves_nobody(scope: Scope, time: Clock) -> None:
    changed, good = admitted(scope, time), admitted(scope, time)
    execute("UPDATE suspension SET pending = %s WHERE id = %s", [b"[]", changed.version.suspension_id])
    assert run_of(next_start(scope)) == good.version.run_id
    with unchanged(scope):
        assert next_start(scope) is None


def test_a_run_that_is_not_where_its_admission_left_it_is_not_handed_out(scope: Scope, time: Clock) -> None:
    moved, good = admitted(scope, time), admitted(scope, time)
    execute("UPDATE run SET revision = 77 WHERE id = %s", [moved.version.run_id])
    assert run_of(next_start(scope)) == good.version.run_id


def _mark_as_admitted(admission: Admission) -> None:
    """As an import might leave it: the run says that its resume waits, and yet there is its start."""
    start_by_name(admission)
    execute("UPDATE run SET resume = 'admitted' WHERE id = %s", [admission.version.run_id])


def _break_run_input(admission: Admission) -> None:
    row = {"run_id": admission.version.run_id, "input": b"\xff"}
    insert_row("run_content", row)


@pytest.mark.parametrize("break_it", [_mark_as_admitted, _break_run_input])
def test_a_resume_that_cannot_be_granted_is_passed_over_and_starves_nobody(
    break_it: Callable[[Admission], None], scope: Scope, time: Clock
) -> None:
    broken, good = admitted(scope, time), admitted(scope, time)
    break_it(broken)
    before = one_row("run", id=broken.version.run_id)
    assert run_of(next_start(scope)) == good.version.run_id
    assert one_row("run", id=broken.version.run_id) == before
    with unchanged(scope):
        assert next_start(scope) is None


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.AGENT])
def test_no_other_role_starts_the_next(role: Role, scope: Scope, time: Clock) -> None:
    admitted(scope, time)
    with refused(Forbidden, scope):
        next_start(scope, by=caller(scope, role))
    with refused(NotFound, scope):
        next_start(scope, by=caller(fresh_scope(), Role.AGENT))


@pytest.mark.parametrize(
    ("lease", "error"),
    [
        (LeaseTake(""), RunLeaseLost),
        (LeaseTake("", seconds=30), RunLeaseLost),
        (LeaseTake("half"), RunLeaseLost),
        (take("worker", 0), InvalidRequest),
        (take("worker", 3601), InvalidRequest),
        (take("wor\x01ker"), InvalidRequest),
    ],
)
def test_a_lease_that_cannot_be_taken_is_refused_whether_or_not_there_is_work(
    lease: LeaseTake, error: type[CortexError], scope: Scope, time: Clock
) -> None:
    with refused(error, scope):
        resumes.start_next(caller(scope), scope, lease)
    admitted(scope, time)
    with refused(error, scope):
        resumes.start_next(caller(scope), scope, lease)


# -- the same request again ------------------------------------------------------------------------


@pytest.fixture
def worker(scope: Scope) -> Caller:
    return caller(scope, Role.AGENT, principal="worker-pool")


def test_a_repeat_after_a_lost_answer_gets_the_same_work_again(scope: Scope, time: Clock, worker: Caller) -> None:
    admitted(scope, time)
    admitted(scope, time)
    first = next_start(scope, by=worker, request_id="req-1")
    assert first is not None
    time.tick(59)
    with unchanged(scope):
        again = next_start(scope, by=worker, request_id="req-1")
    assert again == first
    assert again is not None
    assert not again.fresh
    assert again.suspension == first.suspension
    assert again.input == first.input
    assert again.claimed_run == first.claimed_run
    assert again.request_id == "req-1"


def test_a_repeat_by_another_token_of_the_same_principal_is_a_repeat(scope: Scope, time: Clock, worker: Caller) -> None:
    admitted(scope, time)
    first = next_start(scope, by=worker, request_id="r")
    with unchanged(scope):
        again = next_start(scope, by=Caller(worker.principal, "token:another", worker.grants), request_id="r")
    assert again == first
    assert again is not None and again.input is not None


def test_a_renewed_lease_keeps_the_repeat_open(scope: Scope, time: Clock, worker: Caller) -> None:
    admitted(scope, time)
    first = next_start(scope, by=worker, request_id="r", seconds=60)
    assert first is not None
    leases.renew_lease(worker, scope, first.version.run_id, Holder("worker", 1), take("worker", 300))
    time.tick(120)
    again = next_start(scope, by=worker, request_id="r")
    assert again == first
    assert again.suspension is not None


def test_another_request_id_gets_the_next_one(scope: Scope, time: Clock, worker: Caller) -> None:
    admissions = [admitted(scope, time), admitted(scope, time)]
    found = [next_start(scope, by=worker, request_id=request_id) for request_id in ("a", "b", "c")]
    assert [run_of(each) for each in found] == [*(each.version.run_id for each in admissions), None]


def test_a_request_without_work_may_be_asked_again_later(scope: Scope, time: Clock, worker: Caller) -> None:
    assert next_start(scope, by=worker, request_id="r") is None
    admission = admitted(scope, time)
    started = next_start(scope, by=worker, request_id="r")
    assert run_of(started) == admission.version.run_id
    assert started is not None and started.fresh


def test_another_principal_with_the_same_request_id_gets_work_of_its_own(
    scope: Scope, time: Clock, worker: Caller
) -> None:
    mine, other = admitted(scope, time), admitted(scope, time)
    assert run_of(next_start(scope, by=worker, request_id="r")) == mine.version.run_id
    stranger = caller(scope, Role.AGENT, principal="Worker-Pool")
    assert run_of(next_start(scope, by=stranger, request_id="r")) == other.version.run_id
    third = caller(scope, Role.AGENT, principal="third")
    assert next_start(scope, by=third, request_id="r") is None


def _assert_no_repeat(scope: Scope, worker: Caller, owner: str = "worker") -> None:
    """The same request_id gives neither the work again nor, in its place, other work."""
    with refused(ResumeAlreadyStarted, scope) as caught:
        next_start(scope, by=worker, request_id="r", owner=owner)
    assert caught.value.members() == {}


def test_another_owner_is_no_repeat(scope: Scope, time: Clock, worker: Caller) -> None:
    admitted(scope, time)
    admitted(scope, time)
    next_start(scope, by=worker, request_id="r")
    _assert_no_repeat(scope, worker, owner="worker-2")
    _assert_no_repeat(scope, worker, owner="Worker")


def test_once_progress_was_saved_there_is_no_repeat(scope: Scope, time: Clock, worker: Caller) -> None:
    admitted(scope, time)
    admitted(scope, time)
    first = next_start(scope, by=worker, request_id="r")
    assert first is not None
    run_id = first.version.run_id
    progress.save_progress(worker, scope, snapshot(run_id, "worker"), Holder("worker", 1))
    _assert_no_repeat(scope, worker)
    progress.delete_progress(worker, scope, run_id, Holder("worker", 1))
    _assert_no_repeat(scope, worker)


def test_the_lease_ends_the_repeat_exactly_when_it_lapses(scope: Scope, time: Clock, worker: Caller) -> None:
    admitted(scope, time)
    admitted(scope, time)
    first = next_start(scope, by=worker, request_id="r", seconds=60)
    time.tick(59.999999)
    assert next_start(scope, by=worker, request_id="r") == first
    time.tick(0.000001)
    _assert_no_repeat(scope, worker)


@pytest.mark.parametrize("end", ["release", "finish", "reclaim", "reclaim by the same name"])
def test_once_the_lease_is_another_or_gone_there_is_no_repeat(
    end: str, scope: Scope, time: Clock, worker: Caller
) -> None:
    admitted(scope, time)
    admitted(scope, time)
    first = next_start(scope, by=worker, request_id="r", seconds=60)
    assert first is not None
    run_id, holder = first.version.run_id, Holder("worker", 1)
    if end == "release":
        leases.release_lease(worker, scope, run_id, holder)
    elif end == "finish":
        runs.finish_run(worker, scope, run_id, RunState.COMPLETED, holder=holder)
    else:
        time.tick(60)
        name = "worker" if end.endswith("name") else "successor"
        leases.reclaim_lease(worker, scope, run_id, take(name, 600))
    _assert_no_repeat(scope, worker)


def test_a_request_id_of_another_scope_is_another_request(scope: Scope, time: Clock) -> None:
    other = Scope.parse(f"{scope.text}/p=below")
    here, below = admitted(scope, time), admitted(other, time)
    worker = caller(scope, Role.AGENT, principal="worker-pool")
    assert run_of(next_start(scope, by=worker, request_id="r")) == here.version.run_id
    assert run_of(next_start(other, by=worker, request_id="r")) == below.version.run_id


def test_start_by_name_stays_strict_and_repeats_no_work(scope: Scope, time: Clock, worker: Caller) -> None:
    admission = admitted(scope, time)
    first = next_start(scope, by=worker, request_id="r")
    version = admission.version
    with unchanged(scope):
        again = resumes.start_resume(
            worker, scope, version.run_id, version.suspension_id, admission.request_digest, lease=take("worker")
        )
    assert again == first
    assert (again.fresh, again.suspension, again.input) == (False, None, None)


def test_the_request_id_stands_in_the_receipt(scope: Scope, time: Clock, worker: Caller) -> None:
    admission = admitted(scope, time)
    next_start(scope, by=worker, request_id="r-17")
    row = one_row("resume_start_or_expiry", suspension_id=admission.version.suspension_id)
    assert (row["request_id"], row["principal"]) == ("r-17", "worker-pool")
    assert lease_of(admission.version.run_id) == ("worker", 1)
