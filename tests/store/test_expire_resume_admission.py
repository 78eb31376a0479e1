"""expire_resume_admission: an answer that nobody started in time. Source: store.md section 3."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from suspensions.domain.errors import (
    Forbidden,
    InvalidState,
    NotFound,
    NotSuspended,
    ResumeAdmissionConflict,
    ResumeAdmissionNotFound,
    ResumeAlreadyStarted,
    ResumeExpiryNotFound,
    ResumeNotExpired,
    RunConflict,
    SuspensionExpired,
)
from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Admission, Expiry, Reason
from suspensions.operations import leases, resumes, runs, suspensions
from tests.store.rows import event_types, execute, hashed, lease_of, one_row, run_chain, run_state, text_of
from tests.store.support import TICK, Clock, refused, unchanged
from tests.support.builders import admit, caller, fresh_scope, make_pause, snapshot, start, take

UNKNOWN_RUN = "arun_01h455vb4pex5vsknk084sn02q"
UNKNOWN_PAUSE = "sus_01h455vb4pex5vsknk084sn02q"


def expire(
    admission: Admission,
    *,
    by: Caller | None = None,
    scope: Scope | None = None,
    run_id: str | None = None,
    suspension_id: str | None = None,
    digest: str | None = None,
) -> Expiry:
    at, version = scope or admission.scope, admission.version
    return resumes.expire_resume(
        by or caller(at, Role.OPERATOR),
        at,
        run_id or version.run_id,
        suspension_id or version.suspension_id,
        digest or admission.request_digest,
    )


def admitted(scope: Scope, time: Clock, seconds: float | None = 1, **more: Any) -> Admission:
    expires_at = None if seconds is None else time.ahead(seconds)
    return admit(make_pause(scope, Reason.AGENT_REPLY, expires_at=expires_at), **more)


@pytest.fixture
def overdue(time: Clock) -> Admission:
    """An admission whose start window has passed."""
    admission = admitted(fresh_scope(), time, lease=take("admitter"))
    assert admission.start_by is not None
    time.now = admission.start_by
    return admission


# -- an expiry -------------------------------------------------------------------------------------


def test_the_run_fails_with_receipt_and_event_in_one_commit(overdue: Admission, time: Clock) -> None:
    time.tick(7)
    run_id = overdue.version.run_id
    expiry = expire(overdue, by=caller(overdue.scope, Role.OPERATOR, principal="ops", via="session"))

    assert expiry.fresh
    assert expiry.run_revision == overdue.claimed_revision + 1
    assert (expiry.version, expiry.scope, expiry.schema_version) == (overdue.version, overdue.scope, 1)
    assert expiry.request_digest == overdue.request_digest
    assert expiry.expired_at == time.now
    assert run_state(run_id) == ("failed", expiry.run_revision)
    assert lease_of(run_id) == (None, 1)
    row = one_row("run", id=run_id)
    assert text_of(row["completed_at"]) == text_of(time.now)
    assert bytes(one_row("run_result", run_id=run_id)["error"])
    assert text_of(one_row("suspension", id=overdue.version.suspension_id)["retired_at"]) == text_of(time.now)
    event = run_chain(run_id)[-1]
    assert (event["type"], event["id"], event["revision"]) == ("resume.expired", expiry.event_id, expiry.run_revision)
    assert event["record_sha256"] == expiry.record_sha256
    assert event_types(run_id) == ["run.created", "run.paused", "resume.admitted", "resume.expired"]
    assert expiry.digest == hashed(
        "cortex/resume-expiry/v1",
        {
            "schema_version": 1,
            "version": {
                "run_id": run_id,
                "suspension_id": overdue.version.suspension_id,
                "run_revision": overdue.version.run_revision,
            },
            "scope": overdue.scope.text,
            "request_digest": overdue.request_digest,
            "event_id": expiry.event_id,
            "run_revision": expiry.run_revision,
            "expired_at": text_of(time.now),
        },
    )


def test_start_and_expiry_split_the_window_at_one_instant(time: Clock) -> None:
    scope = fresh_scope()
    first, second = admitted(scope, time, 1000), admitted(scope, time, 1000)
    assert first.start_by is not None
    time.now = first.start_by - TICK
    with refused(ResumeNotExpired, scope):
        expire(first)
    assert start(first).fresh
    time.now = first.start_by
    with refused(SuspensionExpired, scope):
        start(second)
    assert expire(second).fresh


@pytest.mark.parametrize(
    ("deadline", "grace", "longest", "window"),
    [
        (10, 900, None, 900),
        (2000, 900, None, 2000),
        (10, 0, None, 10),
        (None, 900, 60, 60),
        (10, 900, 60, 60),
        (30, 0, 60, 30),
    ],
)
def test_the_window_is_the_settings(
    deadline: int | None, grace: int, longest: int | None, window: int, time: Clock, settings: Settings
) -> None:
    settings.RESUME_START_GRACE = timedelta(seconds=grace)
    settings.RESUME_START_MAX = None if longest is None else timedelta(seconds=longest)
    scope = fresh_scope()
    admission = admitted(scope, time, deadline)
    assert admission.start_by == time.ahead(window)
    time.tick(window - 0.000001)
    with refused(ResumeNotExpired, scope):
        expire(admission)
    time.tick(0.000001)
    with refused(SuspensionExpired, scope):
        start(admission)
    assert expire(admission).fresh


def test_an_answer_without_a_window_never_expires(time: Clock) -> None:
    scope = fresh_scope()
    admission = admitted(scope, time, None)
    time.tick(10**8)
    with refused(ResumeNotExpired, scope):
        expire(admission)
    assert start(admission).fresh


def test_an_expiry_does_not_wait_for_the_admitters_lease(time: Clock) -> None:
    scope = fresh_scope()
    admission = admitted(scope, time, lease=take("admitter", 3600))
    time.tick(900)
    assert expire(admission).fresh
    assert lease_of(admission.version.run_id) == (None, 1)


def test_nothing_leads_out_of_an_expired_resume(overdue: Admission) -> None:
    scope, run_id = overdue.scope, overdue.version.run_id
    expire(overdue)
    by = caller(scope)
    with refused(SuspensionExpired, scope):
        start(overdue)
    with refused(NotSuspended, scope):
        suspensions.get_suspension(by, scope, run_id)
    with refused(NotSuspended, scope):
        suspensions.claim_suspension(by, scope, run_id)
    with refused(InvalidState, scope):
        leases.claim_continuation(by, scope, run_id, take(), snapshot(run_id))
    with refused(InvalidState, scope):
        runs.finish_run(by, scope, run_id, RunState.COMPLETED)
    assert resumes.start_next(by, scope, take()) is None


# -- the record first ------------------------------------------------------------------------------


def test_the_same_again_is_that_expiry(overdue: Admission, time: Clock) -> None:
    expiry = expire(overdue)
    time.tick(5000)
    with unchanged(overdue.scope):
        again = [expire(overdue) for _ in range(3)]
    assert again == [expiry] * 3
    assert not any(each.fresh for each in again)
    assert again[0].expired_by == expiry.expired_by


# -- refusals, in their order ----------------------------------------------------------------------


def test_without_an_admission_there_is_nothing_to_expire(overdue: Admission) -> None:
    scope = overdue.scope
    waiting = make_pause(scope, Reason.AGENT_REPLY)
    parts = [(UNKNOWN_RUN, None), (None, UNKNOWN_PAUSE), (waiting.run_id, waiting.id), (None, waiting.id)]
    for run_id, suspension_id in parts:
        with refused(ResumeAdmissionNotFound, scope):
            expire(overdue, run_id=run_id, suspension_id=suspension_id, digest="0" * 64)


def test_every_other_scope_sees_no_admission(time: Clock) -> None:
    parent = fresh_scope()
    scope = Scope.parse(f"{parent.text}/p=here")
    admission = admitted(scope, time)
    time.tick(5000)
    for at in (parent, Scope.parse(f"{scope.text}/t=below"), fresh_scope()):
        with refused(ResumeAdmissionNotFound, scope):
            expire(admission, scope=at)
    with refused(NotFound, scope):
        expire(admission, by=caller(fresh_scope(), Role.OPERATOR))


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.OPERATOR])
def test_no_other_role_expires(role: Role, overdue: Admission) -> None:
    with refused(Forbidden, overdue.scope):
        expire(overdue, by=caller(overdue.scope, role))


def _nothing(admission: Admission) -> None:
    pass


def _expired(admission: Admission) -> None:
    expire(admission)


def _cancelled(admission: Admission) -> None:
    runs.cancel_run(caller(admission.scope), admission.scope, admission.version.run_id, "stop")


@pytest.mark.parametrize("became", [_nothing, _expired])
def test_another_digest_is_told_of_the_admission_before_anything_else(
    became: Callable[[Admission], None], overdue: Admission
) -> None:
    became(overdue)
    with refused(ResumeAdmissionConflict, overdue.scope) as caught:
        expire(overdue, digest="f" * 64)
    assert caught.value.admission is not None
    assert caught.value.admission.request_digest == overdue.request_digest


def test_a_started_resume_is_never_expired_whatever_became_of_it(time: Clock) -> None:
    scope = fresh_scope()
    started, finished, cancelled = (admitted(scope, time) for _ in range(3))
    for each in (started, finished, cancelled):
        start(each)
    with refused(ResumeAlreadyStarted, scope):
        expire(started)  # said before "not yet"
    runs.finish_run(caller(scope), scope, finished.version.run_id, RunState.COMPLETED)
    _cancelled(cancelled)
    time.tick(5000)
    for each in (started, finished, cancelled):
        with refused(ResumeAlreadyStarted, scope):
            expire(each)


def test_a_run_that_moved_on_is_a_conflict_before_the_window_is_looked_at(time: Clock) -> None:
    scope = fresh_scope()
    endless, open_still, passed = admitted(scope, time, None), admitted(scope, time, 9000), admitted(scope, time)
    time.tick(5000)
    for each in (endless, open_still, passed):
        _cancelled(each)
        with refused(RunConflict, scope) as caught:
            expire(each)
        assert caught.value.members() == {"run": {"state": "cancelled", "revision": 4}}


@pytest.mark.parametrize("change", ["state = 'paused'", "revision = 99"])
def test_a_run_that_does_not_stand_where_it_was_admitted_is_a_conflict(change: str, overdue: Admission) -> None:
    execute(
        f"UPDATE run SET lease_owner = NULL, lease_expires_at = NULL, {change} WHERE id = %s", [overdue.version.run_id]
    )
    with refused(RunConflict, overdue.scope):
        expire(overdue)


def test_an_overdue_resume_expires_also_where_its_pause_was_changed(overdue: Admission) -> None:
    execute("UPDATE suspension SET pending = %s WHERE id = %s", [b"[]", overdue.version.suspension_id])
    assert expire(overdue).fresh


# -- reading ---------------------------------------------------------------------------------------


def test_an_expiry_is_read_back_whole(overdue: Admission) -> None:
    expiry = expire(overdue)
    version = overdue.version
    for role in Role:
        again = resumes.get_expiry(caller(overdue.scope, role), overdue.scope, version.run_id, version.suspension_id)
        assert (again, again.fresh, again.record_sha256) == (expiry, False, expiry.record_sha256)


def test_what_did_not_expire_has_no_expiry(overdue: Admission, time: Clock) -> None:
    scope = overdue.scope
    started = admitted(scope, time)
    start(started)
    expire(overdue)
    parts = [
        (scope, started.version.run_id, started.version.suspension_id),
        (scope, UNKNOWN_RUN, overdue.version.suspension_id),
        (fresh_scope(), overdue.version.run_id, overdue.version.suspension_id),
    ]
    for at, run_id, suspension_id in parts:
        with pytest.raises(ResumeExpiryNotFound):
            resumes.get_expiry(caller(at), at, run_id, suspension_id)
