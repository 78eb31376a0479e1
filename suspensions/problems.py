"""Every refusal as RFC 9457 problem+json: one table from code to status, title and explanation, one place that renders.

Whatever answers outside of the API's views (an unknown address, a failed CSRF check, a defect) comes through here too,
so that a client meets one shape of error. Source: api.md "Answers".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse

from suspensions.domain import refusals
from suspensions.domain.errors import CortexError, Unauthenticated
from suspensions.domain.instants import format_instant
from suspensions.domain.strict_json import dumps

CONTENT_TYPE = "application/problem+json"
RETRY_AFTER = 1
"""Seconds after which a busy store is worth another try."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What one code means: its status, its title, and an explanation in paragraphs for its page."""

    status: int
    title: str
    explanation: tuple[str, ...]


# -- refusals that only HTTP knows -------------------------------------------------------------------


class CsrfFailed(CortexError):
    code = "csrf_failed"
    default_detail = "The request carries no valid CSRF token for this session."


class MethodNotAllowed(CortexError):
    """The address is there, the method is not; `allowed` goes into the Allow header."""

    code = "method_not_allowed"

    def __init__(self, method: str, allowed: tuple[str, ...]) -> None:
        self.allowed = allowed
        super().__init__(f"{method} is not possible here; {', '.join(allowed)} is.")


class NotAcceptable(CortexError):
    code = "not_acceptable"
    default_detail = "Answers are application/json, which the Accept header excludes."


class LengthRequired(CortexError):
    code = "length_required"
    default_detail = "A request body needs a Content-Length here."


class UnsupportedMediaType(CortexError):
    code = "unsupported_media_type"
    default_detail = "A request body is application/json in UTF-8."


class RateLimited(CortexError):
    """Too many requests; `retry_after` is in seconds."""

    code = "rate_limited"

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__("Too many requests; wait as long as Retry-After says.")


# -- the table ---------------------------------------------------------------------------------------

