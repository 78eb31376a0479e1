"""The bodies of the API's requests, each declared once. Source: api.md "Routes" and "Leases in bodies"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suspensions.api.members import (
    BYTES,
    CONTENT,
    INSTANT,
    KEPT,
    NAME,
    OBJECT,
    OWNER,
    RUN_ID,
    SCOPE,
    SECONDS,
    SHA256,
    SUSPENSION_ID,
    TEXTS,
    Member,
    Shape,
    as_is,
    choice,
    free_or_type_id,
    identifier,
    nested,
    reference,
    text,
    type_id,
    whole,
)
from suspensions.domain import ids, limits
from suspensions.domain.continuations import read_continuation
from suspensions.domain.decisions import read_decisions
from suspensions.domain.interactions import require_interaction_id
from suspensions.domain.pending import read_calls, read_ending, read_pending, read_results
from suspensions.domain.states import OUTCOMES
from suspensions.domain.texts import invalid
from suspensions.domain.values import ClaimVersion, Holder, LeaseTake, Reason

# -- leases ------------------------------------------------------------------------------------------


def take_of(members: dict[str, Any], pointer: str = "") -> LeaseTake:
    """The lease to take. Half of one is a lost lease, which the operation says in its turn."""
    if "seconds" in members and "expires_at" in members:
        raise invalid(pointer, "has both expires_at and seconds")
    return LeaseTake(members.get("owner", ""), members.get("expires_at"), members.get("seconds"))


def holder_of(members: dict[str, Any], pointer: str = "") -> Holder:
    """The holder of a lease. Half of one never matches any."""
    return Holder(members.get("owner", ""), members.get("epoch", -1))


_SECONDS = whole(1, 3600).told("Seconds from now by the server's clock.")
_EPOCH = whole(0).told("The epoch that the taking of the lease answered.")
_TAKE_MEMBERS = {"owner": OWNER, "expires_at": INSTANT, "seconds": _SECONDS}

LEASE_TAKE = Shape(
    "LeaseTake",
    _TAKE_MEMBERS,
    take_of,
    "A lease to take: an owner, and either expires_at or seconds, 1 to 3600 seconds ahead by the server's clock.",
)
HOLDER = Shape("Holder", {"owner": OWNER, "epoch": _EPOCH}, holder_of, "Who holds the lease: owner and epoch.")
CONTINUATION = Member(read_continuation, reference("Continuation"))
_CALLS = Member(read_calls, {"type": "array", "items": reference("PendingCallIn"), "maxItems": limits.MAX_CALLS})
_RESULTS = Member(read_results, {"type": "array", "items": reference("CallResult")})
_ENDING = Member(read_ending, reference("Ending"))
_SNAPSHOT = {"continuation": CONTINUATION.must(), "started": _CALLS, "done": _RESULTS, "ending": _ENDING}

FIRST = Shape(
    "FirstSnapshot",
    {"run_id": RUN_ID, "owner": OWNER, **_SNAPSHOT},
    description="The first progress snapshot under the lease that is taken; run id and owner come from path and lease.",
)
RENEWAL = Shape("LeaseRenewal", {"owner": OWNER, "epoch": _EPOCH, "expires_at": INSTANT, "seconds": _SECONDS})
RECLAIM = Shape("LeaseReclaim", _TAKE_MEMBERS, take_of)
PROGRESS = Shape("ProgressSave", {"owner": OWNER, "epoch": _EPOCH, **_SNAPSHOT})

# -- runs --------------------------------------------------------------------------------------------

_NEW_RUN = {
    "id": RUN_ID.told("Send one: the same id with the same content is the same run, so that a retry is safe."),
    "agent_id": type_id(ids.AGENT),
    "agent_name": NAME,
    "session_id": type_id(ids.SESSION),
    "input": CONTENT,
    "metadata": OBJECT,
    "persona_ref": text(limits.MAX_NAME),
    "lease": nested(LEASE_TAKE),
}
NEW_RUN = Shape(
    "NewRun",
    _NEW_RUN,
    example={
        "id": "arun_01kb9x6q3hf5trm0c8zv2w4yej",
        "agent_name": "care-desk",
        "input": "Please cancel my booking.",
        "metadata": {"ticket": 4711},
        "lease": {"owner": "worker-1", "seconds": 60},
    },
)
FINISH = Shape(
    "Finish",
    {
        "outcome": choice(*(str(outcome) for outcome in OUTCOMES)).must(),
        "output": CONTENT,
        "error": CONTENT,
        "lease": nested(HOLDER),
    },
    example={"outcome": "completed", "output": "Cancelled.", "lease": {"owner": "worker-1", "epoch": 2}},
)
CANCEL = Shape(
    "Cancel",
    {"reason": text(limits.MAX_NOTE).must(), "lease": nested(HOLDER)},
    example={"reason": "The customer called it off."},
)

# -- pauses ------------------------------------------------------------------------------------------


def _new_suspension(members: dict[str, Any], pointer: str) -> dict[str, Any]:
    reason = Reason(members["reason"])
    run = members.get("run")
    if run is not None and run.get("id", members["run_id"]) != members["run_id"]:
        raise invalid("/run/id", "is not the run_id of the pause")
    return {**members, "reason": reason, "pending": read_pending(members["pending"], reason)}


NEW_SUSPENSION = Shape(
    "NewSuspension",
    {
        "id": SUSPENSION_ID.told("Send one: the same id with the same content is the same pause."),
        "run_id": RUN_ID.must(),
        "run": nested(NEW_RUN).told("As for POST /runs; makes the run where it is missing."),
        "reason": choice(*(str(reason) for reason in Reason)).must(),
        "pending": as_is(
            {"type": "array", "items": reference("PendingCallIn"), "minItems": 1, "maxItems": limits.MAX_CALLS}
        ).must(),
        "continuation": CONTINUATION.must(),
        "expires_at": INSTANT,
        "lease": nested(HOLDER),
    },
    _new_suspension,
    example={
        "id": "sus_01kb9x6vb2exrsf7dx5a9t1g4k",
        "run_id": "arun_01kb9x6q3hf5trm0c8zv2w4yej",
        "reason": "approval",
        "pending": [
            {
                "id": "call_8f1",
                "name": "cancel_reservation",
                "arguments": '{"reservation_id": "ZFA04Y"}',
                "note": "Cancelling cannot be undone.",
            }
        ],
        "continuation": {"messages": [{"role": "user", "content": "Please cancel my booking."}]},
        "expires_at": "2031-05-01T12:00:00Z",
        "lease": {"owner": "worker-1", "epoch": 1},
    },
)
VERSION = Shape(
    "ClaimVersion",
    {
        "run_id": RUN_ID.must(),
        "suspension_id": SUSPENSION_ID.must(),
        "run_revision": whole(1).must(),
    },
    lambda members, pointer: ClaimVersion(**members),
    "The pause and the run revision that the caller read before.",
)
CLAIM = Shape(
    "Claim",
    {
        "version": nested(VERSION),
        "expired_by": INSTANT.told("Claim only a pause whose deadline had passed by then; needs the role operator."),
        "lease": nested(LEASE_TAKE),
        "first": nested(FIRST),
    },
    example={"lease": {"owner": "worker-1", "seconds": 60}},
    may_be_left_out=True,
)
CLAIM_CONTINUATION = Shape(
    "ContinuationClaim",
    {"lease": nested(LEASE_TAKE).must(), "first": nested(FIRST)},
)

# -- resumes -----------------------------------------------------------------------------------------

DECISION = Shape(
    "Decision",
    {
        "run_revision": whole(1).must(),
        "decisions": Member(
            read_decisions,
            {"type": "array", "items": reference("CallDecision"), "minItems": 1, "maxItems": limits.MAX_CALLS},
            required=True,
        ),
    },
    example={
        "run_revision": 2,
        "decisions": [
            {
                "call_id": "call_8f1",
                "decision": "approve",
                "note": "Asked for by phone.",
                "arguments_sha256": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
            }
        ],
    },
)
NEW_ADMISSION = Shape(
    "NewAdmission",
    {
        "scope": SCOPE.must(),
        "version": nested(VERSION).must(),
        "input": BYTES.told("The peer's reply, 1 to 8,388,608 bytes as decoded.").must(),
        "reply_with": TEXTS.must(),
        "lease": nested(LEASE_TAKE),
        "first": nested(FIRST),
    },
)
_RESUME = {"run_id": RUN_ID.must(), "suspension_id": SUSPENSION_ID.must(), "request_digest": SHA256.must()}
NEW_START = Shape("NewStart", {**_RESUME, "lease": nested(LEASE_TAKE), "first": nested(FIRST)})
NEXT_START = Shape(
    "NextStart",
    {
        "lease": nested(LEASE_TAKE).must(),
        "request_id": identifier().told("Of the caller's own making: a repeat gets the same start again."),
        "agent_name": NAME,
        "wait": SECONDS.told("Seconds to wait for one, up to 30; more counts as 30."),
    },
    example={"lease": {"owner": "worker-1", "seconds": 60}, "request_id": "take-0001", "wait": 25},
)
NEW_EXPIRY = Shape("NewExpiry", _RESUME)
_CLOSURE_REQUEST = {
    "schema_version": whole(1, 1).must(),
    "scope": SCOPE.must(),
    "version": nested(VERSION).must(),
    "admission_digest": SHA256.must(),
    "start_digest": SHA256.must(),
    "run_revision": whole(1).must(),
    "actor": identifier().must(),
    "issuer": identifier().must(),
    "issuer_revision": identifier().must(),
    "proof_ref": free_or_type_id(ids.PROOF).must(),
    "proof_digest": SHA256.must(),
    "observed_at": INSTANT.must(),
    "expires_at": INSTANT.must(),
}
CLOSURE_REQUEST = Shape("ClosureRequest", _CLOSURE_REQUEST)
NEW_CLOSURE = Shape(
    "NewClosure", {**_CLOSURE_REQUEST, "proof": text(1 << 20, 1).told("The proof, a JWS in compact form.").must()}
)
VERIFY = Shape(
    "ReceiptReference",
    {
        "kind": choice("admission", "start", "expiry", "closure").must(),
        "run_id": RUN_ID.must(),
        "suspension_id": SUSPENSION_ID.must(),
    },
)

# -- interactions ------------------------------------------------------------------------------------

INTERACTION_ID = Member(
    require_interaction_id,
    {"type": "string", "minLength": 1, "maxLength": limits.MAX_CALL_ID, "pattern": "^[^/\\u0000-\\u001f]+$"},
)


def _messages(value: Any, pointer: str) -> bytes:
    if not isinstance(value, list):
        raise invalid(pointer, "must be a list of messages")
    return bytes(KEPT.read(value, pointer))


_BLOCK = {"type": "object", "description": "A tool_result block, kept whole."}
NEW_INTERACTION = Shape(
    "NewInteraction",
    {
        "interaction_id": INTERACTION_ID.must(),
        "session_id": free_or_type_id(ids.SESSION),
        "run_id": RUN_ID,
        "tool_use_id": identifier().must(),
        "tool_name": NAME,
        "tool_input": KEPT,
        "assistant": OBJECT.must(),
        "messages": Member(_messages, {"type": "array", "items": {}}),
    },
)


def _block(value: Any, pointer: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise invalid(pointer, "must be a block")
    return value


ANSWER = Shape("InteractionAnswer", {"result": as_is(_BLOCK).must()})
RESULT = Shape("InteractionResult", {"result": as_is(_BLOCK)}, may_be_left_out=True)
SETTLED = Shape("InteractionSettled", {"result": Member(_block, _BLOCK)}, may_be_left_out=True)


PATH_IDS: Mapping[str, Member] = {
    "run_id": RUN_ID,
    "suspension_id": SUSPENSION_ID,
    "interaction_id": INTERACTION_ID,
}
"""The ids that stand in addresses."""

SHAPES = (
    LEASE_TAKE,
    HOLDER,
    FIRST,
    RENEWAL,
    RECLAIM,
    PROGRESS,
    NEW_RUN,
    FINISH,
    CANCEL,
    NEW_SUSPENSION,
    VERSION,
    CLAIM,
    CLAIM_CONTINUATION,
    DECISION,
    NEW_ADMISSION,
    NEW_START,
    NEXT_START,
    NEW_EXPIRY,
    CLOSURE_REQUEST,
    NEW_CLOSURE,
    VERIFY,
    NEW_INTERACTION,
    ANSWER,
    RESULT,
    SETTLED,
)
