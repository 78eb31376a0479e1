"""close_resume: an uncertain start, ended as incomplete with proof. Source: store.md sections 3 and 6.

Authorizer and fence let everything through here, so that the store's own refusals are seen.
"""

from __future__ import annotations

import time as wall
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from pytest_django.fixtures import Settings

from cortex_admin import settings as shipped
from suspensions.domain import failpoints
from suspensions.domain.clock import use_clock
from suspensions.domain.errors import (
    ClosureDenied,
    ClosureTimeout,
    CortexError,
    Forbidden,
    InvalidState,
    NotFound,
    NotSuspended,
    ProofExpired,
    ResumeAdmissionNotFound,
    ResumeClosureConflict,
    ResumeClosureNotFound,
    ResumeStartNotFound,
    RunConflict,
    RunLeaseLive,
)
from suspensions.domain.failpoints import Point
from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.strict_json import loads
from suspensions.domain.values import Admission, Closure, ClosureRequest, Holder, Reason, Start
from suspensions.operations import closures, leases, progress, resumes, runs, suspensions
from suspensions.store import closures as store
from tests.store.rows import event_types, execute, hashed, insert_row, lease_of, one_row, run_chain, run_state, text_of
from tests.store.support import TICK, Clock, refused, unchanged
from tests.support import closing
from tests.support.builders import admit, caller, fresh_scope, make_pause, new_suspension, snapshot, start, take

PROOF = closing.PROOF


@pytest.fixture(autouse=True)
def _let_through(settings: Settings) -> None:
    settings.CLOSURE_AUTHORIZER = closing.PERMISSIVE_AUTHORIZER
    settings.CLOSURE_FENCE = closing.PERMISSIVE_FENCE


def uncertain(scope: Scope, time: Clock, **more: Any) -> tuple[Admission, Start]:
    """A resume that was started under a lease which has lapsed since."""
    admission = admit(make_pause(scope, Reason.AGENT_REPLY, **more))
    started = start(admission, lease=take("worker", 60))
    time.tick(60)
    return admission, started


def request_for(admission: Admission, started: Start, time: Clock, **changes: Any) -> ClosureRequest:
    return closing.closure_request(admission, started, time.now, **changes)


def close(request: ClosureRequest, *, by: Caller | None = None, proof: bytes = PROOF) -> Closure:
    return closures.close_resume(by or caller(request.scope, Role.OPERATOR, principal="ops"), request, proof)


@pytest.fixture
def scope() -> Scope:
    return fresh_scope()


@pytest.fixture
def resume(scope: Scope, time: Clock) -> tuple[Admission, Start]:
    return uncertain(scope, time)


# -- a closure -------------------------------------------------------------------------------------


def test_the_run_ends_incomplete_with_proof_receipt_and_event_in_one_commit(
    resume: tuple[Admission, Start], time: Clock
) -> None:
    admission, _ = resume
    run_id, suspension_id = admission.version.run_id, admission.version.suspension_id
    request = request_for(*resume, time)
    time.tick(5)

    closure = close(request, by=caller(admission.scope, Role.OPERATOR, principal="ops", via="session"))

    assert closure.fresh
    assert closure.request == request
    assert closure.run_revision == request.run_revision + 1
    assert closure.closed_at == time.now
    assert closure.closed_by.to_json() == {"principal": "ops", "via": "session"}
    assert run_state(run_id) == ("incomplete", closure.run_revision)
    assert lease_of(run_id) == (None, 1)
    assert text_of(one_row("run", id=run_id)["completed_at"]) == text_of(time.now)
    assert text_of(one_row("suspension", id=suspension_id)["retired_at"]) == text_of(time.now)
    assert bytes(one_row("resume_closure", suspension_id=suspension_id)["proof"]) == PROOF
    event = run_chain(run_id)[-1]
    assert (event["type"], event["id"], event["revision"]) == ("resume.closed", closure.event_id, closure.run_revision)
    assert event["record_sha256"] == closure.record_sha256
    # Nothing else says when the worker's lease lapsed: the run bears none any more.
    started = resume[1].claimed_run
    assert started is not None
    assert started.lease is not None
    assert loads(bytes(event["data"]))["lapsed"] == started.lease.to_json()
    assert event_types(run_id)[-2:] == ["resume.started", "resume.closed"]
    assert closure.request_digest == hashed(
        "cortex/resume-closure/v1",
        {
            "schema_version": 1,
            "scope": admission.scope.text,
            "version": {"run_id": run_id, "suspension_id": suspension_id, "run_revision": 2},
            "admission_digest": request.admission_digest,
            "start_digest": request.start_digest,
            "run_revision": 3,
            "actor": "ops",
            "issuer": "datacentre",
            "issuer_revision": "3",
            "proof_ref": request.proof_ref,
            "proof_digest": request.proof_digest,
            "observed_at": text_of(request.observed_at),
            "expires_at": text_of(request.expires_at),
        },
    )


