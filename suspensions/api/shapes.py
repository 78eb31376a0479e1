"""The JSON of answers, in one place. Source: store.md section 2, api.md "Answers".

Known optional members are there with null. What only some answers carry (contents, what a fresh start hands over)
is left out of the others.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from suspensions.domain.continuations import restore_continuation
from suspensions.domain.digests import instant_or_none
from suspensions.domain.instants import format_instant
from suspensions.domain.interactions import restore
from suspensions.domain.policy import Caller
from suspensions.domain.strict_json import loads
from suspensions.domain.values import (
    Actor,
    Admission,
    Closure,
    Event,
    Expiry,
    Interaction,
    Json,
    Lease,
    Page,
    PendingCall,
    Progress,
    Run,
    Start,
    Suspension,
    SuspensionItem,
)
from suspensions.domain.verification import Check
from suspensions.queries.uncertain import UncertainResume

T = TypeVar("T")


def page(found: Page[T], shape: Callable[[T], Json]) -> Json:
    """One page of a list."""
    return {"items": [shape(item) for item in found.items], "next": found.next}


def whole_list(items: Iterable[T], shape: Callable[[T], Any]) -> Json:
    """A list that has one page."""
    return {"items": [shape(item) for item in items], "next": None}


def run(value: Run) -> Json:
    """A run whole, with its contents."""
    return {**run_item(value), "input": value.input, "output": value.output, "error": value.error}


def run_item(value: Run) -> Json:
    """A run in a list: without its contents, which lists never load."""
    return {
        "id": value.id,
        "scope": value.scope.text,
        "agent_id": value.agent_id,
        "agent_name": value.agent_name,
        "session_id": value.session_id,
        "state": str(value.state),
        "revision": value.revision,
        "step_count": value.step_count,
        "tokens_used": value.tokens_used,
        "persona_ref": value.persona_ref,
        "metadata": loads(value.metadata),
        "lease": _lease(value.lease),
        "lease_epoch": value.lease_epoch,
        "resume": None if value.resume is None else str(value.resume),
        "created_by": value.created_by.to_json(),
        "created_at": format_instant(value.created_at),
        "updated_at": format_instant(value.updated_at),
        "started_at": instant_or_none(value.started_at),
        "completed_at": instant_or_none(value.completed_at),
        "fresh": value.fresh,
    }


def suspension(value: Suspension) -> Json:
    """A pause whole; `run` in a pause's answer alone, `claimed_run` and `lease` in a claim's."""
    document = {
        **_suspension_head(value),
        "pending": [pending_call(call) for call in value.pending],
        "continuation": restore_continuation(value.continuation),
        "fresh": value.fresh,
    }
    if value.run is not None:
        document["run"] = run(value.run)
    if value.claimed_run is not None:
        document["claimed_run"] = run(value.claimed_run)
        document["lease"] = _lease(value.claimed_run.lease)
    return document


def suspension_item(value: SuspensionItem) -> Json:
    """A pause in a list: previews of its calls, and no continuation."""
    return {**_suspension_head(value), "agent_name": value.agent_name, "pending": list(value.calls)}


def _suspension_head(value: Suspension | SuspensionItem) -> Json:
    return {
        "id": value.id,
        "run_id": value.run_id,
        "scope": value.scope.text,
        "reason": str(value.reason),
        "checkpoint_id": value.checkpoint_id,
        "expires_at": instant_or_none(value.expires_at),
        "created_by": value.created_by.to_json(),
        "created_at": format_instant(value.created_at),
        "updated_at": format_instant(value.updated_at),
        "claimed_at": instant_or_none(value.claimed_at),
        "retired_at": instant_or_none(value.retired_at),
        "pending_sha256": value.pending_sha256,
        "continuation_sha256": value.continuation_sha256,
        "digest": value.digest,
    }


def pending_call(value: PendingCall) -> Json:
    return {
        "id": value.id,
        "name": value.name,
        "arguments": value.arguments,
        "arguments_sha256": value.arguments_sha256,
        "note": value.note,
        "reply_with": value.reply_with,
    }


# -- receipts ----------------------------------------------------------------------------------------


def admission(value: Admission) -> Json:
    """An admission whole, with its input."""
    document = admission_item(value)
    if value.input is not None:
        document["input"] = document["request"]["input"] = _base64(value.input)
    return document


def admission_item(value: Admission) -> Json:
    """An admission in a list: the input's digest and size, not the input."""
    return {
        "schema_version": value.schema_version,
        "request": {
            "scope": value.scope.text,
            "version": value.version.to_json(),
            "input_sha256": value.input_sha256,
            "input_bytes": value.input_bytes,
        },
        "input_sha256": value.input_sha256,
        "input_bytes": value.input_bytes,
        "request_digest": value.request_digest,
        "suspension_digest": value.suspension_digest,
        "claimed_revision": value.claimed_revision,
        "admitted_at": format_instant(value.admitted_at),
        "admitted_by": value.admitted_by.to_json(),
        "reason": str(value.reason),
        "start_by": instant_or_none(value.start_by),
        "lease_owner": value.lease_owner,
        "lease_epoch": value.lease_epoch,
        "lease": _lease(value.lease),
        **_receipt_tail(value),
    }


