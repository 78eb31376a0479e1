"""What answers look like, as JSON Schema: the counterpart of `suspensions.api.shapes`. Source: store.md section 2.

A test validates every answer that the suite gets against these.
"""

from __future__ import annotations

from typing import Any

from suspensions.api.members import SCOPE, SHA256, Schema, nullable, reference, type_id
from suspensions.domain import ids
from suspensions.domain.states import ResumeState, RunState
from suspensions.domain.values import EventType, Reason
from suspensions.problems import PROBLEMS

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
INSTANT: Schema = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$",
    "examples": ["2031-05-01T12:00:00.000000Z"],
}
BYTES: Schema = {"type": "string", "contentEncoding": "base64"}
ANY_OBJECT: Schema = {"type": "object", "additionalProperties": True}
RUN_ID, SUSPENSION_ID = type_id(ids.RUN).schema, type_id(ids.SUSPENSION).schema
EVENT_ID = type_id(ids.EVENT).schema
DIGEST = SHA256.schema
FRESH: Schema = {"type": "boolean", "description": "True in the answer that made the record alone; it grants nothing."}


def record(members: dict[str, Schema], optional: dict[str, Schema] | None = None, description: str = "") -> Schema:
    """An object that always has `members`, and `optional` ones in some answers."""
    return {
        "type": "object",
        **({"description": description} if description else {}),
        "properties": {**members, **(optional or {})},
        "required": list(members),
    }


def page_of(name: str) -> Schema:
    return record({"items": {"type": "array", "items": reference(name)}, "next": nullable(TEXT)})