def test_everything_in_the_commit_bears_one_instant(resume: tuple[Admission, Start], time: Clock) -> None:
    request = request_for(*resume, time)
    with use_clock(lambda: time.tick(0.001)):  # a clock that moves with every look
        closure = close(request)
    run_id, suspension_id = request.version.run_id, request.version.suspension_id
    assert {
        text_of(one_row("run", id=run_id)["completed_at"]),
        text_of(one_row("suspension", id=suspension_id)["retired_at"]),
        text_of(run_chain(run_id)[-1]["at"]),
    } == {text_of(closure.closed_at)}
    assert closure.closed_at == time.now


def test_a_closure_accepts_no_output_and_keeps_what_was_counted(scope: Scope, time: Clock) -> None:
    admission = admit(make_pause(scope, Reason.AGENT_REPLY))
    started = start(admission, lease=take("worker", 60), first=snapshot(admission.version.run_id, "worker"))
    execute("UPDATE run SET tokens_used = 777 WHERE id = %s", [admission.version.run_id])
    time.tick(60)
    before = one_row("progress", run_id=admission.version.run_id)
    close(request_for(admission, started, time))
    assert one_row("run", id=admission.version.run_id)["tokens_used"] == 777
    assert one_row("progress", run_id=admission.version.run_id) == before
    with pytest.raises(AssertionError, match="0 rows"):
        one_row("run_result", run_id=admission.version.run_id)


def test_an_unleased_start_is_closed_as_well(scope: Scope, time: Clock) -> None:
    admission = admit(make_pause(scope, Reason.AGENT_REPLY))
    started = start(admission)
    assert close(request_for(admission, started, time)).fresh
    assert "lapsed" not in loads(bytes(run_chain(admission.version.run_id)[-1]["data"]))


def test_nothing_leads_out_of_a_closed_run(resume: tuple[Admission, Start], time: Clock) -> None:
    admission, started = resume
    scope, run_id = admission.scope, admission.version.run_id
    close(request_for(admission, started, time))
    by, holder = caller(scope), Holder("worker", 1)
    attempts: list[tuple[type[CortexError], Callable[[], object]]] = [
        (InvalidState, lambda: leases.claim_continuation(by, scope, run_id, take())),
        (InvalidState, lambda: runs.finish_run(by, scope, run_id, RunState.COMPLETED, holder=holder)),
        (InvalidState, lambda: runs.finish_run(by, scope, run_id, RunState.INCOMPLETE)),
        (InvalidState, lambda: runs.cancel_run(by, scope, run_id, "x")),
        (InvalidState, lambda: suspensions.create_suspension(by, new_suspension(scope, run_id))),
        (NotSuspended, lambda: suspensions.claim_suspension(by, scope, run_id)),
        (NotSuspended, lambda: suspensions.get_suspension(by, scope, run_id)),
    ]
    for error, attempt in attempts:
        with refused(error, scope):
            attempt()
    with unchanged(scope):
        again = start(admission)
        with pytest.raises(CortexError):
            progress.save_progress(by, scope, snapshot(run_id, "worker"), holder)
        with pytest.raises(CortexError):
            leases.reclaim_lease(by, scope, run_id, take())
        assert resumes.start_next(by, scope, take()) is None
    assert (again.fresh, again.suspension, again.input) == (False, None, None)


