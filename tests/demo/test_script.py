"""The sample agents' transcripts: good requests, and decisions that are honoured."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from suspensions.demo import script
from suspensions.demo.script import Case, Step
from suspensions.demo.transcripts import PROJECTS
from suspensions.domain.arguments import check_edit
from suspensions.domain.continuations import read_continuation
from suspensions.domain.pending import read_pending, read_results
from suspensions.domain.strict_json import loads
from suspensions.domain.values import Reason

CASES = [case for cases in PROJECTS.values() for case in cases]


def played() -> Iterator[Any]:
    """Each case with each of its sets of names."""
    for case in CASES:
        for seed in range(len(case.choices)):
            yield pytest.param(case.filled(seed), id=f"{case.name}-{seed}")


def approve_all(step: Step) -> dict[str, Any]:
    """An answer that lets the case go on."""
    if step.reason == "agent_reply":
        return {"replies": [{"reply_with": call.reply_with, "content": "No."} for call in step.calls]}
    if step.reason == "external_tool":
        return {"decisions": [{"call_id": c.id, "outcome": "completed", "content": "All there."} for c in step.calls]}
    return {"decisions": [{"call_id": call.id, "outcome": "approved"} for call in step.calls]}


def test_the_cases_show_what_a_newcomer_should_see() -> None:
    steps = [step for case in CASES for step in case.steps]
    texts = [call.arguments for case in CASES for step in case.filled(0).steps for call in step.calls]

    assert 8 <= len(CASES) <= 12
    assert {step.reason for step in steps} == {str(reason) for reason in Reason}
    assert any(len(step.calls) > 2 for step in steps)
    assert any(step.deadline is None for step in steps)
    assert len({step.deadline for step in steps}) > 6
    assert any("\u200b" in text and "\u200f" in text and "\u043e" in text for text in texts)
    assert any(isinstance(value, int) and value > 1 << 53 for text in texts for value in json.loads(text).values())
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", list(played()))
def test_every_pause_is_one_that_the_store_takes(case: Case) -> None:
    continuation = script.begin(case)
    seen = 0
    while (step := script.step_of(case, continuation)) is not None:
        read_pending([call.pending() for call in step.calls], Reason(step.reason))
        for call in step.calls:
            check_edit(call.arguments)
        read_continuation(script.pause_at(case, continuation, step))
        results = script.read_answer(step, approve_all(step))
        read_results([result.done() for result in results])
        continuation = script.go_on(case, script.pause_at(case, continuation, step), results)
        read_continuation(continuation)
        seen += 1
    assert seen == len(case.steps)
    assert case.closing in script.last_word(case, continuation)
    assert "$" not in json.dumps(continuation)


@pytest.mark.parametrize("case", list(played()))
def test_every_call_stands_in_the_conversation_and_is_answered_there(case: Case) -> None:
    continuation = script.begin(case)
    while (step := script.step_of(case, continuation)) is not None:
        paused = script.pause_at(case, continuation, step)
        assert [call["function"]["arguments"] for call in paused["messages"][-1]["tool_calls"]] == [
            call.arguments for call in step.calls
        ]
        continuation = script.go_on(case, paused, script.read_answer(step, approve_all(step)))
        answered = [message["tool_call_id"] for message in continuation["messages"] if message["role"] == "tool"]
        assert answered[-len(step.calls) :] == [call.id for call in step.calls]


@pytest.fixture
def rebooking() -> Case:
    return next(case for case in CASES if case.name == "rebooking").filled(0)


def answered(case: Case, *decisions: dict[str, Any]) -> dict[str, Any]:
    step = case.steps[0]
    paused = script.pause_at(case, script.begin(case), step)
    return script.go_on(case, paused, script.read_answer(step, {"decisions": list(decisions)}))


def test_a_denied_call_has_not_run_and_the_agent_says_so(rebooking: Case) -> None:
    after = answered(
        rebooking,
        {"call_id": "call_book_1", "outcome": "denied", "note": "Too dear."},
        {"call_id": "call_cancel_1", "outcome": "approved"},
    )

    cancel, book, said = (message["content"] for message in after["messages"][-3:])
    assert cancel.startswith("Cancelled.")
    assert book == "Not run: a person denied it. Too dear."
    assert "cancel_reservation was approved and has run." in said
    assert "book_flight was denied, so I have not run it. The reason given: “Too dear.”" in said
    assert after["step_index"] == 1


def test_where_everything_was_denied_the_case_ends(rebooking: Case) -> None:
    after = answered(
        rebooking,
        {"call_id": "call_cancel_1", "outcome": "denied"},
        {"call_id": "call_book_1", "outcome": "denied"},
    )

    assert script.step_of(rebooking, after) is None
    assert rebooking.closing not in script.last_word(rebooking, after)


def test_changed_arguments_are_what_ran(rebooking: Case) -> None:
    after = answered(
        rebooking,
        {"call_id": "call_cancel_1", "outcome": "approved", "arguments": '{"reservation": "OTHER"}'},
        {"call_id": "call_book_1", "outcome": "approved"},
    )

    assert '{"reservation": "OTHER"}' in after["messages"][-3]["content"]
    assert "changed arguments" in after["messages"][-1]["content"]


def test_a_result_that_is_no_text_is_told_as_json() -> None:
    case = next(case for case in CASES if case.name == "returned-item").filled(0)
    decisions = [{"call_id": "call_inspect_1", "outcome": "completed", "content": {"ok": True, "who": "Zoë"}}]
    (result,) = script.read_answer(case.steps[0], {"decisions": decisions})
    assert loads(result.content.encode()) == {"ok": True, "who": "Zoë"}


def test_a_failed_external_tool_is_told() -> None:
    case = next(case for case in CASES if case.name == "returned-item").filled(0)
    decisions = [{"call_id": "call_inspect_1", "outcome": "failed", "error": "shelf empty"}]
    results = script.read_answer(case.steps[0], {"decisions": decisions})
    after = script.go_on(case, script.pause_at(case, script.begin(case), case.steps[0]), results)
    assert "inspect_return failed: It failed: shelf empty" in after["messages"][-1]["content"]
