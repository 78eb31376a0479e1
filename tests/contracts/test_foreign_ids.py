"""Another scope's row looks exactly like a missing one, on every route of the OpenAPI document."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from suspensions.api.schema.views import document
from suspensions.domain import ids
from suspensions.domain.clock import now
from suspensions.domain.instants import format_instant
from tests.support.api import BASE, Answer, Client, assert_ok, client_for
from tests.support.walks import CONTINUATION, TAKE, Walk

HOLDER = {"owner": "worker-1", "epoch": 1}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "yes"}
ASSISTANT = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1"}]}


@dataclass(frozen=True)
class Ids:
    """What a caller may have heard of: a run, its pause, its digests, a question."""

    run: str = field(default_factory=lambda: ids.new_id(ids.RUN))
    suspension: str = field(default_factory=lambda: ids.new_id(ids.SUSPENSION))
    digest: str = "0" * 64
    interaction: str = field(default_factory=lambda: secrets.token_hex(8))

    def version(self) -> dict[str, Any]:
        return {"run_id": self.run, "suspension_id": self.suspension, "run_revision": 2}

    def resume(self) -> dict[str, Any]:
        return {"run_id": self.run, "suspension_id": self.suspension, "request_digest": self.digest}


def _pause(known: Ids, scope: str) -> dict[str, Any]:
    call = {"id": "c", "name": "n", "arguments": "{}"}
    return {"run_id": known.run, "reason": "approval", "pending": [call], "continuation": CONTINUATION}


def _decision(known: Ids, scope: str) -> dict[str, Any]:
    decision = {"call_id": "c1", "decision": "deny", "arguments_sha256": "0" * 64}
    return {"run_revision": 2, "decisions": [decision]}


def _admission(known: Ids, scope: str) -> dict[str, Any]:
    return {"scope": scope, "version": known.version(), "input": "eA==", "reply_with": ["r1"]}


def _closure(known: Ids, scope: str) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "scope": scope,
        "version": known.version(),
        "admission_digest": known.digest,
        "start_digest": known.digest,
        "run_revision": 3,
        "actor": "nobody",
        "issuer": "i",
        "issuer_revision": "1",
        "proof_ref": "prf",
        "proof_digest": "0" * 64,
        "observed_at": "2031-05-01T12:00:00Z",
        "expires_at": "2031-05-01T13:00:00Z",
        "proof": "e30.e30.x",
    }


Body = Callable[[Ids, str], dict[str, Any] | None]

# What each operation that takes an id is sent beside its path.
BODIES: dict[str, Body] = {
    "create_suspension": _pause,
    "finish_run": lambda known, scope: {"outcome": "completed", "lease": HOLDER},
    "cancel_run": lambda known, scope: {"reason": "x"},
    "claim_suspension": lambda known, scope: {"version": known.version(), "lease": TAKE},
    "claim_continuation": lambda known, scope: {"lease": TAKE},
    "decide": _decision,
    "admit_resume": _admission,
    "start_resume": lambda known, scope: {**known.resume(), "lease": TAKE},
    "expire_resume": lambda known, scope: known.resume(),
    "close_resume": _closure,
    "verify_receipt": lambda known, scope: {
        "kind": "admission",
        "run_id": known.run,
        "suspension_id": known.suspension,
    },
    "save_progress": lambda known, scope: {**HOLDER, "continuation": CONTINUATION},
    "renew_lease": lambda known, scope: {**HOLDER, "seconds": 600},
    "release_lease": lambda known, scope: HOLDER,
    "reclaim_lease": lambda known, scope: TAKE,
    "save_interaction": lambda known, scope: {
        "interaction_id": "about a run",
        "run_id": known.run,
        "tool_use_id": "t1",
        "assistant": ASSISTANT,
    },
    "answer_interaction": lambda known, scope: {"result": RESULT},
    "resume_messages": lambda known, scope: {"result": RESULT},
    "resolve_interaction": lambda known, scope: {"result": RESULT},
    "mark_resolved": lambda known, scope: {},
}
QUERIES: dict[str, Callable[[Ids], dict[str, str]]] = {
    "list_suspensions": lambda known: {"run_id": known.run, "q": known.suspension},
    "list_runs": lambda known: {"q": known.run},
    "list_agent_reply_runs": lambda known: {"after": known.run},
    "wait_for_run": lambda known: {"revision": "0", "timeout": "0"},
    "delete_suspension": lambda known: {"suspension_id": known.suspension},
    "list_expired": lambda known: {"now": format_instant(now())},
}
# A new run under an id that is taken, and what only computes, tell nothing of rows: see the tests of runs.
WITHOUT_FOREIGN_ROWS = {"create_run", "freeze_closure", "start_next", "get_me"}


def _operations() -> list[tuple[str, str, str]]:
    return [
        (operation["operationId"], method.upper(), path)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    ]


def _foreign(state: str) -> Ids:
    """A row of another scope in this state, and an open question there."""
    scope = f"w={secrets.token_hex(8)}"
    walk = Walk(scope, reason={"replied": "agent_reply", "tool": "external_tool"}.get(state, "approval"))
    walk.paused(run={"lease": TAKE, "id": walk.run_id})
    if state in ("admitted", "started", "replied"):
        walk.admitted()
    if state == "started":
        walk.started()
    interaction_id = secrets.token_hex(8)
    question = {"interaction_id": interaction_id, "tool_use_id": "t1", "assistant": ASSISTANT}
    assert_ok(walk.agent.post("/interactions", question), 201)
    digest = walk.admission.get("request_digest", "0" * 64)
    return Ids(walk.run_id, walk.suspension_id, digest, interaction_id)


def _ask(client: Client, operation: str, method: str, path: str, known: Ids) -> Answer:
    address = path.removeprefix(BASE)
    for name, value in (
        ("run_id", known.run),
        ("suspension_id", known.suspension),
        ("interaction_id", known.interaction),
    ):
        address = address.replace(f"{{{name}}}", value)
    body = BODIES[operation](known, client.scope or "") if operation in BODIES else None
    query = QUERIES[operation](known) if operation in QUERIES else None
    return client.send(method, address, body=body, query=query)


def _told(answer: Answer, known: Ids) -> tuple[int, str]:
    """The answer without what the caller itself had said, and without the request's id."""
    text = answer.content.decode().replace(answer.headers["X-Request-ID"], "?")
    for value in (known.run, known.suspension, known.digest, known.interaction):
        text = text.replace(value, "?")
    return answer.status, text