def test_a_late_finish_loses_to_the_closure_and_a_closure_to_an_earlier_finish(scope: Scope, time: Clock) -> None:
    closed, finished = uncertain(scope, time), uncertain(scope, time)
    close(request_for(*closed, time))
    with refused(InvalidState, scope):
        runs.finish_run(caller(scope), scope, closed[0].version.run_id, RunState.COMPLETED, holder=Holder("worker", 1))
    runs.finish_run(caller(scope), scope, finished[0].version.run_id, RunState.COMPLETED, holder=Holder("worker", 1))
    with refused(RunConflict, scope):
        close(request_for(*finished, time))


# -- the record first ------------------------------------------------------------------------------


def test_the_same_request_again_is_the_original_receipt_also_after_the_proof_expired(
    resume: tuple[Admission, Start], time: Clock
) -> None:
    request = request_for(*resume, time)
    closure = close(request)
    for seconds in (1, 3600, 10**7):
        time.tick(seconds)
        with unchanged(request.scope):
            again = close(request, by=caller(request.scope, Role.OPERATOR, principal="another"))
        assert (again, again.fresh, again.closed_by.principal) == (closure, False, "ops")
        assert again.closed_at == closure.closed_at


_OTHERS: dict[str, Any] = {
    "run_revision": 9,
    "actor": "another",
    "issuer": "another",
    "issuer_revision": "4",
    "proof_ref": "another",
    "proof_digest": "a" * 64,
    "admission_digest": "b" * 64,
    "start_digest": "c" * 64,
    "schema_version": 2,
}


@pytest.mark.parametrize("member", [*_OTHERS, "observed_at", "expires_at", "version"])
def test_a_request_that_differs_in_any_member_is_a_conflict(
    member: str, resume: tuple[Admission, Start], time: Clock
) -> None:
    request = request_for(*resume, time)
    close(request)
    now = {
        "observed_at": request.observed_at - TICK,
        "expires_at": request.expires_at + TICK,
        "version": replace(request.version, run_revision=9),
    }
    with refused(ResumeClosureConflict, request.scope):
        close(replace(request, **{member: {**_OTHERS, **now}[member]}))


# -- refusals, in their order ----------------------------------------------------------------------


def test_without_an_admission_there_is_nothing_to_close(resume: tuple[Admission, Start], time: Clock) -> None:
    admission, started = resume
    scope = admission.scope
    waiting = make_pause(scope, Reason.AGENT_REPLY)
    version = admission.version
    others = [
        replace(version, run_id="arun_01h455vb4pex5vsknk084sn02q"),
        replace(version, suspension_id="sus_01h455vb4pex5vsknk084sn02q"),
        replace(version, run_id=waiting.run_id, suspension_id=waiting.id),
        replace(version, suspension_id=waiting.id),
    ]
    for other in others:
        request = request_for(admission, started, time, version=other, admission_digest="0" * 64, run_revision=77)
        with refused(ResumeAdmissionNotFound, scope):
            close(request)


