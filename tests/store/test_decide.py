"""Decisions: every pending call of a pinned pause, exactly once each, keyed by call id. Source: store.md section 7."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from suspensions.domain.decisions import CallDecision, read_decisions
from suspensions.domain.errors import (
    ArgumentsChanged,
    CortexError,
    Forbidden,
    InputTooLarge,
    NotAgentReplyResumable,
    NotFound,
    NotSuspended,
    RequiresApproval,
    ResultsMismatch,
    ResumeAdmissionConflict,
    RunConflict,
    SelfApproval,
    SuspensionExpired,
    SuspensionNotFound,
)
from suspensions.domain.policy import Caller, Grant, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Admission, PendingCall, Reason, Suspension
from suspensions.operations import resumes, runs, suspensions
from tests.store.rows import event_types, execute, one_row, rows, run_state, text_of
from tests.store.support import TICK, Clock, refused, unchanged
from tests.support.builders import (
    call,
    caller,
    fresh_scope,
    make_pause,
    new_run,
    new_suspension,
    start,
    take,
    version_of,
)

DELETE = call("del-1", "cancel_reservation", '{"reservation_id":"R4TZ8M"}')
MAIL = call("mail-1", "send_certificate", '{ "amount": 250.0, "user": "anouk" }')


@pytest.fixture
def scope() -> Scope:
    return fresh_scope()


@pytest.fixture
def pause(scope: Scope) -> Suspension:
    """A pause that waits for a decision on two calls."""
    return make_pause(scope, Reason.APPROVAL, pending=[DELETE, MAIL])


def approve(of: PendingCall, **more: Any) -> CallDecision:
    return CallDecision(of.id, of.arguments_sha256, decision="approve", **more)


def deny(of: PendingCall, **more: Any) -> CallDecision:
    return CallDecision(of.id, of.arguments_sha256, decision="deny", **more)


def result(of: PendingCall, content: Any = "done", **more: Any) -> CallDecision:
    return CallDecision(of.id, of.arguments_sha256, content=None if "error" in more else content, **more)


def decide(
    pause: Suspension,
    made: Iterable[CallDecision],
    *,
    by: Caller | None = None,
    scope: Scope | None = None,
    revision: int | None = None,
    suspension_id: str | None = None,
) -> Admission:
    """Decide; what a test is about is given, the rest is right."""
    at = scope or pause.scope
    return resumes.decide(
        by or caller(at, Role.APPROVER),
        at,
        suspension_id or pause.id,
        version_of(pause).run_revision if revision is None else revision,
        tuple(made),
    )


def said(admission: Admission) -> list[dict[str, Any]]:
    """The decisions that the admission's input holds."""
    assert admission.input is not None
    members = json.loads(admission.input)
    assert set(members) == {"schema_version", "reason", "decisions"}
    assert (members["schema_version"], members["reason"]) == (1, str(admission.reason))
    found: list[dict[str, Any]] = members["decisions"]
    return found


# -- what becomes of a decision --------------------------------------------------------------------


def test_a_decision_admits_the_resume_and_the_receipt_says_who_and_how_she_was_signed_in(
    pause: Suspension, time: Clock
) -> None:
    kim = caller(pause.scope, Role.APPROVER, principal="kim", via="session")
    admission = decide(pause, [approve(DELETE), deny(MAIL, note="too much")], by=kim)

    assert admission.fresh
    assert admission.admitted_by.to_json() == {"principal": "kim", "via": "session"}
    assert admission.admitted_at == time.now
    assert admission.reason is Reason.APPROVAL
    assert admission.version == version_of(pause)
    assert admission.suspension_digest == pause.digest
    assert run_state(pause.run_id) == ("running", admission.claimed_revision)
    assert event_types(pause.run_id) == ["run.created", "run.paused", "resume.admitted"]
    assert json.loads(one_row("resume_admission", suspension_id=pause.id)["admitted_by"]) == {
        "principal": "kim",
        "via": "session",
    }


