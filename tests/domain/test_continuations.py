"""Continuations at the door: what goes in, what is refused with its place. Source: store.md section 2."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspensions.domain.continuations import decode_base64, read_continuation, restore_continuation
from suspensions.domain.errors import InvalidContinuation, StoredRecordBroken

USER: dict[str, Any] = {"role": "user", "content": "Please."}


def faults_of(value: Any) -> list[str]:
    """Where the faults lie."""
    with pytest.raises(InvalidContinuation) as caught:
        read_continuation(value)
    assert all(fault.detail for fault in caught.value.faults)
    return [fault.pointer for fault in caught.value.faults]


def with_message(**members: Any) -> dict[str, Any]:
    return {"messages": [USER, {"role": "assistant", **members}]}


# -- what goes in ----------------------------------------------------------------------------------


def test_messages_alone_will_do_and_absent_members_stay_absent() -> None:
    read = read_continuation({"messages": []})
    assert read.text == b'{"messages":[]}'
    assert (read.step_index, read.tokens_used) == (None, None)


def test_the_counters_are_copied_for_the_run() -> None:
    read = read_continuation({"messages": [], "step_index": 0, "tokens_used": 9007199254740991})
    assert (read.step_index, read.tokens_used) == (0, 9007199254740991)


_WHOLE: dict[str, Any] = {
    "zeta": {"unknown": [1.0, 1e2, 12345678901234567890, {"deep": None}]},
    "messages": [
        {"role": "developer", "content": None},
        {"role": "system", "content": ""},
        {"role": "user", "content": [{"type": "image", "source": {"data": "aGk="}}, "a text", {}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "", "signature": "c2ln"},
                {"type": "tool_use", "id": "t", "name": "n", "input": {"b": 1, "a": 2}},
            ],
            "unknown": {"kept": True},
        },
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "name": "n", "arguments": "{ not json"}]},
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "c2", "type": "function", "function": {"name": "n", "arguments": '{"a":1.0}'}, "index": 0},
                {"id": "c3", "type": "custom", "custom": {"name": "n", "input": "x"}},
                {"id": "c4", "name": "n", "arguments": None},
            ],
        },
        {"role": "tool", "tool_call_id": "c2", "name": "n", "content": "NUL \u0000, e\u0301 and \u00e9, \U0001f9e9"},
        {"role": "something new", "content": "x"},
    ],
    "system_prompt": "\u202e be kind",
    "step_index": 3,
    "tokens_used": 0,
    "new_messages_from": 8,
    "session_id": "ses_x",
    "config": {
        "context": {},
        "publication": {"policy": "x"},
        "budget": {"tokens": 5},
        "model": "m",
        "temperature": None,
        "max_steps": 5,
        "max_tokens": 10,
        "reasoning_loop": "react",
        "tools": [],
        "persona_ref": "p",
        "tools_restricted": True,
        "all_tools_restricted": False,
        "new_in_v9": [0.1],
    },
    "tool_results": [{"any": "thing"}],
    "schema_version": 2,
    "prepared": "AP8=",
    "provenance": {},
    "usage": {"input_tokens": 1},
    "null_is_kept": None,
}


def test_the_shapes_of_the_common_model_apis_go_in_as_they_are() -> None:
    text = read_continuation(_WHOLE).text
    assert text.decode() == json.dumps(_WHOLE, ensure_ascii=False, separators=(",", ":"))
    assert restore_continuation(text) == _WHOLE
    assert list(restore_continuation(text)) == list(_WHOLE)


def test_no_tools_is_not_every_tool() -> None:
    config = {"tools_restricted": True, "tools": []}
    restored = restore_continuation(read_continuation({"messages": [], "config": config}).text)
    assert restored["config"] == config
    without = restore_continuation(read_continuation({"messages": [], "config": {"tools_restricted": True}}).text)
    assert without["config"] == {"tools_restricted": True}


@pytest.mark.parametrize("temperature", [None, 0, 0.0, 1.5, 2])
def test_a_temperature_of_null_is_not_nought(temperature: float | None) -> None:
    text = read_continuation({"messages": [], "config": {"temperature": temperature}}).text
    assert json.loads(text)["config"] == {"temperature": temperature}
    assert ("null" in text.decode()) is (temperature is None)


@pytest.mark.parametrize("boundary", [0, 1, 2])
def test_the_boundary_lies_within_the_messages(boundary: int) -> None:
    read_continuation({"messages": [USER, USER], "new_messages_from": boundary})


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, [], "x", 1, True])
def test_what_is_no_object_is_refused(value: Any) -> None:
    assert faults_of(value) == ["/continuation"]


@pytest.mark.parametrize("messages", [None, {}, "x", 0])
def test_messages_are_a_list_and_must_be_there(messages: Any) -> None:
    assert faults_of({"messages": messages}) == ["/continuation/messages"]
    assert faults_of({}) == ["/continuation/messages"]


_WRONG: dict[str, list[Any]] = {
    "system_prompt": [1, [], {}, True],
    "step_index": [-1, 1.5, "1", True, 1 << 53, []],
    "tokens_used": [-1, 0.5, "0", False, {}],
    "new_messages_from": [-1, "0", True, 1.0],
    "session_id": [1, {}],
    "config": [[], "x", 1],
    "tool_results": [{}, "x"],
    "schema_version": ["1", -1, True],
    "prepared": [1, [], "AP8", "AP8=\n", " AP8=", "AP9=", "A-_=", "====", "\u00e9", "AP8=AP8="],
    "provenance": [[], "x"],
    "usage": [[], 1],
}
_WRONG_CONFIG: dict[str, list[Any]] = {
    "context": [[], "x"],
    "budget": [[], 1],
    "model": [1, {}],
    "temperature": ["0", True, []],
    "max_steps": [-1, 1.5, "1", True],
    "max_tokens": [-1, "1"],
    "reasoning_loop": [1],
    "tools": ["x", {}, [1], ["a", None]],
    "persona_ref": [1],
    "tools_restricted": [1, "true", []],
    "all_tools_restricted": [0, "false"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in _WRONG.items() for value in values])
def test_a_member_of_the_wrong_type_is_refused_with_its_place(name: str, value: Any) -> None:
    assert faults_of({"messages": [USER], name: value}) == [f"/continuation/{name}"]


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in _WRONG_CONFIG.items() for value in values]
)
def test_a_setting_of_the_wrong_type_is_refused_with_its_place(name: str, value: Any) -> None:
    assert faults_of({"messages": [], "config": {name: value}}) == [f"/continuation/config/{name}"]


@pytest.mark.parametrize("boundary", [3, 4, 9007199254740991])
def test_a_boundary_beyond_the_messages_is_refused(boundary: int) -> None:
    assert faults_of({"messages": [USER, USER], "new_messages_from": boundary}) == ["/continuation/new_messages_from"]


_WRONG_MESSAGES: dict[str, tuple[Any, str]] = {
    "no object": ("hello", ""),
    "no role": ({"content": "x"}, "/role"),
    "an empty role": ({"role": "", "content": "x"}, "/role"),
    "a role that is no text": ({"role": 1}, "/role"),
    "content that is a number": ({"role": "user", "content": 1}, "/content"),
    "content that is an object": ({"role": "user", "content": {}}, "/content"),
    "a block that is a number": ({"role": "user", "content": [{}, 1]}, "/content/1"),
    "a block that is null": ({"role": "user", "content": [None]}, "/content/0"),
    "calls that are no list": ({"role": "assistant", "tool_calls": {}}, "/tool_calls"),
    "a call that is no object": ({"role": "assistant", "tool_calls": ["x"]}, "/tool_calls/0"),
    "a call without an id": (
        {"role": "assistant", "tool_calls": [{"name": "n", "arguments": "{}"}]},
        "/tool_calls/0/id",
    ),
    "a call with an empty id": (
        {"role": "assistant", "tool_calls": [{"id": "", "name": "n", "arguments": ""}]},
        "/tool_calls/0/id",
    ),
    "a call without a name": (
        {"role": "assistant", "tool_calls": [{"id": "c", "arguments": ""}]},
        "/tool_calls/0/name",
    ),
    "arguments that were parsed": (
        {"role": "assistant", "tool_calls": [{"id": "c", "name": "n", "arguments": {"a": 1}}]},
        "/tool_calls/0/arguments",
    ),
    "a function that is a text": (
        {"role": "assistant", "tool_calls": [{"id": "c", "function": "n"}]},
        "/tool_calls/0/function",
    ),
    "a function without a name": (
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"arguments": "{}"}}]},
        "/tool_calls/0/function/name",
    ),
    "parsed arguments of a function": (
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "n", "arguments": {}}}]},
        "/tool_calls/0/function/arguments",
    ),
    "a call id that is no text": ({"role": "tool", "content": "x", "tool_call_id": 7}, "/tool_call_id"),
}


@pytest.mark.parametrize("what", _WRONG_MESSAGES)
def test_a_message_of_the_wrong_shape_is_refused_with_its_place(what: str) -> None:
    message, place = _WRONG_MESSAGES[what]
    assert faults_of({"messages": [USER, message]}) == [f"/continuation/messages/1{place}"]


def test_one_fault_is_said_once() -> None:
    for boundary in (-1, True, 1 << 60):
        assert faults_of({"messages": [], "new_messages_from": boundary}) == ["/continuation/new_messages_from"]


def test_all_faults_are_said_at_once_up_to_a_bound() -> None:
    value = {"messages": [USER, 1], "step_index": -1, "config": {"tools": 1}}
    assert sorted(faults_of(value)) == [
        "/continuation/config/tools",
        "/continuation/messages/1",
        "/continuation/step_index",
    ]
    assert len(faults_of({"messages": [0] * 1000})) == 20


# -- reading what is stored ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"messages":{}}',
        b'{"messages":[],"messages":[]}',
        b'{"messages":[],"step_index":-1}',
        b'{"messages":[1]}',
        b'{"messages":["\xff"]}',
        b'{"messages":[],"config":{"tools":"every"}}',
    ],
)
def test_a_stored_continuation_that_no_longer_decodes_is_an_error_not_half_a_run(text: bytes) -> None:
    with pytest.raises(StoredRecordBroken):
        restore_continuation(text)


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.text(st.characters(codec="utf-8")), _json, st.binary(max_size=40))
def test_whatever_is_sent_comes_back(content: str, unknown: Any, prepared: bytes) -> None:
    value = {
        "x-unknown": unknown,
        "messages": [{"role": "user", "content": content, "x": unknown}],
        "prepared": b64encode(prepared).decode(),
    }
    restored = restore_continuation(read_continuation(value).text)
    assert restored == value
    assert decode_base64(restored["prepared"]) == prepared


@given(st.binary(max_size=60))
def test_base64_has_one_form_for_each_bytes(content: bytes) -> None:
    text = b64encode(content).decode()
    assert decode_base64(text) == content
    for other in (text + "\n", text.rstrip("=") + "=" * (3 if text.endswith("=") else 1), " " + text):
        assert decode_base64(other) is None
