"""claim_suspension_version: the very pause and revision that the caller read. Source: store.md section 3."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import NotSuspended, RunConflict, SuspensionExpired
from suspensions.domain.states import RunState
from suspensions.domain.values import ClaimVersion
from suspensions.operations.transactions import in_transaction
from suspensions.store import leases
from tests.store import situations
from tests.store.situations import Made, Situation, name_of
from tests.store.support import around, claim, refused
from tests.support.builders import fresh_scope, holder_of, make_pause, make_run, take, version_of


def test_the_pinned_pause_is_claimed_and_the_revision_grows_by_one() -> None:
    made = situations.paused(fresh_scope())
    found = claim(made.scope, made.run_id, version=made.version)
    assert found.claimed_run is not None
    assert found.claimed_run.revision == made.version.run_revision + 1


@pytest.mark.parametrize("by", [-1, 1, 10**15])
def test_another_revision_is_a_conflict_that_says_where_the_run_stands(by: int) -> None:
    made = situations.paused(fresh_scope())
    with refused(RunConflict, made.scope) as refusal:
        claim(made.scope, made.run_id, version=replace(made.version, run_revision=made.version.run_revision + by))
    assert refusal.value.members() == {"run": {"state": "paused", "revision": 2}}


def test_another_pause_is_a_conflict() -> None:
    made = situations.paused(fresh_scope())
    with refused(RunConflict, made.scope):
        claim(made.scope, made.run_id, version=replace(made.version, suspension_id=ids.new_id(ids.SUSPENSION)))


def test_a_later_pause_of_the_same_run_never_satisfies_the_claim() -> None:
    made = situations.paused(fresh_scope())
    pinned = made.version
    claim(made.scope, made.run_id)
    later = make_pause(made.scope, run=made.run)

    with refused(RunConflict, made.scope) as refusal:
        claim(made.scope, made.run_id, version=pinned)
    assert refusal.value.members() == {"run": {"state": "paused", "revision": 4}}
    # Not even with the revision of now.
    with refused(RunConflict, made.scope):
        claim(made.scope, made.run_id, version=replace(pinned, run_revision=4))

    assert claim(made.scope, made.run_id, version=version_of(later)).id == later.id


def test_lease_operations_do_not_move_the_revision_that_is_pinned() -> None:
    run = make_run(fresh_scope(), lease=take())
    in_transaction(leases.renew_lease, run.scope, run.id, holder_of(run), take(seconds=600))
    pause = make_pause(run.scope, run=run)
    assert version_of(pause).run_revision == 2
    assert claim(run.scope, run.id, version=version_of(pause)).id == pause.id


# -- refusals in their order -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "situation",
    [
        situations.created,
        situations.running,
        situations.leased,
        situations.paused_without_a_live_pause,
        situations.claimed,
        situations.admitted,
        situations.started,
        situations.completed,
        situations.cancelled,
        situations.incomplete,
        situations.closed,
    ],
    ids=name_of,
)
def test_a_run_that_is_not_paused_is_not_suspended_whatever_the_claim_pins(situation: Situation) -> None:
    made = situation(fresh_scope())
    present = ClaimVersion(made.run_id, made.version.suspension_id, made.run.revision)
    for version in (made.version, present, ClaimVersion(made.run_id, ids.new_id(ids.SUSPENSION), 77)):
        with refused(NotSuspended, made.scope):
            claim(made.scope, made.run_id, version=version)


@pytest.mark.parametrize("wrong", ["suspension", "revision"])
def test_a_conflict_is_said_before_the_deadline(wrong: str) -> None:
    made = situations.paused_past_its_deadline(fresh_scope())
    other = (
        replace(made.version, suspension_id=ids.new_id(ids.SUSPENSION))
        if wrong == "suspension"
        else replace(made.version, run_revision=1)
    )
    with refused(RunConflict, made.scope):
        claim(made.scope, made.run_id, version=other)
    with refused(SuspensionExpired, made.scope):
        claim(made.scope, made.run_id, version=made.version)


@pytest.mark.parametrize("where", ["below", "beside", "elsewhere"])
def test_a_run_of_another_scope_is_not_suspended_also_where_the_pin_is_wrong(where: str) -> None:
    made = situations.paused(fresh_scope(2))
    other = around(made.scope)[where]
    for version in (made.version, replace(made.version, run_revision=9)):
        with refused(NotSuspended, made.scope, other) as refusal:
            claim(other, made.run_id, version=version)
        assert refusal.value.members() == {}


def test_a_broader_scope_claims_the_pinned_pause() -> None:
    made = situations.paused(fresh_scope(2))
    found = claim(around(made.scope)["above"], made.run_id, version=made.version)
    assert (found.scope, made.run.state) == (made.scope, RunState.RUNNING)


def test_a_missing_run_is_not_suspended() -> None:
    scope = fresh_scope()
    missing = Made(scope, ids.new_id(ids.RUN))
    with refused(NotSuspended, scope):
        claim(scope, missing.run_id, version=ClaimVersion(missing.run_id, ids.new_id(ids.SUSPENSION), 1))
