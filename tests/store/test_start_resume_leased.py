"""start_resume with a lease: taken whoever held it, in the commit that grants execution.

Source: store.md sections 1 and 3.
"""

from __future__ import annotations

from typing import Any

import pytest

from suspensions.domain.errors import (
    InvalidRequest,
    ResumeAdmissionConflict,
    ResumeAdmissionNotFound,
    RunLeaseLost,
)
from suspensions.domain.states import RunState
from suspensions.domain.values import Admission, Holder, LeaseTake, Reason, Snapshot, Start
from suspensions.operations import leases, progress, resumes, runs, suspensions
from tests.store.rows import lease_of, one_row, run_chain, run_state, text_of
from tests.store.support import Clock, refused, unchanged
from tests.support.builders import (
    admit,
    caller,
    continuation,
    fresh_scope,
    make_pause,
    make_run,
    new_suspension,
    snapshot,
    take,
)


@pytest.fixture
def admission() -> Admission:
    """An admission whose admitter holds the run."""
    return admit(make_pause(fresh_scope(), Reason.AGENT_REPLY), lease=take("admitter"))


def start(admission: Admission, lease: LeaseTake | None, first: Snapshot | None = None, digest: str = "") -> Start:
    version = admission.version
    return resumes.start_resume(
        caller(admission.scope),
        admission.scope,
        version.run_id,
        version.suspension_id,
        digest or admission.request_digest,
        lease=lease,
        first=first,
    )


# -- what is taken ---------------------------------------------------------------------------------


def test_the_lease_is_taken_with_the_start_whoever_held_it(admission: Admission, time: Clock) -> None:
    started = start(admission, take("worker", 90))
    assert started.fresh
    assert (started.lease_owner, started.lease_epoch) == ("worker", 2)
    row = one_row("run", id=admission.version.run_id)
    assert (row["lease_owner"], row["lease_epoch"]) == ("worker", 2)
    assert text_of(row["lease_expires_at"]) == text_of(time.ahead(90))
    assert run_state(admission.version.run_id) == ("running", admission.claimed_revision)
    assert started.claimed_run is not None
    assert started.claimed_run.lease is not None
    assert started.claimed_run.lease.epoch == 2
    event = run_chain(admission.version.run_id)[-1]
    assert event["type"] == "resume.started"
    assert b'"epoch":2' in bytes(event["data"])


@pytest.mark.parametrize("successor", ["worker", "admitter"], ids=["another name", "the same name"])
def test_the_former_holder_is_fenced_from_then_on_also_where_the_successor_bears_its_name(
    admission: Admission, successor: str
) -> None:
    start(admission, take(successor))
    scope, run_id = admission.scope, admission.version.run_id
    by, stalled = caller(scope), Holder("admitter", 1)
    with refused(RunLeaseLost, scope):
        progress.save_progress(by, scope, snapshot(run_id, "admitter"), stalled)
    with refused(RunLeaseLost, scope):
        leases.renew_lease(by, scope, run_id, stalled, take("admitter", 3600))
    with refused(RunLeaseLost, scope):
        leases.release_lease(by, scope, run_id, stalled)
    with refused(RunLeaseLost, scope):
        runs.finish_run(by, scope, run_id, RunState.COMPLETED, holder=stalled)
    with refused(RunLeaseLost, scope):
        runs.finish_run(by, scope, run_id, RunState.COMPLETED)
    with refused(RunLeaseLost, scope):
        suspensions.create_suspension(by, new_suspension(scope, run_id, holder=stalled))
    with refused(RunLeaseLost, scope):
        runs.cancel_run(by, scope, run_id, "stalled", holder=stalled)
    with refused(RunLeaseLost, scope):
        progress.delete_progress(by, scope, run_id, stalled)
    assert runs.finish_run(by, scope, run_id, RunState.COMPLETED, holder=Holder(successor, 2)).fresh


def test_the_first_snapshot_is_written_with_the_start_and_goes_to_whoever_takes_the_run_over(
    admission: Admission, time: Clock
) -> None:
    first = snapshot(admission.version.run_id, "worker", continuation=continuation(step_index=4, tokens_used=40))
    start(admission, take("worker", 5), first)
    by, scope, run_id = caller(admission.scope), admission.scope, admission.version.run_id
    stored = progress.get_progress(by, scope, run_id)
    assert (stored.owner, stored.epoch, stored.continuation) == ("worker", 2, first.continuation.text)
    row = one_row("run", id=run_id)
    assert (row["step_count"], row["tokens_used"]) == (4, 40)
    time.tick(5)
    run, found = leases.reclaim_lease(by, scope, run_id, take("successor"))
    assert run.lease is not None and run.lease.epoch == 3
    assert found == stored


