"""POST /suspensions/{id}/decision: who may answer, with what, exactly once."""

from __future__ import annotations

import json
from base64 import b64decode
from hashlib import sha256
from typing import Any

import pytest

from suspensions.domain import ids
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import SYSTEM
from suspensions.operations import access
from tests.support.api import Client, assert_ok, assert_problem, client_for
from tests.support.walks import Walk

CALLS = [
    {"id": "mail-1", "name": "mail", "arguments": '{"to":"a"}'},
    {"id": "del-1", "name": "delete", "arguments": '{"n":1}'},
]


def seen(call: dict[str, Any]) -> str:
    return sha256(call["arguments"].encode()).hexdigest()


def answer_of(document: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(b64decode(document["input"]))
    return answer


def test_each_decision_lands_on_its_own_call_in_the_order_of_the_pause(scope: str) -> None:
    walk = Walk(scope).paused(pending=CALLS)
    decisions = [
        {"call_id": "del-1", "decision": "deny", "note": "no", "arguments_sha256": seen(CALLS[1])},
        {"call_id": "mail-1", "decision": "approve", "arguments": '{"to": "b"}', "arguments_sha256": seen(CALLS[0])},
    ]
    body = {"run_revision": 2, "decisions": decisions}
    admission = assert_ok(walk.approver.post(f"{walk.pause_path}/decision", body), 201)
    assert answer_of(admission) == {
        "schema_version": 1,
        "reason": "approval",
        "decisions": [
            {"call_id": "mail-1", "outcome": "approved", "arguments": '{"to": "b"}'},
            {"call_id": "del-1", "outcome": "denied", "note": "no"},
        ],
    }
    assert admission["admitted_by"] == {"principal": walk.approver.principal, "via": "token:test"}
    assert admission["input_sha256"] == sha256(b64decode(admission["input"])).hexdigest()
    assert admission["request"]["version"] == walk.version
    assert admission["request"]["input"] == admission["input"]
    assert (admission["claimed_revision"], admission["start_by"]) == (3, None)
    assert assert_ok(walk.approver.get(walk.pause_path))["pending"][0]["arguments"] == CALLS[0]["arguments"]


def test_the_same_decision_again_is_the_same_receipt_whoever_makes_it(scope: str) -> None:
    walk = Walk(scope).paused().admitted()
    assert assert_ok(walk.decide()) == walk.admission | {"fresh": False, "lease": None}
    assert assert_ok(walk.decide(client_for(scope, Role.APPROVER)))["admitted_by"] == walk.admission["admitted_by"]
    walk.started()
    assert_ok(walk.agent.post(f"{walk.run_path}/finish", {"outcome": "completed", "lease": walk.holder}))
    assert assert_ok(walk.decide())["request_digest"] == walk.admission["request_digest"]


def test_another_decision_learns_whom_it_lost_to(scope: str) -> None:
    walk = Walk(scope).paused().admitted()
    document = assert_problem(walk.decide(client_for(scope), decision="deny"), 409, "resume_admission_conflict")
    assert document["admission"] == {
        "request_digest": walk.admission["request_digest"],
        "admitted_at": walk.admission["admitted_at"],
        "admitted_by": {"principal": walk.approver.principal, "via": "token:test"},
    }


def test_a_note_makes_another_decision(scope: str) -> None:
    walk = Walk(scope).paused().admitted()
    assert_problem(walk.decide(note="because"), 409, "resume_admission_conflict")


@pytest.mark.parametrize(
    ("call_ids", "words"),
    [(["mail-1"], "'del-1' is not answered"), (["mail-1", "del-1", "z"], "'z' is not"), (["mail-1"] * 2, "'del-1'")],
)
def test_a_decision_answers_every_call_once(scope: str, call_ids: list[str], words: str) -> None:
    walk = Walk(scope).paused(pending=CALLS)
    decisions = [
        {"call_id": call_id, "decision": "approve", "arguments_sha256": seen(CALLS[0])} for call_id in call_ids
    ]
    body = {"run_revision": 2, "decisions": decisions}
    document = assert_problem(walk.approver.post(f"{walk.pause_path}/decision", body), 422, "results_mismatch")
    assert words in document["detail"]
    assert assert_ok(walk.agent.get(walk.run_path))["state"] == "paused"


def test_what_was_seen_must_be_what_is_stored(scope: str) -> None:
    walk = Walk(scope).paused()
    assert_problem(walk.decide(arguments_sha256="0" * 64), 409, "arguments_changed")
    assert_ok(walk.decide(), 201)


def test_an_agent_does_not_approve_and_an_admin_neither(scope: str) -> None:
    walk = Walk(scope).paused()
    assert_problem(walk.decide(walk.agent), 403, "requires_approval")
    for role in (Role.ADMIN, Role.OPERATOR, Role.BUS, Role.VIEWER):
        document = assert_problem(walk.decide(client_for(scope, role)), 403, "forbidden")
        assert document["roles"] == ["approver", "agent"]


def test_nobody_approves_what_they_asked_for_and_everybody_may_deny_it(scope: str) -> None:
    walk = Walk(scope)
    access.grant_role(walk.agent.principal, Role.APPROVER, Scope.parse(scope), SYSTEM)
    walk.paused(pending=CALLS)
    assert_problem(walk.decide(walk.agent), 403, "self_approval")
    second = access.issue_token(walk.agent.principal, "another", None, SYSTEM)
    assert_problem(walk.decide(Client(second, scope)), 403, "self_approval")
    assert_ok(walk.decide(walk.agent, decision="deny"), 201)


def test_an_external_tool_is_answered_with_a_result_by_its_agent(scope: str) -> None:
    walk = Walk(scope, reason="external_tool").paused()
    approval = walk.decision()
    approval["decisions"][0] = {
        "call_id": "c1",
        "decision": "approve",
        "arguments_sha256": seen(walk.pause["pending"][0]),
    }
    assert_problem(walk.approver.post(f"{walk.pause_path}/decision", approval), 422, "results_mismatch")
    admission = assert_ok(walk.decide(walk.agent, content={"rows": [1, 2.5, None]}), 201)
    assert answer_of(admission)["decisions"] == [
        {"call_id": "c1", "outcome": "completed", "content": {"rows": [1, 2.5, None]}}
    ]
    failed = Walk(scope, reason="external_tool").paused()
    assert (
        answer_of(assert_ok(failed.decide(content=None, error="timeout"), 201))["decisions"][0]["outcome"] == "failed"
    )


@pytest.mark.parametrize(
    "members",
    [
        {"decision": "maybe"},
        {"decision": None},
        {"content": "x"},
        {"error": "x"},
        {"arguments": "{a}"},
        {"arguments": '{"a":1,"a":2}'},
        {"arguments": {}},
        {"arguments_sha256": "ABC"},
        {"arguments_sha256": None},
        {"call_id": None},
        {"decided_by": "boss"},
        {"note": "\x1b"},
    ],
)
def test_a_decision_of_another_shape_is_pointed_at(scope: str, members: dict[str, Any]) -> None:
    walk = Walk(scope).paused()
    document = assert_problem(walk.decide(**members), 400, "invalid_request")
    assert document["errors"][0]["pointer"].startswith("/decisions/0")


def test_a_list_without_ids_or_without_decisions_is_refused_whole(scope: str) -> None:
    walk = Walk(scope).paused()
    given: list[Any] = [[], None, {}, [{"decision": "approve", "arguments_sha256": "0" * 64}]]
    for decisions in given:
        body = {"run_revision": 2, "decisions": decisions}
        assert_problem(walk.approver.post(f"{walk.pause_path}/decision", body), 400, "invalid_request")


def test_a_reply_is_not_given_by_a_human(scope: str) -> None:
    walk = Walk(scope, reason="agent_reply").paused()
    assert_problem(walk.decide(), 403, "not_agent_reply_resumable")


def test_a_decision_on_another_moment_is_told_where_the_run_stands(scope: str) -> None:
    walk = Walk(scope).paused()
    walk.revision = 1
    assert assert_problem(walk.decide(), 409, "run_conflict")["run"] == {"state": "paused", "revision": 2}


def test_a_decision_on_nothing(scope: str) -> None:
    walk = Walk(scope).paused()
    walk.suspension_id = ids.new_id(ids.SUSPENSION)
    assert_problem(walk.decide(), 404, "suspension_not_found")


def test_an_empty_edit_is_taken_as_the_value_that_it_is(scope: str) -> None:
    for arguments in ("{}", "[]", "0", "false", '""', "null"):
        walk = Walk(scope).paused()
        admission = assert_ok(walk.decide(arguments=arguments), 201)
        assert answer_of(admission)["decisions"][0]["arguments"] == arguments


def test_answering_one_run_leaves_another_as_it_was(scope: str) -> None:
    first, second = Walk(scope).paused(), Walk(scope).paused()
    before = assert_ok(first.agent.get(first.pause_path))
    second.admitted().started()
    assert assert_ok(first.agent.get(first.pause_path)) == before