PROBLEMS: Mapping[str, Problem] = {
    "malformed_json": Problem(
        400,
        "Malformed JSON",
        (
            "The body is not strict JSON in UTF-8. Besides plain syntax, this refuses NaN and Infinity, a member name "
            "that stands twice in one object, half a surrogate pair, more than 64 levels and integers of more than "
            "4,300 digits: two programs could read each of these differently.",
            "Where the fault lies is told as a pointer in errors, or as an offset in characters.",
        ),
    ),
    "no_scope": Problem(
        400,
        "No scope",
        (
            "The request names no scope, and the caller's grants do not name one and the same. Send the header "
            "Cortex-Scope, for example: Cortex-Scope: workspace=acme/project=web.",
        ),
    ),
    "invalid_scope": Problem(
        400,
        "Invalid scope",
        (
            "A scope is one to three levels of key=value, joined by a slash. Keys are 1 to 64 letters, digits, "
            "underscores, dots and hyphens; values 1 to 128 of these and of : @ + ~.",
        ),
    ),
    "invalid_id": Problem(
        400,
        "Invalid id",
        (
            "An id is a prefix, an underscore and 26 characters: arun for runs, sus for suspensions. An id that the "
            "client chooses is a UUIDv7 at most five minutes ahead of the server's clock, and a suspension's is "
            "greater than every earlier one of its run.",
        ),
    ),
    "invalid_cursor": Problem(
        400,
        "Invalid cursor",
        (
            "The cursor does not belong to this list with this scope and these filters. Take it from the member next "
            "of the page before, and leave the filters as they were.",
        ),
    ),
    "invalid_limit": Problem(400, "Invalid limit", ("A limit is a whole number from 1 to 256.",)),
    "invalid_request": Problem(
        400,
        "Invalid request",
        (
            "The request is not of the shape that the contract says. Each fault of a body is told in errors by a "
            "pointer. A member that is not known is refused as well: a mistyped deadline must not be a missing one.",
        ),
    ),
    "unauthenticated": Problem(
        401,
        "Not signed in",
        (
            "The request carries no credentials, or none that are valid now: a token may have expired or been "
            "revoked. Send the header Authorization: Bearer followed by the token.",
        ),
    ),
    "forbidden": Problem(
        403,
        "Role missing",
        (
            "The caller holds a grant in this scope, but not for the role that this needs; the member roles names "
            "it. No role contains another.",
        ),
    ),
    "csrf_failed": Problem(
        403,
        "CSRF check failed",
        (
            "A request from a signed-in browser must prove that it comes from this site, by the header X-CSRFToken. "
            "Load the page again: signing in anew, also in another tab, changes the token.",
        ),
    ),
    "closure_denied": Problem(
        403,
        "Closure denied",
        ("The proof or the authority to close this resume was refused. An operator finds the reason in the log.",),
    ),
    "requires_approval": Problem(
        403,
        "Approval required",
        (
            "This pause is answered by a decision of a principal with the role approver, and in no other way. An "
            "agent cannot claim it, and an operator or admin without that role cannot decide it.",
        ),
    ),
    "not_agent_reply_resumable": Problem(
        403,
        "Not resumable this way",
        (
            "A pause that waits for another agent is answered by that agent's reply through the bus, which echoes "
            "every pending call's reply_with. The bus answers no other pause.",
        ),
    ),
    "self_approval": Problem(
        403,
        "Own request",
        ("The principal that created a pause cannot approve any of it, by whatever token or session. It may deny.",),
    ),
    "not_found": Problem(
        404,
        "Not found",
        ("There is nothing at this address, or no grant of the caller covers this scope.",),
    ),
    "run_not_found": Problem(404, "Run not found", ("There is no such run in this scope.",)),
    "suspension_not_found": Problem(404, "Suspension not found", ("There is no such suspension in this scope.",)),
    "resume_admission_not_found": Problem(
        404, "Admission not found", ("No answer to this pause was admitted in this scope.",)
    ),
    "resume_start_not_found": Problem(404, "Start not found", ("This resume was not started.",)),
    "resume_expiry_not_found": Problem(404, "Expiry not found", ("This resume did not expire.",)),
    "resume_closure_not_found": Problem(404, "Closure not found", ("This resume was not closed.",)),
    "progress_not_found": Problem(404, "Progress not found", ("The run has no progress snapshot in this scope.",)),
    "interaction_not_found": Problem(404, "Interaction not found", ("There is no such interaction in this scope.",)),
    "method_not_allowed": Problem(
        405,
        "Method not allowed",
        ("The address exists, but not for this method; the Allow header names those it has.",),
    ),
    "not_acceptable": Problem(
        406, "Not acceptable", ("Answers are application/json, and the request's Accept header excludes that.",)
    ),
    "not_suspended": Problem(
        409,
        "Not suspended",
        (
            "The run has no pause that could be claimed: it never paused, moved on, ended, or somebody else was "
            "faster. Read the run to see where it stands.",
        ),
    ),
    "suspension_expired": Problem(
        409,
        "Expired",
        (
            "The deadline has passed: of the pause (expires_at), or for starting its resume (start_by). Nothing was "
            "run. Ask again if it is still needed.",
        ),
    ),
    "run_conflict": Problem(
        409,
        "The run moved on",
        (
            "The request names a moment of the run that has passed: another pause, or another revision. The member "
            "run tells where it stands now.",
        ),
    ),
    "run_lease_lost": Problem(
        409,
        "Lease lost",
        (
            "The run's lease is not held by this owner and epoch: somebody took over, or the lease was given up. A "
            "worker that reads this stops at once and writes nothing more. Half a lease, or one with an empty "
            "owner, is refused the same way.",
        ),
    ),
    "run_lease_live": Problem(
        409, "Lease still live", ("A worker holds the run until its lease lapses; until then nothing closes it.",)
    ),
    "already_exists": Problem(
        409,
        "Exists already",
        (
            "A record with this id is there with other content, or the run is paused already (suspension_id names "
            "the pause). Repeat a request with exactly the content it had.",
        ),
    ),
    "invalid_state": Problem(
        409,
        "Wrong state",
        (
            "The run's state does not allow this. While an admitted answer waits for its start, only start, expire "
            "and cancel move the run.",
            "The last admin of a scope cannot be taken away at the pages either: nobody could give it back there.",
        ),
    ),
    "scope_mismatch": Problem(
        409, "Scope mismatch", ("The body names another scope than the request works in; both must be equal.",)
    ),
    "resume_admission_conflict": Problem(
        409,
        "Another answer stands",
        (
            "This pause was admitted with another answer, or what is stored is not what was admitted. The member "
            "admission tells whose answer it is and when it came.",
        ),
    ),
    "resume_already_started": Problem(
        409,
        "Already started",
        (
            "Execution was granted and may have begun. Nobody may start it again; what became of it is read from the "
            "run, or settled by closing it with proof.",
        ),
    ),
    "resume_not_expired": Problem(
        409, "Not expired yet", ("The resume may still be started; only later can it expire.",)
    ),
    "resume_closure_conflict": Problem(
        409,
        "Closure conflict",
        (
            "The closure does not match the run's latest admission and its start, another closure stands, or the "
            "proof's reference was used for another proof.",
        ),
    ),
    "proof_expired": Problem(
        409,
        "Proof out of time",
        (
            "A proof must be observed after the start and not in the future, be valid now, and be valid for at most "
            "24 hours from its observation.",
        ),
    ),
    "arguments_changed": Problem(
        409,
        "Arguments changed",
        (
            "The decision was made on other arguments than the stored ones. Nothing was admitted. Look at the calls "
            "again and decide on what stands there.",
        ),
    ),
    "interaction_conflict": Problem(
        409, "Interaction conflict", ("The interaction is there with other content, or with another answer.",)
    ),
    "interaction_resolved": Problem(
        409, "Interaction resolved", ("The question was settled; it takes no answer and resumes nothing any more.",)
    ),
    "length_required": Problem(
        411, "Length required", ("The server cannot tell where this body ends. Send a Content-Length.",)
    ),
    "input_too_large": Problem(413, "Input too large", ("An input has 1 to 8,388,608 bytes as decoded.",)),
    "body_too_large": Problem(413, "Body too large", ("A request body has at most 32 MiB (33,554,432 bytes).",)),
    "unsupported_media_type": Problem(
        415, "Unsupported media type", ("A request body is application/json, in UTF-8 and nothing else.",)
    ),
    "invalid_continuation": Problem(
        422,
        "Invalid continuation",
        (
            "A member of the continuation has the wrong type; errors points at each. Unknown members are kept, known "
            "ones must be of their type, because a half-restored run is found out several steps later.",
        ),
    ),
    "results_mismatch": Problem(
        422,
        "Results do not match",
        (
            "A decision answers every pending call of the pause exactly once, by its id: none missing, none extra, "
            "none twice. Approvals take approve or deny; external tools take content or error.",
        ),
    ),
    "not_singleton_suspension": Problem(
        422,
        "Not the only tool use",
        (
            "The tool use that asks must be the only one of its assistant message, and be the one that tool_use_id "
            "names; a sibling would be lost or executed twice. The member count says how many there were.",
        ),
    ),
    "tool_result_mismatch": Problem(
        422, "Result does not match", ("The result must be a tool_result block for exactly this tool use.",)
    ),
    "rate_limited": Problem(
        429, "Too many requests", ("This caller sent more requests than the site allows. Wait as Retry-After says.",)
    ),
    "internal_error": Problem(
        500,
        "Internal error",
        (
            "The server failed; this is a defect, not something that a client did. The log has more under the "
            "request's id. Whether something was written is found out by repeating the identical request.",
        ),
    ),
    "store_busy": Problem(
        503, "Store busy", ("The store could not be reached or was busy; nothing was written. Try again shortly.",)
    ),
    "commit_unknown": Problem(
        503,
        "Commit unknown",
        (
            "The connection was lost while committing, so that the server cannot know what became of it. Repeat the "
            "identical request: it finds the record if there is one.",
        ),
    ),
    "closure_timeout": Problem(
        503, "Closure timed out", ("The closure took longer than 30 seconds, so nothing was written.",)
    ),
}


