"""Decisions at the door, and the input they become. Source: store.md section 7."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspensions.domain.decisions import (
    CallDecision,
    DecisionAnswer,
    decision_input,
    read_decisions,
    require_answerer,
    require_arguments_seen,
    require_bus,
    require_every_call_once,
    require_other_person,
    require_plain_claim,
)
from suspensions.domain.errors import (
    ArgumentsChanged,
    CortexError,
    InvalidRequest,
    NotAgentReplyResumable,
    RequiresApproval,
    ResultsMismatch,
    SelfApproval,
)
from suspensions.domain.policy import Role, same_principal
from suspensions.domain.replies import ReplyAnswer
from suspensions.domain.values import PendingCall, Reason

SEEN = sha256(b"{}").hexdigest()
A, B = PendingCall("a", "tool", "{}"), PendingCall("b", "tool", '{"n":1}')


def body(**members: Any) -> dict[str, Any]:
    """One decision of a body; None takes a member away."""
    whole = {"call_id": "a", "decision": "approve", "arguments_sha256": SEEN, **members}
    return {name: value for name, value in whole.items() if value is not None}


def result(**members: Any) -> dict[str, Any]:
    return body(**{"decision": None, "content": "done", **members})


def approve(call: PendingCall, **more: Any) -> CallDecision:
    return CallDecision(call.id, call.arguments_sha256, decision="approve", **more)


def deny(call: PendingCall, **more: Any) -> CallDecision:
    return CallDecision(call.id, call.arguments_sha256, decision="deny", **more)


# -- reading ---------------------------------------------------------------------------------------


def test_both_forms_are_read_as_they_are() -> None:
    assert read_decisions(
        [
            body(note="fine", arguments='{"x": 1.0}'),
            body(call_id="b", decision="deny"),
            result(call_id="c", content={"a": [1]}),
            result(call_id="d", content=None, error="no"),
        ]
    ) == (
        CallDecision("a", SEEN, decision="approve", arguments='{"x": 1.0}', note="fine"),
        CallDecision("b", SEEN, decision="deny"),
        CallDecision("c", SEEN, content={"a": [1]}),
        CallDecision("d", SEEN, error="no"),
    )


def test_null_means_absent_and_an_empty_note_is_none() -> None:
    [read] = read_decisions([{**body(), "arguments": None, "note": "", "content": None, "error": None}])
    assert read == CallDecision("a", SEEN, decision="approve")


@pytest.mark.parametrize("value", [None, {}, [], "approve", [body()] * 129])
def test_a_body_holds_1_to_128_decisions(value: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_decisions(value)
    assert [fault.pointer for fault in caught.value.faults] == ["/decisions"]


def test_a_body_may_hold_128() -> None:
    assert len(read_decisions([body(call_id=str(index)) for index in range(128)])) == 128


_FAULTS: dict[str, tuple[Any, str]] = {
    "no object": ("approve", ""),
    "no id": (body(call_id=None), "/call_id"),
    "a blank id": (body(call_id=" "), "/call_id"),
    "an empty id": (body(call_id=""), "/call_id"),
    "a number for an id": (body(call_id=1), "/call_id"),
    "an id with a control character": (body(call_id="a\n"), "/call_id"),
    "an id that is too long": (body(call_id="x" * 257), "/call_id"),
    "no digest": (body(arguments_sha256=None), "/arguments_sha256"),
    "a short digest": (body(arguments_sha256=SEEN[:-1]), "/arguments_sha256"),
    "a digest in capitals": (body(arguments_sha256=SEEN.upper()), "/arguments_sha256"),
    "a digest with a line end": (body(arguments_sha256=SEEN + "\n"), "/arguments_sha256"),
    "a digest that is a number": (body(arguments_sha256=7), "/arguments_sha256"),
    "another decision": (body(decision="allow"), "/decision"),
    "a decision in capitals": (body(decision="Approve"), "/decision"),
    "a decision that is true": (body(decision=True), "/decision"),
    "a decision in a list": (body(decision=["approve"]), "/decision"),
    "a decision and a result": (body(content="x"), ""),
    "a decision and an error": (body(error="x"), ""),
    "neither form": (body(decision=None), ""),
    "both results": (result(error="x"), ""),
    "an error that is no text": (result(content=None, error={"x": 1}), "/error"),
    "arguments with a result": (result(arguments="{}"), "/arguments"),
    "arguments with a denial": (body(decision="deny", arguments="{}"), "/arguments"),
    "arguments as an object": (body(arguments={}), "/arguments"),
    "a note that is no text": (body(note=1), "/note"),
    "a note with a control character": (body(note="a\x00"), "/note"),
    "a note that is too long": (body(note="x" * 10_001), "/note"),
    "who decided, said by the client": (body(decided_by="boss"), "/decided_by"),
    "a mistyped member": (body(argument="{}"), "/argument"),
    "a position": (body(index=0), "/index"),
    "a name with a slash": (body(**{"a/b~c": 1}), "/a~1b~0c"),
}


@pytest.mark.parametrize("what", _FAULTS)
def test_a_fault_is_refused_with_its_place(what: str) -> None:
    value, place = _FAULTS[what]
    with pytest.raises(InvalidRequest) as caught:
        read_decisions([body(call_id="first"), value])
    assert [fault.pointer for fault in caught.value.faults] == [f"/decisions/1{place}"]
    assert caught.value.faults[0].detail


def test_a_note_keeps_its_lines_and_tabs() -> None:
    [read] = read_decisions([body(note="  line 1\nline 2\t ")])
    assert read.note == "  line 1\nline 2\t "


# -- edits -----------------------------------------------------------------------------------------

_NO_JSON = {
    "nothing": "",
    "a blank": " ",
    "a word": "yes",
    "a trailing comma": '{"a":1,}',
    "two values": "{} {}",
    "a comment": "{} // x",
    "NaN": '{"a":NaN}',
    "infinity": "[Infinity]",
    "infinity by overflow": "[1e999]",
    "a name twice": '{"amount":10,"to":"acct-1","amount":9000}',
    "a name twice, far down": '{"a":[{"b":{"c":1,"c":1}}]}',
    "a name twice, once escaped": '{"a":1,"\\u0061":2}',
    "half a pair": '"\\ud83e"',
    "a byte order mark": "\ufeff{}",
    "too deep": "[" * 65 + "]" * 65,
    "too many digits": "[" + "9" * 4301 + "]",
    "a single quote": "{'a':1}",
    "a control character": '"\x01"',
}


@pytest.mark.parametrize("what", _NO_JSON)
def test_an_edit_that_is_not_strict_json_is_refused(what: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_decisions([body(arguments=_NO_JSON[what])])
    assert [fault.pointer for fault in caught.value.faults] == ["/decisions/0/arguments"]


_JSON = [
    "{}",
    "[]",
    "0",
    "-0",
    "false",
    '""',
    "null",
    ' {"a" : 1.50 }\n',
    '{"n":1234567890123456789012345678901234567890}',
    '{"n":' + "9" * 4300 + "}",
    "[" * 64 + "]" * 64,
    '"\\u0000"',
    '"\\ud83e\\udde9"',
    '{"":1,"a":2}',
    '"\u202e\u200b"',
]


@pytest.mark.parametrize("text", _JSON)
def test_an_edit_is_kept_as_it_was_typed(text: str) -> None:
    [read] = read_decisions([body(arguments=text)])
    assert read.arguments == text


# -- results ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["", "\x00", {}, [], 0, False, {"a": [1, None, 2.5]}, 9007199254740991])
def test_a_result_may_be_any_json_value_but_null(content: Any) -> None:
    [read] = read_decisions([result(content=content)])
    assert read.content == content


@pytest.mark.parametrize("content", [9007199254740992, {"id": [7300000000000000019]}, [-(10**30)]])
def test_a_number_that_canonical_json_would_change_is_refused_not_rounded(content: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_decisions([result(content=content)])
    assert [fault.pointer for fault in caught.value.faults] == ["/decisions/0/content"]


# -- who may answer --------------------------------------------------------------------------------


@pytest.mark.parametrize("role", [None, *Role])
def test_by_a_decision_a_person_answers_approvals_and_a_caller_its_own_tools(role: Role | None) -> None:
    roles = frozenset() if role is None else frozenset({role})
    if role is Role.APPROVER:
        require_answerer(Reason.APPROVAL, roles)
    else:
        with pytest.raises(RequiresApproval):
            require_answerer(Reason.APPROVAL, roles)
    require_answerer(Reason.EXTERNAL_TOOL, roles)
    with pytest.raises(NotAgentReplyResumable):
        require_answerer(Reason.AGENT_REPLY, roles)


@pytest.mark.parametrize(
    ("rule", "allowed"), [(require_bus, Reason.AGENT_REPLY), (require_plain_claim, Reason.EXTERNAL_TOOL)]
)
def test_a_bus_and_a_plain_claim_have_one_reason_each(rule: Callable[[Reason], None], allowed: Reason) -> None:
    for reason in Reason:
        if reason is allowed:
            rule(reason)
            continue
        expected = RequiresApproval if reason is Reason.APPROVAL else NotAgentReplyResumable
        with pytest.raises(expected):
            rule(reason)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("ana", "ana", True),
        ("ana", "Ana", True),
        ("ANA", "ana", True),
        ("stra\u00dfe", "STRASSE", True),
        ("\u03a3\u03b1\u03c2", "\u03c3\u03b1\u03c3", True),
        ("ana", "ana ", False),
        ("ana", "anna", False),
        ("ana", "\u0430na", False),
    ],
)
def test_names_that_differ_in_case_alone_are_one_principal(left: str, right: str, same: bool) -> None:
    assert same_principal(left, right) is same
    assert same_principal(right, left) is same


def test_nobody_approves_what_is_her_own_and_a_missing_maker_fails_closed() -> None:
    for made in ((approve(A),), (deny(A), approve(B))):
        for creator in ("ana", "ANA", "", None):
            with pytest.raises(SelfApproval):
                require_other_person(made, Reason.APPROVAL, "ana", creator)
        require_other_person(made, Reason.APPROVAL, "ana", "ben")
    require_other_person((deny(A), deny(B)), Reason.APPROVAL, "ana", "ana")
    require_other_person((deny(A),), Reason.APPROVAL, "ana", None)
    require_other_person((CallDecision("a", SEEN, content="x"),), Reason.EXTERNAL_TOOL, "ana", "ana")


# -- every call exactly once -----------------------------------------------------------------------


def test_answers_are_found_by_id_whatever_their_order() -> None:
    assert require_every_call_once((deny(B), approve(A)), (A, B), Reason.APPROVAL) == {"a": approve(A), "b": deny(B)}


@pytest.mark.parametrize(
    "made",
    [
        (),
        (approve(A),),
        (approve(A), approve(A)),
        (approve(A), deny(A), approve(B)),
        (approve(A), approve(B), approve(B)),
        (approve(A), approve(B), approve(PendingCall("c", "t", ""))),
        (approve(A), CallDecision("b", SEEN, content="x")),
        (CallDecision("a", SEEN, content="x"), CallDecision("b", SEEN, error="x")),
    ],
)
def test_an_extra_missing_or_doubled_id_or_the_other_form_is_a_mismatch(made: tuple[CallDecision, ...]) -> None:
    with pytest.raises(ResultsMismatch):
        require_every_call_once(made, (A, B), Reason.APPROVAL)


def test_a_decision_on_an_external_tool_is_a_mismatch() -> None:
    with pytest.raises(ResultsMismatch):
        require_every_call_once((approve(A), deny(B)), (A, B), Reason.EXTERNAL_TOOL)


def test_what_was_seen_must_be_what_is_stored() -> None:
    stored = PendingCall("a", "tool", '{"to":"acct-2"}')
    require_arguments_seen({"a": approve(stored)}, (stored,))
    with pytest.raises(ArgumentsChanged):
        require_arguments_seen({"a": approve(A)}, (stored,))


# -- the input -------------------------------------------------------------------------------------


def test_the_input_is_this_very_text() -> None:
    by_id = {"b": deny(B, note="no"), "a": approve(A, arguments='{"b":1,"a":"\u00e9"}')}
    assert (
        decision_input(Reason.APPROVAL, by_id, (A, B))
        == (
            '{"decisions":[{"arguments":"{\\"b\\":1,\\"a\\":\\"\u00e9\\"}","call_id":"a","outcome":"approved"},'
            '{"call_id":"b","note":"no","outcome":"denied"}],"reason":"approval","schema_version":1}'
        ).encode()
    )
    by_id = {"a": CallDecision("a", SEEN, content={"b": 1.0, "a": None}), "b": CallDecision("b", SEEN, error="")}
    assert decision_input(Reason.EXTERNAL_TOOL, by_id, (A, B)) == (
        b'{"decisions":[{"call_id":"a","content":{"a":null,"b":1},"outcome":"completed"},'
        b'{"call_id":"b","error":"","outcome":"failed"}],"reason":"external_tool","schema_version":1}'
    )


def test_an_edit_that_changes_nothing_leaves_no_trace() -> None:
    assert decision_input(Reason.APPROVAL, {"a": approve(A, arguments="{}")}, (A,)) == decision_input(
        Reason.APPROVAL, {"a": approve(A)}, (A,)
    )
    assert decision_input(Reason.APPROVAL, {"a": approve(A, arguments="{ }")}, (A,)) != decision_input(
        Reason.APPROVAL, {"a": approve(A)}, (A,)
    )


_calls = st.lists(
    st.builds(
        PendingCall,
        st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=8),
        st.just("tool"),
        st.text(st.characters(codec="utf-8"), max_size=12),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda call: call.id,
)


@given(_calls, st.data())
def test_whatever_order_people_answer_in_the_input_is_the_same(calls: list[PendingCall], data: st.DataObject) -> None:
    made = [approve(call) if data.draw(st.booleans()) else deny(call) for call in calls]
    turned = data.draw(st.permutations(made))
    answer = DecisionAnswer(tuple(turned), "ana", frozenset({Role.APPROVER}))
    value = answer.build_input(Reason.APPROVAL, tuple(calls))
    assert value == DecisionAnswer(tuple(made), "ben", frozenset()).build_input(Reason.APPROVAL, tuple(calls))
    decisions = json.loads(value)["decisions"]
    assert [each["call_id"] for each in decisions] == [call.id for call in calls]
    expected = {"approve": "approved", "deny": "denied"}
    assert [each["outcome"] for each in decisions] == [expected[str(each.decision)] for each in made]
    answer.check(Reason.APPROVAL, tuple(calls), "somebody")


@given(_calls, st.data())
def test_no_other_list_of_ids_answers_the_calls(calls: list[PendingCall], data: st.DataObject) -> None:
    made = [approve(call) for call in calls]
    spoil = data.draw(st.sampled_from(["drop", "double", "rename", "add"]))
    place = data.draw(st.integers(0, len(made) - 1))
    if spoil == "drop":
        del made[place]
    elif spoil == "double":
        made.append(made[place])
    elif spoil == "rename":
        made[place] = CallDecision(made[place].call_id + "\u0301", SEEN, decision="approve")
    else:
        made.append(CallDecision("".join(call.id for call in calls) + "x", SEEN, decision="approve"))
    with pytest.raises(ResultsMismatch):
        require_every_call_once(tuple(made), tuple(calls), Reason.APPROVAL)


# -- the order of the checks -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "principal", "roles", "made", "error"),
    [
        (Reason.AGENT_REPLY, "ana", {Role.APPROVER}, (approve(B),), NotAgentReplyResumable),
        (Reason.APPROVAL, "ana", {Role.AGENT}, (approve(B),), RequiresApproval),
        (Reason.APPROVAL, "ana", {Role.APPROVER}, (approve(B),), SelfApproval),
        (Reason.APPROVAL, "ben", {Role.APPROVER}, (approve(B),), ResultsMismatch),
        (Reason.APPROVAL, "ben", {Role.APPROVER}, (CallDecision("a", "0" * 64, decision="deny"),), ArgumentsChanged),
    ],
)
def test_of_several_faults_the_first_in_order_is_said(
    reason: Reason, principal: str, roles: set[Role], made: tuple[CallDecision, ...], error: type[CortexError]
) -> None:
    answer = DecisionAnswer(made, principal, frozenset(roles))
    with pytest.raises(error):
        answer.check(reason, (A,), "ana")


# -- a peer's reply --------------------------------------------------------------------------------


def test_a_reply_is_its_very_bytes_and_echoes_every_address() -> None:
    calls = (PendingCall("a", "ask", "", reply_with="r-1"), PendingCall("b", "ask", "", reply_with="r-2"))
    reply = ReplyAnswer(b"\x00\xff", frozenset({"r-1", "r-2"}))
    assert reply.build_input(Reason.AGENT_REPLY, calls) == b"\x00\xff"
    reply.check(Reason.AGENT_REPLY, calls, "ana")
    for wrong in ({"r-1"}, {"r-1", "r-2", "r-3"}, set[str](), {"a", "b"}):
        with pytest.raises(NotAgentReplyResumable):
            ReplyAnswer(b"x", frozenset(wrong)).check(Reason.AGENT_REPLY, calls, "ana")
    with pytest.raises(RequiresApproval):
        reply.check(Reason.APPROVAL, calls, "ana")
    with pytest.raises(NotAgentReplyResumable):
        reply.check(Reason.EXTERNAL_TOOL, calls, "ana")