def test_every_other_scope_sees_no_admission(time: Clock) -> None:
    parent = fresh_scope()
    scope = Scope.parse(f"{parent.text}/p=here")
    open_still, closed = uncertain(scope, time), uncertain(scope, time)
    done = request_for(*closed, time)
    close(done)
    for at in (parent, Scope.parse(f"{scope.text}/t=below"), fresh_scope()):
        for request in (request_for(*open_still, time), done):
            with refused(ResumeAdmissionNotFound, scope):
                close(replace(request, scope=at))
    with refused(NotFound, scope):
        close(done, by=caller(fresh_scope(), Role.OPERATOR))


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.OPERATOR])
def test_no_other_role_closes(role: Role, resume: tuple[Admission, Start], time: Clock) -> None:
    request = request_for(*resume, time)
    with refused(Forbidden, request.scope):
        close(request, by=caller(request.scope, role))
    close(request)
    with refused(Forbidden, request.scope):
        close(request, by=caller(request.scope, role))


def test_only_the_latest_admission_of_a_run_is_closed(resume: tuple[Admission, Start], time: Clock) -> None:
    earlier, earlier_start = resume
    scope, run_id = earlier.scope, earlier.version.run_id
    new = new_suspension(scope, run_id, Reason.AGENT_REPLY, holder=Holder("worker", 1))
    pause = suspensions.create_suspension(caller(scope), new)
    # While the later pause has no admission, the earlier one is the latest, and the run has moved on.
    with refused(RunConflict, scope):
        close(request_for(earlier, earlier_start, time))
    later = admit(pause)
    for revision in (earlier.claimed_revision, later.claimed_revision):
        with refused(ResumeClosureConflict, scope):
            close(request_for(earlier, earlier_start, time, run_revision=revision))
    later_start = start(later)
    with refused(ResumeClosureConflict, scope):
        close(request_for(earlier, earlier_start, time, run_revision=later.claimed_revision))
    assert close(request_for(later, later_start, time)).fresh


def test_another_admissions_digest_is_a_conflict_before_a_missing_start(scope: Scope, time: Clock) -> None:
    admission = admit(make_pause(scope, Reason.AGENT_REPLY))
    _, other_start = uncertain(scope, time)
    for wrong in ({"admission_digest": "0" * 64}, {"version": replace(admission.version, run_revision=1)}):
        with refused(ResumeClosureConflict, scope):
            close(request_for(admission, other_start, time, **wrong))


def test_what_was_never_started_is_not_closed(scope: Scope, time: Clock) -> None:
    admission = admit(make_pause(scope, Reason.AGENT_REPLY, expires_at=time.ahead(1)))
    _, other_start = uncertain(scope, time)
    with refused(ResumeStartNotFound, scope):
        close(request_for(admission, other_start, time, run_revision=99))
    time.tick(5000)
    version = admission.version
    resumes.expire_resume(caller(scope), scope, version.run_id, version.suspension_id, admission.request_digest)
    with refused(ResumeStartNotFound, scope):
        close(request_for(admission, other_start, time))


def test_another_starts_digest_is_a_conflict_before_the_runs_revision(
    resume: tuple[Admission, Start], time: Clock
) -> None:
    with refused(ResumeClosureConflict, resume[0].scope):
        close(request_for(*resume, time, start_digest="0" * 64, run_revision=99))


def test_a_run_that_moved_on_is_a_conflict_before_its_lease(scope: Scope, time: Clock) -> None:
    admission = admit(make_pause(scope, Reason.AGENT_REPLY))
    started = start(admission, lease=take("worker", 600))
    for revision in (2, 4):
        with refused(RunConflict, scope) as caught:
            close(request_for(admission, started, time, run_revision=revision, expires_at=time.now))
        assert caught.value.members() == {"run": {"state": "running", "revision": 3}}
    runs.cancel_run(caller(scope), scope, admission.version.run_id, "x", holder=Holder("worker", 1))
    with refused(RunConflict, scope) as caught:
        close(request_for(admission, started, time))
    assert caught.value.members() == {"run": {"state": "cancelled", "revision": 4}}


