"""Questions and answers must change, so no trigger keeps them; what they say is held against their events.

Whoever can write to the database could else put another answer into a human's mouth before the turn goes on.
"""

from __future__ import annotations

from typing import Any

import pytest

from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import content_digest, dumps
from suspensions.domain.values import NewInteraction
from suspensions.operations import interactions, runs
from suspensions.operations.verification import verify_receipts
from tests.closing.test_verification import execute
from tests.support.builders import caller, fresh_scope, make_run

ASSISTANT = b'{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"ask","input":{}}]}'
ANSWER = {"type": "tool_result", "tool_use_id": "t1", "content": "no"}
OTHER = dumps({**ANSWER, "content": "yes"})
EVE = '{"principal":"eve","via":"session"}'


@pytest.fixture(params=["of a run", "alone"])
def scope(request: pytest.FixtureRequest) -> Scope:
    """One open question, one that was answered, one that was resolved."""
    scope = fresh_scope(2)
    run_id = make_run(scope).id if request.param == "of a run" else None
    for name in ("open", "answered", "resolved"):
        new = NewInteraction(scope, name, "t1", ASSISTANT, run_id=run_id, tool_name="ask", messages=b"[]")
        interactions.save_interaction(caller(scope), new, "0" * 64)
    for name in ("answered", "resolved"):
        interactions.answer_interaction(caller(scope), scope, name, ANSWER)
    interactions.resolve_interaction(caller(scope), scope, "resolved")
    return scope


def findings(scope: Scope) -> list[tuple[str, str]]:
    return [(finding.kind, finding.id) for finding in verify_receipts(scope)]


def test_what_the_product_wrote_is_whole(scope: Scope) -> None:
    assert findings(scope) == []


def test_questions_that_ended_with_their_run_are_whole() -> None:
    scope = fresh_scope()
    run = make_run(scope)
    interactions.save_interaction(caller(scope), NewInteraction(scope, "q", "t1", ASSISTANT, run_id=run.id), "0" * 64)
    runs.cancel_run(caller(scope), scope, run.id, "not wanted")
    assert findings(scope) == []


CHANGES: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "an answer": ("answered", "answer = %s", (OTHER,)),
    "an answer with its digest": ("answered", "answer = %s, answer_sha256 = %s", (OTHER, content_digest(OTHER))),
    "a digest alone": ("answered", "answer_sha256 = %s", (content_digest(OTHER),)),
    "who answered": ("answered", "answered_by = %s", (EVE,)),
    "when it was answered": ("answered", "answered_at = created_at", ()),
    "an answer that is gone": (
        "answered",
        "answer = NULL, answer_sha256 = NULL, answered_by = NULL, answered_at = NULL",
        (),
    ),
    "an answer that was invented": (
        "open",
        "answer = %s, answer_sha256 = %s, answered_by = %s, answered_at = created_at",
        (OTHER, content_digest(OTHER), EVE),
    ),
    "what was asked": ("open", "assistant = %s", (ASSISTANT.replace(b"ask", b"buy"),)),
    "what was said before": ("open", "messages = %s", (b'[{"role":"user"}]',)),
    "its tool": ("open", "tool_name = %s", ("other",)),
    "its tool use": ("open", "tool_use_id = %s", ("t2",)),
    "its asker": ("open", "created_by = %s", (EVE,)),
    "its content's digest": ("open", "content_sha256 = %s", ("1" * 64,)),
    "an end that was invented": ("open", "resolved_at = created_at, resolved_by = %s", (EVE,)),
    "an end that was taken back": ("resolved", "resolved_at = NULL, resolved_by = NULL", ()),
    "who resolved it": ("resolved", "resolved_by = %s", (EVE,)),
    "its scope's level": ("open", "scope_1 = %s", ("w=evil",)),
}


@pytest.mark.parametrize(("which", "change", "values"), CHANGES.values(), ids=CHANGES.keys())
def test_a_question_that_is_not_what_its_events_say_is_named(
    which: str, change: str, values: tuple[Any, ...], scope: Scope
) -> None:
    execute(f"UPDATE interaction SET {change} WHERE scope = %s AND interaction_id = %s", *values, scope.text, which)
    assert findings(scope) == [("interaction", which)]


def test_a_question_of_a_run_that_was_removed_or_invented_is_found() -> None:
    scope = fresh_scope(2)
    run_id = make_run(scope).id
    for name in ("first", "second"):
        new = NewInteraction(scope, name, "t1", ASSISTANT, run_id=run_id)
        interactions.save_interaction(caller(scope), new, "0" * 64)
    execute(
        "UPDATE interaction SET interaction_id = 'third' WHERE scope = %s AND interaction_id = 'second'", scope.text
    )
    assert sorted(findings(scope)) == [("interaction", "second"), ("interaction", "third")]
