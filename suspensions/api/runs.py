"""Runs: making, reading, ending. Source: api.md "Routes"."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import HttpResponse

from suspensions.api import long_polls, shapes
from suspensions.api.members import NAME, PAGED, SECONDS, choice, number_text, text, whole, whole_text
from suspensions.api.requests import CANCEL, FINISH, NEW_RUN
from suspensions.api.routes import Call, answer, made, nothing, route
from suspensions.domain import limits
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.strict_json import content_digest
from suspensions.domain.values import NewRun
from suspensions.operations import runs
from suspensions.queries import events as event_queries
from suspensions.queries import runs as queries

WORDS = text(limits.MAX_NAME, 1)


def new_run(scope: Scope, members: dict[str, Any], request_sha256: str) -> NewRun:
    """The run that a body asks for."""
    return NewRun(scope, request_sha256, **members)


@route(
    "Make a run; the same id with the same content is that run",
    Role.AGENT,
    body=NEW_RUN,
    gives={201: "Run", 200: "Run"},
    codes=("already_exists", "run_lease_lost", "input_too_large"),
    digests=(partial(content_digest, without={"lease"}),),
)
def create_run(call: Call) -> HttpResponse:
    (digest,) = call.digests
    run = runs.create_run(call.caller, new_run(call.scope, call.body, digest))
    return made(shapes.run(run), fresh=run.fresh)


@route(
    "List runs, newest first",
    gives={200: "RunPage"},
    query={**PAGED, "state": choice(*(str(state) for state in RunState)), "agent_name": NAME, "q": WORDS},
    codes=("invalid_cursor", "invalid_limit"),
)
def list_runs(call: Call) -> HttpResponse:
    query = call.query
    state = query.get("state")
    found = queries.list_runs(
        call.scope,
        query.get("cursor"),
        query.get("limit", limits.DEFAULT_LIMIT),
        state=None if state is None else RunState(state),
        agent_name=query.get("agent_name"),
        words=query.get("q"),
    )
    return answer(shapes.page(found, shapes.run_item))


@route("Read a run", gives={200: "Run"}, codes=("run_not_found",))
def get_run(call: Call) -> HttpResponse:
    return answer(shapes.run(queries.get_run(call.scope, call.run_id)))


@route(
    "List a run's events, oldest first",
    gives={200: "EventPage"},
    query=PAGED,
    codes=("run_not_found", "invalid_cursor", "invalid_limit"),
)
def list_events(call: Call) -> HttpResponse:
    limit = call.query.get("limit", limits.DEFAULT_LIMIT)
    found = event_queries.list_events(call.scope, call.run_id, call.query.get("cursor"), limit)
    return answer(shapes.page(found, shapes.event))


@route(
    "End a running run; the same again is the same run",
    Role.AGENT,
    body=FINISH,
    gives={200: "Run"},
    codes=("run_not_found", "invalid_state", "run_lease_lost", "input_too_large"),
)
def finish_run(call: Call) -> HttpResponse:
    body = call.body
    run = runs.finish_run(
        call.caller,
        call.scope,
        call.run_id,
        RunState(body["outcome"]),
        output=body.get("output", ""),
        error=body.get("error", ""),
        holder=body.get("lease"),
    )
    return answer(shapes.run(run))


@route(
    "Cancel a run: an operator, or the agent that holds its lease",
    Role.OPERATOR,
    Role.AGENT,
    body=CANCEL,
    gives={200: "Run"},
    codes=("run_not_found", "invalid_state", "not_suspended", "run_lease_lost"),
)
def cancel_run(call: Call) -> HttpResponse:
    body = call.body
    run = runs.cancel_run(call.caller, call.scope, call.run_id, body["reason"], holder=body.get("lease"))
    return answer(shapes.run(run))


@route(
    "Wait until the run's revision is beyond the given one",
    Role.AGENT,
    gives={200: "Run", 204: None},
    query={"revision": whole_text(whole(0)), "timeout": number_text(SECONDS)},
    codes=("run_not_found",),
)
def wait_for_run(call: Call) -> HttpResponse:
    revision, timeout = call.query.get("revision", 0), call.query.get("timeout", 0.0)
    if queries.revision_of(call.scope, call.run_id) > revision:
        return answer(shapes.run(queries.get_run(call.scope, call.run_id)))
    waited = long_polls.wait_for_revision(call.run_id, revision, timeout)
    if waited is long_polls.Waited.FULL:
        return nothing(Retry_After=str(long_polls.RETRY_AFTER))
    if waited is long_polls.Waited.IN_VAIN:
        return nothing()
    return answer(shapes.run(queries.get_run(call.scope, call.run_id)))
