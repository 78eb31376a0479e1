"""Admissions, starts, expiries: answers to pauses and what became of them. Source: api.md "Routes"."""

from __future__ import annotations

from django.http import HttpResponse

from suspensions.api import long_polls, shapes
from suspensions.api.members import LIMIT, PAGED, RUN_ID, choice
from suspensions.api.requests import NEW_ADMISSION, NEW_EXPIRY, NEW_START, NEXT_START
from suspensions.api.routes import Call, answer, made, nothing, route
from suspensions.api.suspensions import first_snapshot
from suspensions.domain import limits
from suspensions.domain.errors import InputTooLarge
from suspensions.domain.policy import Role
from suspensions.domain.texts import invalid
from suspensions.domain.values import AdmissionRequest, Start
from suspensions.operations import resumes

_LIST_CODES = ("invalid_cursor", "invalid_limit")


@route(
    "Admit a peer's reply to an agent_reply pause",
    Role.BUS,
    body=NEW_ADMISSION,
    gives={201: "Admission", 200: "Admission"},
    codes=(
        "scope_mismatch",
        "resume_admission_conflict",
        "not_suspended",
        "run_conflict",
        "suspension_expired",
        "requires_approval",
        "not_agent_reply_resumable",
        "input_too_large",
        "run_lease_lost",
        "invalid_continuation",
    ),
)
def admit_resume(call: Call) -> HttpResponse:
    body = call.body
    version, lease, content = body["version"], body.get("lease"), body["input"]
    if not content:
        raise invalid("/input", "is empty")
    if len(content) > limits.MAX_INPUT_BYTES:
        raise InputTooLarge
    admission = resumes.admit_resume(
        call.caller,
        AdmissionRequest(call.scope, version, content),
        frozenset(body["reply_with"]),
        lease=lease,
        first=first_snapshot(body.get("first"), version.run_id, lease),
    )
    return made(shapes.admission(admission), fresh=admission.fresh)


@route(
    "List the exact scope's admissions, newest pause first",
    gives={200: "AdmissionPage"},
    query={**PAGED, "state": choice("admitted", "started", "expired", "closed")},
    codes=_LIST_CODES,
)
def list_admissions(call: Call) -> HttpResponse:
    query = call.query
    limit = query.get("limit", limits.DEFAULT_LIMIT)
    found = resumes.list_admissions(call.caller, call.scope, query.get("cursor"), limit, query.get("state"))
    return answer(shapes.page(found, shapes.admission_item))


@route("Read a run's latest admission", gives={200: "Admission"}, codes=("resume_admission_not_found",))
def latest_admission(call: Call) -> HttpResponse:
    return answer(shapes.admission(resumes.latest_admission(call.caller, call.scope, call.run_id)))


@route("Read a pause's admission", gives={200: "Admission"}, codes=("resume_admission_not_found",))
def get_admission(call: Call) -> HttpResponse:
    found = resumes.get_admission(call.caller, call.scope, call.run_id, call.suspension_id)
    return answer(shapes.admission(found))


@route("Read a resume's start", gives={200: "Start"}, codes=("resume_start_not_found",))
def get_start(call: Call) -> HttpResponse:
    return answer(shapes.start(resumes.get_start(call.caller, call.scope, call.run_id, call.suspension_id)))


@route("Read a resume's expiry", gives={200: "Expiry"}, codes=("resume_expiry_not_found",))
def get_expiry(call: Call) -> HttpResponse:
    return answer(shapes.expiry(resumes.get_expiry(call.caller, call.scope, call.run_id, call.suspension_id)))


@route(
    "Start an admitted resume, once; only the fresh answer carries what to execute",
    Role.AGENT,
    body=NEW_START,
    gives={201: "Start", 200: "Start"},
    codes=(
        "resume_admission_not_found",
        "resume_admission_conflict",
        "suspension_expired",
        "run_conflict",
        "run_lease_lost",
        "invalid_continuation",
    ),
)
def start_resume(call: Call) -> HttpResponse:
    body = call.body
    lease = body.get("lease")
    start = resumes.start_resume(
        call.caller,
        call.scope,
        body["run_id"],
        body["suspension_id"],
        body["request_digest"],
        lease=lease,
        first=first_snapshot(body.get("first"), body["run_id"], lease),
    )
    return made(shapes.start(start), fresh=start.fresh)


@route(
    "Start the oldest admitted resume of the exact scope, waiting for one where asked to",
    Role.AGENT,
    body=NEXT_START,
    gives={201: "Start", 200: "Start", 204: None},
    codes=(
        "resume_already_started",
        "resume_admission_conflict",
        "suspension_expired",
        "run_conflict",
        "run_lease_lost",
    ),
)
def start_next(call: Call) -> HttpResponse:
    body = call.body
    agent_name = body.get("agent_name")

    def attempt() -> Start | None:
        return resumes.start_next(
            call.caller, call.scope, body["lease"], request_id=body.get("request_id"), agent_name=agent_name
        )

    start = attempt()
    if start is None and body.get("wait"):
        waited = long_polls.wait_for_start(call.scope, agent_name, body["wait"], attempt)
        if waited is long_polls.Waited.FULL:
            return nothing(Retry_After=str(long_polls.RETRY_AFTER))
        start = waited if isinstance(waited, Start) else None
    return nothing() if start is None else made(shapes.start(start), fresh=start.fresh)


@route("List the exact scope's starts", gives={200: "StartPage"}, query=PAGED, codes=_LIST_CODES)
def list_starts(call: Call) -> HttpResponse:
    limit = call.query.get("limit", limits.DEFAULT_LIMIT)
    return answer(
        shapes.page(resumes.list_starts(call.caller, call.scope, call.query.get("cursor"), limit), shapes.start)
    )


@route("List the exact scope's expiries", gives={200: "ExpiryPage"}, query=PAGED, codes=_LIST_CODES)
def list_expiries(call: Call) -> HttpResponse:
    limit = call.query.get("limit", limits.DEFAULT_LIMIT)
    found = resumes.list_expiries(call.caller, call.scope, call.query.get("cursor"), limit)
    return answer(shapes.page(found, shapes.expiry))


@route(
    "Fail a run whose admitted resume nobody started in time",
    Role.OPERATOR,
    body=NEW_EXPIRY,
    gives={201: "Expiry", 200: "Expiry"},
    codes=(
        "resume_admission_not_found",
        "resume_admission_conflict",
        "resume_already_started",
        "run_conflict",
        "resume_not_expired",
    ),
)
def expire_resume(call: Call) -> HttpResponse:
    body = call.body
    expiry = resumes.expire_resume(
        call.caller, call.scope, body["run_id"], body["suspension_id"], body["request_digest"]
    )
    return made(shapes.expiry(expiry), fresh=expiry.fresh)


@route(
    "List runs that wait for a peer, or whose reply may still need the bus",
    Role.BUS,
    gives={200: "RunIdPage"},
    query={"after": RUN_ID, "limit": LIMIT},
    codes=("invalid_id", "invalid_limit"),
)
def list_agent_reply_runs(call: Call) -> HttpResponse:
    limit = call.query.get("limit", limits.DEFAULT_LIMIT)
    found = resumes.list_agent_reply_runs(call.caller, call.scope, call.query.get("after"), limit)
    return answer(shapes.whole_list(found, str))