def start(value: Start) -> Json:
    """A start; what to execute, and the lease, in the answer that hands them over alone."""
    document = {
        "schema_version": value.schema_version,
        "version": value.version.to_json(),
        "scope": value.scope.text,
        "request_digest": value.request_digest,
        "started_at": format_instant(value.started_at),
        "started_by": value.started_by.to_json(),
        "lease_owner": value.lease_owner,
        "lease_epoch": value.lease_epoch,
        "lease": _lease(None if value.claimed_run is None else value.claimed_run.lease),
        "request_id": value.request_id,
        **_receipt_tail(value),
    }
    if value.suspension is not None and value.input is not None and value.claimed_run is not None:
        document["suspension"] = suspension(value.suspension)
        document["input"] = _base64(value.input)
        document["claimed_run"] = run(value.claimed_run)
    return document


def expiry(value: Expiry) -> Json:
    return {
        "schema_version": value.schema_version,
        "version": value.version.to_json(),
        "scope": value.scope.text,
        "request_digest": value.request_digest,
        "run_revision": value.run_revision,
        "expired_at": format_instant(value.expired_at),
        "expired_by": value.expired_by.to_json(),
        **_receipt_tail(value),
    }


def closure(value: Closure) -> Json:
    return {
        "request": value.request.to_json(),
        "request_digest": value.request_digest,
        "run_revision": value.run_revision,
        "closed_at": format_instant(value.closed_at),
        "closed_by": value.closed_by.to_json(),
        **_receipt_tail(value),
    }


def _receipt_tail(value: Admission | Start | Expiry | Closure) -> Json:
    return {
        "event_id": value.event_id,
        "digest": value.digest,
        "record_sha256": value.record_sha256,
        "fresh": value.fresh,
    }


def verification(checks: Sequence[Check]) -> Json:
    """What was compared of a receipt; it is valid where all of it holds."""
    return {
        "valid": all(check.ok for check in checks),
        "checks": [{"name": check.name, "ok": check.ok, "detail": check.detail} for check in checks],
    }


def uncertain_resume(value: UncertainResume) -> Json:
    return {
        "run_id": value.run.id,
        "suspension_id": value.start.version.suspension_id,
        "scope": value.run.scope.text,
        "started_at": format_instant(value.start.started_at),
        "lease_owner": value.lease_owner,
        "progress_at": instant_or_none(value.progress_at),
        "admission_digest": value.start.request_digest,
        "start_digest": value.start.digest,
        "run": run_item(value.run),
        "start": start(value.start),
    }


# -- events, progress, leases ------------------------------------------------------------------------


def event(value: Event) -> Json:
    return {**value.to_json(), "hash": value.hash}


def progress(value: Progress) -> Json:
    return {
        "run_id": value.run_id,
        "scope": value.scope.text,
        "owner": value.owner,
        "epoch": value.epoch,
        "continuation": restore_continuation(value.continuation),
        "started": None if value.started is None else [pending_call(call) for call in value.started],
        "done": None if value.done is None else loads(value.done),
        "ending": None if value.ending is None else {"kind": value.ending.kind, "reason": value.ending.reason},
        "updated_at": format_instant(value.updated_at),
    }


def lease_answer(value: Run, snapshot: Progress | None = None) -> Json:
    """What a change of a lease answers."""
    return {
        "lease": _lease(value.lease),
        "run": run(value),
        "progress": None if snapshot is None else progress(snapshot),
    }


# -- interactions ------------------------------------------------------------------------------------


def interaction(value: Interaction) -> Json:
    """An interaction whole, its contents as they came."""
    return {
        **interaction_item(value),
        "tool_input": _content(value.tool_input),
        "assistant": _content(value.assistant),
        "messages": _content(value.messages),
        "answer": _content(value.answer),
    }


def interaction_item(value: Interaction) -> Json:
    """An interaction in a list: none of its contents."""
    return {
        "interaction_id": value.interaction_id,
        "scope": value.scope.text,
        "session_id": value.session_id,
        "run_id": value.run_id,
        "tool_use_id": value.tool_use_id,
        "tool_name": value.tool_name,
        "content_sha256": value.content_sha256,
        "digest": value.digest,
        "created_by": value.created_by.to_json(),
        "created_at": format_instant(value.created_at),
        "answered_by": _actor(value.answered_by),
        "answered_at": instant_or_none(value.answered_at),
        "resolved": value.resolved,
        "resolved_at": instant_or_none(value.resolved_at),
        "resolved_by": _actor(value.resolved_by),
        "version": value.version,
        "fresh": value.fresh,
    }


# -- the caller --------------------------------------------------------------------------------------


def me(caller: Caller, token_expires_at: datetime | None) -> Json:
    """The caller as it stands now; `token` is null in a browser session."""
    kind, _, name = caller.via.partition(":")
    token = {"name": name, "expires_at": instant_or_none(token_expires_at)} if kind == "token" else None
    return {
        "principal": caller.principal,
        "display_name": caller.display_name,
        "via": caller.via,
        "grants": [{"scope": grant.scope.text, "role": str(grant.role)} for grant in caller.grants],
        "token": token,
    }


# -- parts -------------------------------------------------------------------------------------------


def _lease(value: Lease | None) -> Json | None:
    return None if value is None else value.to_json()


def _actor(value: Actor | None) -> Json | None:
    return None if value is None else dict(value.to_json())


def _base64(value: bytes) -> str:
    return b64encode(value).decode()


def _content(value: bytes | None) -> Any:
    return None if value is None else restore(value)
