"""admit_resume: a peer's reply, admitted once. Every refusal in its order. Source: store.md section 3."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256

import pytest
from django.db import DatabaseError
from pytest_django.fixtures import Settings

from suspensions.domain.errors import (
    CortexError,
    Forbidden,
    InputTooLarge,
    InvalidRequest,
    NotAgentReplyResumable,
    NotFound,
    NotSuspended,
    RequiresApproval,
    ResumeAdmissionConflict,
    RunConflict,
    SuspensionExpired,
)
from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Admission, AdmissionRequest, ClaimVersion, Reason, Run, Suspension
from suspensions.operations import resumes, runs, suspensions
from tests.store.rows import event_types, execute, hashed, one_row, rows, run_chain, run_state, text_of
from tests.store.support import TICK, Clock, refused, unchanged
from tests.support.builders import admit as answer
from tests.support.builders import (
    call,
    caller,
    fresh_scope,
    holder_of,
    make_pause,
    make_run,
    new_suspension,
    start,
    take,
    version_of,
)

REPLY = b'{"reply":"yes"}'
ADDRESSES = frozenset({"reply-1"})


def admit(
    pause: Suspension,
    *,
    by: Caller | None = None,
    scope: Scope | None = None,
    version: ClaimVersion | None = None,
    value: bytes = REPLY,
    reply_with: frozenset[str] = ADDRESSES,
) -> Admission:
    """Admit a reply to the pause; what a test is about is given, the rest is right."""
    at = scope or pause.scope
    request = AdmissionRequest(at, version or version_of(pause), value)
    return resumes.admit_resume(by or caller(at, Role.BUS), request, reply_with)


def pin(pause: Suspension, *, suspension_id: str | None = None, revision: int | None = None) -> ClaimVersion:
    """The pause's version with one part of it wrong."""
    right = version_of(pause)
    return ClaimVersion(
        right.run_id, suspension_id or right.suspension_id, right.run_revision if revision is None else revision
    )


def other_pause(scope: Scope) -> Suspension:
    return make_pause(scope, Reason.AGENT_REPLY)


# -- an admission ----------------------------------------------------------------------------------


def test_a_reply_is_admitted_once_and_its_receipt_says_all_that_it_binds(time: Clock) -> None:
    scope = fresh_scope()
    pause = make_pause(scope, Reason.AGENT_REPLY, expires_at=time.ahead(3600))
    time.tick(5)
    bus = caller(scope, Role.BUS, principal="mail-bus", via="token:main")

    admission = admit(pause, by=bus)

    assert admission.fresh
    assert admission.schema_version == 1
    assert admission.scope == scope
    assert admission.version == version_of(pause)
    assert admission.input == REPLY
    assert admission.suspension_digest == pause.digest
    assert admission.claimed_revision == version_of(pause).run_revision + 1
    assert admission.admitted_at == time.now
    assert admission.admitted_by.to_json() == {"principal": "mail-bus", "via": "token:main"}
    assert admission.reason is Reason.AGENT_REPLY
    assert admission.start_by == pause.expires_at
    assert admission.request_digest == hashed(
        "cortex/resume-request/v1",
        {
            "schema_version": 1,
            "scope": scope.text,
            "version": {"run_id": pause.run_id, "suspension_id": pause.id, "run_revision": 2},
            "input_sha256": sha256(REPLY).hexdigest(),
            "input_bytes": len(REPLY),
        },
    )


def test_the_run_is_claimed_by_the_admission_and_its_pause_stays_live(time: Clock) -> None:
    pause = make_pause(fresh_scope(), Reason.AGENT_REPLY)
    time.tick()

    admission = admit(pause)

    assert run_state(pause.run_id) == ("running", admission.claimed_revision)
    row = one_row("suspension", id=pause.id)
    assert row["retired_at"] is None
    assert text_of(row["claimed_at"]) == text_of(time.now)
    assert event_types(pause.run_id) == ["run.created", "run.paused", "resume.admitted"]
    event = run_chain(pause.run_id)[-1]
    assert event["id"] == admission.event_id
    assert event["record_sha256"] == admission.record_sha256
    assert event["suspension_id"] == pause.id
    assert event["revision"] == admission.claimed_revision


def test_only_the_run_that_is_answered_moves() -> None:
    scope = fresh_scope()
    first, second = other_pause(scope), other_pause(scope)
    before = one_row("run", id=first.run_id), one_row("suspension", id=first.id)

    admit(second)

    assert (one_row("run", id=first.run_id), one_row("suspension", id=first.id)) == before
    assert suspensions.get_suspension(caller(scope), scope, first.run_id).id == first.id


