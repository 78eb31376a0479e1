"""Uncertain resumes, closing them with proof, and verifying receipts. Source: api.md "Routes"."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpResponse

from suspensions.api import shapes
from suspensions.api.members import PAGED
from suspensions.api.requests import CLOSURE_REQUEST, NEW_CLOSURE, VERIFY
from suspensions.api.routes import Call, answer, made, route
from suspensions.domain import clock, limits
from suspensions.domain.policy import Role
from suspensions.domain.values import ClosureRequest
from suspensions.operations import closures, receipts
from suspensions.queries import uncertain


def _request(members: dict[str, Any]) -> ClosureRequest:
    return ClosureRequest(**{name: value for name, value in members.items() if name != "proof"})


@route(
    "List started resumes of which nothing was heard",
    Role.OPERATOR,
    gives={200: "UncertainResumePage"},
    query=PAGED,
    codes=("invalid_cursor", "invalid_limit"),
)
def list_uncertain(call: Call) -> HttpResponse:
    limit = call.query.get("limit", limits.DEFAULT_LIMIT)
    silent_for = settings.UNCERTAIN_AFTER
    found = uncertain.list_uncertain(call.scope, call.query.get("cursor"), limit, clock.now(), silent_for)
    return answer(shapes.page(found, shapes.uncertain_resume))


@route(
    "Freeze a closure request: its structure and digest, nothing is granted",
    Role.OPERATOR,
    body=CLOSURE_REQUEST,
    gives={200: "FrozenClosure"},
    codes=("scope_mismatch",),
)
def freeze_closure(call: Call) -> HttpResponse:
    request, digest = closures.freeze_closure(call.caller, _request(call.body))
    return answer({"request": request.to_json(), "digest": digest})


@route(
    "Close an uncertain resume as incomplete, with proof",
    Role.OPERATOR,
    body=NEW_CLOSURE,
    gives={201: "Closure", 200: "Closure"},
    codes=(
        "scope_mismatch",
        "closure_denied",
        "resume_admission_not_found",
        "resume_start_not_found",
        "resume_closure_conflict",
        "run_conflict",
        "run_lease_live",
        "proof_expired",
        "closure_timeout",
    ),
)
def close_resume(call: Call) -> HttpResponse:
    closure = closures.close_resume(call.caller, _request(call.body), call.body["proof"].encode())
    return made(shapes.closure(closure), fresh=closure.fresh)


@route(
    "List the exact scope's closures",
    gives={200: "ClosurePage"},
    query=PAGED,
    codes=("invalid_cursor", "invalid_limit"),
)
def list_closures(call: Call) -> HttpResponse:
    limit = call.query.get("limit", limits.DEFAULT_LIMIT)
    found = closures.list_closures(call.caller, call.scope, call.query.get("cursor"), limit)
    return answer(shapes.page(found, shapes.closure))


@route("Read a resume's closure", gives={200: "Closure"}, codes=("resume_closure_not_found",))
def get_closure(call: Call) -> HttpResponse:
    return answer(shapes.closure(closures.get_closure(call.caller, call.scope, call.run_id, call.suspension_id)))


@route(
    "Verify a receipt: everything recomputed from what is stored",
    body=VERIFY,
    gives={200: "Verification"},
    codes=(
        "resume_admission_not_found",
        "resume_start_not_found",
        "resume_expiry_not_found",
        "resume_closure_not_found",
    ),
)
def verify_receipt(call: Call) -> HttpResponse:
    body = call.body
    checks = receipts.verify_receipt(call.caller, call.scope, body["kind"], body["run_id"], body["suspension_id"])
    return answer(shapes.verification(checks))
