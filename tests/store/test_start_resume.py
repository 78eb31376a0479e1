"""start_resume: execution is granted once. Every refusal in its order. Source: store.md section 3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError

from suspensions.domain.errors import (
    CortexError,
    Forbidden,
    NotFound,
    ResumeAdmissionConflict,
    ResumeAdmissionNotFound,
    ResumeStartNotFound,
    RunConflict,
    SuspensionExpired,
)
from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Admission, Reason, Start
from suspensions.operations import resumes, runs, suspensions
from tests.closing.test_verification import without_triggers
from tests.store.rows import (
    closure_row,
    event_types,
    execute,
    hashed,
    insert_row,
    lease_of,
    one_row,
    run_chain,
    run_state,
    text_of,
)
from tests.store.support import TICK, Clock, refused, unchanged
from tests.support.builders import admit, call, caller, continuation, fresh_scope, make_pause, new_suspension, take

UNKNOWN_RUN = "arun_01h455vb4pex5vsknk084sn02q"
UNKNOWN_PAUSE = "sus_01h455vb4pex5vsknk084sn02q"


def start(
    admission: Admission,
    *,
    by: Caller | None = None,
    scope: Scope | None = None,
    run_id: str | None = None,
    suspension_id: str | None = None,
    digest: str | None = None,
) -> Start:
    """Start the admission; what a test is about is given, the rest is right."""
    at, version = scope or admission.scope, admission.version
    return resumes.start_resume(
        by or caller(at, Role.AGENT),
        at,
        run_id or version.run_id,
        suspension_id or version.suspension_id,
        digest or admission.request_digest,
    )


def admitted(scope: Scope | None = None, *, seconds: float | None = None, time: Clock | None = None) -> Admission:
    """An admission that waits for its start; with seconds, of a pause with a deadline so far off."""
    expires_at = None if seconds is None or time is None else time.ahead(seconds)
    return admit(make_pause(scope or fresh_scope(), Reason.AGENT_REPLY, expires_at=expires_at))


# -- a start ---------------------------------------------------------------------------------------


def test_the_fresh_start_alone_carries_what_to_execute(time: Clock) -> None:
    scope = fresh_scope()
    body = continuation(step_index=3, config={"tools": [], "tools_restricted": True})
    calls = [call("c1", "ask_agent", '{"q": "é", "n":1.0}', reply_with="r-1")]
    pause = make_pause(scope, Reason.AGENT_REPLY, pending=calls, continuation=body)
    admission = admit(pause, value=b"\x00the answer\xff")
    time.tick(3)

    started = start(admission, by=caller(scope, Role.AGENT, principal="worker", via="token:w"))

    assert started.fresh
    assert started.input == b"\x00the answer\xff"
    assert started.suspension is not None
    assert started.suspension.pending == tuple(calls)
    assert started.suspension.continuation == body.text
    assert started.suspension.digest == admission.suspension_digest
    assert started.claimed_run is not None
    assert started.claimed_run.state is RunState.RUNNING
    assert started.claimed_run.revision == admission.claimed_revision
    assert started.started_at == time.now
    assert started.started_by.to_json() == {"principal": "worker", "via": "token:w"}
    assert (started.version, started.scope, started.schema_version) == (admission.version, scope, 1)
    assert started.request_digest == admission.request_digest
    assert (started.lease_owner, started.lease_epoch) == (None, None)
    assert started.digest == hashed(
        "cortex/resume-start/v1",
        {
            "schema_version": 1,
            "version": {"run_id": pause.run_id, "suspension_id": pause.id, "run_revision": 2},
            "scope": scope.text,
            "request_digest": admission.request_digest,
            "started_at": text_of(time.now),
        },
    )


def test_a_start_leaves_state_revision_and_pause_as_they_were() -> None:
    admission = admitted()
    before = run_state(admission.version.run_id)
    start(admission)
    assert run_state(admission.version.run_id) == before == ("running", admission.claimed_revision)
    pause = one_row("suspension", id=admission.version.suspension_id)
    assert pause["retired_at"] is None
    assert event_types(admission.version.run_id)[-2:] == ["resume.admitted", "resume.started"]
    event = run_chain(admission.version.run_id)[-1]
    assert event["revision"] == admission.claimed_revision
    assert event["suspension_id"] == admission.version.suspension_id


def test_of_many_callers_one_is_fresh_and_the_others_get_its_receipt_without_the_work() -> None:
    admission = admitted()
    first = start(admission)
    with unchanged(admission.scope):
        others = [start(admission) for _ in range(19)]
    assert first.fresh
    for other in others:
        assert other == first
        assert not other.fresh
        assert (other.suspension, other.input, other.claimed_run) == (None, None, None)


def test_the_starter_itself_gets_the_work_no_second_time() -> None:
    admission = admitted()
    worker = caller(admission.scope, Role.AGENT, principal="worker")
    start(admission, by=worker)
    with unchanged(admission.scope):
        again = start(admission, by=worker)
    assert (again.fresh, again.suspension, again.input) == (False, None, None)


def _finished(admission: Admission) -> None:
    runs.finish_run(caller(admission.scope), admission.scope, admission.version.run_id, RunState.COMPLETED)


def _cancelled(admission: Admission) -> None:
    runs.cancel_run(caller(admission.scope), admission.scope, admission.version.run_id, "stop")


def _deleted(admission: Admission) -> None:
    suspensions.delete_suspension(caller(admission.scope), admission.scope, admission.version.run_id)


def _paused_again(admission: Admission) -> None:
    new = new_suspension(admission.scope, admission.version.run_id, Reason.APPROVAL)
    suspensions.create_suspension(caller(admission.scope), new)


@pytest.mark.parametrize("became", [_finished, _cancelled, _deleted, _paused_again])
def test_a_start_that_is_there_is_the_answer_whatever_became_of_the_run(
    became: Callable[[Admission], None], time: Clock
) -> None:
    admission = admitted(seconds=10, time=time)
    first = start(admission)
    became(admission)
    time.tick(10_000)
    with unchanged(admission.scope):
        again = start(admission)
    assert again == first
    assert (again.fresh, again.suspension, again.input) == (False, None, None)


def test_an_answer_given_in_time_is_started_after_the_pauses_deadline(time: Clock) -> None:
    admission = admitted(seconds=10, time=time)
    time.tick(600)
    assert start(admission).fresh


def test_an_unleased_start_leaves_the_admitters_lease_where_it_is() -> None:
    scope = fresh_scope()
    admission = admit(make_pause(scope, Reason.AGENT_REPLY), lease=take("admitter"))
    assert start(admission).lease_owner is None
    assert lease_of(admission.version.run_id) == ("admitter", 1)


# -- refusals, in their order ----------------------------------------------------------------------


def test_without_an_admission_there_is_nothing_to_start() -> None:
    scope = fresh_scope()
    admission, other = admitted(scope), admitted(scope)
    waiting = make_pause(scope, Reason.AGENT_REPLY)
    wrongs: list[dict[str, Any]] = [
        {"run_id": UNKNOWN_RUN},
        {"suspension_id": UNKNOWN_PAUSE},
        {"suspension_id": other.version.suspension_id},
        {"run_id": waiting.run_id, "suspension_id": waiting.id},
    ]
    for wrong in wrongs:
        for digest in (None, "0" * 64):
            with refused(ResumeAdmissionNotFound, scope):
                start(admission, digest=digest, **wrong)


def test_every_other_scope_sees_no_admission_be_it_above_below_or_beside() -> None:
    parent = fresh_scope()
    scope = Scope.parse(f"{parent.text}/p=here")
    admission = admitted(scope)
    said = set()
    for at in (parent, Scope.parse(f"{scope.text}/t=below"), fresh_scope()):
        for run_id in (None, UNKNOWN_RUN):
            with refused(ResumeAdmissionNotFound, scope, at) as caught:
                start(admission, scope=at, run_id=run_id)
            said.add((caught.value.detail, str(caught.value.members())))
    assert len(said) == 1
    with refused(NotFound, scope):
        start(admission, by=caller(fresh_scope(), Role.AGENT))


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.AGENT])
def test_no_other_role_starts(role: Role) -> None:
    admission = admitted()
    with refused(Forbidden, admission.scope):
        start(admission, by=caller(admission.scope, role))


@pytest.mark.parametrize("wrong", ["0" * 64, "upper", "", "é"])
def test_another_digest_is_told_of_the_admission_before_anything_else(wrong: str, time: Clock) -> None:
    scope = fresh_scope()
    untouched, expired = admitted(scope), admitted(scope, seconds=1, time=time)
    cancelled, started = admitted(scope), admitted(scope)
    _cancelled(cancelled)
    start(started)
    time.tick(3600)
    for admission in (untouched, expired, cancelled, started):
        digest = admission.request_digest.upper() if wrong == "upper" else wrong or "short"
        with refused(ResumeAdmissionConflict, scope) as caught:
            start(admission, digest=digest)
        assert caught.value.admission is not None
        assert caught.value.admission.request_digest == admission.request_digest
        assert caught.value.admission.admitted_at == admission.admitted_at


def test_the_start_window_ends_exactly_at_start_by(time: Clock) -> None:
    scope = fresh_scope()
    late, in_time = admitted(scope, seconds=1000, time=time), admitted(scope, seconds=1000, time=time)
    assert late.start_by is not None
    time.now = late.start_by - TICK
    assert start(in_time).fresh
    time.now = late.start_by
    with refused(SuspensionExpired, scope) as caught:
        start(late)
    assert caught.value.members() == {"expires_at": late.start_by, "start_by": late.start_by}


def test_after_its_expiry_a_resume_is_expired_and_not_merely_moved_on(time: Clock) -> None:
    admission = admitted(seconds=1, time=time)
    time.tick(3600)
    version = admission.version
    operator = caller(admission.scope, Role.OPERATOR)
    resumes.expire_resume(operator, admission.scope, version.run_id, version.suspension_id, admission.request_digest)
    with refused(SuspensionExpired, admission.scope):
        start(admission)


def test_an_expiry_alone_forbids_the_start_also_where_the_window_is_open(time: Clock) -> None:
    admission = admitted()
    _import_expiry(admission, time)
    with refused(SuspensionExpired, admission.scope):
        start(admission)


def _import_expiry(admission: Admission, time: Clock) -> None:
    one, two, three = admission.scope.prefixes
    row = {
        "suspension_id": admission.version.suspension_id,
        "kind": "expiry",
        "run_id": admission.version.run_id,
        "scope": admission.scope.text,
        "scope_1": one,
        "scope_2": two,
        "scope_3": three,
        "schema_version": 1,
        "run_revision": admission.version.run_revision,
        "request_digest": admission.request_digest,
        "at": time.now,
        "actor": '{"principal":"imported","via":"system"}',
        "principal": "imported",
        "expired_revision": admission.claimed_revision + 1,
        "event_id": "evt-imported",
        "record_sha256": "0" * 64,
    }
    insert_row("resume_start_or_expiry", row)


def test_a_window_that_has_passed_is_said_before_a_run_that_moved_on(time: Clock) -> None:
    admission = admitted(seconds=1, time=time)
    _cancelled(admission)
    with refused(RunConflict, admission.scope):
        start(admission)
    time.tick(3600)
    with refused(SuspensionExpired, admission.scope):
        start(admission)


def test_a_cancelled_run_is_started_no_more() -> None:
    admission = admitted()
    _cancelled(admission)
    with refused(RunConflict, admission.scope) as caught:
        start(admission)
    assert caught.value.members() == {"run": {"state": "cancelled", "revision": 4}}


@pytest.mark.parametrize("change", ["state = 'paused'", "state = 'failed'", "revision = 99", "revision = 2"])
def test_a_run_that_is_not_running_at_the_claimed_revision_is_a_conflict_before_a_changed_pause(change: str) -> None:
    admission = admitted()
    execute(f"UPDATE run SET {change} WHERE id = %s", [admission.version.run_id])
    execute("UPDATE suspension SET pending = %s WHERE id = %s", [b"[]", admission.version.suspension_id])
    with refused(RunConflict, admission.scope):
        start(admission)


def test_an_imported_closure_without_a_start_forbids_the_start(time: Clock) -> None:
    admission = admitted()
    insert_row("resume_closure", closure_row(admission, time.now))
    with refused(RunConflict, admission.scope):
        start(admission)


# -- the stored pause is the one that was admitted -------------------------------------------------

_CHANGES: dict[str, tuple[str, object]] = {
    "other arguments": (
        "UPDATE suspension SET pending = %s WHERE id = %s",
        b'[{"id":"call-1","name":"ask_agent","arguments":"{\\"to\\":\\"mallory\\"}","reply_with":"reply-1"}]',
    ),
    "another spelling of the same calls": (
        "UPDATE suspension SET pending = %s WHERE id = %s",
        b'[{"id": "call-1", "name": "ask_agent", "arguments": "{}", "reply_with": "reply-1"}]',
    ),
    "calls that no longer decode": ("UPDATE suspension SET pending = %s WHERE id = %s", b"[{"),
    "another reason": ("UPDATE suspension SET reason = %s WHERE id = %s", "external_tool"),
    "another history": (
        "UPDATE suspension_continuation SET body = %s WHERE suspension_id = %s",
        b'{"messages":[{"role":"user","content":"Please book it twice."}]}',
    ),
    "a history that no longer decodes": (
        "UPDATE suspension_continuation SET body = %s WHERE suspension_id = %s",
        b"{",
    ),
}


@pytest.mark.parametrize("what", _CHANGES)
def test_a_pause_that_was_changed_since_is_not_started(what: str) -> None:
    statement, value = _CHANGES[what]
    admission = admitted()
    assert execute(statement, [value, admission.version.suspension_id]) == 1
    with refused(ResumeAdmissionConflict, admission.scope):
        start(admission)


@pytest.mark.parametrize("stored", [b"approved, and twice", b""])
def test_an_input_that_was_changed_since_is_not_handed_out(stored: bytes) -> None:
    admission = admitted()
    with without_triggers():
        execute(
            "UPDATE resume_admission SET input = %s WHERE suspension_id = %s", [stored, admission.version.suspension_id]
        )
    with refused(ResumeAdmissionConflict, admission.scope):
        start(admission)
    assert resumes.start_next(caller(admission.scope), admission.scope, take()) is None


@pytest.mark.parametrize("seconds", [None, 999.999999, 1000.000001, 5000])
def test_a_deadline_that_was_moved_since_is_not_started(seconds: float | None, time: Clock) -> None:
    admission = admitted(seconds=1000, time=time)
    moved = None if seconds is None else time.ahead(seconds)
    execute("UPDATE suspension SET expires_at = %s WHERE id = %s", [moved, admission.version.suspension_id])
    with refused(ResumeAdmissionConflict, admission.scope):
        start(admission)


def test_digests_that_were_changed_together_with_the_content_do_not_help() -> None:
    scope = fresh_scope()
    admission, other = admitted(scope), make_pause(scope, Reason.AGENT_REPLY, pending=[call(reply_with="r-9")])
    execute(
        "UPDATE suspension SET pending = %s, pending_sha256 = %s, digest = %s WHERE id = %s",
        [
            one_row("suspension", id=other.id)["pending"],
            other.pending_sha256,
            other.digest,
            admission.version.suspension_id,
        ],
    )
    with refused(ResumeAdmissionConflict, scope):
        start(admission)


def test_a_stored_pause_that_is_gone_is_not_started(time: Clock) -> None:
    scope = fresh_scope()
    without_history, retired = admitted(scope), admitted(scope)
    execute("DELETE FROM suspension_continuation WHERE suspension_id = %s", [without_history.version.suspension_id])
    execute("UPDATE suspension SET retired_at = %s WHERE id = %s", [time.now, retired.version.suspension_id])
    for admission in (without_history, retired):
        with refused(ResumeAdmissionConflict, scope):
            start(admission)


def test_a_passed_window_is_said_before_a_changed_pause(time: Clock) -> None:
    admission = admitted(seconds=1, time=time)
    execute("UPDATE suspension SET expires_at = NULL WHERE id = %s", [admission.version.suspension_id])
    time.tick(3600)
    with refused(SuspensionExpired, admission.scope):
        start(admission)


# -- reading ---------------------------------------------------------------------------------------


def test_a_start_is_read_back_whole_and_without_the_work() -> None:
    admission = admitted()
    started = start(admission)
    version = admission.version
    for role in Role:
        reader = caller(admission.scope, role)
        again = resumes.get_start(reader, admission.scope, version.run_id, version.suspension_id)
        assert again == started
        assert (again.fresh, again.suspension, again.input, again.claimed_run) == (False, None, None, None)
        assert (again.digest, again.record_sha256) == (started.digest, started.record_sha256)


def test_what_was_not_started_has_no_start(time: Clock) -> None:
    scope = fresh_scope()
    admission, expired, started = admitted(scope), admitted(scope, seconds=1, time=time), admitted(scope)
    start(started)
    time.tick(3600)
    version = expired.version
    resumes.expire_resume(caller(scope), scope, version.run_id, version.suspension_id, expired.request_digest)
    parts = [
        (scope, admission.version.run_id, admission.version.suspension_id),
        (scope, version.run_id, version.suspension_id),
        (scope, admission.version.run_id, started.version.suspension_id),
        (scope, UNKNOWN_RUN, UNKNOWN_PAUSE),
        (fresh_scope(), started.version.run_id, started.version.suspension_id),
    ]
    for at, run_id, suspension_id in parts:
        with pytest.raises(ResumeStartNotFound):
            resumes.get_start(caller(at), at, run_id, suspension_id)


# -- the database is the last guard ----------------------------------------------------------------


def test_the_database_takes_neither_a_second_start_nor_an_expiry_beside_a_start(time: Clock) -> None:
    admission = admitted()
    start(admission)
    row = one_row("resume_start_or_expiry", suspension_id=admission.version.suspension_id)
    with unchanged(admission.scope), pytest.raises(IntegrityError):
        insert_row("resume_start_or_expiry", row)
    with unchanged(admission.scope), pytest.raises(IntegrityError):
        _import_expiry(admission, time)


def test_the_database_takes_no_start_beside_an_expiry(time: Clock) -> None:
    scope = fresh_scope()
    started, expired = admitted(scope), admitted(scope)
    start(started)
    _import_expiry(expired, time)
    row = one_row("resume_start_or_expiry", suspension_id=started.version.suspension_id)
    with unchanged(scope), pytest.raises(IntegrityError):
        insert_row(
            "resume_start_or_expiry",
            row,
            suspension_id=expired.version.suspension_id,
            run_id=expired.version.run_id,
            event_id="evt-other",
        )


def test_a_refusal_carries_no_execution_authority(time: Clock) -> None:
    admission = admitted()
    _cancelled(admission)
    with pytest.raises(CortexError) as caught:
        start(admission)
    assert not {"input", "suspension", "claimed_run"} & set(caught.value.members())