@pytest.mark.parametrize(
    "value",
    [
        b'{ "b":1, "a":[1.0, 1e2, 12345678901234567890] , "a":0}',
        b"\x00\xff\xfe not JSON, not UTF-8\r\n",
        "e\u0301 \u00e9 \U0001f9e9 \u202e".encode(),
        b" ",
    ],
    ids=["JSON as written", "no text at all", "Unicode as it came", "one byte"],
)
def test_the_input_comes_back_byte_for_byte(value: bytes) -> None:
    pause = other_pause(fresh_scope())
    admission = admit(pause, value=value)
    assert admission.input == value
    assert start(admission).input == value
    assert resumes.get_admission(caller(pause.scope), pause.scope, pause.run_id, pause.id).input == value


def test_an_input_of_eight_mebibytes_is_admitted_and_one_byte_more_is_refused() -> None:
    pause = other_pause(fresh_scope())
    longest = b"x" * 8_388_608
    with refused(InputTooLarge, pause.scope):
        admit(pause, value=longest + b"x")
    admission = admit(pause, value=longest)
    assert admission.input_bytes == 8_388_608
    assert start(admission).input == longest


def test_an_empty_input_is_refused() -> None:
    pause = other_pause(fresh_scope())
    with refused(InvalidRequest, pause.scope):
        admit(pause, value=b"")


# -- until when it may be started ------------------------------------------------------------------


def test_without_a_deadline_an_answer_waits_for_a_worker_as_long_as_it_takes(time: Clock) -> None:
    assert admit(other_pause(fresh_scope())).start_by is None


def test_an_answer_given_just_in_time_still_has_the_grace(time: Clock, settings: Settings) -> None:
    settings.RESUME_START_GRACE = timedelta(minutes=15)
    pause = make_pause(fresh_scope(), Reason.AGENT_REPLY, expires_at=time.ahead(10))
    time.tick(9.999999)
    assert admit(pause).start_by == time.ahead(15 * 60)


def test_a_deadline_further_off_than_the_grace_bounds_the_start(time: Clock, settings: Settings) -> None:
    settings.RESUME_START_GRACE = timedelta(minutes=15)
    pause = make_pause(fresh_scope(), Reason.AGENT_REPLY, expires_at=time.ahead(901))
    assert admit(pause).start_by == pause.expires_at


@pytest.mark.parametrize("deadline", [None, 10, 7200], ids=["no deadline", "a near one", "a far one"])
def test_where_a_longest_wait_is_set_it_bounds_every_start(
    deadline: int | None, time: Clock, settings: Settings
) -> None:
    settings.RESUME_START_GRACE = timedelta(minutes=15)
    settings.RESUME_START_MAX = timedelta(minutes=5)
    expires_at = None if deadline is None else time.ahead(deadline)
    pause = make_pause(fresh_scope(), Reason.AGENT_REPLY, expires_at=expires_at)
    assert admit(pause).start_by == time.ahead(300)


def test_a_longest_wait_beyond_the_bound_changes_nothing(time: Clock, settings: Settings) -> None:
    settings.RESUME_START_GRACE = timedelta(minutes=15)
    settings.RESUME_START_MAX = timedelta(days=1)
    pause = make_pause(fresh_scope(), Reason.AGENT_REPLY, expires_at=time.ahead(10))
    assert admit(pause).start_by == time.ahead(900)


# -- the record first ------------------------------------------------------------------------------


def _started(admission: Admission) -> None:
    start(admission)


def _finished(admission: Admission) -> None:
    start(admission)
    by = caller(admission.scope)
    runs.finish_run(by, admission.scope, admission.version.run_id, RunState.COMPLETED)


def _deleted(admission: Admission) -> None:
    start(admission)
    suspensions.delete_suspension(caller(admission.scope), admission.scope, admission.version.run_id)


def _cancelled(admission: Admission) -> None:
    runs.cancel_run(caller(admission.scope), admission.scope, admission.version.run_id, "not wanted")


def _paused_again(admission: Admission) -> None:
    start(admission)
    new = new_suspension(admission.scope, admission.version.run_id, Reason.APPROVAL)
    suspensions.create_suspension(caller(admission.scope), new)


def _nothing(admission: Admission) -> None:
    pass


LATER = [_nothing, _started, _finished, _deleted, _cancelled, _paused_again]


@pytest.mark.parametrize("became", LATER)
def test_the_same_request_again_is_that_admission_whatever_became_of_the_run(
    became: Callable[[Admission], None], time: Clock
) -> None:
    pause = other_pause(fresh_scope())
    admission = admit(pause)
    became(admission)
    time.tick(30)
    with unchanged(pause.scope):
        again = admit(pause)
    assert again == admission
    assert not again.fresh
    assert again.input == REPLY


def test_the_same_request_after_the_start_window_passed_is_that_admission(time: Clock) -> None:
    pause = make_pause(fresh_scope(), Reason.AGENT_REPLY, expires_at=time.ahead(10))
    admission = admit(pause)
    time.tick(3600)
    resumes.expire_resume(caller(pause.scope), pause.scope, pause.run_id, pause.id, admission.request_digest)
    with unchanged(pause.scope):
        assert admit(pause) == admission