def test_a_live_lease_is_said_before_the_proofs_time(scope: Scope, time: Clock) -> None:
    admission = admit(make_pause(scope, Reason.AGENT_REPLY))
    started = start(admission, lease=take("worker", 60))
    time.tick(59.999999)
    with refused(RunLeaseLive, scope):
        close(request_for(admission, started, time, expires_at=time.now))
    with refused(RunLeaseLive, scope):
        close(request_for(admission, started, time))
    time.tick(0.000001)
    with refused(ProofExpired, scope):
        close(request_for(admission, started, time, expires_at=time.now))
    assert close(request_for(admission, started, time)).fresh


def test_a_lease_that_was_taken_over_is_live_again(resume: tuple[Admission, Start], time: Clock) -> None:
    admission, started = resume
    leases.reclaim_lease(caller(admission.scope), admission.scope, admission.version.run_id, take("successor", 10))
    with refused(RunLeaseLive, admission.scope):
        close(request_for(admission, started, time))


_DAY = timedelta(hours=24)


def test_the_proof_is_about_a_time_after_the_start_and_valid_now(resume: tuple[Admission, Start], time: Clock) -> None:
    admission, started = resume
    scope, now = admission.scope, time.now
    for observed_at, expires_at in [
        (started.started_at - TICK, time.ahead(60)),  # seen before the start
        (now + TICK, time.ahead(60)),  # seen in the future
        (now - timedelta(seconds=30), now),  # expired exactly now
        (now - timedelta(seconds=30), now - TICK),
        (now, now),
        (now, now + _DAY + TICK),  # valid for too long
        (started.started_at, started.started_at + _DAY + TICK),
    ]:
        with refused(ProofExpired, scope):
            close(request_for(admission, started, time, observed_at=observed_at, expires_at=expires_at))


@pytest.mark.parametrize("bound", ["seen at the start", "seen now", "valid for a microsecond", "valid for a day"])
def test_the_bounds_of_a_proofs_time_are_as_written(bound: str, resume: tuple[Admission, Start], time: Clock) -> None:
    admission, started = resume
    observed_at, expires_at = {
        "seen at the start": (started.started_at, time.ahead(1)),
        "seen now": (time.now, time.ahead(1)),
        "valid for a microsecond": (time.now, time.now + TICK),
        "valid for a day": (time.now, time.now + _DAY),
    }[bound]
    assert close(request_for(admission, started, time, observed_at=observed_at, expires_at=expires_at)).fresh


def test_another_proof_under_a_used_reference_is_a_conflict_after_the_proofs_time(scope: Scope, time: Clock) -> None:
    first, second = uncertain(scope, time), uncertain(scope, time)
    close(request_for(*first, time, proof_ref="prf-1"))
    reused: dict[str, Any] = {"proof_ref": "prf-1", "proof_digest": sha256(b"other").hexdigest()}
    with refused(ProofExpired, scope):
        close(request_for(*second, time, expires_at=time.now, **reused), proof=b"other")
    # It is known before anything is written, and not by a write that fails.
    passed: list[Point] = []
    with refused(ResumeClosureConflict, scope), failpoints.installed(passed.append):
        close(request_for(*second, time, **reused), proof=b"other")
    assert Point.AFTER_LOCK in passed
    assert Point.BEFORE_WRITE not in passed
    assert close(request_for(*second, time, proof_ref="prf-2")).fresh


# -- authority -------------------------------------------------------------------------------------


def _denied(port: str, settings: Settings) -> None:
    if port == "authorizer":
        settings.CLOSURE_AUTHORIZER = closing.DENYING_AUTHORIZER
    elif port == "fence":
        settings.CLOSURE_FENCE = closing.DENYING_FENCE
    elif port == "no authorizer":
        settings.CLOSURE_AUTHORIZER = "suspensions.closing.refusing.RefusingAuthorizer"
    else:
        settings.CLOSURE_FENCE = "suspensions.closing.refusing.RefusingFence"


_PORTS = ["authorizer", "fence", "no authorizer", "no fence"]