@pytest.mark.parametrize("state", ["paused", "admitted", "started", "replied", "tool"])
def test_a_foreign_row_looks_like_a_missing_one_on_every_route(state: str, scope: str) -> None:
    stranger, foreign = client_for(scope), _foreign(state)
    walked = 0
    for operation, method, path in _operations():
        if operation in WITHOUT_FOREIGN_ROWS:
            continue
        missing = Ids(digest=foreign.digest)
        told = [_told(_ask(stranger, operation, method, path, known), known) for known in (foreign, missing)]
        assert told[0] == told[1], operation
        walked += 1
    assert walked == len(_operations()) - len(WITHOUT_FOREIGN_ROWS)


def test_every_operation_with_a_body_is_walked() -> None:
    with_body = {
        operation["operationId"]
        for methods in document()["paths"].values()
        for operation in methods.values()
        if "requestBody" in operation
    }
    assert with_body - WITHOUT_FOREIGN_ROWS == set(BODIES)


def test_nothing_of_another_scope_is_listed(scope: str) -> None:
    foreign, stranger = _foreign("started"), client_for(scope)
    for operation, _, path in _operations():
        if operation.startswith("list_") and "{" not in path:
            answer = stranger.get(path.removeprefix(BASE))
            assert assert_ok(answer)["items"] == [], operation
            assert foreign.run not in answer.content.decode()


def test_a_pause_that_would_make_a_run_under_a_foreign_id_learns_nothing(scope: str) -> None:
    foreign, stranger = _foreign("paused"), client_for(scope)
    taken = stranger.post("/suspensions", _pause(foreign, scope) | {"run": {}})
    own = stranger.post("/runs", {})
    again = stranger.post("/runs", {"id": assert_ok(own, 201)["id"]})
    details = {
        name: [answer.json()[name] for answer in (taken, again)] for name in ("status", "code", "detail", "errors")
    }
    assert all(first == second for first, second in details.values())