def _list(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _words(values: Any) -> Schema:
    return {"type": "string", "enum": [str(value) for value in values]}


_RUN_ITEM: dict[str, Schema] = {
    "id": RUN_ID,
    "scope": SCOPE.schema,
    "agent_id": nullable(TEXT),
    "agent_name": nullable(TEXT),
    "session_id": nullable(TEXT),
    "state": _words(RunState),
    "revision": {"type": "integer", "minimum": 1, "description": "Grows by one with every transition."},
    "step_count": COUNT,
    "tokens_used": COUNT,
    "persona_ref": TEXT,
    "metadata": ANY_OBJECT,
    "lease": nullable(reference("Lease")),
    "lease_epoch": COUNT,
    "resume": {
        **nullable(_words(ResumeState)),
        "description": "Whether the latest admission waits for its start, or was started and has not ended.",
    },
    "created_by": reference("Actor"),
    "created_at": INSTANT,
    "updated_at": INSTANT,
    "started_at": nullable(INSTANT),
    "completed_at": nullable(INSTANT),
    "fresh": FRESH,
}
_RUN = {**_RUN_ITEM, "input": TEXT, "output": TEXT, "error": TEXT}
_SUSPENSION_HEAD: dict[str, Schema] = {
    "id": SUSPENSION_ID,
    "run_id": RUN_ID,
    "scope": SCOPE.schema,
    "reason": _words(Reason),
    "checkpoint_id": {**nullable(TEXT), "description": "For approval pauses."},
    "expires_at": nullable(INSTANT),
    "created_by": reference("Actor"),
    "created_at": INSTANT,
    "updated_at": INSTANT,
    "claimed_at": nullable(INSTANT),
    "retired_at": nullable(INSTANT),
    "pending_sha256": DIGEST,
    "continuation_sha256": DIGEST,
    "digest": DIGEST,
}
_SUSPENSION: dict[str, Schema] = {
    **_SUSPENSION_HEAD,
    "pending": _list(reference("PendingCall")),
    "continuation": reference("Continuation"),
    "fresh": FRESH,
}
_RECEIPT_TAIL: dict[str, Schema] = {
    "event_id": EVENT_ID,
    "digest": {**DIGEST, "description": "The digest that requests name."},
    "record_sha256": {**DIGEST, "description": "Over all stored members; the run's chain of events covers it."},
    "fresh": FRESH,
}
_HANDED: dict[str, Schema] = {
    "lease_owner": nullable(TEXT),
    "lease_epoch": nullable(COUNT),
    "lease": {**nullable(reference("Lease")), "description": "The lease that was taken, in the fresh answer alone."},
}
_SIZES: dict[str, Schema] = {"input_sha256": DIGEST, "input_bytes": {"type": "integer", "minimum": 1}}
_INPUT: Schema = {**BYTES, "description": "The admitted bytes; for decisions canonical JSON of every call's outcome."}


def _admission(request: str) -> dict[str, Schema]:
    return {
        "schema_version": COUNT,
        "request": reference(request),
        **_SIZES,
        "request_digest": DIGEST,
        "suspension_digest": DIGEST,
        "claimed_revision": COUNT,
        "admitted_at": INSTANT,
        "admitted_by": reference("Actor"),
        "reason": _words(Reason),
        "start_by": {**nullable(INSTANT), "description": "Until when a start is granted; null for ever."},
        **_HANDED,
        **_RECEIPT_TAIL,
    }


_REQUEST: dict[str, Schema] = {"scope": SCOPE.schema, "version": reference("ClaimVersion"), **_SIZES}
_START: dict[str, Schema] = {
    "schema_version": COUNT,
    "version": reference("ClaimVersion"),
    "scope": SCOPE.schema,
    "request_digest": DIGEST,
    "started_at": INSTANT,
    "started_by": reference("Actor"),
    **_HANDED,
    "request_id": nullable(TEXT),
    **_RECEIPT_TAIL,
}
_EXPIRY: dict[str, Schema] = {
    "schema_version": COUNT,
    "version": reference("ClaimVersion"),
    "scope": SCOPE.schema,
    "request_digest": DIGEST,
    "run_revision": COUNT,
    "expired_at": INSTANT,
    "expired_by": reference("Actor"),
    **_RECEIPT_TAIL,
}
_CLOSURE: dict[str, Schema] = {
    "request": reference("ClosureRequest"),
    "request_digest": DIGEST,
    "run_revision": COUNT,
    "closed_at": INSTANT,
    "closed_by": reference("Actor"),
    **_RECEIPT_TAIL,
}
_EVENT: dict[str, Schema] = {
    "id": EVENT_ID,
    "run_id": nullable(RUN_ID),
    "scope": SCOPE.schema,
    "type": _words(EventType),
    "at": INSTANT,
    "actor": reference("Actor"),
    "revision": nullable(COUNT),
    "suspension_id": nullable(SUSPENSION_ID),
    "data": ANY_OBJECT,
    "position": {"type": "integer", "minimum": 1},
    "previous": nullable(DIGEST),
    "record_sha256": nullable(DIGEST),
    "hash": DIGEST,
}
_PROGRESS: dict[str, Schema] = {
    "run_id": RUN_ID,
    "scope": SCOPE.schema,
    "owner": TEXT,
    "epoch": COUNT,
    "continuation": reference("Continuation"),
    "started": nullable(_list(reference("PendingCall"))),
    "done": nullable(_list(reference("CallResult"))),
    "ending": nullable(reference("Ending")),
    "updated_at": INSTANT,
}
_INTERACTION_ITEM: dict[str, Schema] = {
    "interaction_id": TEXT,
    "scope": SCOPE.schema,
    "session_id": nullable(TEXT),
    "run_id": nullable(RUN_ID),
    "tool_use_id": TEXT,
    "tool_name": nullable(TEXT),
    "content_sha256": DIGEST,
    "digest": DIGEST,
    "created_by": reference("Actor"),
    "created_at": INSTANT,
    "answered_by": nullable(reference("Actor")),
    "answered_at": nullable(INSTANT),
    "resolved": FLAG,
    "resolved_at": nullable(INSTANT),
    "resolved_by": nullable(reference("Actor")),
    "version": COUNT,
    "fresh": FRESH,
}
_CONTENT: Schema = {"description": "Kept whole, as it came; null where there is none."}
_PROBLEM: dict[str, Schema] = {
    "type": {"type": "string", "format": "uri-reference", "examples": ["/problems/run_conflict"]},
    "title": TEXT,
    "status": {"type": "integer"},
    "detail": TEXT,
    "instance": TEXT,
    "code": _words(PROBLEMS),
    "errors": _list(record({"pointer": TEXT, "detail": TEXT})),
    "request_id": TEXT,
}
_PROBLEM_MEMBERS: dict[str, Schema] = {
    "admission": {
        **record({"request_digest": DIGEST, "admitted_at": INSTANT, "admitted_by": reference("Actor")}),
        "description": "With resume_admission_conflict: whose answer stands.",
    },
    "run": {
        **record({"state": _words(RunState), "revision": COUNT}),
        "description": "With run_conflict: where the run stands now.",
    },
    "expires_at": {**nullable(INSTANT), "description": "With suspension_expired."},
    "start_by": {**INSTANT, "description": "With suspension_expired, at a start."},
    "suspension_id": {**SUSPENSION_ID, "description": "With already_exists: the pause that stands."},
    "state": {**TEXT, "description": "With not_suspended and invalid_state: the run's state."},
    "roles": {**_list(TEXT), "description": "With forbidden: the roles of which one is needed."},
    "count": {**COUNT, "description": "With not_singleton_suspension: how many tool uses there were."},
    "offset": {**COUNT, "description": "With malformed_json: where, in characters."},
}

ANSWERS: dict[str, Schema] = {
    "Actor": record({"principal": TEXT, "via": {**TEXT, "examples": ["session", "token:worker", "system"]}}),
    "Lease": record({"owner": TEXT, "expires_at": INSTANT, "epoch": COUNT}),
    "Run": record(_RUN),
    "RunItem": record(_RUN_ITEM, description="A run in a list: without input, output and error."),
    "RunPage": page_of("RunItem"),
    "RunIdPage": record({"items": _list(RUN_ID), "next": {"type": "null"}}),
    "EventPage": page_of("Event"),
    "Event": record(_EVENT),
    "Suspension": record(_SUSPENSION),
    "PauseAnswer": record({**_SUSPENSION, "run": reference("Run")}),
    "ClaimAnswer": record(
        {**_SUSPENSION, "claimed_run": reference("Run"), "lease": nullable(reference("Lease"))},
    ),
    "SuspensionItem": record(
        {**_SUSPENSION_HEAD, "agent_name": nullable(TEXT), "pending": _list(reference("PendingPreview"))},
        description="A pause in a list: previews of its calls, and no continuation.",
    ),
    "SuspensionPage": page_of("SuspensionItem"),
    "PendingPreview": record(
        {
            "id": TEXT,
            "name": TEXT,
            "note": nullable(TEXT),
            "members": _list({"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2}),
            "more": COUNT,
            "raw": nullable(TEXT),
        },
        description="A call in short: nothing may be decided from it.",
    ),
    "PendingCall": record(
        {
            "id": TEXT,
            "name": TEXT,
            "arguments": {**TEXT, "description": "The model's text, verbatim; it may not even be JSON."},
            "arguments_sha256": DIGEST,
            "note": nullable(TEXT),
            "reply_with": nullable(TEXT),
        }
    ),
    "AdmissionRequestItem": record(_REQUEST),
    "AdmissionRequest": record({**_REQUEST, "input": _INPUT}),
    "AdmissionItem": record(_admission("AdmissionRequestItem"), description="An admission in a list: without input."),
    "Admission": record({**_admission("AdmissionRequest"), "input": _INPUT}),
    "AdmissionPage": page_of("AdmissionItem"),
    "Start": record(
        _START,
        {"suspension": reference("Suspension"), "input": _INPUT, "claimed_run": reference("Run")},
        "Execution was granted, once. What to execute stands in the answer that granted it alone.",
    ),
    "StartPage": page_of("Start"),
    "Expiry": record(_EXPIRY),
    "ExpiryPage": page_of("Expiry"),
    "Closure": record(_CLOSURE),
    "ClosurePage": page_of("Closure"),
    "FrozenClosure": record({"request": reference("ClosureRequest"), "digest": DIGEST}),
    "Verification": record(
        {"valid": FLAG, "checks": _list(record({"name": TEXT, "ok": FLAG, "detail": TEXT}))},
    ),
    "UncertainResume": record(
        {
            "run_id": RUN_ID,
            "suspension_id": SUSPENSION_ID,
            "scope": SCOPE.schema,
            "started_at": INSTANT,
            "lease_owner": nullable(TEXT),
            "progress_at": nullable(INSTANT),
            "admission_digest": DIGEST,
            "start_digest": DIGEST,
            "run": reference("RunItem"),
            "start": reference("Start"),
        }
    ),
    "UncertainResumePage": page_of("UncertainResume"),
    "Progress": record(_PROGRESS),
    "LeaseAnswer": record(
        {
            "lease": nullable(reference("Lease")),
            "run": reference("Run"),
            "progress": nullable(reference("Progress")),
        }
    ),
    "Interaction": record(
        {
            **_INTERACTION_ITEM,
            "tool_input": _CONTENT,
            "assistant": _CONTENT,
            "messages": nullable({"type": "array", "items": {}}),
            "answer": _CONTENT,
        }
    ),
    "InteractionItem": record(_INTERACTION_ITEM, description="An interaction in a list: none of its contents."),
    "InteractionPage": page_of("InteractionItem"),
    "Messages": record({"messages": {"type": "array", "items": {}}}),
    "Me": record(
        {
            "principal": TEXT,
            "display_name": TEXT,
            "via": TEXT,
            "grants": _list(record({"scope": SCOPE.schema, "role": TEXT})),
            "token": nullable(record({"name": TEXT, "expires_at": nullable(INSTANT)})),
        }
    ),
    "Problem": record(_PROBLEM, _PROBLEM_MEMBERS, "Every refusal, as RFC 9457 says."),
}