def test_the_input_is_canonical_json_in_pending_order_without_time_or_person(pause: Suspension) -> None:
    admission = decide(pause, [deny(MAIL, note="é \U0001f9e9"), approve(DELETE, arguments='{"z":1,"a":2}')])
    assert (
        admission.input
        == (
            '{"decisions":['
            '{"arguments":"{\\"z\\":1,\\"a\\":2}","call_id":"del-1","outcome":"approved"},'
            '{"call_id":"mail-1","note":"é \U0001f9e9","outcome":"denied"}'
            '],"reason":"approval","schema_version":1}'
        ).encode()
    )


def test_each_answer_lands_on_its_own_call_in_whatever_order_they_arrive(scope: Scope) -> None:
    calls = [call(f"c{index}", "tool", f'{{"n":{index}}}') for index in range(6)]
    pause = make_pause(scope, Reason.APPROVAL, pending=calls)
    made = [approve(each) if index % 2 else deny(each) for index, each in enumerate(calls)]
    admission = decide(pause, reversed(made))
    assert [(each["call_id"], each["outcome"]) for each in said(admission)] == [
        ("c0", "denied"),
        ("c1", "approved"),
        ("c2", "denied"),
        ("c3", "approved"),
        ("c4", "denied"),
        ("c5", "approved"),
    ]


def test_a_denied_call_reaches_the_worker_without_anything_to_run(pause: Suspension) -> None:
    started = start(decide(pause, [approve(DELETE), deny(MAIL, note="policy 4")]))
    assert started.input is not None
    answers = {each["call_id"]: each for each in json.loads(started.input)["decisions"]}
    assert answers["mail-1"] == {"call_id": "mail-1", "outcome": "denied", "note": "policy 4"}
    assert answers["del-1"] == {"call_id": "del-1", "outcome": "approved"}


def test_where_all_is_denied_the_resume_still_starts_so_that_the_agent_is_told(pause: Suspension) -> None:
    started = start(decide(pause, [deny(DELETE), deny(MAIL)]))
    assert started.fresh
    assert started.input is not None
    assert {each["outcome"] for each in json.loads(started.input)["decisions"]} == {"denied"}


def test_as_many_calls_as_a_pause_may_hold_are_decided_at_once(scope: Scope) -> None:
    calls = [call(f"c{index}", "tool", f'"{index}"') for index in range(128)]
    pause = make_pause(scope, Reason.APPROVAL, pending=calls)
    assert [each["call_id"] for each in said(decide(pause, map(approve, calls)))] == [each.id for each in calls]


def test_a_call_whose_arguments_are_no_json_may_be_decided_like_any_other(scope: Scope) -> None:
    odd = [call("a", "tool", '{"amount":10,"amount":9000}'), call("b", "tool", "{not json"), call("c", "tool", "\x00")]
    pause = make_pause(scope, Reason.APPROVAL, pending=odd)
    admission = decide(pause, [approve(odd[0]), deny(odd[1]), approve(odd[2])])
    assert all("arguments" not in each for each in said(admission))
    started = start(admission)
    assert started.suspension is not None
    assert started.suspension.pending == tuple(odd)


def test_a_decision_before_any_worker_asks_is_there_at_its_first_question(pause: Suspension) -> None:
    decide(pause, [approve(DELETE), approve(MAIL)])
    found = resumes.start_next(caller(pause.scope, Role.AGENT), pause.scope, take())
    assert found is not None and found.version.suspension_id == pause.id


# -- edits -----------------------------------------------------------------------------------------


def test_an_edit_replaces_the_models_text_and_leaves_the_original_on_the_pause(pause: Suspension) -> None:
    edited = '{"reservation_id": "R4TZ8N"}'
    admission = decide(pause, [approve(DELETE, arguments=edited), approve(MAIL)])
    assert [each.get("arguments") for each in said(admission)] == [edited, None]
    stored = suspensions.read_suspension(caller(pause.scope), pause.scope, pause.id)
    assert stored.pending == (DELETE, MAIL)
    assert start(admission).fresh


def test_an_edit_of_one_member_changes_no_other_not_even_its_spelling(scope: Scope) -> None:
    text = '{"count":%d,"id":7300000000000000019,"dry":false,"note":null,"tags":["a",["b"]],"price":1.50}'
    original = call("c", "tool", text % 5)
    pause = make_pause(scope, Reason.APPROVAL, pending=[original])
    admission = decide(pause, [approve(original, arguments=text % 6)])
    assert said(admission)[0]["arguments"] == text % 6
    assert start(admission).input == admission.input


