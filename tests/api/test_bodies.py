"""Strict bodies: what two programs could read differently is refused, and what is kept comes back exactly."""

from __future__ import annotations

import json
from typing import Any

import pytest

from suspensions.domain import ids
from tests.support.api import Answer, Client, assert_ok, assert_problem

CALL = {"id": "c1", "name": "noop", "arguments": "{}"}


def pause(client: Client, **members: Any) -> Answer:
    """Pause a new run."""
    run_id = ids.new_id(ids.RUN)
    body = {
        "run_id": run_id,
        "run": {},
        "reason": "approval",
        "pending": [CALL],
        "continuation": {"messages": []},
        **members,
    }
    return client.post("/suspensions", body)


def nested(levels: int) -> bytes:
    return b'{"metadata":{"a":' + b"[" * (levels - 2) + b"]" * (levels - 2) + b"}}"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" ",
        b"{",
        b"{}x",
        b"\xff{}",
        b"\xef\xbb\xbf{}",
        b'{"metadata":{"n":NaN}}',
        b'{"metadata":{"n":Infinity}}',
        b'{"metadata":{"n":-Infinity}}',
        b'{"metadata":{"n":1e999}}',
        b'{"input":"a","input":"a"}',
        b'{"metadata":{"deep":[{"a":1,"a":2}]}}',
        b'{"input":"\\ud800"}',
        b'{"metadata":{"\\udc00":1}}',
        b'{"metadata":{"n":' + b"9" * 4301 + b"}}",
        b'{"input":"a\nb"}',
        b"{'input':'a'}",
        nested(65),
        b"[" * 5000 + b"]" * 5000,
        b'{"a":' * 5000,
        b"[" * 3_000_000,
    ],
    ids=range(21),
)
def test_what_is_not_strict_json_is_refused(client: Client, content: bytes) -> None:
    document = assert_problem(client.send("POST", "/runs", content=content), 400, "malformed_json")
    assert len(json.dumps(document)) < 2000


def test_a_name_that_stands_twice_is_pointed_at(client: Client) -> None:
    content = b'{"metadata":{"call":{"amount":10,"to":"acct-1","amount":9000}}}'
    document = assert_problem(client.send("POST", "/runs", content=content), 400, "malformed_json")
    assert document["errors"][0]["pointer"] == "/metadata/call/amount"


def test_sixty_four_levels_are_kept(client: Client) -> None:
    run = assert_ok(client.send("POST", "/runs", content=nested(64)), 201)
    assert json.dumps(run["metadata"]).count("[") == 62


@pytest.mark.parametrize("content", [b"[]", b"null", b"1", b'"x"', b"true"])
def test_a_body_is_an_object(client: Client, content: bytes) -> None:
    assert_problem(client.send("POST", "/runs", content=content), 400, "invalid_request")


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"expire_at": "2031-05-01T12:00:00Z"}, "/expire_at"),
        ({"decided_by": "boss"}, "/decided_by"),
        ({"a/b~c": 1}, "/a~1b~0c"),
        ({"pending": [CALL | {"args": "{}"}]}, "/pending/0/args"),
        ({"lease": {"owner": "w", "epoch": 1, "seconds": 5}}, "/lease/seconds"),
        ({"run": {"unknown": 1}}, "/run/unknown"),
        ({"reason": "because"}, "/reason"),
        ({"reason": None}, "/reason"),
        ({"pending": []}, "/pending"),
        ({"pending": [CALL] * 129}, "/pending"),
        ({"pending": [CALL | {"id": ""}]}, "/pending/0/id"),
        ({"pending": [CALL | {"id": " "}]}, "/pending/0/id"),
        ({"pending": [CALL | {"id": "\t"}]}, "/pending/0/id"),
        ({"pending": [CALL | {"id": None}]}, "/pending/0/id"),
        ({"pending": [CALL | {"id": "x" * 10_000}]}, "/pending/0/id"),
        ({"pending": [CALL | {"id": "a\nb"}]}, "/pending/0/id"),
        ({"pending": [CALL | {"arguments": {}}]}, "/pending/0/arguments"),
        ({"pending": [CALL | {"name": ""}]}, "/pending/0/name"),
        ({"pending": [CALL | {"note": "\0"}]}, "/pending/0/note"),
        ({"pending": [CALL | {"reply_with": "r"}]}, "/pending/0/reply_with"),
        ({"expires_at": "2031-05-01"}, "/expires_at"),
        ({"expires_at": "2031-05-01T12:00:00"}, "/expires_at"),
        ({"expires_at": "0000-00-00T00:00:00Z"}, "/expires_at"),
        ({"expires_at": -5}, "/expires_at"),
        ({"expires_at": 1e18}, "/expires_at"),
        ({"expires_at": ""}, "/expires_at"),
        ({"run_id": 5}, None),
        ({"run_id": ""}, None),
    ],
)
def test_a_member_at_fault_is_pointed_at(client: Client, members: dict[str, Any], pointer: str | None) -> None:
    answer = pause(client, **members)
    if pointer is None:
        assert_problem(answer, 400, "invalid_id")
        return
    document = assert_problem(answer, 400, "invalid_request")
    assert document["errors"][0]["pointer"] == pointer


def test_every_missing_member_is_told_at_once(client: Client) -> None:
    document = assert_problem(client.post("/suspensions", {}), 400, "invalid_request")
    pointers = [fault["pointer"] for fault in document["errors"]]
    assert pointers == ["/run_id", "/reason", "/pending", "/continuation"]


