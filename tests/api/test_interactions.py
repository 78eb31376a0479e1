"""Single questions to a human, over the API."""

from __future__ import annotations

import json
import secrets
from typing import Any
from urllib.parse import quote

import pytest

from suspensions.domain import ids
from suspensions.domain.policy import Role
from tests.support.api import Client, assert_ok, assert_problem, client_for
from tests.support.walks import Walk

ASSISTANT: dict[str, Any] = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "", "signature": "sig=="},
        {"type": "tool_use", "id": "toolu_1", "name": "ask", "input": {"q": 1.0}},
    ],
}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "Yes."}], "extra": 1}
ANSWER = {"role": "user", "content": [RESULT]}


def question(**members: Any) -> dict[str, Any]:
    return {
        "interaction_id": f"ask {secrets.token_hex(6)}",
        "tool_use_id": "toolu_1",
        "assistant": ASSISTANT,
        **members,
    }


@pytest.fixture
def asked(client: Client) -> str:
    """The address of an open question."""
    return f"/interactions/{assert_ok(client.post('/interactions', question()), 201)['interaction_id']}"


def test_a_question_is_kept_whole_and_once(client: Client, scope: str) -> None:
    body = question(
        tool_name="ask", tool_input={"q": 1.0}, session_id="session-1", messages=[{"role": "user"}, ASSISTANT]
    )
    saved = assert_ok(client.post("/interactions", body), 201)
    assert {name: saved[name] for name in body} == body
    assert (saved["resolved"], saved["version"], saved["scope"], saved["fresh"]) == (False, 1, scope, True)
    assert saved["answer"] is saved["resolved_at"] is saved["run_id"] is None
    reordered = json.loads(json.dumps(dict(reversed(body.items()))))
    assert assert_ok(client.post("/interactions", reordered)) == saved | {"fresh": False}
    assert_problem(client.post("/interactions", body | {"tool_name": "tell"}), 409, "interaction_conflict")
    assert assert_ok(client.get(f"/interactions/{body['interaction_id']}")) == saved | {"fresh": False}


@pytest.mark.parametrize("content", [[], "text", ASSISTANT["content"] * 2, [{"type": "tool_use", "id": "other"}]])
def test_the_asking_tool_use_is_the_only_one(client: Client, content: Any) -> None:
    body = question(assistant={"role": "assistant", "content": content})
    document = assert_problem(client.post("/interactions", body), 422, "not_singleton_suspension")
    uses = [block for block in content if isinstance(block, dict) and block["type"] == "tool_use"]
    assert document["count"] == len(uses)


@pytest.mark.parametrize("interaction_id", ["", " ", ".", "..", "a/b", "a\nb", "x" * 257, None, 5])
def test_an_id_that_is_no_file_name_is_refused(client: Client, interaction_id: Any) -> None:
    document = assert_problem(
        client.post("/interactions", question(interaction_id=interaction_id)), 400, "invalid_request"
    )
    assert document["errors"][0]["pointer"] == "/interaction_id"


def test_odd_ids_are_kept_apart_in_every_address(client: Client) -> None:
    names = ["a:b", "a b", "a%2Fb", "a?b#c", "a;b", "...", "\u00e9", "e\u0301", "A:B", "x" * 256]
    for name in names:
        assert_ok(client.post("/interactions", question(interaction_id=name, tool_name=name[:9])), 201)
    for name in names:
        assert assert_ok(client.get(f"/interactions/{quote(name, safe='')}"))["interaction_id"] == name
        assert_ok(client.post(f"/interactions/{quote(name, safe='')}/mark-resolved"), 204)
        assert_problem(client.get(f"/interactions/{quote(name, safe='')}"), 409, "interaction_resolved")


def test_an_answer_is_kept_and_stays_retryable(client: Client, asked: str) -> None:
    assert_problem(client.post(f"{asked}/resume-messages", {}), 400, "invalid_request")
    answered = assert_ok(client.post(f"{asked}/answer", {"result": RESULT}), 201)
    assert (answered["answer"], answered["answered_by"]["principal"]) == (RESULT, client.principal)
    assert assert_ok(client.post(f"{asked}/answer", {"result": RESULT})) == answered | {"fresh": False}
    other = {"result": RESULT | {"content": "No."}}
    assert_problem(client.post(f"{asked}/answer", other), 409, "interaction_conflict")
    assert_problem(client.post(f"{asked}/resolve", other), 409, "interaction_conflict")
    expected = {"messages": [ASSISTANT, ANSWER]}
    assert assert_ok(client.post(f"{asked}/resume-messages")) == expected
    assert assert_ok(client.post(f"{asked}/resume-messages", {"result": RESULT})) == expected
    assert assert_ok(client.post(f"{asked}/resolve")) == expected
    for name, body in (("answer", {"result": RESULT}), ("resolve", {}), ("resume-messages", {})):
        assert_problem(client.post(f"{asked}/{name}", body), 409, "interaction_resolved")
    assert_problem(client.get(asked), 409, "interaction_resolved")


