"""Runs in every situation, and what a test needs to act on them.

What the product makes is made through it, at an earlier hour where a situation needs a past; what only an import can
leave behind is made by raw SQL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from suspensions.domain import ids
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import (
    Admission,
    ClaimVersion,
    Closure,
    ClosureRequest,
    Holder,
    LeaseTake,
    Reason,
    Run,
    Start,
    Suspension,
)
from suspensions.operations import resumes, runs
from suspensions.operations.transactions import in_transaction
from suspensions.store import closures, leases
from tests.store.rows import execute, insert
from tests.store.support import ACTOR, HOUR, MINUTE, at, claim, read_run, this_moment
from tests.support import builders


@dataclass(frozen=True, slots=True)
class Made:
    """A run in some situation, with what a test needs to act on it."""

    scope: Scope
    run_id: str
    holder: Holder | None = None
    """Who holds the run, or held it last."""
    pause: Suspension | None = None
    """The run's latest pause, as it was made."""
    admission: Admission | None = None
    start: Start | None = None
    closure: Closure | None = None

    @property
    def run(self) -> Run:
        """The run as it stands now."""
        return read_run(self.scope, self.run_id)

    @property
    def version(self) -> ClaimVersion:
        """The pin of the latest pause; where there never was one, of one that nobody made."""
        if self.pause is None:
            return ClaimVersion(self.run_id, ids.new_id(ids.SUSPENSION), self.run.revision)
        return builders.version_of(self.pause)


def _of(run: Run, **more: Any) -> Made:
    return Made(run.scope, run.id, **more)


def running(scope: Scope) -> Made:
    return _of(builders.make_run(scope))


def leased(scope: Scope) -> Made:
    run = builders.make_run(scope, lease=builders.take())
    return _of(run, holder=builders.holder_of(run))


def lapsed(scope: Scope) -> Made:
    """Running under a lease whose end has passed; nobody took over."""
    with at(this_moment() - HOUR):
        return leased(scope)


def released(scope: Scope) -> Made:
    """Running, leased before, and given up."""
    made = leased(scope)
    assert made.holder is not None
    in_transaction(leases.release_lease, scope, made.run_id, made.holder, ACTOR)
    return made


def paused(scope: Scope, reason: Reason = Reason.APPROVAL, **more: Any) -> Made:
    pause = builders.make_pause(scope, reason, **more)
    return Made(scope, pause.run_id, pause=pause)


def paused_past_its_deadline(scope: Scope) -> Made:
    return paused(scope, expires_at=this_moment() - MINUTE)


def claimed(scope: Scope) -> Made:
    """Running again after a plain claim; the pause stays live."""
    made = paused(scope)
    claim(scope, made.run_id)
    return made


def admitted(scope: Scope) -> Made:
    made = paused(scope)
    assert made.pause is not None
    return replace(made, admission=builders.admit(made.pause))


def admitted_under_a_lease(scope: Scope) -> Made:
    """An agent_reply pause whose admitter holds the run."""
    made = paused(scope, Reason.AGENT_REPLY)
    assert made.pause is not None
    admission = builders.admit(made.pause, lease=builders.take("bus-1"))
    return replace(made, admission=admission, holder=Holder("bus-1", 1))


def overdue(scope: Scope) -> Made:
    """Admitted in time, and never started although the time to start has passed."""
    now = this_moment()
    with at(now - 2 * HOUR):
        made = paused(scope, expires_at=now - HOUR)
        assert made.pause is not None
        return replace(made, admission=builders.admit(made.pause))


def started(scope: Scope) -> Made:
    """Started without a lease, an hour ago."""
    with at(this_moment() - HOUR):
        made = admitted(scope)
        assert made.admission is not None
        return replace(made, start=builders.start(made.admission))


def started_under_a_lease(scope: Scope) -> Made:
    made = admitted(scope)
    assert made.admission is not None
    start = builders.start(made.admission, lease=builders.take())
    return replace(made, start=start, holder=Holder("worker-1", 1))


def started_and_lapsed(scope: Scope) -> Made:
    """What an uncertain resume looks like: started, and then nothing more was heard."""
    with at(this_moment() - HOUR):
        return started_under_a_lease(scope)


def ended(scope: Scope, outcome: RunState) -> Made:
    """A run that paused and was claimed, and then ended."""
    made = claimed(scope)
    runs.finish_run(builders.caller(scope), scope, made.run_id, outcome, output="done")
    return made


def completed(scope: Scope) -> Made:
    return ended(scope, RunState.COMPLETED)


def failed(scope: Scope) -> Made:
    return ended(scope, RunState.FAILED)


def incomplete(scope: Scope) -> Made:
    return ended(scope, RunState.INCOMPLETE)


def cancelled(scope: Scope) -> Made:
    made = claimed(scope)
    runs.cancel_run(builders.caller(scope), scope, made.run_id, "not needed any more")
    return made


def cancelled_while_admitted(scope: Scope) -> Made:
    """An answer was admitted, and the run cancelled before anybody started the resume."""
    made = admitted(scope)
    runs.cancel_run(builders.caller(scope), scope, made.run_id, "not needed any more")
    return made


def expired(scope: Scope) -> Made:
    """Admitted, never started, and expired."""
    made = overdue(scope)
    assert made.admission is not None
    version = made.admission.version
    resumes.expire_resume(
        builders.caller(scope), scope, version.run_id, version.suspension_id, made.admission.request_digest
    )
    return made