def test_an_edit_that_changes_nothing_is_no_edit(pause: Suspension) -> None:
    admission = decide(pause, [approve(DELETE), approve(MAIL)])
    with unchanged(pause.scope):
        again = decide(pause, [approve(DELETE, arguments=DELETE.arguments), approve(MAIL, arguments=MAIL.arguments)])
    assert again == admission


@pytest.mark.parametrize("edited", ["{}", "[]", "0", "false", '""', "null", ' {"reservation_id":"R4TZ8M"}'])
def test_every_json_text_is_an_edit_of_its_own(edited: str, pause: Suspension) -> None:
    admission = decide(pause, [approve(DELETE, arguments=edited), approve(MAIL)])
    assert said(admission)[0]["arguments"] == edited
    with refused(ResumeAdmissionConflict, pause.scope):
        decide(pause, [approve(DELETE), approve(MAIL)])


def test_composed_and_decomposed_letters_are_two_edits(pause: Suspension) -> None:
    composed, decomposed = '{"n":"\u00e9"}', '{"n":"e\u0301"}'
    admission = decide(pause, [approve(DELETE, arguments=composed), approve(MAIL)])
    assert said(admission)[0]["arguments"] == composed
    with refused(ResumeAdmissionConflict, pause.scope):
        decide(pause, [approve(DELETE, arguments=decomposed), approve(MAIL)])


# -- an external tool's results --------------------------------------------------------------------


@pytest.mark.parametrize("role", [Role.AGENT, Role.APPROVER])
def test_the_caller_reports_a_result_or_an_error_per_call(role: Role, scope: Scope) -> None:
    calls = [call("a", "tool", "{}"), call("b", "tool", "{}"), call("c", "tool", "{}")]
    pause = make_pause(scope, Reason.EXTERNAL_TOOL, pending=calls)
    made = [
        result(calls[2], content=[1, {"b": None, "a": 1.5}], note="seen"),
        result(calls[0], content="\x00 text e\u0301"),
        result(calls[1], error="no such booking"),
    ]
    admission = decide(pause, made, by=caller(scope, role))
    assert admission.reason is Reason.EXTERNAL_TOOL
    assert said(admission) == [
        {"call_id": "a", "outcome": "completed", "content": "\x00 text e\u0301"},
        {"call_id": "b", "outcome": "failed", "error": "no such booking"},
        {"call_id": "c", "outcome": "completed", "content": [1, {"a": 1.5, "b": None}], "note": "seen"},
    ]
    assert start(admission).input == admission.input


def test_an_empty_error_is_an_error_all_the_same(scope: Scope) -> None:
    pause = make_pause(scope, Reason.EXTERNAL_TOOL)
    admission = decide(pause, [result(pause.pending[0], error="")])
    assert said(admission) == [{"call_id": "call-1", "outcome": "failed", "error": ""}]


def test_members_of_a_result_count_in_any_order(scope: Scope) -> None:
    pause = make_pause(scope, Reason.EXTERNAL_TOOL)
    [one] = pause.pending
    admission = decide(pause, [result(one, content={"b": 1, "a": [1, 2]})])
    with unchanged(scope):
        assert decide(pause, [result(one, content={"a": [1, 2], "b": 1})]) == admission
    with refused(ResumeAdmissionConflict, scope):
        decide(pause, [result(one, content={"a": [2, 1], "b": 1})])


def test_who_made_an_external_pause_may_report_its_result(scope: Scope) -> None:
    agent = caller(scope, Role.AGENT, Role.APPROVER, principal="care-desk")
    pause = _pause_by(agent, scope, Reason.EXTERNAL_TOOL)
    assert decide(pause, [result(pause.pending[0])], by=agent).fresh


def _pause_by(by: Caller, scope: Scope, reason: Reason = Reason.APPROVAL) -> Suspension:
    run = runs.create_run(by, new_run(scope))
    return suspensions.create_suspension(by, new_suspension(scope, run.id, reason))


# -- two people ------------------------------------------------------------------------------------


