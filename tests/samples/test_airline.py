"""Real transcripts, taken through the walk: messages and arguments come back character for character."""

from __future__ import annotations

import json
import secrets
from base64 import b64decode
from typing import Any

import pytest

from suspensions.domain import ids
from suspensions.domain.continuations import read_continuation
from suspensions.domain.decisions import CallDecision
from suspensions.domain.pending import read_pending
from suspensions.domain.policy import Role
from suspensions.domain.states import RunState
from suspensions.domain.values import Admission, AdmissionRequest, Holder, PendingCall, Reason, Suspension
from suspensions.operations import resumes, runs, suspensions
from tests.samples.moments import AIRLINE, Moment, moments, of_the_demo
from tests.store.rows import run_chain
from tests.support.api import Client, assert_ok, client_for
from tests.support.builders import caller, fresh_scope, new_run, new_suspension, take, version_of
from tests.support.walks import TAKE

MOMENTS = moments()
EVERY = pytest.mark.parametrize("moment", MOMENTS, ids=[moment.name for moment in MOMENTS])


def test_there_are_moments_to_walk() -> None:
    assert len(MOMENTS) >= (60 if AIRLINE.exists() else 10)
    assert {moment.reason for moment in MOMENTS} >= {"approval", "external_tool"}
    assert {moment.reason for moment in of_the_demo()} >= {"approval", "external_tool"}
    names = [moment.name for moment in MOMENTS]
    assert len(set(names)) == len(names)


def edited(arguments: str) -> str:
    """Other arguments, as a person might type them."""
    return json.dumps({**json.loads(arguments), "checked_by": "Zo\u00eb \u2708"}, ensure_ascii=False)


def odd(index: int) -> bool:
    return index % 2 == 1


# -- through the operations ------------------------------------------------------------------------


def _answer(pause: Suspension) -> Admission:
    """Approve, deny and edit by turns; report where a result is asked for; reply where a peer is."""
    by = caller(pause.scope)
    if pause.reason is Reason.AGENT_REPLY:
        request = AdmissionRequest(pause.scope, version_of(pause), b"the peer's reply \xff")
        return resumes.admit_resume(by, request, frozenset(call.reply_with or "" for call in pause.pending))
    made = tuple(_decision(pause, call, index) for index, call in enumerate(pause.pending))
    return resumes.decide(by, pause.scope, pause.id, version_of(pause).run_revision, made)


def _decision(pause: Suspension, call: PendingCall, index: int) -> CallDecision:
    seen = call.arguments_sha256
    if pause.reason is Reason.EXTERNAL_TOOL:
        return CallDecision(call.id, seen, content="Transfer done.\nThe customer agreed to Saturday.")
    if odd(index):
        return CallDecision(call.id, seen, decision="deny", note="not this one")
    return CallDecision(call.id, seen, decision="approve", arguments=edited(call.arguments))


@EVERY
def test_what_an_agent_paused_with_is_what_its_successor_gets(moment: Moment) -> None:
    scope = fresh_scope(2)
    agent = caller(scope, Role.AGENT)
    run = runs.create_run(agent, new_run(scope, agent_name="airline", input=str(moment.messages[-2]["content"])))
    reason = Reason(moment.reason)
    new = new_suspension(
        scope,
        run.id,
        reason,
        read_pending(moment.pending, reason),
        continuation=read_continuation(moment.continuation),
    )
    pause = suspensions.create_suspension(agent, new)

    for shown in (pause, suspensions.get_suspension(agent, scope, run.id)):
        assert [call.to_json() for call in shown.pending] == moment.pending
        assert_same_text(shown.continuation, moment.continuation)

    admission = _answer(pause)
    started = resumes.start_next(agent, scope, take(), request_id="r")
    assert started is not None and started.suspension is not None
    assert [call.arguments for call in started.suspension.pending] == [call["arguments"] for call in moment.pending]
    assert_same_text(started.suspension.continuation, moment.continuation)
    assert started.input == admission.input
    if reason is Reason.APPROVAL:
        assert started.input is not None
        decisions = json.loads(started.input)["decisions"]
        for index, (decision, call) in enumerate(zip(decisions, moment.pending, strict=True)):
            assert decision["call_id"] == call["id"]
            assert decision.get("arguments") == (None if odd(index) else edited(call["arguments"]))

    done = runs.finish_run(agent, scope, run.id, RunState.COMPLETED, output="\u2714 done", holder=Holder("worker-1", 1))
    assert (done.state, done.revision) == (RunState.COMPLETED, 4)
    assert done.input == str(moment.messages[-2]["content"])
    assert done.step_count == moment.continuation["step_index"]
    assert [event["type"] for event in run_chain(run.id)] == [
        "run.created",
        "run.paused",
        "resume.admitted",
        "resume.started",
        "run.finished",
    ]
    history = suspensions.read_suspension(agent, scope, pause.id)
    assert history.retired_at is not None
    assert (history.digest, history.continuation) == (pause.digest, pause.continuation)