def test_the_same_request_by_another_peer_keeps_who_came_first() -> None:
    pause = other_pause(fresh_scope())
    admission = admit(pause, by=caller(pause.scope, Role.BUS, principal="first"))
    with unchanged(pause.scope):
        again = admit(pause, by=caller(pause.scope, Role.BUS, principal="second"))
    assert again == admission
    assert again.admitted_by.principal == "first"
    assert not again.fresh


@pytest.mark.parametrize("became", LATER)
def test_another_request_is_told_whom_it_lost_to_and_when(became: Callable[[Admission], None], time: Clock) -> None:
    pause = other_pause(fresh_scope())
    winner = admit(pause, by=caller(pause.scope, Role.BUS, principal="first", via="token:a"))
    became(winner)
    time.tick(30)
    with refused(ResumeAdmissionConflict, pause.scope) as caught:
        admit(pause, value=b'{"reply":"no"}')
    assert caught.value.members() == {
        "admission": {
            "request_digest": winner.request_digest,
            "admitted_at": winner.admitted_at,
            "admitted_by": {"principal": "first", "via": "token:a"},
        }
    }


def test_another_revision_is_another_request() -> None:
    pause = other_pause(fresh_scope())
    admit(pause)
    with refused(ResumeAdmissionConflict, pause.scope):
        admit(pause, version=pin(pause, revision=3))


def test_a_reply_to_a_pause_that_a_person_answered_is_told_so() -> None:
    pause = make_pause(fresh_scope(), Reason.APPROVAL)
    winner = answer(pause)
    with refused(ResumeAdmissionConflict, pause.scope) as caught:
        admit(pause)
    assert caught.value.admission is not None
    assert caught.value.admission.request_digest == winner.request_digest


# -- refusals, in their order ----------------------------------------------------------------------


def test_other_scopes_see_a_missing_run(time: Clock) -> None:
    parent = fresh_scope()
    scope = Scope.parse(f"{parent.text}/p=here")
    pause = other_pause(scope)
    admit(pause)
    waiting = other_pause(scope)
    child = Scope.parse(f"{scope.text}/t=below")
    missing = ClaimVersion("arun_01h455vb4pex5vsknk084sn02q", "sus_01h455vb4pex5vsknk084sn02q", 2)
    texts = set()
    for at in (parent, child, fresh_scope()):
        for each, version in ((pause, None), (waiting, None), (pause, missing)):
            with refused(NotSuspended, scope, at) as caught:
                admit(each, scope=at, version=version)
            texts.add((caught.value.detail, str(caught.value.members())))
    assert len(texts) == 1


def test_a_scope_without_a_grant_is_as_if_it_did_not_exist() -> None:
    pause = other_pause(fresh_scope())
    with refused(NotFound, pause.scope):
        admit(pause, by=caller(fresh_scope(), Role.BUS))


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.BUS])
def test_no_other_role_admits_a_reply_not_even_one_that_is_there(role: Role) -> None:
    pause = other_pause(fresh_scope())
    with refused(Forbidden, pause.scope):
        admit(pause, by=caller(pause.scope, role))
    admit(pause)
    with refused(Forbidden, pause.scope):
        admit(pause, by=caller(pause.scope, role))


def _claimed(pause: Suspension) -> Run:
    """Claim the pause by its deadline, so that it is gone without an admission."""
    by = caller(pause.scope)
    claimed = suspensions.claim_suspension(by, pause.scope, pause.run_id, expired_by=pause.expires_at, lease=take())
    assert claimed.claimed_run is not None
    return claimed.claimed_run


def test_a_run_that_is_not_paused_says_so_whatever_else_is_wrong(time: Clock) -> None:
    pause = make_pause(fresh_scope(), Reason.APPROVAL, expires_at=time.now)
    _claimed(pause)
    for version in (version_of(pause), pin(pause, revision=9), pin(pause, suspension_id="sus_" + "0" * 26)):
        with refused(NotSuspended, pause.scope):
            admit(pause, version=version, reply_with=frozenset())


@pytest.mark.parametrize("state", ["created", "running", "completed", "failed", "cancelled", "incomplete"])
def test_in_every_state_but_paused_there_is_nothing_to_answer(state: str) -> None:
    pause = other_pause(fresh_scope())
    execute("UPDATE run SET state = %s WHERE id = %s", [state, pause.run_id])
    with refused(NotSuspended, pause.scope):
        admit(pause)


def test_an_imported_paused_run_without_a_live_pause_is_not_suspended(time: Clock) -> None:
    pause = other_pause(fresh_scope())
    execute("UPDATE suspension SET retired_at = %s WHERE id = %s", [time.now, pause.id])
    with refused(NotSuspended, pause.scope):
        admit(pause)