def test_two_people_who_decide_alike_get_the_same_receipt(pause: Suspension, time: Clock) -> None:
    kim, lee = (caller(pause.scope, Role.APPROVER, principal=name) for name in ("kim", "lee"))
    first = decide(pause, [approve(DELETE), deny(MAIL, note="no")], by=kim)
    time.tick(60)
    with unchanged(pause.scope):
        second = decide(pause, [deny(MAIL, note="no"), approve(DELETE)], by=lee)
    assert second == first
    assert (second.fresh, second.admitted_by.principal, second.input) == (False, "kim", first.input)


_OTHERWISE: dict[str, Callable[[], list[CallDecision]]] = {
    "the other way round": lambda: [deny(DELETE), approve(MAIL)],
    "all denied": lambda: [deny(DELETE), deny(MAIL)],
    "another note": lambda: [approve(DELETE, note="x"), deny(MAIL)],
    "an edit": lambda: [approve(DELETE, arguments="{}"), deny(MAIL)],
    "one call less": lambda: [approve(DELETE)],
    "one call more": lambda: [approve(DELETE), deny(MAIL), approve(call("z"))],
    "one call twice": lambda: [approve(DELETE), deny(MAIL), deny(MAIL)],
    "in another form": lambda: [result(DELETE), result(MAIL)],
}


@pytest.mark.parametrize("otherwise", _OTHERWISE)
@pytest.mark.parametrize("ended", [False, True])
def test_who_decides_otherwise_is_told_who_decided_and_when(
    otherwise: str, ended: bool, pause: Suspension, time: Clock
) -> None:
    kim = caller(pause.scope, Role.APPROVER, principal="kim", via="session")
    first = decide(pause, [approve(DELETE), deny(MAIL)], by=kim)
    if ended:
        runs.cancel_run(caller(pause.scope), pause.scope, pause.run_id, "x")
    time.tick(60)
    with refused(ResumeAdmissionConflict, pause.scope) as caught:
        decide(pause, _OTHERWISE[otherwise]())
    assert caught.value.members() == {
        "admission": {
            "request_digest": first.request_digest,
            "admitted_at": first.admitted_at,
            "admitted_by": {"principal": "kim", "via": "session"},
        }
    }


def test_another_revision_after_the_fact_is_another_request(pause: Suspension) -> None:
    decide(pause, [approve(DELETE), approve(MAIL)])
    with refused(ResumeAdmissionConflict, pause.scope):
        decide(pause, [approve(DELETE), approve(MAIL)], revision=3)


# -- the record first ------------------------------------------------------------------------------


def _started(admission: Admission) -> None:
    start(admission)


def _finished(admission: Admission) -> None:
    start(admission)
    runs.finish_run(caller(admission.scope), admission.scope, admission.version.run_id, RunState.COMPLETED)


def _cancelled(admission: Admission) -> None:
    runs.cancel_run(caller(admission.scope), admission.scope, admission.version.run_id, "x")


def _paused_again(admission: Admission) -> None:
    start(admission)
    new = new_suspension(admission.scope, admission.version.run_id)
    suspensions.create_suspension(caller(admission.scope), new)


@pytest.mark.parametrize("became", [_started, _finished, _cancelled, _paused_again])
def test_the_same_decision_again_is_its_receipt_whatever_became_of_the_run(
    became: Callable[[Admission], None], scope: Scope, time: Clock
) -> None:
    pause = make_pause(scope, Reason.APPROVAL, pending=[DELETE], expires_at=time.ahead(10))
    admission = decide(pause, [approve(DELETE, note="fine")])
    became(admission)
    time.tick(10_000)
    with unchanged(scope):
        again = decide(pause, [approve(DELETE, note="fine")])
    assert (again, again.fresh) == (admission, False)


def test_the_record_is_found_before_anybody_asks_who_may_answer(scope: Scope) -> None:
    agent = caller(scope, Role.AGENT, principal="care-desk")
    pause = _pause_by(agent, scope)
    admission = decide(pause, [approve(pause.pending[0])])
    with unchanged(scope):
        assert decide(pause, [approve(pause.pending[0])], by=agent) == admission
        both = caller(scope, Role.APPROVER, principal="care-desk")
        assert decide(pause, [approve(pause.pending[0])], by=both) == admission