def assert_same_text(stored: bytes, sent: dict[str, Any]) -> None:
    """The stored text is what was sent: every member, in its order, every character."""
    text = stored.decode()
    assert text == json.dumps(sent, ensure_ascii=False, separators=(",", ":"))
    assert json.loads(text) == sent


# -- through the API -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clients() -> dict[Role, Client]:
    """An agent, an approver and a bus, the same for every moment."""
    scope = f"w={secrets.token_hex(8)}"
    return {role: client_for(scope, role) for role in (Role.AGENT, Role.APPROVER, Role.BUS)}


def _answer_by_api(moment: Moment, pause: dict[str, Any], clients: dict[Role, Client]) -> dict[str, Any]:
    if moment.reason == "agent_reply":
        body: dict[str, Any] = {
            "scope": clients[Role.BUS].scope,
            "version": {
                "run_id": pause["run_id"],
                "suspension_id": pause["id"],
                "run_revision": pause["run"]["revision"],
            },
            "input": "AP8=",
            "reply_with": [call["reply_with"] for call in moment.pending],
        }
        admitted: dict[str, Any] = assert_ok(clients[Role.BUS].post("/resume-admissions", body), 201)
        return admitted
    answers: dict[str, dict[str, Any]] = {
        "approval": {"decision": "approve"},
        "external_tool": {"content": "Transfer done."},
    }
    decisions = [
        {"call_id": call["id"], "arguments_sha256": call["arguments_sha256"], **answers[moment.reason]}
        for call in pause["pending"]
    ]
    decided: dict[str, Any] = assert_ok(
        clients[Role.APPROVER].post(
            f"/suspensions/{pause['id']}/decision",
            {"run_revision": pause["run"]["revision"], "decisions": decisions},
        ),
        201,
    )
    return decided


@EVERY
def test_the_same_through_the_api(moment: Moment, clients: dict[Role, Client]) -> None:
    agent = clients[Role.AGENT]
    run_id = ids.new_id(ids.RUN)
    body = {
        "id": ids.new_id(ids.SUSPENSION),
        "run_id": run_id,
        "run": {"id": run_id, "agent_name": "airline"},
        "reason": moment.reason,
        "pending": moment.pending,
        "continuation": moment.continuation,
    }
    pause = assert_ok(agent.post("/suspensions", body), 201)
    again = assert_ok(agent.post("/suspensions", body))
    assert (again["id"], again["fresh"]) == (pause["id"], False)
    for shown in (pause, assert_ok(clients[Role.APPROVER].get(f"/suspensions/{pause['id']}"))):
        assert_same_members(shown, moment)

    admission = _answer_by_api(moment, pause, clients)
    started = assert_ok(agent.post("/resume-starts/next", {"lease": TAKE, "request_id": run_id}), 201)
    assert started["request_digest"] == admission["request_digest"]
    assert_same_members(started["suspension"], moment)
    assert b64decode(started["input"]) == b64decode(admission["input"])
    lease = started["claimed_run"]["lease"]
    end = {"outcome": "completed", "lease": {"owner": lease["owner"], "epoch": lease["epoch"]}}
    assert assert_ok(agent.post(f"/runs/{run_id}/finish", end))["state"] == "completed"


def assert_same_members(shown: dict[str, Any], moment: Moment) -> None:
    """The calls and the continuation as they were sent, text for text."""
    for call, sent in zip(shown["pending"], moment.pending, strict=True):
        assert {name: call[name] for name in sent} == sent
    assert shown["continuation"] == moment.continuation
    assert json.dumps(shown["continuation"]) == json.dumps(moment.continuation)
