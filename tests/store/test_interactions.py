"""Interactions: one question to a human from a turn that stopped. Source: store.md sections 5 and 10."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from suspensions.domain.errors import (
    CortexError,
    Forbidden,
    InteractionConflict,
    InteractionNotFound,
    InteractionResolved,
    InvalidCursor,
    InvalidLimit,
    InvalidRequest,
    InvalidState,
    NotFound,
    NotSingletonSuspension,
    RunNotFound,
    ToolResultMismatch,
)
from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.strict_json import content_digest, dumps
from suspensions.domain.values import Holder, Interaction, NewInteraction, Page, Reason, Suspension
from suspensions.models.fields import from_database
from suspensions.operations import closures, interactions, leases, resumes, runs, suspensions
from suspensions.operations.sweep import sweep_once
from tests.store.rows import chain, event_types, hashed, one_row, run_chain, run_state
from tests.store.support import Clock, refused, unchanged
from tests.support import closing
from tests.support.builders import admit, caller, fresh_scope, make_run, new_suspension, start, take

ASSISTANT: dict[str, Any] = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "", "signature": "c2ln", "odd": [1.0, None]},
        {"type": "text", "text": "Let me ask."},
        {"type": "tool_use", "id": "tu-1", "name": "ask_human", "input": {"q": "Which date?"}, "cache_control": {}},
    ],
}
HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": "Change my flight.\u0000 e\u0301 \u202e"},
    ASSISTANT,
]
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "tu-1", "content": "Saturday"}
ANSWER = {"role": "user", "content": [RESULT]}


@pytest.fixture
def scope() -> Scope:
    return fresh_scope()


def save(
    scope: Scope,
    interaction_id: str = "int-1",
    *,
    assistant: Any = ASSISTANT,
    messages: Any = None,
    tool_use_id: str = "tu-1",
    run_id: str | None = None,
    by: Caller | None = None,
    **more: Any,
) -> Interaction:
    """Keep a question as the API hands it on, with the digest of its content as it was sent."""
    said = {"interaction_id": interaction_id, "tool_use_id": tool_use_id, "assistant": assistant, "run_id": run_id}
    said |= {"messages": messages, **more}
    texts: dict[str, Any] = {name: dumps(value) if name == "tool_input" else value for name, value in more.items()}
    new = NewInteraction(
        scope=scope,
        interaction_id=interaction_id,
        tool_use_id=tool_use_id,
        assistant=dumps(assistant),
        messages=None if messages is None else dumps(messages),
        run_id=run_id,
        **texts,
    )
    text = dumps({name: value for name, value in said.items() if value is not None})
    return interactions.save_interaction(by or caller(scope, Role.AGENT), new, content_digest(text))


def answer(scope: Scope, result: Any = RESULT, interaction_id: str = "int-1", by: Caller | None = None) -> Interaction:
    return interactions.answer_interaction(by or caller(scope, Role.APPROVER), scope, interaction_id, result)


def resume(scope: Scope, result: Any = None, interaction_id: str = "int-1") -> list[Any]:
    return interactions.resume_messages(caller(scope, Role.AGENT), scope, interaction_id, result)


def resolve(scope: Scope, result: Any = None, interaction_id: str = "int-1", by: Caller | None = None) -> list[Any]:
    return interactions.resolve_interaction(by or caller(scope, Role.AGENT), scope, interaction_id, result)


def mark(scope: Scope, interaction_id: str = "int-1", by: Caller | None = None) -> None:
    interactions.mark_resolved(by or caller(scope, Role.AGENT), scope, interaction_id)


def load(scope: Scope, interaction_id: str = "int-1") -> Interaction:
    return interactions.load_interaction(caller(scope, Role.VIEWER), scope, interaction_id)


def read(scope: Scope, interaction_id: str = "int-1") -> Interaction:
    return interactions.read_interaction(caller(scope, Role.VIEWER), scope, interaction_id)


def listed(scope: Scope, cursor: str | None = None, limit: int = 50, **more: bool) -> Page[Interaction]:
    return interactions.list_interactions(caller(scope, Role.VIEWER), scope, cursor, limit, **more)


def own_chain(scope: Scope, interaction_id: str = "int-1") -> list[dict[str, Any]]:
    """The events of an interaction without a run, its chain and its head checked."""
    events = chain(f"{scope.text}\n{interaction_id}")
    row = one_row("interaction", scope=scope.text, interaction_id=interaction_id)
    assert (row["event_position"], row["event_hash"]) == (len(events), events[-1]["hash"])
    return events


# -- save ------------------------------------------------------------------------------------------


def test_a_question_comes_back_whole_unknown_members_too(scope: Scope, time: Clock) -> None:
    by = caller(scope, Role.AGENT, principal="care-desk", via="token:c")
    saved = save(
        scope,
        messages=HISTORY,
        session_id="ses_01h455vb4pex5vsknk084sn02q",
        tool_name="ask_human",
        tool_input={"q": "Which date?", "n": 1.0, "big": 12345678901234567890},
        by=by,
    )
    assert saved.fresh
    loaded = load(scope)
    assert loaded == saved
    assert not loaded.fresh
    assert loaded.assistant == dumps(ASSISTANT)
    assert loaded.messages == dumps(HISTORY)
    assert loaded.tool_input == b'{"q":"Which date?","n":1.0,"big":12345678901234567890}'
    assert (loaded.interaction_id, loaded.tool_use_id, loaded.tool_name) == ("int-1", "tu-1", "ask_human")
    assert loaded.session_id == "ses_01h455vb4pex5vsknk084sn02q"
    assert (loaded.version, loaded.resolved, loaded.run_id) == (1, False, None)
    assert loaded.created_by.to_json() == {"principal": "care-desk", "via": "token:c"}
    assert loaded.created_at == time.now
    assert loaded.digest == hashed(
        "cortex/interaction/v1",
        {"interaction_id": "int-1", "tool_use_id": "tu-1", "content_sha256": loaded.content_sha256},
    )


def _assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


_USE = {"type": "tool_use", "id": "tu-1", "name": "ask", "input": {}}
_OTHER = {"type": "tool_use", "id": "tu-2", "name": "pay", "input": {}}
_NOT_SINGLE: dict[str, tuple[Any, int]] = {
    "a sibling": (_assistant(_USE, _OTHER), 2),
    "the same twice": (_assistant(_USE, _USE), 2),
    "another alone": (_assistant(_OTHER), 1),
    "none": (_assistant({"type": "text", "text": "hello"}), 0),
    "a text": ({"role": "assistant", "content": "tu-1"}, 0),
    "no content": ({"role": "assistant"}, 0),
    "null": ({"role": "assistant", "content": None}, 0),
    "one among siblings": (_assistant(_OTHER, {"type": "thinking"}, _USE, _OTHER), 3),
}


@pytest.mark.parametrize("what", _NOT_SINGLE)
def test_the_suspending_tool_use_must_be_the_only_one(what: str, scope: Scope) -> None:
    assistant, count = _NOT_SINGLE[what]
    with refused(NotSingletonSuspension, scope) as caught:
        save(scope, assistant=assistant)
    assert caught.value.members() == {"count": count}


def test_it_is_said_before_anything_is_looked_up(scope: Scope) -> None:
    save(scope)
    mark(scope)
    with refused(NotSingletonSuspension, scope):
        save(scope, assistant=_assistant(_OTHER), run_id="arun_01h455vb4pex5vsknk084sn02q")


def test_the_same_content_again_is_the_record_in_whatever_order_its_members_come(scope: Scope, time: Clock) -> None:
    saved = save(scope)
    turned = json.loads(json.dumps(ASSISTANT, sort_keys=True))
    time.tick()
    with unchanged(scope):
        for again in (save(scope), save(scope, assistant=turned), save(scope, by=caller(scope, principal="other"))):
            assert again == saved
            assert not again.fresh
    answer(scope)
    with unchanged(scope):
        assert save(scope).answer == dumps(RESULT)


def test_other_content_under_the_same_id_is_a_conflict(scope: Scope) -> None:
    save(scope, messages=HISTORY)
    others: list[dict[str, Any]] = [{}, {"messages": HISTORY[::-1]}, {"messages": HISTORY, "tool_name": "x"}]
    for more in others:
        with refused(InteractionConflict, scope):
            save(scope, **more)


def test_a_resolved_one_is_resolved_also_for_other_content(scope: Scope) -> None:
    save(scope)
    mark(scope)
    for messages in (None, HISTORY):
        with refused(InteractionResolved, scope):
            save(scope, messages=messages)


def test_an_id_is_unique_per_scope_and_stands_in_others_as_well() -> None:
    parent = fresh_scope()
    scope = Scope.parse(f"{parent.text}/p=here")
    for at in (parent, scope, Scope.parse(f"{scope.text}/t=below")):
        assert save(at, tool_name=at.text).fresh
    mark(scope)
    assert load(parent).tool_name == parent.text
    with pytest.raises(InteractionResolved):
        load(scope)


@pytest.mark.parametrize("pair", [("a:b", "c"), ("a b", "c"), ("a%2Fb", "a%2fb"), ("A", "a"), ("\u00e9", "e\u0301")])
def test_ids_that_look_alike_are_two(pair: tuple[str, str], scope: Scope) -> None:
    for interaction_id in pair:
        assert save(scope, interaction_id, tool_name=f"for {interaction_id}").fresh
    assert [load(scope, each).tool_name for each in pair] == [f"for {each}" for each in pair]
    assert len({own_chain(scope, each)[0]["hash"] for each in pair}) == 2


def test_a_question_of_a_run_that_is_not_there_is_refused(scope: Scope) -> None:
    run = make_run(Scope.parse(f"{scope.text}/p=below"))
    for run_id in ("arun_01h455vb4pex5vsknk084sn02q", run.id, make_run(fresh_scope()).id):
        with refused(RunNotFound, scope):
            save(scope, run_id=run_id)


def test_an_ended_run_asks_nothing_more(scope: Scope) -> None:
    run = make_run(scope)
    saved = save(scope, run_id=run.id)
    runs.finish_run(caller(scope), scope, run.id, RunState.COMPLETED)
    with refused(InvalidState, scope):
        save(scope, "int-2", run_id=run.id)
    with refused(InteractionResolved, scope):
        save(scope, saved.interaction_id, run_id=run.id)


# -- load and read ---------------------------------------------------------------------------------


def test_what_is_missing_and_what_is_anothers_look_alike() -> None:
    parent = fresh_scope()
    scope = Scope.parse(f"{parent.text}/p=here")
    save(scope)
    acts: list[Callable[[Scope, str], object]] = [
        load,
        read,
        lambda at, name: answer(at, interaction_id=name),
        lambda at, name: resume(at, RESULT, name),
        lambda at, name: resolve(at, RESULT, name),
        mark,
    ]
    said = set()
    for at, name in [
        (scope, "int-2"),
        (parent, "int-1"),
        (Scope.parse(f"{scope.text}/t=below"), "int-1"),
        (fresh_scope(), "int-1"),
        (scope, "INT-1"),
    ]:
        for act in acts:
            with refused(InteractionNotFound, scope, at) as caught:
                act(at, name)
            said.add((caught.value.detail, str(caught.value.members())))
    assert len(said) == 1


def test_only_load_refuses_a_resolved_one(scope: Scope, time: Clock) -> None:
    save(scope)
    answer(scope, by=caller(scope, Role.APPROVER, principal="kim", via="session"))
    time.tick(9)
    resolve(scope, by=caller(scope, Role.AGENT, principal="care-desk"))
    with unchanged(scope), pytest.raises(InteractionResolved):
        load(scope)
    found = read(scope)
    assert (found.resolved, found.resolved_at) == (True, time.now)
    assert found.resolved_by is not None and found.resolved_by.principal == "care-desk"
    assert found.answered_by is not None and found.answered_by.principal == "kim"
    assert found.answer == dumps(RESULT)


# -- what to resume with ---------------------------------------------------------------------------


def test_with_a_transcript_the_whole_conversation_and_the_answer(scope: Scope) -> None:
    save(scope, messages=HISTORY)
    with unchanged(scope):
        assert resume(scope, RESULT) == [*HISTORY, ANSWER]
        assert resume(scope, RESULT) == [*HISTORY, ANSWER]
    assert resolve(scope, RESULT) == [*HISTORY, ANSWER]


def test_without_one_only_the_two_that_are_missing(scope: Scope) -> None:
    save(scope)
    with unchanged(scope):
        assert resume(scope, RESULT) == [ASSISTANT, ANSWER]
    assert resolve(scope, RESULT) == [ASSISTANT, ANSWER]


def test_an_empty_transcript_is_a_transcript(scope: Scope) -> None:
    save(scope, messages=[])
    assert resume(scope, RESULT) == [ANSWER]


def test_the_result_is_handed_on_whole(scope: Scope) -> None:
    save(scope)
    block = {
        "type": "tool_result",
        "tool_use_id": "tu-1",
        "content": [{"type": "image", "source": {"data": "aGk="}}, {"type": "text", "text": "\u0000"}],
        "is_error": False,
        "content_blocks": [{"type": "image"}],
        "odd": {"n": 12345678901234567890},
    }
    answer(scope, block)
    assert resume(scope) == [ASSISTANT, {"role": "user", "content": [block]}]
    assert load(scope).answer == dumps(block)


_MISMATCHED: list[Any] = [
    {},
    [],
    [RESULT],
    "Saturday",
    True,
    {**RESULT, "tool_use_id": "tu-2"},
    {**RESULT, "tool_use_id": "TU-1"},
    {**RESULT, "tool_use_id": None},
    {**RESULT, "type": "text"},
    {"tool_use_id": "tu-1", "content": "x"},
    {"type": "tool_result", "content": "x"},
]


@pytest.mark.parametrize("result", _MISMATCHED)
def test_a_result_of_anything_else_answers_nothing(result: Any, scope: Scope) -> None:
    save(scope)
    for act in (answer, resume, resolve):
        with refused(ToolResultMismatch, scope):
            act(scope, result)


def test_neither_a_result_nor_a_kept_answer_is_an_invalid_request(scope: Scope) -> None:
    save(scope)
    for act in (resume, resolve):
        with refused(InvalidRequest, scope):
            act(scope)


def test_without_a_result_the_kept_answer_is_used(scope: Scope) -> None:
    save(scope)
    answer(scope)
    assert resume(scope) == [ASSISTANT, ANSWER]
    assert resolve(scope) == [ASSISTANT, ANSWER]


def test_a_result_that_differs_from_the_kept_answer_is_a_conflict(scope: Scope) -> None:
    save(scope)
    answer(scope)
    for other in ({**RESULT, "content": "Sunday"}, {**RESULT, "is_error": True}, {**RESULT, "content": ["Saturday"]}):
        for act in (resume, resolve):
            with refused(InteractionConflict, scope):
                act(scope, other)
    same = dict(reversed(RESULT.items()))
    assert resume(scope, same) == [ASSISTANT, {"role": "user", "content": [same]}]
    assert resolve(scope, same)


def test_a_resolved_one_gives_no_messages_whatever_else_is_wrong(scope: Scope) -> None:
    save(scope)
    answer(scope)
    mark(scope)
    for result in (None, RESULT, {**RESULT, "content": "Sunday"}, {}):
        for act in (resume, resolve):
            with refused(InteractionResolved, scope):
                act(scope, result)
        with refused(InteractionResolved, scope):
            answer(scope, result)


# -- resolving -------------------------------------------------------------------------------------


def test_it_is_resolved_once_only(scope: Scope, time: Clock) -> None:
    save(scope)
    time.tick(3)
    first, second = (caller(scope, Role.AGENT, principal=name) for name in ("first", "second"))
    resolve(scope, RESULT, by=first)
    with refused(InteractionResolved, scope):
        resolve(scope, RESULT, by=second)
    found = read(scope)
    assert found.resolved_at == time.now
    assert found.resolved_by is not None and found.resolved_by.principal == "first"


def test_marking_resolved_twice_succeeds_and_keeps_the_first(scope: Scope, time: Clock) -> None:
    save(scope)
    mark(scope, by=caller(scope, Role.AGENT, principal="first"))
    resolved_at = time.now
    time.tick()
    with unchanged(scope):
        mark(scope, by=caller(scope, Role.AGENT, principal="second"))
    found = read(scope)
    assert found.resolved_at == resolved_at
    assert found.resolved_by is not None and found.resolved_by.principal == "first"
    save(scope, "int-2")
    resolve(scope, RESULT, "int-2")
    with unchanged(scope):
        mark(scope, "int-2")


def test_a_refused_resolve_leaves_the_question_open(scope: Scope) -> None:
    save(scope)
    with pytest.raises(ToolResultMismatch):
        resolve(scope, {})
    assert not load(scope).resolved
    assert resolve(scope, RESULT) == [ASSISTANT, ANSWER]


# -- answers ---------------------------------------------------------------------------------------


def test_an_answer_is_kept_with_who_and_when_and_stays_open(scope: Scope, time: Clock) -> None:
    save(scope)
    time.tick(30)
    kim = caller(scope, Role.APPROVER, principal="kim", via="session")
    kept = answer(scope, by=kim)
    assert kept.fresh
    found = load(scope)
    assert found == kept
    assert found.answer == dumps(RESULT)
    assert found.answered_at == time.now
    assert found.answered_by == kim.actor
    assert not found.resolved


def test_the_same_answer_again_is_the_record_whoever_gives_it(scope: Scope, time: Clock) -> None:
    save(scope)
    kept = answer(scope, by=caller(scope, Role.APPROVER, principal="kim"))
    time.tick()
    with unchanged(scope):
        for same in (RESULT, dict(reversed(RESULT.items()))):
            again = answer(scope, same, by=caller(scope, Role.APPROVER, principal="lee"))
            assert again == kept
            assert not again.fresh
            assert again.answered_by is not None and again.answered_by.principal == "kim"


def test_another_answer_is_a_conflict(scope: Scope) -> None:
    save(scope)
    answer(scope)
    with refused(InteractionConflict, scope):
        answer(scope, {**RESULT, "content": "Sunday"})
    assert load(scope).answer == dumps(RESULT)


# -- who may ---------------------------------------------------------------------------------------


def _acts(scope: Scope, by: Caller) -> list[tuple[Role, Callable[[], object]]]:
    return [
        (Role.AGENT, lambda: save(scope, by=by)),
        (Role.APPROVER, lambda: answer(scope, by=by)),
        (Role.AGENT, lambda: interactions.resume_messages(by, scope, "int-1", RESULT)),
        (Role.AGENT, lambda: resolve(scope, RESULT, by=by)),
        (Role.AGENT, lambda: mark(scope, by=by)),
    ]


@pytest.mark.parametrize("role", list(Role))
def test_each_act_has_its_role_and_reading_has_any(role: Role, scope: Scope) -> None:
    save(scope)
    by = caller(scope, role)
    for needed, act in _acts(scope, by):
        if role is not needed:
            with refused(Forbidden, scope):
                act()
    assert interactions.load_interaction(by, scope, "int-1").interaction_id == "int-1"
    assert interactions.read_interaction(by, scope, "int-1").interaction_id == "int-1"
    assert len(interactions.list_interactions(by, scope, None, 1).items) == 1


def test_a_stranger_to_the_scope_does_nothing(scope: Scope) -> None:
    save(scope)
    stranger = caller(fresh_scope())
    acts = [act for _, act in _acts(scope, stranger)]
    acts.append(lambda: interactions.load_interaction(stranger, scope, "int-1"))
    acts.append(lambda: interactions.read_interaction(stranger, scope, "int-1"))
    acts.append(lambda: interactions.list_interactions(stranger, scope, None, 1))
    for act in acts:
        with refused(NotFound, scope):
            act()


# -- the list --------------------------------------------------------------------------------------


def test_the_list_shows_open_ones_newest_first_and_the_resolved_on_request(scope: Scope, time: Clock) -> None:
    for name in ("a", "b", "c", "d"):
        time.tick()
        save(scope, name)
    mark(scope, "b")
    resolve(scope, RESULT, "d")
    assert [each.interaction_id for each in listed(scope).items] == ["c", "a"]
    every = listed(scope, resolved=True).items
    assert [each.interaction_id for each in every] == ["d", "c", "b", "a"]
    assert [each.resolved for each in every] == [True, False, True, False]
    assert every[0].resolved_at == time.now
    assert every[0].resolved_by is not None


def test_the_list_covers_what_lies_below_and_nothing_beside() -> None:
    parent = fresh_scope()
    scope, lookalike = Scope.parse(f"{parent.text}/p=a_b"), Scope.parse(f"{parent.text}/p=axb")
    below = Scope.parse(f"{scope.text}/t=x")
    for index, at in enumerate((parent, scope, lookalike, below)):
        save(at, f"int-{index}")
    assert {each.interaction_id for each in listed(parent).items} == {"int-0", "int-1", "int-2", "int-3"}
    assert {each.interaction_id for each in listed(scope).items} == {"int-1", "int-3"}
    assert {each.interaction_id for each in listed(below).items} == {"int-3"}


def test_the_list_loads_no_contents(scope: Scope) -> None:
    save(scope, messages=HISTORY, tool_input={"q": 1})
    answer(scope)
    [item] = listed(scope).items
    assert (item.assistant, item.messages, item.tool_input, item.answer) == (None, None, None, None)
    assert item.answered_at is not None


def test_pages_join_without_gap_or_repeat_also_within_one_instant(scope: Scope, time: Clock) -> None:
    names = [f"int-{index}" for index in range(7)]
    for name in names:
        save(scope, name)
    seen: list[str] = []
    cursor = None
    while True:
        page = listed(scope, cursor, 2)
        seen += [each.interaction_id for each in page.items]
        time.tick()
        save(scope, f"later-{len(seen)}")
        cursor = page.next
        if cursor is None:
            break
    assert seen == names[::-1]


def test_a_cursor_belongs_to_its_list(scope: Scope) -> None:
    for index in range(3):
        save(scope, f"int-{index}")
    cursor = listed(scope, limit=1).next
    assert cursor is not None
    below = Scope.parse(f"{scope.text}/p=x")
    for at, more in ((scope, {"resolved": True}), (below, {}), (fresh_scope(), {})):
        with pytest.raises(InvalidCursor):
            listed(at, cursor, **more)
    with pytest.raises(InvalidCursor):
        listed(scope, "x")


@pytest.mark.parametrize("limit", [0, 257, -1, True, "5"])
def test_a_limit_out_of_1_to_256_is_refused(limit: Any, scope: Scope) -> None:
    with pytest.raises(InvalidLimit):
        listed(scope, None, limit)


# -- events ----------------------------------------------------------------------------------------


def test_without_a_run_a_question_has_a_chain_of_its_own(scope: Scope, time: Clock) -> None:
    save(scope, by=caller(scope, principal="agent"))
    answer(scope, by=caller(scope, principal="kim", via="session"))
    resolve(scope, by=caller(scope, principal="agent"))
    save(scope, "int-2")
    events = own_chain(scope)
    assert [event["type"] for event in events] == [
        "interaction.saved",
        "interaction.answered",
        "interaction.resolved",
    ]
    for event, principal in zip(events, ("agent", "kim", "agent"), strict=True):
        assert json.loads(event["actor"])["principal"] == principal
        assert (event["run_id"], event["revision"], event["suspension_id"]) == (None, None, None)
        assert json.loads(bytes(event["data"]))["interaction_id"] == "int-1"
    assert len(own_chain(scope, "int-2")) == 1


def test_with_a_run_its_events_stand_in_the_runs_chain_and_move_no_revision(scope: Scope) -> None:
    run = make_run(scope)
    save(scope, run_id=run.id)
    answer(scope)
    save(scope, "int-2", run_id=run.id)
    mark(scope, "int-2")
    resolve(scope)
    assert event_types(run.id) == [
        "run.created",
        "interaction.saved",
        "interaction.answered",
        "interaction.saved",
        "interaction.resolved",
        "interaction.resolved",
    ]
    assert {event["revision"] for event in run_chain(run.id)} == {1}
    assert run_state(run.id) == ("running", 1)


def test_a_repeat_makes_no_event(scope: Scope) -> None:
    run = make_run(scope)
    save(scope, run_id=run.id)
    save(scope, run_id=run.id)
    answer(scope)
    answer(scope)
    mark(scope)
    mark(scope)
    assert event_types(run.id)[1:] == ["interaction.saved", "interaction.answered", "interaction.resolved"]


# -- a run that ends -------------------------------------------------------------------------------


def _finish(outcome: RunState) -> Callable[[Scope, str, Clock], object]:
    return lambda scope, run_id, time: runs.finish_run(caller(scope), scope, run_id, outcome)


def _cancel(scope: Scope, run_id: str, time: Clock) -> None:
    runs.cancel_run(caller(scope), scope, run_id, "stop")


def _cancel_paused(scope: Scope, run_id: str, time: Clock) -> None:
    _pause(scope, run_id)
    _cancel(scope, run_id, time)


def _pause(scope: Scope, run_id: str, **more: Any) -> Suspension:
    return suspensions.create_suspension(caller(scope), new_suspension(scope, run_id, Reason.AGENT_REPLY, **more))


def _sweep(scope: Scope, run_id: str, time: Clock) -> None:
    _pause(scope, run_id, expires_at=time.now)
    sweep_once()


def _expire(scope: Scope, run_id: str, time: Clock) -> None:
    pause = _pause(scope, run_id, expires_at=time.ahead(1))
    admission = admit(pause)
    time.tick(5000)
    resumes.expire_resume(caller(scope), scope, run_id, pause.id, admission.request_digest)


def _close(scope: Scope, run_id: str, time: Clock) -> None:
    admission = admit(_pause(scope, run_id))
    started = start(admission)
    request = closing.closure_request(admission, started, time.now)
    closures.close_resume(caller(scope), request, closing.PROOF)


_ENDS: dict[str, Callable[[Scope, str, Clock], object]] = {
    "completed": _finish(RunState.COMPLETED),
    "failed": _finish(RunState.FAILED),
    "finished as cancelled": _finish(RunState.CANCELLED),
    "finished as incomplete": _finish(RunState.INCOMPLETE),
    "cancelled": _cancel,
    "cancelled while paused": _cancel_paused,
    "swept": _sweep,
    "expired before its start": _expire,
    "closed with proof": _close,
}


@pytest.mark.parametrize("end", _ENDS)
def test_every_end_of_a_run_resolves_its_open_questions_by_system(
    end: str, scope: Scope, time: Clock, settings: Settings
) -> None:
    settings.CLOSURE_AUTHORIZER = closing.PERMISSIVE_AUTHORIZER
    settings.CLOSURE_FENCE = closing.PERMISSIVE_FENCE
    run, other = make_run(scope), make_run(scope)
    save(scope, "open", run_id=run.id)
    save(scope, "answered", run_id=run.id)
    answer(scope, interaction_id="answered")
    save(scope, "resolved", run_id=run.id)
    resolve(scope, RESULT, "resolved", by=caller(scope, principal="agent"))
    save(scope, "of another run", run_id=other.id)
    save(scope, "of no run")

    _ENDS[end](scope, run.id, time)

    for name in ("open", "answered"):
        found = read(scope, name)
        assert found.resolved
        assert found.resolved_by is not None
        assert found.resolved_by.to_json() == {"principal": "system", "via": "system"}
        assert found.resolved_at == read_end(run.id)
    kept = read(scope, "resolved").resolved_by
    assert kept is not None and kept.principal == "agent"
    assert not read(scope, "of another run").resolved
    assert not read(scope, "of no run").resolved
    with refused(InteractionResolved, scope):
        answer(scope, interaction_id="open")
    events = run_chain(run.id)
    by_system = [event for event in events if event["type"] == "interaction.resolved"][1:]
    assert {json.loads(bytes(event["data"]))["interaction_id"] for event in by_system} == {"open", "answered"}
    assert {json.loads(event["actor"])["principal"] for event in by_system} == {"system"}
    assert one_row("run", id=run.id)["open_interactions"] == 0


def read_end(run_id: str) -> Any:
    """When the run ended."""
    return from_database(one_row("run", id=run_id)["completed_at"])


def test_a_run_that_merely_pauses_or_is_claimed_leaves_its_questions_open(scope: Scope, time: Clock) -> None:
    run = make_run(scope)
    save(scope, run_id=run.id)
    start(admit(_pause(scope, run.id)), lease=take())
    assert not load(scope).resolved
    leases.release_lease(caller(scope), scope, run.id, Holder("worker-1", 1))
    assert not load(scope).resolved


def test_a_continued_run_may_ask_again_and_its_old_questions_stay_resolved(scope: Scope, time: Clock) -> None:
    run = make_run(scope)
    save(scope, run_id=run.id)
    runs.finish_run(caller(scope), scope, run.id, RunState.INCOMPLETE)
    leases.claim_continuation(caller(scope), scope, run.id, take())
    assert read(scope).resolved
    assert save(scope, "int-2", run_id=run.id).fresh
    runs.finish_run(caller(scope), scope, run.id, RunState.COMPLETED, holder=Holder("worker-1", 1))
    assert read(scope, "int-2").resolved


def test_a_refusal_writes_no_event(scope: Scope) -> None:
    run = make_run(scope)
    save(scope, run_id=run.id)
    with pytest.raises(CortexError):
        answer(scope, {})
    with pytest.raises(CortexError):
        resolve(scope)
    assert event_types(run.id) == ["run.created", "interaction.saved"]