def test_the_digest_of_what_was_seen_is_no_part_of_the_record(pause: Suspension) -> None:
    admission = decide(pause, [approve(DELETE), approve(MAIL)])
    stale = replace(approve(DELETE), arguments_sha256="0" * 64)
    with unchanged(pause.scope):
        assert decide(pause, [stale, approve(MAIL)]) == admission


# -- refusals, in their order ----------------------------------------------------------------------


def test_a_pause_of_another_scope_looks_like_a_missing_one() -> None:
    parent = fresh_scope()
    scope = Scope.parse(f"{parent.text}/p=here")
    waiting, decided = (make_pause(scope, Reason.APPROVAL, pending=[DELETE]) for _ in range(2))
    decide(decided, [approve(DELETE)])
    missing = "sus_01h455vb4pex5vsknk084sn02q"
    texts = set()
    for at in (parent, Scope.parse(f"{scope.text}/t=below"), fresh_scope()):
        for each, suspension_id in ((waiting, None), (decided, None), (waiting, missing)):
            with refused(SuspensionNotFound, scope, at) as caught:
                decide(each, [], scope=at, suspension_id=suspension_id, revision=99)
            texts.add((caught.value.detail, str(caught.value.members())))
    assert len(texts) == 1
    with refused(NotFound, scope):
        decide(waiting, [approve(DELETE)], by=caller(fresh_scope(), Role.APPROVER))


@pytest.mark.parametrize("role", [Role.VIEWER, Role.BUS, Role.OPERATOR, Role.ADMIN])
@pytest.mark.parametrize("reason", list(Reason))
def test_no_other_role_decides_anything_not_even_an_admin(role: Role, reason: Reason, scope: Scope) -> None:
    pause = make_pause(scope, reason)
    with refused(Forbidden, scope):
        decide(pause, [approve(each) for each in pause.pending], by=caller(scope, role))


def test_an_admin_of_everything_but_approving_may_not_approve(scope: Scope) -> None:
    pause = make_pause(scope, Reason.APPROVAL, pending=[DELETE])
    others = [role for role in Role if role is not Role.APPROVER]
    with refused(RequiresApproval, scope):
        decide(pause, [approve(DELETE)], by=caller(scope, *others))


def test_a_grant_from_above_covers_the_pause_and_one_from_below_does_not() -> None:
    parent = fresh_scope()
    scope = Scope.parse(f"{parent.text}/p=here")
    pause = make_pause(scope, Reason.APPROVAL, pending=[DELETE])
    for grants in (
        (Grant(Scope.parse(f"{scope.text}/t=below"), Role.APPROVER), Grant(scope, Role.AGENT)),
        (Grant(Scope.parse(f"{parent.text}/p=her"), Role.APPROVER), Grant(scope, Role.AGENT)),
    ):
        with refused(RequiresApproval, scope):
            decide(pause, [approve(DELETE)], by=Caller("kim", "session", grants))
    assert decide(pause, [approve(DELETE)], by=Caller("kim", "session", (Grant(parent, Role.APPROVER),))).fresh


def _everything_wrong(pause: Suspension) -> list[CallDecision]:
    """Decisions by its own maker, on an extra call, about other arguments: every later refusal applies."""
    return [replace(approve(each), arguments_sha256="0" * 64) for each in (*pause.pending, call("extra"))]


def test_the_pinned_refusals_come_before_who_answers_and_what(scope: Scope, time: Clock) -> None:
    agent = caller(scope, Role.AGENT, principal="care-desk")
    for reason in Reason:
        pause = _pause_by(agent, scope, reason)
        expiring = make_pause(scope, reason, expires_at=time.now)
        wrong = _everything_wrong(pause)
        for revision in (1, 3):
            with refused(RunConflict, scope) as caught:
                decide(pause, wrong, by=agent, revision=revision)
            assert caught.value.members() == {"run": {"state": "paused", "revision": 2}}
            with refused(RunConflict, scope):
                decide(expiring, wrong, by=agent, revision=revision)
        with refused(SuspensionExpired, scope) as expired:
            decide(expiring, wrong, by=agent)
        assert expired.value.members() == {"expires_at": expiring.expires_at}
        runs.cancel_run(caller(scope), scope, pause.run_id, "x")
        with refused(NotSuspended, scope) as gone:
            decide(pause, wrong, by=agent, revision=99)
        assert gone.value.members() == {"state": "cancelled"}