# -- rendering ---------------------------------------------------------------------------------------


def problem_document(error: CortexError, *, instance: str, request_id: str) -> dict[str, Any]:
    """The refusal as the members of a problem document; it counts as told."""
    refusals.count(error)
    problem = PROBLEMS[error.code]
    document: dict[str, Any] = {
        "type": f"/problems/{error.code}",
        "title": problem.title,
        "status": problem.status,
        "detail": error.detail,
        "instance": instance,
        "code": error.code,
        "errors": [{"pointer": fault.pointer, "detail": fault.detail} for fault in error.faults],
        "request_id": request_id,
    }
    return document | {name: _plain(value) for name, value in error.members().items()}


def problem_response(request: HttpRequest, error: CortexError) -> HttpResponse:
    """The refusal as an answer, with the headers that go with it."""
    document = problem_document(error, instance=request.path, request_id=request.META.get("HTTP_X_REQUEST_ID", ""))
    response = HttpResponse(dumps(document), status=document["status"], content_type=CONTENT_TYPE)
    response.headers["Cache-Control"] = "no-store"
    if isinstance(error, Unauthenticated):
        response.headers["WWW-Authenticate"] = "Bearer"
    elif isinstance(error, MethodNotAllowed):
        response.headers["Allow"] = ", ".join(error.allowed)
    elif isinstance(error, RateLimited):
        response.headers["Retry-After"] = str(error.retry_after)
    elif document["status"] == 503:
        response.headers["Retry-After"] = str(RETRY_AFTER)
    return response


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, Mapping):
        return {name: _plain(member) for name, member in value.items()}
    return value
