"""list_agent_reply_runs: every run that may still need its peer's reply. Source: store.md section 3."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django.fixtures import Settings

from suspensions.domain.errors import Forbidden, InvalidLimit, NotFound
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Admission, Holder, Reason, Suspension
from suspensions.operations import closures, leases, resumes, runs, suspensions
from tests.store.rows import execute
from tests.store.support import Clock
from tests.support import closing
from tests.support.builders import admit, caller, fresh_scope, make_pause, make_run, new_suspension, start, take


@pytest.fixture
def scope() -> Scope:
    return fresh_scope()


def listed(scope: Scope, after: str | None = None, limit: int = 50) -> list[str]:
    return list(resumes.list_agent_reply_runs(caller(scope, Role.BUS), scope, after, limit))


def waiting(scope: Scope, **more: Any) -> Suspension:
    return make_pause(scope, Reason.AGENT_REPLY, **more)


def answered(scope: Scope, **more: Any) -> Admission:
    return admit(waiting(scope, **more))


def test_a_run_that_waits_for_a_peer_is_listed_and_no_other(scope: Scope) -> None:
    pause = waiting(scope)
    make_run(scope)
    make_pause(scope, Reason.APPROVAL)
    make_pause(scope, Reason.EXTERNAL_TOOL)
    assert listed(scope) == [pause.run_id]


def test_an_admitted_or_started_reply_keeps_its_run_on_the_list_until_it_ends(scope: Scope) -> None:
    admission = answered(scope)
    run_id = admission.version.run_id
    assert listed(scope) == [run_id]
    start(admission, lease=take())
    assert listed(scope) == [run_id]
    leases.release_lease(caller(scope), scope, run_id, Holder("worker-1", 1))
    assert listed(scope) == [run_id]
    runs.finish_run(caller(scope), scope, run_id, RunState.COMPLETED)
    assert listed(scope) == []


def test_an_answer_of_another_kind_does_not_put_a_run_on_the_list(scope: Scope) -> None:
    for reason in (Reason.APPROVAL, Reason.EXTERNAL_TOOL):
        start(admit(make_pause(scope, reason)))
    assert listed(scope) == []


def test_a_reply_is_found_also_when_its_pause_is_gone(scope: Scope) -> None:
    admission = answered(scope)
    start(admission)
    suspensions.delete_suspension(caller(scope), scope, admission.version.run_id)
    assert listed(scope) == [admission.version.run_id]


def test_a_pause_gone_by_hand_does_not_hide_a_reply_that_waits_for_its_start(scope: Scope, time: Clock) -> None:
    admission = answered(scope)
    execute("UPDATE suspension SET retired_at = %s WHERE id = %s", [time.now, admission.version.suspension_id])
    assert listed(scope) == [admission.version.run_id]


def test_a_claimed_pause_stays_listed_while_it_is_live(scope: Scope, time: Clock) -> None:
    pause = waiting(scope, expires_at=time.now)
    suspensions.claim_suspension(caller(scope), scope, pause.run_id, expired_by=time.now, lease=take())
    assert listed(scope) == [pause.run_id]
    suspensions.delete_suspension(caller(scope), scope, pause.run_id)
    assert listed(scope) == []


def test_a_run_that_paused_again_for_a_person_is_not_listed_while_it_is_paused(scope: Scope) -> None:
    admission = answered(scope)
    start(admission)
    suspensions.create_suspension(caller(scope), new_suspension(scope, admission.version.run_id, Reason.APPROVAL))
    assert listed(scope) == []


@pytest.mark.parametrize("end", ["cancelled while paused", "cancelled", "expired", "closed", "failed"])
def test_an_end_of_any_kind_takes_the_run_off_the_list(end: str, scope: Scope, time: Clock, settings: Settings) -> None:
    by = caller(scope)
    pause = waiting(scope, expires_at=time.ahead(10))
    if end == "cancelled while paused":
        runs.cancel_run(by, scope, pause.run_id, "x")
        assert listed(scope) == []
        return
    admission = admit(pause)
    version = admission.version
    if end == "cancelled":
        runs.cancel_run(by, scope, version.run_id, "x")
    elif end == "expired":
        time.tick(5000)
        resumes.expire_resume(by, scope, version.run_id, version.suspension_id, admission.request_digest)
    elif end == "failed":
        start(admission)
        runs.finish_run(by, scope, version.run_id, RunState.FAILED)
    else:
        _close(admission, time, settings)
    assert listed(scope) == []


def _close(admission: Admission, time: Clock, settings: Settings) -> None:
    settings.CLOSURE_AUTHORIZER = closing.PERMISSIVE_AUTHORIZER
    settings.CLOSURE_FENCE = closing.PERMISSIVE_FENCE
    started = start(admission)
    request = closing.closure_request(admission, started, time.now)
    closures.close_resume(caller(admission.scope), request, closing.PROOF)


def test_ids_ascend_and_each_run_is_named_once(scope: Scope) -> None:
    run_ids = []
    for _ in range(3):
        admission = answered(scope)
        start(admission)
        # A second reply of the same run: two admissions and a live pause, and still one run.
        again = new_suspension(scope, admission.version.run_id, Reason.AGENT_REPLY)
        start(admit(suspensions.create_suspension(caller(scope), again)))
        run_ids.append(admission.version.run_id)
    assert listed(scope) == sorted(run_ids)


def test_after_and_limit_walk_the_list_without_gap_or_repeat(scope: Scope) -> None:
    run_ids = sorted(waiting(scope).run_id for _ in range(5))
    seen: list[str] = []
    after = None
    while page := listed(scope, after, 2):
        seen += page
        after = page[-1]
    assert seen == run_ids
    assert listed(scope, run_ids[-1]) == []
    assert listed(scope, "arun_" + "0" * 26, 256) == run_ids


def test_only_the_exact_scope_is_listed() -> None:
    parent = fresh_scope()
    scope = Scope.parse(f"{parent.text}/p=here")
    pause = waiting(scope)
    for at in (parent, Scope.parse(f"{scope.text}/t=below"), fresh_scope()):
        assert listed(at) == []
    assert listed(scope) == [pause.run_id]


@pytest.mark.parametrize("limit", [0, -1, 257, True, 1.5, "5", None])
def test_a_limit_out_of_1_to_256_is_refused(limit: Any, scope: Scope) -> None:
    with pytest.raises(InvalidLimit):
        listed(scope, None, limit)


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.BUS])
def test_the_list_is_the_buss_alone(role: Role, scope: Scope) -> None:
    with pytest.raises(Forbidden):
        resumes.list_agent_reply_runs(caller(scope, role), scope, None, 1)
    with pytest.raises(NotFound):
        resumes.list_agent_reply_runs(caller(fresh_scope()), scope, None, 1)