def test_an_earlier_pause_of_the_run_is_not_decided_in_the_place_of_a_later_one(scope: Scope, time: Clock) -> None:
    earlier = make_pause(scope, Reason.APPROVAL, pending=[DELETE], expires_at=time.now)
    by = caller(scope)
    suspensions.claim_suspension(by, scope, earlier.run_id, expired_by=time.now)
    with refused(NotSuspended, scope):
        decide(earlier, [approve(DELETE)])
    later = suspensions.create_suspension(by, new_suspension(scope, earlier.run_id, pending=[DELETE]))
    assert later.run is not None
    with refused(RunConflict, scope):
        decide(earlier, [approve(DELETE)], revision=later.run.revision)
    with refused(RunConflict, scope):
        decide(later, [approve(DELETE)], revision=version_of(earlier).run_revision)
    assert decide(later, [approve(DELETE)]).fresh


def test_the_deadline_splits_decision_and_sweep_at_one_instant(scope: Scope, time: Clock) -> None:
    late = make_pause(scope, Reason.APPROVAL, pending=[DELETE], expires_at=time.now)
    in_time = make_pause(scope, Reason.APPROVAL, pending=[DELETE], expires_at=time.now + TICK)
    with refused(SuspensionExpired, scope):
        decide(late, [approve(DELETE)])
    assert decide(in_time, [approve(DELETE)]).fresh
    assert suspensions.claim_suspension(caller(scope), scope, late.run_id, expired_by=time.now).id == late.id


def test_silence_approves_nothing(scope: Scope, time: Clock) -> None:
    pause = make_pause(scope, Reason.APPROVAL, pending=[DELETE], expires_at=time.ahead(1))
    time.tick(2)
    with refused(SuspensionExpired, scope):
        decide(pause, [approve(DELETE)])
    assert rows("SELECT * FROM resume_admission WHERE run_id = %s", [pause.run_id]) == []
    assert resumes.start_next(caller(scope), scope, take()) is None


def test_an_agent_answers_no_approval_said_before_that_it_made_it(scope: Scope) -> None:
    agent = caller(scope, Role.AGENT, principal="care-desk")
    pause = _pause_by(agent, scope)
    with refused(RequiresApproval, scope):
        decide(pause, _everything_wrong(pause), by=agent)
    with refused(RequiresApproval, scope):
        decide(pause, [approve(pause.pending[0])], by=caller(scope, Role.AGENT))


def test_nobody_but_the_bus_answers_for_a_peer(scope: Scope) -> None:
    agent = caller(scope, *Role, principal="care-desk")
    pause = _pause_by(agent, scope, Reason.AGENT_REPLY)
    [one] = pause.pending
    for by in (agent, caller(scope, Role.APPROVER), caller(scope, Role.AGENT), caller(scope, *Role)):
        for made in ([result(one)], [approve(one)], _everything_wrong(pause)):
            with refused(NotAgentReplyResumable, scope):
                decide(pause, made, by=by)


# -- nobody approves what is her own ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("principal", "via"),
    [("ana", "token:one"), ("ana", "token:another"), ("ana", "session"), ("Ana", "session"), ("ANA", "token:x")],
)
def test_the_principal_that_made_the_pause_approves_none_of_it_however_it_signs_in(
    principal: str, via: str, scope: Scope
) -> None:
    pause = _pause_by(caller(scope, principal="ana", via="token:one"), scope)
    me = caller(scope, *Role, principal=principal, via=via)
    with refused(SelfApproval, scope):
        decide(pause, [approve(pause.pending[0])], by=me)


def test_letters_that_fold_alike_are_one_principal(scope: Scope) -> None:
    pause = _pause_by(caller(scope, principal="stra\u00dfe"), scope)
    with refused(SelfApproval, scope):
        decide(pause, [approve(pause.pending[0])], by=caller(scope, Role.APPROVER, principal="STRASSE"))