def closing(made: Made, **other: Any) -> ClosureRequest:
    """A request that closes the run's uncertain resume now."""
    now = this_moment()
    members: dict[str, Any] = {
        "schema_version": 1,
        "scope": made.scope,
        "version": other.get("version") or made.version,
        "admission_digest": made.admission.request_digest if made.admission else "0" * 64,
        "start_digest": made.start.digest if made.start else "0" * 64,
        "run_revision": other.get("run_revision") or made.run.revision,
        "actor": ACTOR.principal,
        "issuer": "night-watch",
        "issuer_revision": "3",
        "proof_ref": ids.new_id(ids.PROOF),
        "proof_digest": "ab" * 32,
        "observed_at": now - MINUTE,
        "expires_at": now + HOUR,
    }
    return ClosureRequest(**(members | other))


def closed(scope: Scope) -> Made:
    """An uncertain resume that was closed with proof."""
    made = started_and_lapsed(scope)
    return replace(made, closure=in_transaction(closures.close_resume, closing(made), b"proof", ACTOR))


# What only an import can leave behind.


def created(scope: Scope) -> Made:
    """An imported run that never ran."""
    made = running(scope)
    execute("UPDATE run SET state = 'created', started_at = NULL WHERE id = %s", [made.run_id])
    return made


def created_under_a_lease(scope: Scope) -> Made:
    """An imported run that never ran, and that says that somebody holds it."""
    made = leased(scope)
    execute("UPDATE run SET state = 'created', started_at = NULL WHERE id = %s", [made.run_id])
    return made


def paused_without_a_live_pause(scope: Scope) -> Made:
    """Its deadline has passed as well: that must not make it an expired pause."""
    made = paused_past_its_deadline(scope)
    execute("UPDATE suspension SET retired_at = updated_at WHERE run_id = %s", [made.run_id])
    return made


def paused_by_a_claimed_pause(scope: Scope) -> Made:
    """A run that says to be paused while its live pause says that it was claimed."""
    made = paused(scope)
    execute("UPDATE suspension SET claimed_at = updated_at WHERE run_id = %s", [made.run_id])
    return made


def closed_without_a_start(scope: Scope) -> Made:
    """An incomplete run with an admission and a closure of it, which no start explains."""
    made = admitted(scope)
    _forget_the_admission(made)
    execute(
        "UPDATE run SET state = 'incomplete', revision = revision + 1, completed_at = updated_at WHERE id = %s",
        [made.run_id],
    )
    execute("UPDATE suspension SET retired_at = updated_at WHERE run_id = %s", [made.run_id])
    import_closure(made)
    return made


def running_though_closed(scope: Scope) -> Made:
    """The same with a run that runs on, where the time to start has passed as well."""
    made = overdue(scope)
    _forget_the_admission(made)
    import_closure(made)
    return made


def _forget_the_admission(made: Made) -> None:
    execute(
        "UPDATE run SET admission_id = NULL, resume = NULL, admitted_at = NULL, start_by = NULL WHERE id = %s",
        [made.run_id],
    )


def import_closure(made: Made) -> None:
    """The row of a closure receipt for the run's latest pause, written past the store."""
    version, now = made.version, this_moment()
    one, two, three = made.scope.prefixes
    columns = {
        "suspension_id": version.suspension_id,
        "run_id": made.run_id,
        "scope": made.scope.text,
        "scope_1": one,
        "scope_2": two,
        "scope_3": three,
        "schema_version": 1,
        "version_revision": version.run_revision,
        "admission_digest": "0" * 64,
        "start_digest": "0" * 64,
        "request_revision": version.run_revision + 1,
        "actor": "import",
        "issuer": "import",
        "issuer_revision": "1",
        "proof_ref": ids.new_id(ids.PROOF),
        "proof_digest": "0" * 64,
        "proof": b"imported",
        "observed_at": now,
        "expires_at": now,
        "request_digest": "0" * 64,
        "event_id": ids.new_id(ids.EVENT),
        "run_revision": version.run_revision + 2,
        "closed_at": now,
        "closed_by": '{"principal":"import","via":"system"}',
        "record_sha256": "0" * 64,
    }
    insert("resume_closure", columns)


Situation = Callable[[Scope], Made]

SITUATIONS: tuple[Situation, ...] = (
    created,
    created_under_a_lease,
    running,
    leased,
    lapsed,
    released,
    paused,
    paused_past_its_deadline,
    paused_without_a_live_pause,
    paused_by_a_claimed_pause,
    claimed,
    admitted,
    admitted_under_a_lease,
    overdue,
    started,
    started_under_a_lease,
    started_and_lapsed,
    completed,
    failed,
    cancelled,
    incomplete,
    expired,
    closed,
    cancelled_while_admitted,
    closed_without_a_start,
    running_though_closed,
)
"""Every state of a run, and what else about it decides."""


def name_of(situation: Situation) -> str:
    """For the names of parametrised tests."""
    return situation.__name__


def take(owner: str = "worker-2", seconds: int = 60) -> LeaseTake:
    """A lease for somebody else than who holds the run in `SITUATIONS`."""
    return builders.take(owner, seconds)


def run_at_epoch(scope: Scope, epoch: int) -> Run:
    """A running run under its so-manieth lease, by a holder of one name each time."""
    now = this_moment()
    with at(now - HOUR):
        run = builders.make_run(scope, lease=builders.take(seconds=1))
    for taken in range(1, epoch):
        with at(now - HOUR + taken * MINUTE):
            run, _ = in_transaction(leases.reclaim_lease, scope, run.id, builders.take(seconds=1), ACTOR)
    return run