@pytest.mark.parametrize("port", _PORTS)
def test_either_port_alone_refuses_and_does_not_say_why(
    port: str, resume: tuple[Admission, Start], time: Clock, settings: Settings
) -> None:
    _denied(port, settings)
    with refused(ClosureDenied, resume[0].scope) as caught:
        close(request_for(*resume, time))
    assert caught.value.reason
    assert caught.value.reason not in caught.value.detail
    assert caught.value.members() == {}


@pytest.mark.parametrize("port", _PORTS)
def test_a_stored_receipt_is_no_permission(
    port: str, resume: tuple[Admission, Start], time: Clock, settings: Settings
) -> None:
    request = request_for(*resume, time)
    close(request)
    _denied(port, settings)
    with refused(ClosureDenied, request.scope):
        close(request)


@pytest.mark.parametrize("port", ["authorizer", "no authorizer", "no fence"])
def test_who_is_denied_learns_nothing_of_what_the_store_would_say(
    port: str, resume: tuple[Admission, Start], time: Clock, settings: Settings
) -> None:
    _denied(port, settings)
    unknown = replace(resume[0].version, run_id="arun_01h455vb4pex5vsknk084sn02q")
    said = set()
    for changes in ({}, {"version": unknown}, {"run_revision": 99}, {"expires_at": time.now}):
        with refused(ClosureDenied, resume[0].scope) as caught:
            close(request_for(*resume, time, **changes))
        said.add(caught.value.detail)
    assert len(said) == 1


def test_with_the_ports_that_are_shipped_a_proof_by_nobody_closes_nothing(
    resume: tuple[Admission, Start], time: Clock, settings: Settings
) -> None:
    settings.CLOSURE_AUTHORIZER = shipped.CLOSURE_AUTHORIZER
    settings.CLOSURE_FENCE = shipped.CLOSURE_FENCE
    with refused(ClosureDenied, resume[0].scope):
        close(request_for(*resume, time))


def test_the_authorizer_holds_no_transaction_and_the_store_works_inside_the_fences(
    resume: tuple[Admission, Start], time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, str, bytes, bool]] = []

    def authorize(self: object, caller: Caller, request: ClosureRequest, proof: bytes) -> None:
        seen.append(("authorizer", caller.principal, proof, connection.in_atomic_block))

    def fence(
        self: object, caller: Caller, request: ClosureRequest, proof: bytes, close: Callable[[], Closure]
    ) -> Closure:
        seen.append(("fence", caller.principal, proof, connection.in_atomic_block))
        with transaction.atomic(durable=True):
            return close()

    monkeypatch.setattr(closing.PermissiveAuthorizer, "authorize_resume_closure", authorize)
    monkeypatch.setattr(closing.PermissiveFence, "with_resume_closure", fence)
    close(request_for(*resume, time))
    close(request_for(*resume, time))
    assert seen == [("authorizer", "ops", PROOF, False), ("fence", "ops", PROOF, False)] * 2