def test_one_approval_among_denials_is_one_too_many(scope: Scope) -> None:
    ana = caller(scope, principal="ana")
    run = runs.create_run(ana, new_run(scope))
    pause = suspensions.create_suspension(ana, new_suspension(scope, run.id, pending=[DELETE, MAIL]))
    with refused(SelfApproval, scope):
        decide(pause, [deny(DELETE), approve(MAIL)], by=ana)
    admission = decide(pause, [deny(DELETE), deny(MAIL)], by=ana)
    assert {each["outcome"] for each in said(admission)} == {"denied"}


def test_who_made_only_the_run_may_approve_and_another_approver_may(scope: Scope) -> None:
    ana, ben = caller(scope, principal="ana"), caller(scope, principal="ben")
    run = runs.create_run(ana, new_run(scope))
    pause = suspensions.create_suspension(ben, new_suspension(scope, run.id, pending=[DELETE]))
    with refused(SelfApproval, scope):
        decide(pause, [approve(DELETE)], by=ben)
    assert decide(pause, [approve(DELETE)], by=ana).fresh


@pytest.mark.parametrize("principal", ["", "somebody"])
def test_a_pause_without_a_maker_is_approved_by_nobody(principal: str, scope: Scope) -> None:
    pause = make_pause(scope, Reason.APPROVAL, pending=[DELETE])
    execute("""UPDATE suspension SET created_by = '{"principal":"","via":"import"}' WHERE id = %s""", [pause.id])
    by = Caller(principal, "session", (Grant(scope, Role.APPROVER),))
    with refused(SelfApproval, scope):
        decide(pause, [approve(DELETE)], by=by)
    assert decide(pause, [deny(DELETE)], by=by).fresh


def test_approving_ones_own_is_said_before_what_is_wrong_with_the_answer(scope: Scope) -> None:
    ana = caller(scope, principal="ana")
    pause = _pause_by(ana, scope)
    for made in (_everything_wrong(pause), [approve(call("extra"))]):
        with refused(SelfApproval, scope):
            decide(pause, made, by=ana)


# -- every call exactly once -----------------------------------------------------------------------

_MISMATCHES: dict[str, Callable[[], list[CallDecision]]] = {
    "none at all": list,
    "one is missing": lambda: [approve(DELETE)],
    "one is extra": lambda: [approve(DELETE), approve(MAIL), approve(call("z"))],
    "one is another's": lambda: [approve(DELETE), approve(call("z"))],
    "one is doubled": lambda: [approve(DELETE), approve(MAIL), approve(MAIL)],
    "one is doubled in the place of another": lambda: [approve(DELETE), approve(DELETE)],
    "one is approved and denied": lambda: [approve(DELETE), deny(DELETE), approve(MAIL)],
    "ids in another case": lambda: [approve(replace(DELETE, id="DEL-1")), approve(MAIL)],
    "ids with a space": lambda: [approve(replace(DELETE, id="del-1 ")), approve(MAIL)],
    "ids by position": lambda: [approve(replace(DELETE, id="0")), approve(replace(MAIL, id="1"))],
    "results instead of decisions": lambda: [result(DELETE), result(MAIL)],
    "a result among decisions": lambda: [approve(DELETE), result(MAIL)],
}


@pytest.mark.parametrize("what", _MISMATCHES)
def test_an_answer_that_does_not_answer_every_call_once_is_refused_whole(what: str, pause: Suspension) -> None:
    made = [replace(each, arguments_sha256="0" * 64) for each in _MISMATCHES[what]()]
    for each in (made, _MISMATCHES[what]()):
        with refused(ResultsMismatch, pause.scope):
            decide(pause, each)
    assert run_state(pause.run_id) == ("paused", 2)


def test_a_decision_on_an_external_tool_is_no_result(scope: Scope) -> None:
    pause = make_pause(scope, Reason.EXTERNAL_TOOL, pending=[DELETE, MAIL])
    for made in ([approve(DELETE), approve(MAIL)], [deny(DELETE), result(MAIL)]):
        with refused(ResultsMismatch, scope):
            decide(pause, made)


def test_the_refusal_names_the_calls(pause: Suspension) -> None:
    with refused(ResultsMismatch, pause.scope) as caught:
        decide(pause, [approve(DELETE), approve(call("z-9"))])
    assert "mail-1" in caught.value.detail
    assert "z-9" in caught.value.detail


