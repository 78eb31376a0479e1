"""Single questions to a human, and who the caller is. Source: api.md "Routes", store.md section 5."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from suspensions.api import shapes
from suspensions.api.members import FLAG, PAGED
from suspensions.api.requests import ANSWER, NEW_INTERACTION, RESULT, SETTLED
from suspensions.api.routes import Call, answer, made, nothing, route
from suspensions.domain import limits
from suspensions.domain.policy import Role
from suspensions.domain.strict_json import content_digest
from suspensions.domain.values import NewInteraction
from suspensions.operations import interactions

_SETTLE_CODES = (
    "interaction_not_found",
    "interaction_resolved",
    "tool_result_mismatch",
    "interaction_conflict",
)


def _id(call: Call) -> str:
    return call.ids["interaction_id"]


def _result(call: Call) -> Any:
    return call.body.get("result")


@route(
    "Keep a question to a human; the same content again is the record",
    Role.AGENT,
    body=NEW_INTERACTION,
    gives={201: "Interaction", 200: "Interaction"},
    codes=(
        "invalid_id",
        "not_singleton_suspension",
        "run_not_found",
        "invalid_state",
        "interaction_resolved",
        "interaction_conflict",
    ),
    digests=(content_digest,),
)
def save_interaction(call: Call) -> HttpResponse:
    new = NewInteraction(scope=call.scope, **call.body)
    saved = interactions.save_interaction(call.caller, new, *call.digests)
    return made(shapes.interaction(saved), fresh=saved.fresh)


@route(
    "List questions that the scope covers, newest first; resolved ones on request",
    gives={200: "InteractionPage"},
    query={**PAGED, "resolved": FLAG},
    codes=("invalid_cursor", "invalid_limit"),
)
def list_interactions(call: Call) -> HttpResponse:
    query = call.query
    limit, resolved = query.get("limit", limits.DEFAULT_LIMIT), query.get("resolved", False)
    found = interactions.list_interactions(call.caller, call.scope, query.get("cursor"), limit, resolved=resolved)
    return answer(shapes.page(found, shapes.interaction_item))


@route(
    "Load an unresolved question",
    gives={200: "Interaction"},
    codes=("interaction_not_found", "interaction_resolved"),
)
def load_interaction(call: Call) -> HttpResponse:
    return answer(shapes.interaction(interactions.load_interaction(call.caller, call.scope, _id(call))))


@route(
    "Answer a question; the answer is kept until somebody resolves",
    Role.APPROVER,
    body=ANSWER,
    gives={201: "Interaction", 200: "Interaction"},
    codes=_SETTLE_CODES,
)
def answer_interaction(call: Call) -> HttpResponse:
    answered = interactions.answer_interaction(call.caller, call.scope, _id(call), _result(call))
    return made(shapes.interaction(answered), fresh=answered.fresh)


@route(
    "Build the messages to resume with, and mark nothing",
    Role.AGENT,
    body=RESULT,
    gives={200: "Messages"},
    codes=_SETTLE_CODES,
)
def resume_messages(call: Call) -> HttpResponse:
    messages = interactions.resume_messages(call.caller, call.scope, _id(call), _result(call))
    return answer({"messages": messages})


@route(
    "Build the messages to resume with, and resolve the question, once only",
    Role.AGENT,
    body=RESULT,
    gives={200: "Messages"},
    codes=_SETTLE_CODES,
)
def resolve_interaction(call: Call) -> HttpResponse:
    messages = interactions.resolve_interaction(call.caller, call.scope, _id(call), _result(call))
    return answer({"messages": messages})


@route(
    "Mark a question as settled by another road",
    Role.AGENT,
    body=SETTLED,
    gives={204: None},
    codes=("interaction_not_found",),
)
def mark_resolved(call: Call) -> HttpResponse:
    interactions.mark_resolved(call.caller, call.scope, _id(call))
    return nothing()
