"""The agent that asks: one question stays open, and an answer is taken up once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from suspensions.demo.client import Api
from suspensions.demo.questions import QUESTIONS, TOOL, Asker
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.operations import interactions
from tests.demo.test_agents import at_once, token_for
from tests.support import builders
from tests.support.server import Server, running_server


@pytest.fixture(scope="module")
def server(database: None) -> Iterator[Server]:
    with running_server() as running:
        yield running


@pytest.fixture
def scope() -> Scope:
    return builders.fresh_scope(2)


@pytest.fixture
def api(server: Server, scope: Scope) -> Iterator[Api]:
    with Api(server.url, token_for(scope, Role.AGENT), scope.text, at_once) as found:
        yield found


def open_questions(api: Api) -> list[dict[str, Any]]:
    return api.pages("interactions")


def test_one_question_is_open_however_often_one_looks(api: Api) -> None:
    asker = Asker(api, at_once)
    asker.look()
    asker.look()

    (question,) = open_questions(api)
    asked = api.get(f"interactions/{question['interaction_id']}")
    assert asked["tool_name"] == TOOL
    assert asked["tool_input"]["question"] in {question for _, question in QUESTIONS}


def test_an_answer_is_taken_up_and_the_next_question_asked(api: Api, scope: Scope) -> None:
    asker = Asker(api, at_once)
    asker.look()
    (first,) = open_questions(api)
    block = {"type": "tool_result", "tool_use_id": first["tool_use_id"], "content": "Yes."}
    interactions.answer_interaction(builders.caller(scope), scope, first["interaction_id"], block)

    asker.look()

    (second,) = open_questions(api)
    assert second["interaction_id"] != first["interaction_id"]
    settled = {each["interaction_id"]: each["resolved"] for each in api.pages("interactions", resolved="true")}
    assert settled == {first["interaction_id"]: True, second["interaction_id"]: False}


def test_questions_of_others_are_left_alone(api: Api, scope: Scope) -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "ask", "input": {}}
    body = {
        "interaction_id": "of-another",
        "tool_use_id": "toolu_1",
        "assistant": {"role": "assistant", "content": [use]},
    }
    api.post("interactions", body)
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Yes."}
    interactions.answer_interaction(builders.caller(scope), scope, "of-another", block)

    Asker(api, at_once).look()

    assert not api.get("interactions/of-another")["resolved"]
