"""Pauses: making, reading, claiming, deciding. Source: api.md "Routes"."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import HttpResponse

from suspensions.api import shapes
from suspensions.api.members import FLAG, INSTANT, LIMIT, NAME, PAGED, RUN_ID, SUSPENSION_ID, choice
from suspensions.api.requests import CLAIM, DECISION, NEW_SUSPENSION
from suspensions.api.routes import Call, answer, made, nothing, route
from suspensions.api.runs import WORDS, new_run
from suspensions.domain import clock, limits
from suspensions.domain.policy import Role
from suspensions.domain.strict_json import content_digest
from suspensions.domain.texts import invalid
from suspensions.domain.values import LeaseTake, NewSuspension, Reason, Snapshot
from suspensions.operations import resumes, suspensions
from suspensions.queries import suspensions as queries

_CLAIM_CODES = (
    "not_suspended",
    "run_conflict",
    "suspension_expired",
    "requires_approval",
    "not_agent_reply_resumable",
    "run_lease_lost",
)


@route(
    "Pause a run, making it where it is missing; the same id with the same content is that pause",
    Role.AGENT,
    body=NEW_SUSPENSION,
    gives={201: "PauseAnswer", 200: "PauseAnswer"},
    codes=(
        "input_too_large",
        "invalid_continuation",
        "run_not_found",
        "already_exists",
        "invalid_state",
        "run_lease_lost",
    ),
    digests=(
        partial(content_digest, without={"lease", "/run/lease"}),
        partial(content_digest, at="/run", without={"lease"}),
    ),
)
def create_suspension(call: Call) -> HttpResponse:
    members = dict(call.body)
    run, holder = members.pop("run", None), members.pop("lease", None)
    digest, run_digest = call.digests
    if run is not None:
        run = new_run(call.scope, {**run, "id": members["run_id"]}, run_digest)
    new = NewSuspension(
        scope=call.scope,
        request_sha256=digest,
        run=run,
        holder=holder,
        **members,
    )
    suspension = suspensions.create_suspension(call.caller, new)
    return made(shapes.suspension(suspension), fresh=suspension.fresh)


@route(
    "List live pauses, newest first",
    gives={200: "SuspensionPage"},
    query={
        **PAGED,
        "reason": choice(*(str(reason) for reason in Reason)),
        "tool": NAME,
        "run_id": RUN_ID,
        "agent_name": NAME,
        "q": WORDS,
        "expires_before": INSTANT,
        "claimed": FLAG,
    },
    codes=("invalid_cursor", "invalid_limit"),
)
def list_suspensions(call: Call) -> HttpResponse:
    query = call.query
    reason = query.get("reason")
    filters = queries.Filters(
        reason=None if reason is None else Reason(reason),
        tool=query.get("tool"),
        run_id=query.get("run_id"),
        agent_name=query.get("agent_name"),
        words=query.get("q"),
        expires_before=query.get("expires_before"),
        claimed=query.get("claimed"),
    )
    limit = query.get("limit", limits.DEFAULT_LIMIT)
    return answer(
        shapes.page(queries.list_live(call.scope, query.get("cursor"), limit, filters), shapes.suspension_item)
    )


@route(
    "List pauses whose deadline had passed, earliest first",
    Role.OPERATOR,
    gives={200: "SuspensionPage"},
    query={"now": INSTANT, "limit": LIMIT},
    codes=("invalid_limit",),
)
def list_expired(call: Call) -> HttpResponse:
    now, limit = call.query.get("now") or clock.now(), call.query.get("limit", limits.DEFAULT_LIMIT)
    return answer(
        shapes.whole_list(suspensions.list_expired(call.caller, call.scope, now, limit), shapes.suspension_item)
    )


@route("Read a pause whole, live or retired", gives={200: "Suspension"}, codes=("suspension_not_found",))
def read_suspension(call: Call) -> HttpResponse:
    return answer(shapes.suspension(suspensions.read_suspension(call.caller, call.scope, call.suspension_id)))


@route("Read a run's live pause, whole", gives={200: "Suspension"}, codes=("not_suspended",))
def get_suspension(call: Call) -> HttpResponse:
    return answer(shapes.suspension(suspensions.get_suspension(call.caller, call.scope, call.run_id)))


@route(
    "Retire a pause that was fully handled",
    Role.AGENT,
    gives={204: None},
    query={"suspension_id": SUSPENSION_ID},
    codes=("not_suspended", "invalid_state"),
)
def delete_suspension(call: Call) -> HttpResponse:
    suspensions.delete_suspension(call.caller, call.scope, call.run_id, call.query.get("suspension_id"))
    return nothing()


@route(
    "Claim a pause: external-tool pauses, or with expired_by any whose deadline had passed",
    Role.AGENT,
    Role.OPERATOR,
    body=CLAIM,
    gives={200: "ClaimAnswer"},
    codes=(*_CLAIM_CODES, "invalid_continuation"),
)
def claim_suspension(call: Call) -> HttpResponse:
    body = call.body
    version, lease, first = body.get("version"), body.get("lease"), body.get("first")
    if version is not None and version.run_id != call.run_id:
        raise invalid("/version/run_id", "is not the run of the path")
    claimed = suspensions.claim_suspension(
        call.caller,
        call.scope,
        call.run_id,
        version=version,
        expired_by=body.get("expired_by"),
        lease=lease,
        first=first_snapshot(require_run_of_path(first, call.run_id), call.run_id, lease),
    )
    return answer(shapes.suspension(claimed))


def require_run_of_path(first: dict[str, Any] | None, run_id: str) -> dict[str, Any] | None:
    """The first snapshot of a request that names its run in the path. Raises: InvalidRequest."""
    if first is not None and first.get("run_id", run_id) != run_id:
        raise invalid("/first/run_id", "is not the run of the path")
    return first


def first_snapshot(members: dict[str, Any] | None, run_id: str, lease: LeaseTake | None) -> Snapshot | None:
    """The first snapshot under a lease; run id and owner come from the request where it names none itself.

    One of another run or owner is a lost lease, which the operation says in its turn.
    """
    if members is None:
        return None
    owner = "" if lease is None else lease.owner
    return snapshot(members, members.get("run_id", run_id), members.get("owner", owner))


def snapshot(members: dict[str, Any], run_id: str, owner: str) -> Snapshot:
    """The snapshot that a body holds."""
    return Snapshot(
        run_id=run_id,
        owner=owner,
        continuation=members["continuation"],
        started=members.get("started"),
        done=members.get("done"),
        ending=members.get("ending"),
    )


@route(
    "Decide every pending call of a pause: approvals by an approver, external tools by an agent too",
    Role.APPROVER,
    Role.AGENT,
    body=DECISION,
    gives={201: "Admission", 200: "Admission"},
    codes=(
        "suspension_not_found",
        "resume_admission_conflict",
        "not_suspended",
        "run_conflict",
        "suspension_expired",
        "requires_approval",
        "not_agent_reply_resumable",
        "self_approval",
        "results_mismatch",
        "arguments_changed",
        "input_too_large",
    ),
)
def decide(call: Call) -> HttpResponse:
    body = call.body
    admission = resumes.decide(call.caller, call.scope, call.suspension_id, body["run_revision"], body["decisions"])
    return made(shapes.admission(admission), fresh=admission.fresh)
