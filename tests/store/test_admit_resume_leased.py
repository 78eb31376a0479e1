"""admit_resume with a lease and a first snapshot: taken in the admitting commit, or not at all.

Source: store.md sections 1 and 3.
"""

from __future__ import annotations

from typing import Any

import pytest

from suspensions.domain.errors import (
    InvalidRequest,
    InvalidState,
    NotSuspended,
    ProgressNotFound,
    ResumeAdmissionConflict,
    RunConflict,
    RunLeaseLost,
    SuspensionExpired,
)
from suspensions.domain.policy import Role
from suspensions.domain.states import RunState
from suspensions.domain.values import (
    Admission,
    AdmissionRequest,
    ClaimVersion,
    Holder,
    LeaseTake,
    Reason,
    Snapshot,
    Suspension,
)
from suspensions.operations import leases, progress, resumes, runs
from tests.store.rows import lease_of, one_row, run_chain, text_of
from tests.store.support import Clock, refused, unchanged
from tests.support.builders import (
    call,
    caller,
    continuation,
    fresh_scope,
    make_pause,
    make_run,
    snapshot,
    start,
    take,
    version_of,
)

REPLY = b'{"reply":"yes"}'


@pytest.fixture
def pause() -> Suspension:
    return make_pause(fresh_scope(), Reason.AGENT_REPLY)


def admit(
    pause: Suspension,
    lease: LeaseTake | None = None,
    first: Snapshot | None = None,
    *,
    value: bytes = REPLY,
    version: ClaimVersion | None = None,
) -> Admission:
    request = AdmissionRequest(pause.scope, version or version_of(pause), value)
    addresses = frozenset(each.reply_with or "" for each in pause.pending)
    return resumes.admit_resume(caller(pause.scope, Role.BUS), request, addresses, lease=lease, first=first)


# -- what is taken ---------------------------------------------------------------------------------


def test_the_lease_is_taken_in_the_commit_that_claims_the_pause(pause: Suspension, time: Clock) -> None:
    admission = admit(pause, take("admitter", 30))

    assert (admission.lease_owner, admission.lease_epoch) == ("admitter", 1)
    row = one_row("run", id=pause.run_id)
    assert (row["state"], row["lease_owner"], row["lease_epoch"]) == ("running", "admitter", 1)
    assert text_of(row["lease_expires_at"]) == text_of(time.ahead(30))
    event = run_chain(pause.run_id)[-1]
    assert event["type"] == "resume.admitted"
    assert b'"owner":"admitter"' in bytes(event["data"])


def test_the_epoch_grows_from_the_leases_before() -> None:
    scope = fresh_scope()
    run = make_run(scope, lease=take("worker-1"))
    pause = make_pause(scope, Reason.AGENT_REPLY, run=run)
    assert admit(pause, take("worker-1")).lease_epoch == 2


def test_without_a_lease_nobody_holds_the_run_and_the_epoch_stays() -> None:
    scope = fresh_scope()
    pause = make_pause(scope, Reason.AGENT_REPLY, run=make_run(scope, lease=take()))
    admission = admit(pause)
    assert (admission.lease_owner, admission.lease_epoch) == (None, None)
    assert lease_of(pause.run_id) == (None, 1)


def test_an_instant_may_be_given_instead_of_seconds(pause: Suspension, time: Clock) -> None:
    admit(pause, LeaseTake("admitter", expires_at=time.ahead(45)))
    assert text_of(one_row("run", id=pause.run_id)["lease_expires_at"]) == text_of(time.ahead(45))


def test_the_first_snapshot_is_written_with_the_lease_and_carries_the_answer(pause: Suspension, time: Clock) -> None:
    first = snapshot(
        pause.run_id,
        "admitter",
        continuation=continuation(step_index=7, tokens_used=900),
        started=(call("c9", arguments='{"n":1.0}'),),
        done=b'[{"call_id":"c9","outcome":"completed","content":"yes"}]',
    )
    admit(pause, take("admitter"), first)

    stored = progress.get_progress(caller(pause.scope), pause.scope, pause.run_id)
    assert (stored.owner, stored.epoch, stored.updated_at) == ("admitter", 1, time.now)
    assert stored.continuation == first.continuation.text
    assert stored.started == first.started
    assert stored.done == first.done
    row = one_row("run", id=pause.run_id)
    assert (row["step_count"], row["tokens_used"]) == (7, 900)


def test_while_the_resume_waits_for_its_start_not_even_its_admitter_may_touch_the_run(pause: Suspension) -> None:
    admit(pause, take("admitter"))
    by, holder = caller(pause.scope), Holder("admitter", 1)
    with refused(InvalidState, pause.scope):
        progress.save_progress(by, pause.scope, snapshot(pause.run_id, "admitter"), holder)
    with refused(InvalidState, pause.scope):
        runs.finish_run(by, pause.scope, pause.run_id, RunState.COMPLETED, holder=holder)
    with refused(InvalidState, pause.scope):
        leases.reclaim_lease(by, pause.scope, pause.run_id, take("other"))


def test_a_lapsed_admitter_leaves_a_resume_that_anybody_may_start(pause: Suspension, time: Clock) -> None:
    admission = admit(pause, take("admitter", 10), snapshot(pause.run_id, "admitter"))
    time.tick(10)
    started = resumes.start_next(caller(pause.scope), pause.scope, take("other"))
    assert started is not None
    assert started.request_digest == admission.request_digest
    assert (started.lease_owner, started.lease_epoch) == ("other", 2)


# -- a repeat takes nothing ------------------------------------------------------------------------