def test_a_recorded_transcript_is_given_back_whole(client: Client) -> None:
    messages = [{"role": "user", "content": "hi"}, ASSISTANT]
    made = assert_ok(client.post("/interactions", question(messages=messages)), 201)
    resolved = assert_ok(client.post(f"/interactions/{made['interaction_id']}/resolve", {"result": RESULT}))
    assert resolved == {"messages": [*messages, ANSWER]}


@pytest.mark.parametrize("change", [{"tool_use_id": "toolu_2"}, {"type": "text"}, {"tool_use_id": None}])
def test_a_result_of_another_tool_use_is_refused(client: Client, asked: str, change: dict[str, Any]) -> None:
    for name in ("answer", "resume-messages", "resolve"):
        answer = client.post(f"{asked}/{name}", {"result": RESULT | change})
        assert_problem(answer, 422, "tool_result_mismatch")


def test_what_was_settled_elsewhere_is_marked_and_again(client: Client, asked: str) -> None:
    assert_ok(client.post(f"{asked}/mark-resolved"), 204)
    assert_ok(client.post(f"{asked}/mark-resolved", {}), 204)
    assert_problem(client.post(f"{asked}/answer", {"result": RESULT}), 409, "interaction_resolved")


def test_open_questions_are_listed_and_resolved_ones_on_request(client: Client) -> None:
    first, second = (assert_ok(client.post("/interactions", question()), 201)["interaction_id"] for _ in range(2))
    assert_ok(client.post(f"/interactions/{first}/mark-resolved"), 204)

    def listed(**query: Any) -> list[str]:
        items = assert_ok(client.get("/interactions", **query))["items"]
        assert not any({"assistant", "messages", "tool_input", "answer"} & item.keys() for item in items)
        return [item["interaction_id"] for item in items]

    assert listed() == [second]
    assert listed(resolved="true") == [second, first]
    page = assert_ok(client.get("/interactions", resolved="true", limit=1))
    assert listed(resolved="true", cursor=page["next"]) == [first]
    assert_problem(client.get("/interactions", cursor=page["next"]), 400, "invalid_cursor")


def test_the_end_of_a_run_resolves_its_questions(scope: str) -> None:
    walk = Walk(scope)
    walk.make_run()
    made = assert_ok(walk.agent.post("/interactions", question(run_id=walk.run_id)), 201)
    assert_ok(walk.agent.post(f"{walk.run_path}/finish", {"outcome": "completed"}))
    items = assert_ok(walk.agent.get("/interactions", resolved="true"))["items"]
    assert [(item["interaction_id"], item["resolved_by"]["principal"]) for item in items] == [
        (made["interaction_id"], "system")
    ]
    late = question(run_id=walk.run_id)
    assert_problem(walk.agent.post("/interactions", late), 409, "invalid_state")
    missing = question(run_id=ids.new_id(ids.RUN))
    assert_problem(walk.agent.post("/interactions", missing), 404, "run_not_found")


def test_who_may_what(scope: str, client: Client, asked: str) -> None:
    agent, approver = client_for(scope, Role.AGENT), client_for(scope, Role.APPROVER)
    assert_problem(agent.post(f"{asked}/answer", {"result": RESULT}), 403, "forbidden")
    assert_problem(approver.post("/interactions", question()), 403, "forbidden")
    for name in ("resume-messages", "resolve", "mark-resolved"):
        assert_problem(approver.post(f"{asked}/{name}", {"result": RESULT}), 403, "forbidden")


def test_questions_that_are_not_there(client: Client) -> None:
    path = "/interactions/nobody asked"
    assert_problem(client.get(path), 404, "interaction_not_found")
    for name in ("answer", "resume-messages", "resolve", "mark-resolved"):
        assert_problem(client.post(f"{path}/{name}", {"result": RESULT}), 404, "interaction_not_found")
    assert_problem(client.get("/interactions/a%0Ab"), 400, "invalid_request")
