"""Runs in the states that an operation needs, and requests as values that travel to another thread or process."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any

from suspensions.domain import clock, ids
from suspensions.domain.policy import Caller
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.strict_json import content_digest, dumps
from suspensions.domain.values import (
    Admission,
    AdmissionRequest,
    ClosureRequest,
    Holder,
    Interaction,
    NewInteraction,
    Reason,
    Run,
    Start,
    Suspension,
)
from suspensions.operations import closures, interactions, leases, progress, resumes, runs, suspensions
from tests.concurrency.outcomes import Call, FixedClock
from tests.support import builders
from tests.support.builders import caller, holder_of, make_pause, make_run, take, version_of

MINUTE = timedelta(minutes=1)

# -- runs in a state -----------------------------------------------------------------------------------


def leased_run(scope: Scope, owner: str = "worker-1") -> Run:
    return make_run(scope, lease=take(owner))


def lapsed_run(scope: Scope, owner: str = "worker-1") -> Run:
    """A running run whose lease lapsed a moment ago and was not taken over."""
    with clock.use_clock(FixedClock(clock.now() - 2 * MINUTE)):
        return make_run(scope, lease=take(owner, seconds=60))


def incomplete_run(scope: Scope) -> Run:
    run = make_run(scope)
    return runs.finish_run(caller(scope), scope, run.id, RunState.INCOMPLETE)


def claimed_pause(scope: Scope) -> Suspension:
    """A pause that was claimed: it is live still, and its run runs."""
    pause = make_pause(scope, Reason.EXTERNAL_TOOL)
    suspensions.claim_suspension(caller(scope), scope, pause.run_id)
    return pause


def admitted(scope: Scope, *, deadline: datetime | None = None, reason: Reason = Reason.AGENT_REPLY) -> Admission:
    return builders.admit(make_pause(scope, reason, expires_at=deadline))


def started(scope: Scope, owner: str = "worker-1") -> Start:
    return builders.start(admitted(scope), lease=take(owner))


def lapsed_start(scope: Scope) -> tuple[Admission, Start]:
    """A start whose worker was not heard of since: its lease has lapsed, and nobody took over."""
    with clock.use_clock(FixedClock(clock.now() - 10 * MINUTE)):
        admission = admitted(scope)
        return admission, builders.start(admission, lease=take(seconds=60))


def open_interaction(scope: Scope, interaction_id: str = "question-1", run_id: str | None = None) -> Interaction:
    saved: Interaction = save_interaction(scope, interaction_id, run_id=run_id)()
    return saved


# -- requests ------------------------------------------------------------------------------------------


def create_run(scope: Scope, by: Caller, run_id: str, agent: str = "booking") -> Call:
    return partial(runs.create_run, by, builders.new_run(scope, id=run_id, agent_name=agent))


def pause(
    scope: Scope, by: Caller, run_id: str, *, suspension_id: str | None = None, holder: Holder | None = None
) -> Call:
    new = builders.new_suspension(scope, run_id, id=suspension_id, holder=holder)
    return partial(suspensions.create_suspension, by, new)


def pause_of_new_run(scope: Scope, by: Caller, run_id: str, suspension_id: str) -> Call:
    run = builders.new_run(scope, id=run_id)
    return partial(suspensions.create_suspension, by, builders.new_suspension(scope, run_id, id=suspension_id, run=run))


def delete_pause(pause: Suspension, by: Caller) -> Call:
    return partial(suspensions.delete_suspension, by, pause.scope, pause.run_id, pause.id)


def claim(pause: Suspension, by: Caller, owner: str | None = None, **more: Any) -> Call:
    lease = None if owner is None else take(owner)
    return partial(suspensions.claim_suspension, by, pause.scope, pause.run_id, lease=lease, **more)


def admit(pause: Suspension, by: Caller, value: bytes, **more: Any) -> Call:
    request = AdmissionRequest(pause.scope, version_of(pause), value)
    reply_with = frozenset(each.reply_with or "" for each in pause.pending)
    return partial(resumes.admit_resume, by, request, reply_with, **more)


def decide(pause: Suspension, by: Caller, decision: str = "approve", note: str | None = None) -> Call:
    made = builders.approve_all(pause, decision, note)
    return partial(resumes.decide, by, pause.scope, pause.id, version_of(pause).run_revision, made)


def start(admission: Admission, by: Caller, owner: str | None = None, **more: Any) -> Call:
    version = admission.version
    lease = None if owner is None else take(owner)
    return partial(
        resumes.start_resume,
        by,
        admission.scope,
        version.run_id,
        version.suspension_id,
        admission.request_digest,
        lease=lease,
        **more,
    )


def start_next(scope: Scope, by: Caller, owner: str, request_id: str | None = None) -> Call:
    return partial(resumes.start_next, by, scope, take(owner), request_id=request_id)


def expire(admission: Admission, by: Caller) -> Call:
    version = admission.version
    return partial(
        resumes.expire_resume, by, admission.scope, version.run_id, version.suspension_id, admission.request_digest
    )


def finish(run: Run, by: Caller, outcome: RunState = RunState.COMPLETED, holder: Holder | None = None) -> Call:
    return partial(runs.finish_run, by, run.scope, run.id, outcome, output="done", holder=holder)


def cancel(scope: Scope, run_id: str, by: Caller, reason: str = "no longer needed") -> Call:
    return partial(runs.cancel_run, by, scope, run_id, reason)


def renew(run: Run, by: Caller, seconds: int = 300) -> Call:
    holder = holder_of(run)
    return partial(leases.renew_lease, by, run.scope, run.id, holder, take(holder.owner, seconds))


def release(run: Run, by: Caller) -> Call:
    return partial(leases.release_lease, by, run.scope, run.id, holder_of(run))


def reclaim(run: Run, by: Caller, owner: str) -> Call:
    return partial(leases.reclaim_lease, by, run.scope, run.id, take(owner))


def claim_continuation(run: Run, by: Caller, owner: str, **more: Any) -> Call:
    return partial(leases.claim_continuation, by, run.scope, run.id, take(owner), **more)


def save_progress(run: Run, by: Caller, step: int = 1) -> Call:
    holder = holder_of(run)
    saved = builders.snapshot(run.id, holder.owner, continuation=builders.continuation(step_index=step))
    return partial(progress.save_progress, by, run.scope, saved, holder)


def delete_progress(run: Run, by: Caller) -> Call:
    return partial(progress.delete_progress, by, run.scope, run.id, holder_of(run))


def save_interaction(
    scope: Scope, interaction_id: str, by: Caller | None = None, *, words: str = "Which one?", run_id: str | None = None
) -> Call:
    block = {"type": "tool_use", "id": "use-1", "name": "ask", "input": {"words": words}}
    assistant = dumps({"role": "assistant", "content": [block]})
    new = NewInteraction(scope, interaction_id, "use-1", assistant, run_id=run_id, tool_name="ask")
    return partial(interactions.save_interaction, by or caller(scope), new, content_digest(assistant))


def _result(words: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "use-1", "content": words}


def answer_interaction(interaction: Interaction, by: Caller, words: str = "the first") -> Call:
    return partial(interactions.answer_interaction, by, interaction.scope, interaction.interaction_id, _result(words))


def resolve_interaction(interaction: Interaction, by: Caller, words: str = "the first") -> Call:
    return partial(interactions.resolve_interaction, by, interaction.scope, interaction.interaction_id, _result(words))


def mark_resolved(interaction: Interaction, by: Caller) -> Call:
    return partial(interactions.mark_resolved, by, interaction.scope, interaction.interaction_id)


def close(admission: Admission, begun: Start, by: Caller, proof: bytes = b"proof") -> Call:
    """Close an uncertain start; the ports that the tests set let everything through."""
    now = clock.now()
    request = ClosureRequest(
        schema_version=1,
        scope=admission.scope,
        version=admission.version,
        admission_digest=admission.request_digest,
        start_digest=begun.digest,
        run_revision=admission.claimed_revision,
        actor=by.principal,
        issuer="ledger",
        issuer_revision="1",
        proof_ref=ids.new_id(ids.PROOF),
        proof_digest=sha256(proof).hexdigest(),
        observed_at=now,
        expires_at=now + 60 * MINUTE,
    )
    return partial(closures.close_resume, by, request, proof)
