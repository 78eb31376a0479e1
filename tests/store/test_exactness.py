"""What goes in comes back: character for character, byte for byte. Source: store.md section 2, "Exactness"."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from typing import Any

import pytest

from suspensions.domain.continuations import read_continuation, restore_continuation
from suspensions.domain.errors import InputTooLarge, InvalidRequest, StoredRecordBroken
from suspensions.domain.limits import MAX_CONTENT_BYTES, MAX_INPUT_BYTES
from suspensions.domain.pending import read_results
from suspensions.domain.states import RunState
from suspensions.domain.strict_json import dumps, loads
from suspensions.domain.values import Ending, PendingCall, Reason
from suspensions.operations import progress, resumes, runs, suspensions
from tests.store import situations, support
from tests.store.rows import execute, rows
from tests.store.support import claim, refused
from tests.support.builders import (
    admit,
    call,
    caller,
    continuation,
    fresh_scope,
    make_pause,
    make_run,
    snapshot,
    start,
)

TEXTS = {
    "nothing": "",
    "NUL": "a\x00b\x00",
    "key order": '{"b":1,"a":2,"C":3}',
    "duplicate keys": '{"amount":10,"to":"acct-1","amount":9000}',
    "a float that is whole": '{"price":1.0,"rate":1.50,"tiny":1e-7,"zero":-0.0}',
    "an integer over 2^53": '{"id":7300000000000000019,"n":9007199254740993}',
    "an integer of 40 digits": '{"n":1234567890123456789012345678901234567890}',
    "emoji": '{"face":"🧩","family":"👩‍👩‍👧","flag":"🇩🇪"}',
    "escapes": '{"face":"\\ud83e\\udde9","slash":"\\/","tab":"\\t"}',
    "half a pair, escaped": '{"half":"\\ud83e"}',
    "mixed normalisation": "\u00e9 e\u0301 \u1e9b\u0323 \ufb01 \u212b",
    "spaces and line ends": ' { "a" :\t1 ,\r\n"b":\n2 } \n',
    "no JSON at all": "rm -rf / # {not json",
    "NaN": '{"x":NaN,"y":Infinity}',
    "bidi and zero width": "~/\u202etxt.eton\u200b \u2028 \u2066x\u2069",
    "a byte order mark": "\ufeff{}",
    "control characters": "".join(map(chr, range(32))) + "\x7f\x80\x9f",
    "the last planes": "\ue000 \ufffd \ufffe \uffff \U0010ffff",
    "quotes": "\"'`\\ %s %% {} ${x} ; DROP TABLE run; --",
    "deep": "[" * 3000 + "]" * 3000,
    "long": "x" * 100_000 + "é" * 50_000,
}
BYTES = {
    **{name: text.encode() for name, text in TEXTS.items() if text},
    "every byte": bytes(range(256)),
    "no UTF-8": b"\xff\xfe\x00\x80",
    "one byte": b"\x00",
}
each_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)


# -- texts -------------------------------------------------------------------------------------------


@each_text
def test_a_calls_arguments_come_back_as_the_model_wrote_them(text: str) -> None:
    scope = fresh_scope()
    pending = (call("c1", arguments=text), call("c2", arguments=text + " "))
    made = make_pause(scope, Reason.EXTERNAL_TOOL, pending=pending)

    found = suspensions.get_suspension(caller(scope), scope, made.run_id)
    taken = claim(scope, made.run_id)

    assert made.pending == found.pending == taken.pending == pending
    assert [each.arguments for each in found.pending] == [text, text + " "]
    assert found.pending_sha256 == sha256(_stored("suspension", "pending", "run_id", made.run_id)).hexdigest()


@each_text
def test_a_runs_input_output_and_error_come_back(text: str) -> None:
    scope = fresh_scope()
    run = make_run(scope, input=text)
    assert run.input == support.read_run(scope, run.id).input == text

    ended = runs.finish_run(caller(scope), scope, run.id, RunState.FAILED, output=text, error=text)

    assert (ended.output, ended.error) == (text, text)
    assert support.read_run(scope, run.id) == ended


@each_text
def test_texts_inside_a_continuation_come_back(text: str) -> None:
    scope = fresh_scope()
    members = {
        "messages": [
            {"role": "user", "content": text},
            {"role": "assistant", "content": [{"type": "text", "text": text, "signature": text}]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "name": "x", "arguments": text}]},
            {"role": "tool", "tool_call_id": "1", "content": text},
        ],
        "system_prompt": text,
        "unknown": {text: text},
    }
    made = make_pause(scope, continuation=read_continuation(members))

    found = suspensions.get_suspension(caller(scope), scope, made.run_id).continuation

    assert restore_continuation(found) == members
    assert found == json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()
    assert found == _stored("suspension_continuation", "body", "suspension_id", made.id)


@each_text
def test_a_progress_snapshot_comes_back(text: str) -> None:
    made = situations.leased(fresh_scope())
    assert made.holder is not None
    body = read_continuation({"messages": [{"role": "user", "content": text}]})
    done = read_results([{"call_id": "c1", "content": text, "outcome": "completed"}])
    first = snapshot(made.run_id, continuation=body, started=(call("c2", arguments=text),), done=done)

    progress.save_progress(caller(made.scope), made.scope, first, made.holder)

    found = progress.get_progress(caller(made.scope), made.scope, made.run_id)
    assert (found.continuation, found.started, found.done) == (body.text, first.started, done)


@pytest.mark.parametrize(
    "text", ["\t tabbed \n lines \n", "🧩 \u00e9 e\u0301 \u202e", "%s %% {} ' \" \\", " "], ids=ascii
)
def test_names_notes_reasons_and_ids_come_back(text: str) -> None:
    scope = fresh_scope()
    run = make_run(scope, agent_name=text, session_id=text, persona_ref=text)
    pending = (PendingCall(text, text, "{}", note=text, reply_with=text),)
    made = make_pause(scope, Reason.AGENT_REPLY, run=run, pending=pending)
    assert suspensions.get_suspension(caller(scope), scope, run.id).pending == pending

    cancelled = runs.cancel_run(caller(scope), scope, made.run_id, text)

    assert (cancelled.agent_name, cancelled.session_id, cancelled.persona_ref) == (text, text, text)
    assert support.read_run(scope, run.id).error == text


def test_an_endings_reason_comes_back() -> None:
    made = situations.leased(fresh_scope())
    assert made.holder is not None
    first = snapshot(made.run_id, ending=Ending("expire", "nobody\tanswered\n🧩"))
    progress.save_progress(caller(made.scope), made.scope, first, made.holder)
    assert progress.get_progress(caller(made.scope), made.scope, made.run_id).ending == first.ending


def _stored(table: str, column: str, key: str, value: str) -> bytes:
    return bytes(rows(f"SELECT {column} FROM {table} WHERE {key} = %s", [value])[0][column])


# -- bytes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", BYTES.values(), ids=BYTES)
def test_an_admitted_input_comes_back_byte_for_byte(content: bytes) -> None:
    scope = fresh_scope()
    pause = make_pause(scope, Reason.AGENT_REPLY)

    admission = admit(pause, value=content)

    assert (admission.input, admission.input_bytes) == (content, len(content))
    assert admission.input_sha256 == sha256(content).hexdigest()
    assert resumes.get_admission(caller(scope), scope, pause.run_id, pause.id).input == content
    assert resumes.latest_admission(caller(scope), scope, pause.run_id).input == content
    assert start(admission).input == content


@pytest.mark.parametrize("content", BYTES.values(), ids=BYTES)
def test_prepared_bytes_come_back_byte_for_byte(content: bytes) -> None:
    scope = fresh_scope()
    text = base64.b64encode(content).decode()
    pause = make_pause(scope, Reason.EXTERNAL_TOOL, continuation=continuation(prepared=text))

    found = restore_continuation(claim(scope, pause.run_id).continuation)

    assert found["prepared"] == text
    assert base64.b64decode(found["prepared"]) == content


def test_an_input_of_exactly_the_longest_is_kept_and_one_byte_more_is_refused() -> None:
    scope = fresh_scope()
    pause = make_pause(scope, Reason.AGENT_REPLY)
    with refused(InputTooLarge, scope):
        admit(pause, value=b"x" * (MAX_INPUT_BYTES + 1))

    admission = admit(pause, value=b"\x00" * MAX_INPUT_BYTES)

    assert admission.input_bytes == MAX_INPUT_BYTES == 8_388_608
    assert start(admission).input == b"\x00" * MAX_INPUT_BYTES


def test_an_empty_input_is_refused() -> None:
    pause = make_pause(fresh_scope(), Reason.AGENT_REPLY)
    with refused(InvalidRequest, pause.scope):
        admit(pause, value=b"")


def test_contents_of_exactly_the_longest_are_kept() -> None:
    scope = fresh_scope()
    text = "é" * (MAX_CONTENT_BYTES // 2)
    run = make_run(scope, input=text)
    ended = runs.finish_run(caller(scope), scope, run.id, RunState.COMPLETED, output=text, error=text)
    assert support.read_run(scope, run.id) == ended
    assert (ended.input, ended.output, ended.error) == (text, text, text)


def test_arguments_of_eight_mebibytes_come_back() -> None:
    text = '{"blob":"' + "x" * 8_388_000 + '"}'
    pause = make_pause(fresh_scope(), Reason.EXTERNAL_TOOL, pending=(call(arguments=text),))
    assert claim(pause.scope, pause.run_id).pending[0].arguments == text


# -- numbers and members -----------------------------------------------------------------------------

NUMBERS = [
    "0",
    "-0",
    "1.0",
    "-0.0",
    "1.50",
    "1e2",
    "1E+2",
    "5e-324",
    "1.7976931348623157e308",
    "9007199254740993",
    "-7300000000000000019",
    "0.1",
    "123456789012345678901234567890.5",
    "9" * 4300,
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:20])
def test_numbers_outside_of_texts_come_back_equal(number: str) -> None:
    scope = fresh_scope()
    members = loads(f'{{"messages":[],"unknown":{number},"config":{{"temperature":{number}}}}}')
    pause = make_pause(scope, Reason.EXTERNAL_TOOL, continuation=read_continuation(members))
    run = make_run(scope, metadata=dumps({"n": members["unknown"]}))

    found = loads(claim(scope, pause.run_id).continuation)["unknown"]
    kept = loads(support.read_run(scope, run.id).metadata)["n"]

    for value in (found, kept):
        assert (type(value), repr(value)) == (type(members["unknown"]), repr(members["unknown"]))
    if number.lstrip("-").isdigit():
        assert str(found) == (number if number != "-0" else "0")


@pytest.mark.parametrize(
    "members",
    [
        {"messages": []},
        {"messages": [], "config": {}},
        {"messages": [], "config": {"temperature": None}},
        {"messages": [], "config": {"temperature": 0}},
        {"messages": [], "config": {"tools_restricted": True}},
        {"messages": [], "config": {"tools_restricted": True, "tools": []}},
        {"messages": [], "config": {"tools_restricted": False, "tools": None}},
        {"messages": [], "session_id": None, "usage": None, "prepared": None},
        {"messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "s"}]}]},
        {"z": 1, "messages": [], "a": {"y": 1, "b": [None, True, {}]}},
    ],
    ids=lambda members: json.dumps(members)[:60],
)
def test_a_continuation_comes_back_with_the_members_it_was_sent_with(members: dict[str, Any]) -> None:
    pause = make_pause(fresh_scope(), Reason.EXTERNAL_TOOL, continuation=read_continuation(members))

    found = claim(pause.scope, pause.run_id).continuation

    assert json.dumps(loads(found)) == json.dumps(members), "the same members in the same order"


def test_metadata_keeps_its_members_in_their_order() -> None:
    scope = fresh_scope()
    run = make_run(scope, metadata=b'{"b":1,"a":{"z":[1.0,"\\u0000"],"y":null}}')
    assert support.read_run(scope, run.id).metadata == b'{"b":1,"a":{"z":[1.0,"\\u0000"],"y":null}}'


def test_the_order_of_the_calls_is_the_models() -> None:
    pending = tuple(call(call_id) for call_id in ("z", "a", "10", "9", "Z", "é"))
    pause = make_pause(fresh_scope(), Reason.EXTERNAL_TOOL, pending=pending)
    assert [each.id for each in claim(pause.scope, pause.run_id).pending] == ["z", "a", "10", "9", "Z", "é"]


def test_absent_and_empty_notes_are_two_things() -> None:
    pending = (call("a"), call("b", note=""))
    pause = make_pause(fresh_scope(), Reason.EXTERNAL_TOOL, pending=pending)
    assert [each.note for each in claim(pause.scope, pause.run_id).pending] == [None, ""]


# -- what no longer decodes --------------------------------------------------------------------------

BROKEN = [b"", b"{", b"[]", b'{"messages":1}', b"\xff", b"{}"]


@pytest.mark.parametrize("broken", [b"", b"{", b"[1,2]", b'[{"id":"x"}]', b"\xff", b"null"], ids=repr)
def test_stored_calls_that_no_longer_decode_are_an_error_when_read(broken: bytes) -> None:
    pause = make_pause(fresh_scope(), Reason.EXTERNAL_TOOL)
    execute("UPDATE suspension SET pending = %s WHERE id = %s", [broken, pause.id])
    with refused(StoredRecordBroken, pause.scope):
        suspensions.get_suspension(caller(pause.scope), pause.scope, pause.run_id)
    with refused(StoredRecordBroken, pause.scope):
        claim(pause.scope, pause.run_id)


@pytest.mark.parametrize("broken", BROKEN, ids=repr)
def test_a_stored_continuation_that_no_longer_decodes_is_an_error_when_read(broken: bytes) -> None:
    with pytest.raises(StoredRecordBroken):
        restore_continuation(broken)


@pytest.mark.parametrize("broken", [*BROKEN, b'{"messages":[]}'], ids=repr)
def test_a_pause_whose_stored_continuation_changed_is_not_claimed_and_its_run_never_half_restored(
    broken: bytes,
) -> None:
    pause = make_pause(fresh_scope(), Reason.EXTERNAL_TOOL)
    execute("UPDATE suspension_continuation SET body = %s WHERE suspension_id = %s", [broken, pause.id])
    with refused(StoredRecordBroken, pause.scope):
        claim(pause.scope, pause.run_id)


def test_a_pause_whose_stored_calls_changed_is_not_claimed() -> None:
    pause = make_pause(fresh_scope(), Reason.EXTERNAL_TOOL, pending=(call(arguments='{"amount":10}'),))
    changed = b'[{"id":"call-1","name":"cancel_reservation","arguments":"{\\"amount\\":9000}"}]'
    execute("UPDATE suspension SET pending = %s WHERE id = %s", [changed, pause.id])
    with refused(StoredRecordBroken, pause.scope):
        claim(pause.scope, pause.run_id)


def test_a_broken_pause_can_still_be_cancelled_and_swept() -> None:
    for end in (
        lambda made: runs.cancel_run(caller(made.scope), made.scope, made.run_id, "stop"),
        lambda made: claim(made.scope, made.run_id, expired_by=support.this_moment()),
    ):
        pause = make_pause(fresh_scope(), expires_at=support.ANCIENT)
        execute("UPDATE suspension_continuation SET body = %s WHERE suspension_id = %s", [b"{", pause.id])
        assert end(pause).fresh


def test_a_stored_content_that_is_no_text_any_more_is_an_error_when_read() -> None:
    made = situations.leased(fresh_scope())
    execute("INSERT INTO run_content (run_id, input) VALUES (%s, %s)", [made.run_id, b"\xff"])
    with refused(StoredRecordBroken, made.scope):
        _ = made.run