def test_a_fence_that_opens_no_transaction_closes_nothing(
    resume: tuple[Admission, Start], time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fence(
        self: object, caller: Caller, request: ClosureRequest, proof: bytes, close: Callable[[], Closure]
    ) -> Closure:
        return close()

    monkeypatch.setattr(closing.PermissiveFence, "with_resume_closure", fence)
    with unchanged(resume[0].scope), pytest.raises(transaction.TransactionManagementError):
        close(request_for(*resume, time))


# -- thirty seconds on the monotonic clock ---------------------------------------------------------


class _Stopwatch:
    """The monotonic clock, in the test's hands."""

    def __init__(self) -> None:
        self.at = 1000.0

    def monotonic(self) -> float:
        return self.at


@pytest.fixture
def stopwatch(monkeypatch: pytest.MonkeyPatch) -> _Stopwatch:
    hands = _Stopwatch()
    monkeypatch.setattr(closures, "monotonic", hands.monotonic)
    return hands


def _slow(stopwatch: _Stopwatch, seconds: float, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Let so many seconds pass in the authorizer, in the fence, or in the store's own work before the commit."""

    def pass_time(*_: object) -> None:
        stopwatch.at += seconds

    if where == "authorizer":
        monkeypatch.setattr(closing.PermissiveAuthorizer, "authorize_resume_closure", pass_time)
        return
    if where == "store":
        close_resume = store.close_resume

        def slowly(*args: Any) -> Closure:
            closed = close_resume(*args)
            pass_time()
            return closed

        monkeypatch.setattr(store, "close_resume", slowly)
        return
    run = closing.PermissiveFence.with_resume_closure

    def slow(self: Any, caller: Caller, request: ClosureRequest, proof: bytes, close: Callable[[], Closure]) -> Closure:
        pass_time()
        return run(self, caller, request, proof, close)

    monkeypatch.setattr(closing.PermissiveFence, "with_resume_closure", slow)


@pytest.mark.parametrize("where", ["authorizer", "fence", "store"])
def test_after_thirty_seconds_nothing_is_closed_any_more(
    where: str,
    resume: tuple[Admission, Start],
    time: Clock,
    stopwatch: _Stopwatch,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _slow(stopwatch, 30.001, monkeypatch, where)
    with refused(ClosureTimeout, resume[0].scope):
        close(request_for(*resume, time))


@pytest.mark.parametrize("where", ["authorizer", "fence", "store"])
def test_within_thirty_seconds_it_is_closed(
    where: str,
    resume: tuple[Admission, Start],
    time: Clock,
    stopwatch: _Stopwatch,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _slow(stopwatch, 29.999, monkeypatch, where)
    assert close(request_for(*resume, time)).fresh


def test_a_closure_that_took_too_long_may_be_asked_for_again(
    resume: tuple[Admission, Start], time: Clock, stopwatch: _Stopwatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = request_for(*resume, time)
    with monkeypatch.context() as slow:
        _slow(stopwatch, 31, slow, "store")
        with refused(ClosureTimeout, request.scope):
            close(request)
    assert close(request).fresh


def test_the_bound_is_not_the_wall_clocks(
    resume: tuple[Admission, Start], time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wall, "time", lambda: 0.0)
    assert close(request_for(*resume, time)).fresh


# -- reading ---------------------------------------------------------------------------------------


def test_a_closure_is_read_back_whole(resume: tuple[Admission, Start], time: Clock) -> None:
    closure = close(request_for(*resume, time))
    version = closure.request.version
    for role in Role:
        again = closures.get_closure(
            caller(closure.request.scope, role), closure.request.scope, version.run_id, version.suspension_id
        )
        assert (again, again.fresh) == (closure, False)
        assert (again.digest, again.record_sha256) == (closure.request_digest, closure.record_sha256)


def test_what_was_not_closed_has_no_closure(resume: tuple[Admission, Start], time: Clock) -> None:
    version, scope = resume[0].version, resume[0].scope
    with pytest.raises(ResumeClosureNotFound):
        closures.get_closure(caller(scope), scope, version.run_id, version.suspension_id)
    close(request_for(*resume, time))
    other = fresh_scope()
    with pytest.raises(ResumeClosureNotFound):
        closures.get_closure(caller(other), other, version.run_id, version.suspension_id)


# -- the database is the last guard ----------------------------------------------------------------


def test_the_database_takes_no_second_closure_and_no_second_use_of_a_reference(scope: Scope, time: Clock) -> None:
    first, second = uncertain(scope, time), uncertain(scope, time)
    close(request_for(*first, time, proof_ref="prf-9"))
    row = one_row("resume_closure", suspension_id=first[0].version.suspension_id)
    with unchanged(scope), pytest.raises(DatabaseError):
        insert_row("resume_closure", row, proof_ref="prf-10")
    with unchanged(scope), pytest.raises(DatabaseError):
        insert_row(
            "resume_closure",
            row,
            suspension_id=second[0].version.suspension_id,
            run_id=second[0].version.run_id,
        )
