"""Single questions: which turns may stop, what answers them, what to resume with. Source: store.md section 5."""

from __future__ import annotations

from typing import Any

import pytest

from suspensions.domain.errors import (
    InvalidRequest,
    NotSingletonSuspension,
    StoredRecordBroken,
    ToolResultMismatch,
)
from suspensions.domain.interactions import (
    build_resume_messages,
    require_interaction_id,
    require_result,
    require_singleton,
    restore,
    tool_uses,
)

USE: dict[str, Any] = {"type": "tool_use", "id": "tu-1", "name": "ask", "input": {"q": 1}}
OTHER: dict[str, Any] = {"type": "tool_use", "id": "tu-2", "name": "pay", "input": {}}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "tu-1", "content": "yes"}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


# -- ids -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["a", "x" * 256, "a:b", "a b", " a", "%2F", "\u00e9", "...", ".a", "a\\b", "CON", "\U0001f9e9", "-"]
)
def test_an_interaction_id_is_a_free_text(text: str) -> None:
    assert require_interaction_id(text) == text


@pytest.mark.parametrize(
    "text",
    ["", " ", "\t", "x" * 257, "a/b", "/", ".", "..", "a\nb", "a\tb", "a\x00", "a\x7f", "a\x85", None, 1, ["a"]],
)
def test_an_id_that_could_be_a_path_or_cannot_be_seen_is_refused(text: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        require_interaction_id(text)
    assert [fault.pointer for fault in caught.value.faults] == ["/interaction_id"]


# -- the one tool use ------------------------------------------------------------------------------


def test_the_tool_use_may_stand_among_blocks_of_other_kinds() -> None:
    require_singleton(assistant(USE), "tu-1")
    require_singleton(assistant({"type": "thinking", "thinking": "", "signature": "s"}, "text", USE, {}), "tu-1")
    assert tool_uses(assistant({"type": "text"}, USE)) == [USE]


@pytest.mark.parametrize(
    ("message", "count"),
    [
        (assistant(USE, OTHER), 2),
        (assistant(OTHER, USE), 2),
        (assistant(USE, USE), 2),
        (assistant(OTHER), 1),
        (assistant({**USE, "id": "TU-1"}), 1),
        (assistant({**USE, "id": None}), 1),
        (assistant({"type": "tool_use"}), 1),
        (assistant({"type": "server_tool_use", "id": "tu-1"}), 0),
        (assistant(), 0),
        (assistant("tu-1"), 0),
        (assistant({"type": "group", "content": [USE]}), 0),
        ({"role": "assistant", "content": "tu-1"}, 0),
        ({"role": "assistant"}, 0),
        ({"content": None}, 0),
        ([USE], 0),
        (None, 0),
        ("tu-1", 0),
    ],
)
def test_anything_else_is_no_singleton_and_the_refusal_says_how_many(message: Any, count: int) -> None:
    with pytest.raises(NotSingletonSuspension) as caught:
        require_singleton(message, "tu-1")
    assert (caught.value.count, caught.value.members()) == (count, {"count": count})
    assert str(count) in caught.value.detail


# -- the result ------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"content": None}, {"is_error": True}, {"content_blocks": [{"type": "image"}]}])
def test_a_result_for_exactly_this_tool_use_answers_it(more: dict[str, Any]) -> None:
    require_result({**RESULT, **more}, "tu-1")
    require_result({"type": "tool_result", "tool_use_id": "tu-1"}, "tu-1")


@pytest.mark.parametrize(
    "result",
    [
        None,
        "yes",
        [RESULT],
        {},
        {**RESULT, "tool_use_id": "tu-2"},
        {**RESULT, "tool_use_id": "tu-1 "},
        {**RESULT, "tool_use_id": None},
        {**RESULT, "type": "tool_use"},
        {**RESULT, "type": None},
        {"content": "yes"},
    ],
)
def test_a_result_of_anything_else_answers_nothing(result: Any) -> None:
    with pytest.raises(ToolResultMismatch):
        require_result(result, "tu-1")


# -- what to resume with ---------------------------------------------------------------------------


def test_with_a_transcript_the_whole_of_it_and_the_answer() -> None:
    history = [{"role": "user", "content": "x"}, assistant(USE)]
    assert build_resume_messages(assistant(USE), history, RESULT) == [*history, {"role": "user", "content": [RESULT]}]
    assert len(history) == 2, "the transcript itself stays as it was"


def test_without_one_only_the_pair_that_is_missing() -> None:
    assert build_resume_messages(assistant(USE), None, RESULT) == [
        assistant(USE),
        {"role": "user", "content": [RESULT]},
    ]


def test_an_empty_transcript_is_a_transcript() -> None:
    assert build_resume_messages(assistant(USE), [], RESULT) == [{"role": "user", "content": [RESULT]}]


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b'{"a":1,"a":2}', b"NaN"])
def test_a_stored_content_that_no_longer_decodes_is_an_error(text: bytes) -> None:
    with pytest.raises(StoredRecordBroken):
        restore(text)