FIRSTS: list[tuple[LeaseTake, dict[str, Any] | None]] = [
    (take("admitter"), None),
    (take("other", 3600), {"owner": "other"}),
    (take("other"), {"owner": "somebody else"}),
    (take("other"), {"owner": "other", "run_id": "arun_01h455vb4pex5vsknk084sn02q"}),
    (LeaseTake("", seconds=30), None),
    (LeaseTake("half"), None),
]
_IDS = ["same owner", "other owner", "another's snapshot", "another run's snapshot", "no owner", "no end"]


@pytest.mark.parametrize(("lease", "first"), FIRSTS, ids=_IDS)
@pytest.mark.parametrize("lapsed", [False, True])
def test_the_same_request_again_takes_no_lease_and_no_snapshot(
    lease: LeaseTake, first: dict[str, Any] | None, lapsed: bool, pause: Suspension, time: Clock
) -> None:
    admission = admit(pause, take("admitter", 60), snapshot(pause.run_id, "admitter"))
    time.tick(61 if lapsed else 1)
    given = None if first is None else snapshot(**{"run_id": pause.run_id, **first})
    with unchanged(pause.scope):
        again = admit(pause, lease, given)
    assert again == admission
    assert (again.fresh, again.lease_owner, again.lease_epoch) == (False, "admitter", 1)


def test_an_unleased_admission_gets_no_lease_by_asking_again(pause: Suspension) -> None:
    admit(pause)
    with unchanged(pause.scope):
        again = admit(pause, take("late"), snapshot(pause.run_id, "late"))
    assert again.lease_owner is None
    with pytest.raises(ProgressNotFound):
        progress.get_progress(caller(pause.scope), pause.scope, pause.run_id)


def test_after_the_start_a_repeat_does_not_take_the_run_back(pause: Suspension) -> None:
    admission = admit(pause, take("admitter"))
    start(admission, lease=take("worker"))
    with unchanged(pause.scope):
        assert admit(pause, take("admitter"), snapshot(pause.run_id, "admitter")) == admission
    assert lease_of(pause.run_id) == ("worker", 2)


@pytest.mark.parametrize(("lease", "first"), FIRSTS, ids=_IDS)
def test_another_request_is_told_of_the_record_before_its_lease_is_looked_at(
    lease: LeaseTake, first: dict[str, Any] | None, pause: Suspension
) -> None:
    admit(pause)
    given = None if first is None else snapshot(**{"run_id": pause.run_id, **first})
    with refused(ResumeAdmissionConflict, pause.scope):
        admit(pause, lease, given, value=b"another")


# -- refusals, in their order ----------------------------------------------------------------------


def _wrong_takes(run_id: str) -> list[tuple[LeaseTake | None, Snapshot | None]]:
    return [
        (LeaseTake("", seconds=30), None),
        (LeaseTake("admitter"), None),
        (LeaseTake(""), None),
        (take("admitter"), snapshot(run_id, "other")),
        (take("admitter"), snapshot(run_id, "")),
        (take("admitter"), snapshot("arun_01h455vb4pex5vsknk084sn02q", "admitter")),
        (None, snapshot(run_id, "admitter")),
    ]


@pytest.mark.parametrize("which", range(7))
def test_half_a_lease_or_anothers_snapshot_is_said_before_the_pinned_refusals(which: int, time: Clock) -> None:
    scope = fresh_scope()
    right = make_pause(scope, Reason.AGENT_REPLY)
    expired = make_pause(scope, Reason.AGENT_REPLY, expires_at=time.now)
    person = make_pause(scope, Reason.APPROVAL)
    for pause in (right, expired, person):
        lease, first = _wrong_takes(pause.run_id)[which]
        with refused(RunLeaseLost, scope):
            admit(pause, lease, first)
        wrong = ClaimVersion(pause.run_id, pause.id, 99)
        with refused(RunLeaseLost, scope):
            admit(pause, lease, first, version=wrong)


@pytest.mark.parametrize(
    "lease",
    [take("admitter", 0), take("admitter", -5), take("admitter", 3601), take("a" * 257), take("a\tb"), take("a\x00")],
    ids=["0 s", "past", "3601 s", "long owner", "tab", "NUL"],
)
def test_a_lease_out_of_its_bounds_is_an_invalid_request(lease: LeaseTake, pause: Suspension) -> None:
    with refused(InvalidRequest, pause.scope):
        admit(pause, lease)


def test_both_forms_of_an_end_at_once_are_refused(pause: Suspension, time: Clock) -> None:
    with refused(InvalidRequest, pause.scope):
        admit(pause, LeaseTake("admitter", expires_at=time.ahead(30), seconds=30))


@pytest.mark.parametrize("seconds", [1, 3600])
def test_the_bounds_of_a_lease_are_inclusive(seconds: int, pause: Suspension, time: Clock) -> None:
    assert admit(pause, take("admitter", seconds)).lease_owner == "admitter"


def test_a_refused_admission_takes_neither_lease_nor_snapshot(time: Clock) -> None:
    scope = fresh_scope()
    pause = make_pause(scope, Reason.AGENT_REPLY, expires_at=time.now)
    good = take("admitter"), snapshot(pause.run_id, "admitter")
    with refused(SuspensionExpired, scope):
        admit(pause, *good)
    with refused(RunConflict, scope):
        admit(pause, *good, version=ClaimVersion(pause.run_id, pause.id, 1))
    runs.cancel_run(caller(scope), scope, pause.run_id, "gone")
    with refused(NotSuspended, scope):
        admit(pause, *good)