WRONG_PIN = [{"revision": 1}, {"revision": 3}, {"suspension_id": "sus_01h455vb4pex5vsknk084sn02q"}]


@pytest.mark.parametrize("wrong", WRONG_PIN)
def test_a_wrong_pin_is_said_before_the_deadline_the_reason_and_the_addresses(
    wrong: dict[str, object], time: Clock
) -> None:
    scope = fresh_scope()
    for reason in Reason:
        pause = make_pause(scope, reason, expires_at=time.ahead(-1))
        with refused(RunConflict, scope) as caught:
            admit(pause, version=pin(pause, **wrong), reply_with=frozenset())  # type: ignore[arg-type]
        assert caught.value.members() == {"run": {"state": "paused", "revision": 2}}


def test_another_runs_pause_does_not_pin_this_run() -> None:
    scope = fresh_scope()
    mine, other = other_pause(scope), other_pause(scope)
    with refused(RunConflict, scope):
        admit(mine, version=pin(mine, suspension_id=other.id))
    admit(other)
    with refused(RunConflict, scope):
        admit(mine, version=pin(mine, suspension_id=other.id))


def test_an_earlier_pause_of_the_run_does_not_pin_a_later_one(time: Clock) -> None:
    scope = fresh_scope()
    run = make_run(scope)
    earlier = make_pause(scope, Reason.AGENT_REPLY, run=run, expires_at=time.now)
    holder = holder_of(_claimed(earlier))
    new = new_suspension(scope, run.id, Reason.AGENT_REPLY, holder=holder)
    later = suspensions.create_suspension(caller(scope), new)
    assert later.run is not None
    with refused(RunConflict, scope):
        admit(earlier, version=pin(earlier, revision=later.run.revision))
    with refused(RunConflict, scope):
        admit(later, version=pin(later, revision=version_of(earlier).run_revision))
    assert admit(later).fresh


def test_a_deadline_exactly_now_has_passed_for_every_reason(time: Clock) -> None:
    scope = fresh_scope()
    for reason in Reason:
        pause = make_pause(scope, reason, expires_at=time.now)
        with refused(SuspensionExpired, scope) as caught:
            admit(pause, reply_with=frozenset())
        assert caught.value.members() == {"expires_at": pause.expires_at}
        assert run_state(pause.run_id) == ("paused", 2)


def test_a_microsecond_before_the_deadline_an_answer_is_in_time(time: Clock) -> None:
    pause = make_pause(fresh_scope(), Reason.AGENT_REPLY, expires_at=time.now + TICK)
    assert admit(pause).fresh


@pytest.mark.parametrize(
    ("reason", "error"),
    [(Reason.APPROVAL, RequiresApproval), (Reason.EXTERNAL_TOOL, NotAgentReplyResumable)],
)
def test_a_peer_answers_no_other_reason(reason: Reason, error: type[CortexError]) -> None:
    pause = make_pause(fresh_scope(), reason)
    for addresses in (ADDRESSES, frozenset[str]()):
        with refused(error, pause.scope):
            admit(pause, reply_with=addresses)


def test_the_reply_echoes_every_address_as_a_set() -> None:
    calls = [
        call("c1", "ask_agent", reply_with="r-1"),
        call("c2", "ask_agent", reply_with="r-2"),
        call("c3", "ask_agent", reply_with="r-1"),
    ]
    pause = make_pause(fresh_scope(), Reason.AGENT_REPLY, pending=calls)
    for wrong in ({"r-1"}, {"r-1", "r-2", "r-3"}, set(), {"c1", "c2", "c3"}, {"R-1", "r-2"}):
        with refused(NotAgentReplyResumable, pause.scope):
            admit(pause, reply_with=frozenset(wrong))
    assert admit(pause, reply_with=frozenset({"r-2", "r-1"})).fresh


# -- the database is the last guard ----------------------------------------------------------------


def test_the_database_takes_no_second_admission_of_a_pause() -> None:
    pause = other_pause(fresh_scope())
    admit(pause)
    row = one_row("resume_admission", suspension_id=pause.id)
    columns, places = ", ".join(row), ", ".join(["%s"] * len(row))
    with unchanged(pause.scope), pytest.raises(DatabaseError):
        execute(f"INSERT INTO resume_admission ({columns}) VALUES ({places})", list(row.values()))


def test_a_refused_reply_leaves_no_event() -> None:
    pause = make_pause(fresh_scope(), Reason.APPROVAL)
    with pytest.raises(RequiresApproval):
        admit(pause)
    assert event_types(pause.run_id) == ["run.created", "run.paused"]
    assert rows("SELECT * FROM resume_admission WHERE run_id = %s", [pause.run_id]) == []
