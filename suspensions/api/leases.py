"""Progress and leases: what a worker writes while it holds a run. Source: api.md "Leases in bodies"."""

from __future__ import annotations

from django.http import HttpResponse

from suspensions.api import shapes
from suspensions.api.members import OWNER, whole, whole_text
from suspensions.api.requests import (
    CLAIM_CONTINUATION,
    HOLDER,
    PROGRESS,
    RECLAIM,
    RENEWAL,
    holder_of,
    take_of,
)
from suspensions.api.routes import Call, answer, nothing, route
from suspensions.api.suspensions import first_snapshot, require_run_of_path, snapshot
from suspensions.domain.policy import Role
from suspensions.operations import leases, progress

_LEASE_CODES = ("run_not_found", "run_lease_lost")


@route(
    "Save the run's progress snapshot, replaced whole",
    Role.AGENT,
    body=PROGRESS,
    gives={200: "Progress"},
    codes=("invalid_state", "run_lease_lost", "invalid_continuation"),
)
def save_progress(call: Call) -> HttpResponse:
    holder = holder_of(call.body)
    saved = progress.save_progress(call.caller, call.scope, snapshot(call.body, call.run_id, holder.owner), holder)
    return answer(shapes.progress(saved))


@route("Read the run's progress snapshot", gives={200: "Progress"}, codes=("progress_not_found",))
def get_progress(call: Call) -> HttpResponse:
    return answer(shapes.progress(progress.get_progress(call.caller, call.scope, call.run_id)))


@route(
    "Remove the run's progress snapshot",
    Role.AGENT,
    gives={204: None},
    query={"owner": OWNER, "epoch": whole_text(whole(0))},
    codes=("run_lease_lost",),
)
def delete_progress(call: Call) -> HttpResponse:
    holder = holder_of(dict(call.query)) if call.query else None
    progress.delete_progress(call.caller, call.scope, call.run_id, holder)
    return nothing()


@route(
    "Move the lease's end to a later instant",
    Role.AGENT,
    body=RENEWAL,
    gives={200: "LeaseAnswer"},
    codes=_LEASE_CODES,
)
def renew_lease(call: Call) -> HttpResponse:
    run = leases.renew_lease(call.caller, call.scope, call.run_id, holder_of(call.body), take_of(call.body))
    return answer(shapes.lease_answer(run))


@route("Give the lease up", Role.AGENT, body=HOLDER, gives={200: "LeaseAnswer"}, codes=_LEASE_CODES)
def release_lease(call: Call) -> HttpResponse:
    return answer(shapes.lease_answer(leases.release_lease(call.caller, call.scope, call.run_id, call.body)))


@route(
    "Take over a running run whose lease lapsed or was given up",
    Role.AGENT,
    Role.OPERATOR,
    body=RECLAIM,
    gives={200: "LeaseAnswer"},
    codes=(*_LEASE_CODES, "invalid_state"),
)
def reclaim_lease(call: Call) -> HttpResponse:
    run, found = leases.reclaim_lease(call.caller, call.scope, call.run_id, call.body)
    return answer(shapes.lease_answer(run, found))


@route(
    "Take an incomplete run up again",
    Role.AGENT,
    body=CLAIM_CONTINUATION,
    gives={200: "Run"},
    codes=(*_LEASE_CODES, "invalid_state", "invalid_continuation"),
)
def claim_continuation(call: Call) -> HttpResponse:
    lease = call.body["lease"]
    first = first_snapshot(require_run_of_path(call.body.get("first"), call.run_id), call.run_id, lease)
    return answer(shapes.run(leases.claim_continuation(call.caller, call.scope, call.run_id, lease, first)))