def test_after_one_of_two_is_answered_the_rest_still_waits(pause: Suspension) -> None:
    with refused(ResultsMismatch, pause.scope) as caught:
        decide(pause, [deny(DELETE, note="wrong account")])
    assert "mail-1" in caught.value.detail
    admission = decide(pause, [deny(DELETE, note="wrong account"), approve(MAIL)])
    assert [each["outcome"] for each in said(admission)] == ["denied", "approved"]


# -- the arguments that were seen ------------------------------------------------------------------


def test_what_was_seen_is_what_is_stored(pause: Suspension) -> None:
    assert approve(DELETE).arguments_sha256 == sha256(b'{"reservation_id":"R4TZ8M"}').hexdigest()
    for made in (
        [replace(approve(DELETE), arguments_sha256=MAIL.arguments_sha256), approve(MAIL)],
        [approve(DELETE), replace(deny(MAIL), arguments_sha256="0" * 64)],
        [replace(approve(DELETE), arguments_sha256=sha256(b'{"reservation_id": "R4TZ8M"}').hexdigest()), deny(MAIL)],
        [replace(approve(DELETE), arguments_sha256=approve(DELETE).arguments_sha256.upper()), deny(MAIL)],
    ):
        with refused(ArgumentsChanged, pause.scope):
            decide(pause, made)


def test_arguments_that_changed_after_they_were_shown_are_not_approved(scope: Scope) -> None:
    pause = make_pause(scope, Reason.APPROVAL, pending=[DELETE])
    changed = json.dumps([{"id": "del-1", "name": "cancel_reservation", "arguments": '{"reservation_id":"ZZZZZZ"}'}])
    execute("UPDATE suspension SET pending = %s WHERE id = %s", [changed.encode(), pause.id])
    for made in ([approve(DELETE)], [deny(DELETE)], [approve(DELETE, arguments=DELETE.arguments)]):
        with refused(ArgumentsChanged, scope):
            decide(pause, made)


def test_an_edit_does_not_stand_in_for_having_seen(pause: Suspension) -> None:
    edited = '{"reservation_id":"X"}'
    blind = replace(approve(DELETE, arguments=edited), arguments_sha256=sha256(edited.encode()).hexdigest())
    with refused(ArgumentsChanged, pause.scope):
        decide(pause, [blind, approve(MAIL)])


# -- bounds ----------------------------------------------------------------------------------------


def test_an_answer_larger_than_an_input_may_be_is_refused_and_nothing_is_written(scope: Scope) -> None:
    pause = make_pause(scope, Reason.EXTERNAL_TOOL)
    [one] = pause.pending
    frame = len(decide_input_of(one))
    with refused(InputTooLarge, scope):
        decide(pause, [result(one, content="x" * (8_388_608 - frame + 1))])
    admission = decide(pause, [result(one, content="x" * (8_388_608 - frame))])
    assert admission.input_bytes == 8_388_608


def decide_input_of(one: PendingCall) -> bytes:
    """The input around an empty result."""
    return (
        f'{{"decisions":[{{"call_id":"{one.id}","content":"","outcome":"completed"}}],'
        '"reason":"external_tool","schema_version":1}'
    ).encode()


def test_the_door_reads_what_the_store_decides_on(pause: Suspension) -> None:
    body = [
        {"call_id": "mail-1", "decision": "deny", "note": "no", "arguments_sha256": MAIL.arguments_sha256},
        {
            "call_id": "del-1",
            "decision": "approve",
            "arguments": '{"reservation_id":"R4TZ8N"}',
            "arguments_sha256": DELETE.arguments_sha256,
        },
    ]
    admission = decide(pause, read_decisions(body))
    assert said(admission) == [
        {"call_id": "del-1", "outcome": "approved", "arguments": '{"reservation_id":"R4TZ8N"}'},
        {"call_id": "mail-1", "outcome": "denied", "note": "no"},
    ]


def test_a_refusal_names_nothing_that_could_be_run(pause: Suspension) -> None:
    with pytest.raises(CortexError) as caught:
        decide(pause, [approve(DELETE)])
    assert "R4TZ8M" not in str(caught.value) + str(caught.value.members())
    assert text_of(one_row("suspension", id=pause.id)["claimed_at"]) is None
