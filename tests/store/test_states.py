"""Every action in every situation of a run: what it does there, or how it is refused.

Source: store.md section 1 and the table of section 3. The expectations are the contract's, written down by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import CortexError
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import ClaimVersion, Holder, Reason, Run
from suspensions.operations import leases, progress, resumes, runs, suspensions
from suspensions.operations.site import start_window
from suspensions.operations.transactions import in_transaction
from suspensions.store import admissions, closures, expiries, starts
from tests.store import situations
from tests.store.rows import one_row
from tests.store.situations import SITUATIONS, Made, Situation, closing, name_of, take
from tests.store.support import (
    ACTOR,
    HOUR,
    AnyAnswer,
    at,
    claim,
    everything,
    holder_or_nobody,
    live_of,
    read_run,
    this_moment,
)
from tests.support.builders import admit as answer
from tests.support.builders import caller, fresh_scope, make_pause, make_run, new_run, new_suspension, snapshot
from tests.support.builders import start as start_of

STRANGER = Holder("worker-1", 1)
"""Who acts where nobody ever held the run."""


# -- the actions -------------------------------------------------------------------------------------


def pause(made: Made) -> Any:
    new = new_suspension(made.scope, made.run_id, holder=holder_or_nobody(made.run))
    return suspensions.create_suspension(caller(made.scope), new)


def plain_claim(made: Made) -> Any:
    return claim(made.scope, made.run_id)


def pinned_claim(made: Made) -> Any:
    return claim(made.scope, made.run_id, version=made.version)


def leased_claim(made: Made) -> Any:
    return claim(made.scope, made.run_id, version=made.version, lease=take())


def expired_claim(made: Made) -> Any:
    return claim(made.scope, made.run_id, expired_by=this_moment())


def claim_continuation(made: Made) -> Any:
    return leases.claim_continuation(caller(made.scope), made.scope, made.run_id, take())


def delete(made: Made) -> Any:
    return suspensions.delete_suspension(caller(made.scope), made.scope, made.run_id)


def renew(made: Made) -> Any:
    return leases.renew_lease(
        caller(made.scope), made.scope, made.run_id, made.holder or STRANGER, take("worker-1", 1800)
    )


def release(made: Made) -> Any:
    return leases.release_lease(caller(made.scope), made.scope, made.run_id, made.holder or STRANGER)


def reclaim(made: Made) -> Any:
    return leases.reclaim_lease(caller(made.scope), made.scope, made.run_id, take())


def save_progress(made: Made) -> Any:
    holder = made.holder or STRANGER
    return progress.save_progress(caller(made.scope), made.scope, snapshot(made.run_id, holder.owner), holder)


def delete_progress(made: Made) -> Any:
    return progress.delete_progress(caller(made.scope), made.scope, made.run_id, holder_or_nobody(made.run))


def finish(made: Made) -> Any:
    return runs.finish_run(
        caller(made.scope), made.scope, made.run_id, RunState.COMPLETED, holder=holder_or_nobody(made.run)
    )


def cancel(made: Made) -> Any:
    return runs.cancel_run(caller(made.scope), made.scope, made.run_id, "stop")


def _admit(made: Made, version: ClaimVersion, value: bytes) -> Any:
    return in_transaction(admissions.admit_resume, made.scope, version, AnyAnswer(value), start_window(), ACTOR)


def admit(made: Made) -> Any:
    """Another answer than the one that may have been admitted."""
    return _admit(made, made.version, b"another answer")


def admit_again(made: Made) -> Any:
    assert made.admission is not None and made.admission.input is not None
    return _admit(made, made.version, made.admission.input)


def _resume(made: Made) -> tuple[Scope, str, str, str]:
    digest = made.admission.request_digest if made.admission else "0" * 64
    return made.scope, made.run_id, made.version.suspension_id, digest


def start(made: Made) -> Any:
    return in_transaction(starts.start_resume, *_resume(made), ACTOR)


def start_next(made: Made) -> Any:
    return in_transaction(starts.start_next, made.scope, take(), ACTOR)


def expire(made: Made) -> Any:
    return in_transaction(expiries.expire_resume_admission, *_resume(made), ACTOR)


def close(made: Made) -> Any:
    """Another request than the one that may have closed the resume."""
    return in_transaction(closures.close_resume, closing(made), b"proof", ACTOR)


# -- what becomes of them ----------------------------------------------------------------------------

AS_IT_IS = "as it is"
"""It succeeds and writes nothing: there is nothing to do, or the record is there."""

_RUNNING_FREELY = ("running", "lapsed", "released", "claimed", "started", "started_and_lapsed", "running_though_closed")
_HELD = ("leased", "started_under_a_lease")
_WAITING_FOR_A_START = ("admitted", "admitted_under_a_lease", "overdue")
_WITH_A_START = ("started", "started_under_a_lease", "started_and_lapsed", "closed")
_ANSWERED = (
    *_WAITING_FOR_A_START,
    *_WITH_A_START,
    "expired",
    "cancelled_while_admitted",
    "closed_without_a_start",
    "running_though_closed",
)


def _each(names: tuple[str, ...], outcome: str) -> dict[str, str]:
    return dict.fromkeys(names, outcome)


# An action, how it is refused, and the situations in which it is not or is refused in another way. A code names the
# refusal; a state and a number say what the run is afterwards and by how much its revision grew.
EXPECTED: dict[Callable[[Made], Any], tuple[str, dict[str, str]]] = {
    pause: (
        "invalid_state",
        {
            **_each((*_RUNNING_FREELY, *_HELD), "paused +1"),
            **_each(("paused", "paused_past_its_deadline"), "already_exists"),
            **_each(("paused_without_a_live_pause", "paused_by_a_claimed_pause"), "paused +0"),
        },
    ),
    plain_claim: (
        "not_suspended",
        {"paused": "running +1", "paused_past_its_deadline": "suspension_expired"},
    ),
    pinned_claim: (
        "not_suspended",
        {"paused": "running +1", "paused_past_its_deadline": "suspension_expired"},
    ),
    leased_claim: (
        "not_suspended",
        {"paused": "running +1", "paused_past_its_deadline": "suspension_expired"},
    ),
    expired_claim: ("not_suspended", {"paused_past_its_deadline": "running +1"}),
    claim_continuation: ("invalid_state", {"incomplete": "running +1"}),
    delete: (
        "not_suspended",
        {
            **_each(("paused", "paused_past_its_deadline", *_WAITING_FOR_A_START), "invalid_state"),
            "paused_by_a_claimed_pause": "invalid_state",
            **_each(("claimed", "started", "started_under_a_lease", "started_and_lapsed"), "running +0"),
            "running_though_closed": "running +0",
        },
    ),
    renew: (
        "run_lease_lost",
        _each((*_HELD, "lapsed", "admitted_under_a_lease", "started_and_lapsed"), "running +0"),
    ),
    release: (
        "run_lease_lost",
        {
            **_each((*_HELD, "lapsed", "admitted_under_a_lease", "started_and_lapsed"), "running +0"),
            # Giving a lease up is harmless wherever it stands.
            "created_under_a_lease": "created +0",
            # The lease is gone already, and nobody took it since.
            **_each(("released", "closed"), AS_IT_IS),
        },
    ),
    reclaim: (
        "run_lease_lost",
        {
            **_each(("lapsed", "released", "started_and_lapsed"), "running +0"),
            **_each(_WAITING_FOR_A_START, "invalid_state"),
        },
    ),
    save_progress: (
        "run_lease_lost",
        {
            **_each((*_HELD, "lapsed", "started_and_lapsed"), "running +0"),
            **_each(_WAITING_FOR_A_START, "invalid_state"),
        },
    ),
    delete_progress: (AS_IT_IS, {}),
    finish: ("invalid_state", _each((*_RUNNING_FREELY, *_HELD), "completed +1")),
    cancel: (
        "invalid_state",
        {
            **_each((*_RUNNING_FREELY, "admitted", "overdue"), "cancelled +1"),
            **_each((*_HELD, "admitted_under_a_lease"), "run_lease_lost"),
            **_each(("paused", "paused_past_its_deadline"), "cancelled +2"),
            **_each(("paused_without_a_live_pause", "paused_by_a_claimed_pause"), "not_suspended"),
        },
    ),
    admit: (
        "not_suspended",
        {
            "paused": "running +1",
            "paused_past_its_deadline": "suspension_expired",
            **_each(_ANSWERED, "resume_admission_conflict"),
        },
    ),
    start: (
        "resume_admission_not_found",
        {
            **_each(("admitted", "admitted_under_a_lease"), "running +0"),
            **_each(_WITH_A_START, AS_IT_IS),
            **_each(("overdue", "expired", "running_though_closed"), "suspension_expired"),
            **_each(("cancelled_while_admitted", "closed_without_a_start"), "run_conflict"),
        },
    ),
    start_next: (AS_IT_IS, {"admitted": "running +0"}),
    expire: (
        "resume_admission_not_found",
        {
            **_each(("admitted", "admitted_under_a_lease"), "resume_not_expired"),
            "overdue": "failed +1",
            "expired": AS_IT_IS,
            **_each(_WITH_A_START, "resume_already_started"),
            **_each(("cancelled_while_admitted", "closed_without_a_start", "running_though_closed"), "run_conflict"),
        },
    ),
    close: (
        "resume_admission_not_found",
        {
            **_each((*_WAITING_FOR_A_START, "expired", "cancelled_while_admitted"), "resume_start_not_found"),
            **_each(("started", "started_and_lapsed"), "incomplete +1"),
            "started_under_a_lease": "run_lease_live",
            **_each(("closed", "closed_without_a_start", "running_though_closed"), "resume_closure_conflict"),
        },
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS, ids=name_of)
@pytest.mark.parametrize("action", EXPECTED, ids=lambda action: action.__name__)
def test_each_action_does_in_each_situation_what_the_contract_says(
    action: Callable[[Made], Any], situation: Situation
) -> None:
    refusal, others = EXPECTED[action]
    expected = others.get(name_of(situation), refusal)
    made = situation(fresh_scope())
    before, run = everything(made.scope), made.run

    outcome = _outcome(action, made)

    if expected != AS_IT_IS and " " not in expected:
        assert outcome == expected
        assert everything(made.scope) == before, "a refused operation wrote something"
        return
    assert outcome == ""
    if expected == AS_IT_IS:
        assert everything(made.scope) == before
    else:
        after = made.run
        assert f"{after.state} +{after.revision - run.revision}" == expected
        assert everything(made.scope) != before
    _require_whole(made)


def _outcome(action: Callable[[Made], Any], made: Made) -> str:
    """The code of the refusal; empty where there was none."""
    try:
        action(made)
    except CortexError as error:
        return error.code
    return ""


def _require_whole(made: Made) -> None:
    """What holds of every run, whatever was done to it."""
    run, live = made.run, live_of(made.run_id)
    assert len(live) <= 1
    if run.state not in (RunState.RUNNING, RunState.CREATED):
        assert run.lease is None
        assert run.resume is None
    if run.completed_at is None:
        assert run.state in (RunState.CREATED, RunState.RUNNING, RunState.PAUSED)
    else:
        assert run.state in (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED, RunState.INCOMPLETE)
        assert not live


@pytest.mark.parametrize("name", _ANSWERED)
def test_the_same_answer_again_is_the_record_whatever_became_of_the_run(name: str) -> None:
    made = getattr(situations, name)(fresh_scope())
    before = everything(made.scope)

    again = admit_again(made)

    assert again == made.admission
    assert not again.fresh
    assert everything(made.scope) == before


def test_the_table_names_situations_that_there_are() -> None:
    known = {name_of(situation) for situation in SITUATIONS}
    assert {name for _, others in EXPECTED.values() for name in others} <= known


# -- revisions ---------------------------------------------------------------------------------------


def test_a_run_begins_at_revision_one() -> None:
    assert situations.running(fresh_scope()).run.revision == 1


def test_a_pause_that_makes_its_run_ends_at_revision_two() -> None:
    scope = fresh_scope()
    run_id = ids.new_id(ids.RUN)
    new = new_suspension(scope, run_id, run=new_run(scope, id=run_id))

    made = suspensions.create_suspension(caller(scope), new)

    assert made.run is not None
    assert (made.run.state, made.run.revision) == (RunState.PAUSED, 2)
    assert one_row("run", id=run_id)["revision"] == 2


def test_receipts_name_the_revisions_on_either_side_of_their_transition() -> None:
    made = situations.closed(fresh_scope())
    assert made.admission is not None and made.start is not None and made.closure is not None
    assert made.admission.claimed_revision == made.admission.version.run_revision + 1 == 3
    assert made.start.version == made.admission.version
    assert made.closure.run_revision == made.closure.request.run_revision + 1 == made.run.revision == 4

    late = situations.expired(fresh_scope())
    assert late.admission is not None
    expiry = expiries.get_expiry(late.scope, late.run_id, late.version.suspension_id)
    assert expiry.run_revision == late.admission.claimed_revision + 1 == late.run.revision == 4


# -- epochs ------------------------------------------------------------------------------------------


def test_the_epoch_grows_by_one_with_every_lease_by_whatever_route_and_never_falls() -> None:
    scope = fresh_scope(2)
    who, epochs = caller(scope), []
    now = this_moment() - 10 * HOUR

    def note(run: Run | None) -> Holder:
        assert run is not None and run.lease is not None
        epochs.append(run.lease_epoch)
        assert read_run(scope, run.id).lease_epoch == run.lease_epoch
        return Holder("worker-1", run.lease_epoch)

    with at(now):
        run = make_run(scope, lease=take("worker-1", 3600))
        holder = note(run)
        make_pause(scope, run=run)
        holder = note(claim(scope, run.id, lease=take("worker-1", 3600)).claimed_run)
        pause_again = make_pause(scope, Reason.AGENT_REPLY, run=read_run(scope, run.id))
        admission = answer(pause_again, lease=take("worker-1", 60))
        note(read_run(scope, run.id))
        note(start_of(admission, lease=take("worker-1", 60)).claimed_run)
    with at(now + HOUR):
        holder = note(leases.reclaim_lease(who, scope, run.id, take("worker-1", 60))[0])
        leases.release_lease(who, scope, run.id, holder)
        assert read_run(scope, run.id).lease_epoch == holder.epoch
        holder = note(leases.reclaim_lease(who, scope, run.id, take("worker-1", 60))[0])
        runs.finish_run(who, scope, run.id, RunState.INCOMPLETE, holder=holder)
        assert read_run(scope, run.id).lease_epoch == holder.epoch
        note(leases.claim_continuation(who, scope, run.id, take("worker-1", 60)))
        last = make_pause(scope, Reason.AGENT_REPLY, run=read_run(scope, run.id))
        answer(last)
        assert read_run(scope, run.id).lease_epoch == epochs[-1], "an admission without a lease takes none"
        started = resumes.start_next(who, scope, take("worker-1", 60))
        assert started is not None
        note(started.claimed_run)

    assert epochs == [1, 2, 3, 4, 5, 6, 7, 8]