def test_a_first_snapshot_replaces_the_admitters_whole() -> None:
    scope = fresh_scope()
    pause = make_pause(scope, Reason.AGENT_REPLY)
    before = snapshot(pause.run_id, "admitter", done=b'[{"call_id":"c","outcome":"failed","error":"x"}]')
    admission = admit(pause, lease=take("admitter"), first=before)
    start(admission, take("worker"), snapshot(pause.run_id, "worker"))
    stored = progress.get_progress(caller(scope), scope, pause.run_id)
    assert (stored.owner, stored.done, stored.started, stored.ending) == ("worker", None, None, None)


def test_an_epoch_never_falls_over_the_life_of_a_run(time: Clock) -> None:
    scope = fresh_scope()
    run = make_run(scope, lease=take("w", 10))
    pause = make_pause(scope, Reason.AGENT_REPLY, run=run)
    assert lease_of(run.id) == (None, 1)
    admission = admit(pause, lease=take("w", 10))
    started = start(admission, take("w", 10))
    time.tick(10)
    leases.reclaim_lease(caller(scope), scope, run.id, take("w", 10))
    assert (admission.lease_epoch, started.lease_epoch, lease_of(run.id)) == (2, 3, ("w", 4))


# -- a repeat takes nothing ------------------------------------------------------------------------


_TAKES: list[tuple[LeaseTake | None, dict[str, Any] | None]] = [
    (take("worker", 3600), None),
    (take("other", 3600), {"owner": "other"}),
    (take("other"), {"owner": "somebody else"}),
    (take("other"), {"owner": "other", "run_id": "arun_01h455vb4pex5vsknk084sn02q"}),
    (LeaseTake("", seconds=30), None),
    (LeaseTake("half"), None),
    (take("other", 4000), None),
    (None, {"owner": "worker"}),
]
_IDS = ["same", "other", "another's snapshot", "another run's", "no owner", "no end", "too long", "snapshot alone"]


def _first(admission: Admission, members: dict[str, Any] | None) -> Snapshot | None:
    return None if members is None else snapshot(**{"run_id": admission.version.run_id, **members})


@pytest.mark.parametrize(("lease", "first"), _TAKES, ids=_IDS)
@pytest.mark.parametrize("seconds", [1, 61], ids=["live", "lapsed"])
def test_a_repeated_start_takes_nothing(
    lease: LeaseTake | None, first: dict[str, Any] | None, seconds: int, admission: Admission, time: Clock
) -> None:
    started = start(admission, take("worker", 60))
    time.tick(seconds)
    with unchanged(admission.scope):
        again = start(admission, lease, _first(admission, first))
    assert again == started
    assert (again.fresh, again.suspension, again.input) == (False, None, None)
    assert (again.lease_owner, again.lease_epoch) == ("worker", 2)


# -- refusals, in their order ----------------------------------------------------------------------


@pytest.mark.parametrize(("lease", "first"), _TAKES[2:6] + _TAKES[7:], ids=_IDS[2:6] + _IDS[7:])
def test_half_a_lease_or_anothers_snapshot_grants_nothing_and_follows_admission_and_digest(
    lease: LeaseTake | None, first: dict[str, Any] | None, admission: Admission
) -> None:
    given = _first(admission, first)
    with refused(RunLeaseLost, admission.scope):
        start(admission, lease, given)
    with refused(ResumeAdmissionConflict, admission.scope):
        start(admission, lease, given, digest="0" * 64)
    waiting = make_pause(admission.scope, Reason.AGENT_REPLY)
    with refused(ResumeAdmissionNotFound, admission.scope):
        resumes.start_resume(
            caller(admission.scope),
            admission.scope,
            waiting.run_id,
            waiting.id,
            admission.request_digest,
            lease=lease,
            first=given,
        )


@pytest.mark.parametrize("seconds", [0, -1, 3601, 10**9])
def test_a_lease_out_of_its_bounds_is_an_invalid_request(seconds: int, admission: Admission) -> None:
    with refused(InvalidRequest, admission.scope):
        start(admission, take("worker", seconds))


def test_a_refused_start_leaves_the_admitters_lease_and_no_snapshot(admission: Admission) -> None:
    runs.cancel_run(
        caller(admission.scope), admission.scope, admission.version.run_id, "x", holder=Holder("admitter", 1)
    )
    with unchanged(admission.scope), pytest.raises(Exception, match="another moment"):
        start(admission, take("worker"), snapshot(admission.version.run_id, "worker"))
