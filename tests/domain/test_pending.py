"""Pending calls, results and endings at the door. Source: store.md section 2."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspensions.domain.errors import InvalidRequest, StoredRecordBroken
from suspensions.domain.pending import (
    pending_text,
    read_calls,
    read_ending,
    read_pending,
    read_results,
    restore_pending,
)
from suspensions.domain.values import Ending, PendingCall, Reason


def call(**members: Any) -> dict[str, Any]:
    """A call of a body; `...` takes a member away."""
    whole = {"id": "c1", "name": "pay", "arguments": "{}", **members}
    return {name: value for name, value in whole.items() if value is not ...}


def refusal(value: Any, reason: Reason = Reason.APPROVAL) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        read_pending(value, reason)
    assert all(fault.detail for fault in caught.value.faults)
    return caught.value


def places(value: Any, reason: Reason = Reason.APPROVAL) -> list[str]:
    return [fault.pointer for fault in refusal(value, reason).faults]


# -- what goes in ----------------------------------------------------------------------------------


def test_calls_keep_the_models_order_and_every_character() -> None:
    odd = '{ "b":1.0, "a":[1e2], "b":9007199254740993 } \x00 e\u0301 \u202e'
    calls = read_pending([call(id="z", arguments=odd, note="why\n\tso"), call(id="a", arguments="")], Reason.APPROVAL)
    assert calls == (PendingCall("z", "pay", odd, note="why\n\tso"), PendingCall("a", "pay", ""))
    assert restore_pending(pending_text(calls)) == calls
    assert calls[0].arguments_sha256 == sha256(odd.encode()).hexdigest()


def test_null_means_absent() -> None:
    assert read_pending([call(note=None, reply_with=None)], Reason.APPROVAL) == (PendingCall("c1", "pay", "{}"),)


def test_the_stored_text_is_compact_utf8_with_members_in_their_order() -> None:
    calls = (PendingCall("c", "n", '{"a":"\u00e9"}', note="x", reply_with="r"), PendingCall("d", "n", ""))
    assert pending_text(calls).decode() == (
        '[{"id":"c","name":"n","arguments":"{\\"a\\":\\"\u00e9\\"}","note":"x","reply_with":"r"},'
        '{"id":"d","name":"n","arguments":""}]'
    )


def test_a_pause_holds_1_to_128_calls() -> None:
    assert len(read_pending([call(id=str(index)) for index in range(128)], Reason.APPROVAL)) == 128
    assert places([call(id=str(index)) for index in range(129)]) == ["/pending"]
    nothing: list[Any] = [[], None, {}, "x"]
    for value in nothing:
        assert places(value) == ["/pending"]


@pytest.mark.parametrize("call_id", ["a:b", "a/b", " a", "a b", "%2F", "\u00e9", "\u202e", "x" * 256, "..", "-"])
def test_a_call_id_is_a_free_text(call_id: str) -> None:
    assert read_pending([call(id=call_id)], Reason.APPROVAL)[0].id == call_id


def test_a_reply_address_is_on_every_call_of_an_agent_reply_and_nowhere_else() -> None:
    both = [call(id="a", reply_with="r"), call(id="b", reply_with="r")]
    assert [each.reply_with for each in read_pending(both, Reason.AGENT_REPLY)] == ["r", "r"]
    assert places([call(id="a", reply_with="r"), call(id="b")], Reason.AGENT_REPLY) == ["/pending/1/reply_with"]
    for reason in (Reason.APPROVAL, Reason.EXTERNAL_TOOL):
        assert places([call(id="a"), call(id="b", reply_with="r")], reason) == ["/pending/1/reply_with"]


# -- what is refused -------------------------------------------------------------------------------

_FAULTS: dict[str, tuple[Any, str]] = {
    "no object": ("x", ""),
    "no id": (call(id=...), "/id"),
    "an empty id": (call(id=""), "/id"),
    "a blank id": (call(id=" "), "/id"),
    "a tab for an id": (call(id="\t"), "/id"),
    "null for an id": (call(id=None), "/id"),
    "a number for an id": (call(id=1), "/id"),
    "a line end in an id": (call(id="a\nb"), "/id"),
    "NUL in an id": (call(id="a\x00"), "/id"),
    "an id that is too long": (call(id="x" * 257), "/id"),
    "no name": (call(name=...), "/name"),
    "an empty name": (call(name=""), "/name"),
    "a blank name": (call(name=" \t"), "/name"),
    "a name that is too long": (call(name="x" * 257), "/name"),
    "NUL in a name": (call(name="a\x00"), "/name"),
    "no arguments": (call(arguments=...), "/arguments"),
    "arguments that were parsed": (call(arguments={"a": 1}), "/arguments"),
    "arguments of null": (call(arguments=None), "/arguments"),
    "a note that is no text": (call(note=1), "/note"),
    "NUL in a note": (call(note="\x00"), "/note"),
    "a note that is too long": (call(note="x" * 10_001), "/note"),
    "a mistyped member": (call(argument="{}"), "/argument"),
    "an odd member": (call(**{"a/b~": 1}), "/a~1b~0"),
}


@pytest.mark.parametrize("what", _FAULTS)
def test_a_fault_is_refused_with_its_place(what: str) -> None:
    value, place = _FAULTS[what]
    assert places([call(id="first"), value]) == [f"/pending/1{place}"]


@pytest.mark.parametrize("address", ["", " ", "a\n", "x" * 257, 1])
def test_an_address_is_an_identifier(address: Any) -> None:
    assert places([call(reply_with=address)], Reason.AGENT_REPLY) == ["/pending/0/reply_with"]


def test_two_calls_with_one_id_are_refused_with_the_id_and_both_places() -> None:
    found = refusal([call(id="x", name="circle"), call(id="y"), call(id="x", name="square")])
    assert [fault.pointer for fault in found.faults] == ["/pending/0/id", "/pending/2/id"]
    assert "'x'" in found.detail


def test_ids_that_only_look_alike_are_two() -> None:
    assert len(read_pending([call(id="\u00e9"), call(id="e\u0301"), call(id="E\u0301")], Reason.APPROVAL)) == 3


def test_calls_of_a_snapshot_may_be_none() -> None:
    assert read_calls([], "/started") == ()
    with pytest.raises(InvalidRequest):
        read_calls(None, "/started")


# -- what is stored --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [b"", b"[", b"{}1", b"null", b"1", b'["x"]', b'[{"id":"a"}]', b'[{"id":"a","name":"n"}]', b"[\xff]"]
)
def test_stored_calls_that_no_longer_decode_are_an_error(text: bytes) -> None:
    with pytest.raises(StoredRecordBroken):
        restore_pending(text)


@given(st.lists(st.text(st.characters(codec="utf-8")), max_size=5))
def test_any_text_of_arguments_comes_back_character_for_character(texts: list[str]) -> None:
    calls = tuple(PendingCall(str(index), "n", text) for index, text in enumerate(texts))
    assert restore_pending(pending_text(calls)) == calls


# -- results and endings ---------------------------------------------------------------------------


def test_results_are_kept_as_they_came() -> None:
    value = [
        {"call_id": "a", "content": {"b": 1, "a": [1.0, None]}, "outcome": "completed"},
        {"outcome": "failed", "error": "no", "call_id": "b"},
        {"call_id": "c", "outcome": "denied", "content": None},
    ]
    assert read_results(value).decode() == json.dumps(value, separators=(",", ":"))
    assert read_results([]) == b"[]"


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (None, "/done"),
        ({}, "/done"),
        (["x"], "/done/0"),
        ([{"outcome": "completed"}], "/done/0/call_id"),
        ([{"call_id": "a"}], "/done/0/outcome"),
        ([{"call_id": "a", "outcome": "approved"}], "/done/0/outcome"),
        ([{"call_id": "a", "outcome": "failed", "error": 1}], "/done/0/error"),
        ([{"call_id": "a", "outcome": "failed", "note": "x"}], "/done/0/note"),
    ],
)
def test_a_result_of_the_wrong_shape_is_refused_with_its_place(value: Any, place: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_results(value)
    assert [fault.pointer for fault in caught.value.faults] == [place]


@pytest.mark.parametrize(
    ("value", "ending"),
    [
        ({"kind": "cancel"}, Ending("cancel")),
        ({"kind": "expire", "reason": "late"}, Ending("expire", "late")),
        ({"kind": "cancel", "reason": None}, Ending("cancel")),
    ],
)
def test_an_ending_is_a_cancel_or_an_expiry(value: Any, ending: Ending) -> None:
    assert read_ending(value) == ending


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (None, "/ending"),
        ("cancel", "/ending"),
        ({}, "/ending/kind"),
        ({"kind": "finish"}, "/ending/kind"),
        ({"kind": ["cancel"]}, "/ending/kind"),
        ({"kind": "cancel", "reason": 1}, "/ending/reason"),
        ({"kind": "cancel", "reason": "\x00"}, "/ending/reason"),
        ({"kind": "cancel", "why": "x"}, "/ending/why"),
    ],
)
def test_an_ending_of_the_wrong_shape_is_refused_with_its_place(value: Any, place: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_ending(value)
    assert [fault.pointer for fault in caught.value.faults] == [place]