def test_two_calls_of_one_id_are_both_pointed_at(client: Client) -> None:
    document = assert_problem(pause(client, pending=[CALL, CALL | {"name": "other"}]), 400, "invalid_request")
    assert [fault["pointer"] for fault in document["errors"]] == ["/pending/0/id", "/pending/1/id"]
    assert "c1" in document["detail"]


def test_an_id_with_a_slash_works_in_every_place(client: Client) -> None:
    assert assert_ok(pause(client, pending=[CALL | {"id": "a/b"}]), 201)["pending"][0]["id"] == "a/b"


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2031-05-01T12:00:00+14:00", "2031-04-30T22:00:00.000000Z"),
        ("2031-05-01T12:00:00.5Z", "2031-05-01T12:00:00.500000Z"),
        ("2031-05-01t12:00:00z", "2031-05-01T12:00:00.000000Z"),
    ],
)
def test_a_deadline_is_the_instant_that_its_zone_says(client: Client, text: str, instant: str) -> None:
    assert assert_ok(pause(client, expires_at=text), 201)["expires_at"] == instant


@pytest.mark.parametrize(
    ("continuation", "pointer"),
    [
        ([], "/continuation"),
        ({}, "/continuation/messages"),
        ({"messages": [{"role": 1}]}, "/continuation/messages/0/role"),
        ({"messages": [], "new_messages_from": 1}, "/continuation/new_messages_from"),
        ({"messages": [], "config": {"tools": "all"}}, "/continuation/config/tools"),
        ({"messages": [], "prepared": "%"}, "/continuation/prepared"),
    ],
)
def test_a_continuation_at_fault_is_pointed_at(client: Client, continuation: Any, pointer: str) -> None:
    document = assert_problem(pause(client, continuation=continuation), 422, "invalid_continuation")
    assert document["errors"][0]["pointer"] == pointer


# -- what comes back ---------------------------------------------------------------------------------


EXACT = [
    '{"b":1,"a":[1,2]}',
    '{ "n": 1.0, "n": 2, "big": 73000000000000000019, "e": 1e999 }',
    "no JSON \u0000 at all",
    "\u00e9 e\u0301 \U0001f9e9 \u202e",
    "",
]


@pytest.mark.parametrize("arguments", EXACT, ids=range(len(EXACT)))
def test_arguments_come_back_character_for_character(client: Client, arguments: str) -> None:
    made = assert_ok(pause(client, pending=[CALL | {"arguments": arguments}]), 201)
    read = assert_ok(client.get(f"/suspensions/{made['id']}"))
    assert made["pending"][0]["arguments"] == read["pending"][0]["arguments"] == arguments


@pytest.mark.parametrize("digits", [19, 40, 4300])
def test_integers_come_back_with_every_digit(client: Client, digits: int) -> None:
    number = "7" * digits
    run_id = ids.new_id(ids.RUN)
    content = f'{{"id":"{run_id}","metadata":{{"n":{number},"m":-{number}}}}}'.encode()
    assert_ok(client.send("POST", "/runs", content=content), 201)
    assert f'"n":{number},"m":-{number}'.encode() in client.get(f"/runs/{run_id}").content


def test_a_continuation_comes_back_with_the_members_it_was_sent_with(client: Client) -> None:
    continuation: dict[str, Any] = {
        "zeta": {"n": 10**30, "x": 0.1, "list": [None, True, ""]},
        "messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "s"}]}],
        "config": {"temperature": None, "tools": [], "tools_restricted": True},
        "prepared": "AAEC/w==",
        "usage": None,
    }
    made = assert_ok(pause(client, continuation=continuation), 201)
    read = assert_ok(client.get(f"/suspensions/{made['id']}"))
    assert json.dumps(read["continuation"]) == json.dumps(continuation)


def test_null_means_absent(client: Client) -> None:
    run = assert_ok(client.post("/runs", {"id": None, "input": None, "lease": None, "agent_name": None}), 201)
    assert (run["input"], run["lease"], run["agent_name"], run["metadata"]) == ("", None, None, {})


def test_the_same_text_literal_or_escaped_is_the_same_content(client: Client) -> None:
    run_id = ids.new_id(ids.RUN)
    literal = f'{{"id":"{run_id}","input":"🧩 é"}}'.encode()
    escaped = f'{{ "input": "\\ud83e\\udde9 \\u00e9", "id": "{run_id}" }}'.encode()
    decomposed = f'{{"id":"{run_id}","input":"🧩 e\u0301"}}'.encode()
    assert assert_ok(client.send("POST", "/runs", content=literal), 201)["fresh"] is True
    assert assert_ok(client.send("POST", "/runs", content=escaped))["fresh"] is False
    assert_problem(client.send("POST", "/runs", content=decomposed), 409, "already_exists")


# -- sizes -------------------------------------------------------------------------------------------


def test_a_content_of_eight_mebibytes_is_kept_and_one_byte_more_is_not(client: Client) -> None:
    run = assert_ok(client.post("/runs", {"input": "x" * (8 << 20)}), 201)
    assert assert_ok(client.get(f"/runs/{run['id']}"))["input"] == "x" * (8 << 20)
    document = assert_problem(client.post("/runs", {"input": "x" * ((8 << 20) + 1)}), 413, "input_too_large")
    assert document["errors"][0]["pointer"] == "/input"


def test_a_body_of_32_mebibytes_is_read_and_one_byte_more_is_not(client: Client) -> None:
    body = b'{"metadata":{"a":"' + b"x" * ((32 << 20) - 21) + b'"}}'
    assert len(body) == 32 << 20
    assert_ok(client.send("POST", "/runs", content=body), 201)
    assert_problem(client.send("POST", "/runs", content=body + b" "), 413, "body_too_large")
