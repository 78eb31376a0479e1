"""create_run: a running run at revision 1, once for each id. Source: store.md sections 1 and 2, api.md `POST /runs`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import AlreadyExists, Forbidden, InvalidId, InvalidRequest, NotFound, RunLeaseLost
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Lease, LeaseTake
from suspensions.operations import runs
from tests.store import support
from tests.store.rows import one_row, run_chain
from tests.store.support import MINUTE, TICK, at, everything, read_run, refused, this_moment, unchanged
from tests.support.builders import caller, fresh_scope, new_run, take

MILLISECOND = timedelta(milliseconds=1)


def test_a_new_run_is_running_at_revision_one_with_what_was_given() -> None:
    scope, who = fresh_scope(), caller(fresh_scope())
    new = new_run(
        scope,
        agent_id=ids.new_id(ids.AGENT),
        agent_name="booker",
        session_id=ids.new_id(ids.SESSION),
        input="cancel my flight",
        metadata=b'{"ticket":7}',
        persona_ref="calm",
    )
    with at(this_moment()) as now:
        run = runs.create_run(caller(scope, principal=who.principal), new)

    assert run.fresh
    assert ids.require_id(run.id, ids.RUN)
    assert (run.scope, run.state, run.revision) == (scope, RunState.RUNNING, 1)
    assert (run.agent_id, run.agent_name, run.session_id) == (new.agent_id, "booker", new.session_id)
    assert (run.input, run.output, run.error) == ("cancel my flight", "", "")
    assert (run.metadata, run.persona_ref) == (b'{"ticket":7}', "calm")
    assert (run.step_count, run.tokens_used) == (0, 0)
    assert (run.lease, run.lease_epoch, run.resume) == (None, 0, None)
    assert run.created_by.to_json() == {"principal": who.principal, "via": "token:test"}
    assert run.created_at == run.updated_at == run.started_at == now
    assert run.completed_at is None
    assert read_run(scope, run.id) == run


def test_everything_but_the_scope_may_be_left_out() -> None:
    scope = fresh_scope(3)

    run = runs.create_run(caller(scope), new_run(scope))

    assert (run.agent_id, run.agent_name, run.session_id) == (None, None, None)
    assert (run.input, run.metadata, run.persona_ref) == ("", b"{}", "")
    assert read_run(scope, run.id) == run


def test_a_new_run_is_told_of_by_one_event() -> None:
    scope = fresh_scope()

    run = runs.create_run(caller(scope), new_run(scope, agent_name="booker"))

    (event,) = run_chain(run.id)
    assert (event["type"], event["revision"], event["suspension_id"]) == ("run.created", 1, None)


# -- with a lease ------------------------------------------------------------------------------------


def test_a_run_may_begin_under_a_lease_and_that_is_epoch_one() -> None:
    scope = fresh_scope()
    with at(this_moment()) as now:
        run = runs.create_run(caller(scope), new_run(scope, lease=take("worker-1", 90)))

    assert run.lease == Lease("worker-1", now + timedelta(seconds=90), 1)
    assert run.lease_epoch == 1
    assert read_run(scope, run.id).lease == run.lease


def test_a_lease_may_end_at_an_instant() -> None:
    scope = fresh_scope()
    with at(this_moment()) as now:
        run = runs.create_run(caller(scope), new_run(scope, lease=LeaseTake("worker-1", now + MINUTE)))

    assert run.lease is not None
    assert run.lease.expires_at == now + MINUTE


@pytest.mark.parametrize("half", [LeaseTake("worker-1"), LeaseTake("", seconds=60), LeaseTake("")])
def test_half_a_lease_or_an_empty_owner_is_refused(half: LeaseTake) -> None:
    scope = fresh_scope()
    with refused(RunLeaseLost, scope):
        runs.create_run(caller(scope), new_run(scope, lease=half))


@pytest.mark.parametrize("seconds", [1, 3600])
def test_a_lease_of_one_second_to_one_hour_is_taken(seconds: int) -> None:
    scope = fresh_scope()
    run = runs.create_run(caller(scope), new_run(scope, lease=take(seconds=seconds)))
    assert run.lease_epoch == 1


@pytest.mark.parametrize("seconds", [-1, 0, 3601, 86_401, 10**30, -(10**30)])
def test_a_lease_of_any_other_length_is_refused(seconds: int) -> None:
    scope = fresh_scope()
    with refused(InvalidRequest, scope):
        runs.create_run(caller(scope), new_run(scope, lease=take(seconds=seconds)))


@pytest.mark.parametrize("ahead", [timedelta(0), timedelta(seconds=1) - TICK, timedelta(hours=1) + TICK, -MINUTE])
def test_a_lease_that_ends_at_a_wrong_instant_is_refused(ahead: timedelta) -> None:
    scope = fresh_scope()
    with at(this_moment()) as now, refused(InvalidRequest, scope):
        runs.create_run(caller(scope), new_run(scope, lease=LeaseTake("worker-1", now + ahead)))


@pytest.mark.parametrize("owner", ["a\x00b", "a\nb", "a\tb", " ", "w" * 257, "a\x7fb"])
def test_an_owner_with_control_characters_or_too_many_is_refused(owner: str) -> None:
    scope = fresh_scope()
    with refused(InvalidRequest, scope):
        runs.create_run(caller(scope), new_run(scope, lease=take(owner)))


def test_a_lease_with_both_an_instant_and_seconds_is_refused() -> None:
    scope = fresh_scope()
    with at(this_moment()) as now, refused(InvalidRequest, scope):
        runs.create_run(caller(scope), new_run(scope, lease=LeaseTake("worker-1", now + MINUTE, 60)))


# -- the same again ----------------------------------------------------------------------------------


def test_the_same_id_with_the_same_content_is_that_run() -> None:
    scope = fresh_scope()
    new = new_run(scope, id=ids.new_id(ids.RUN), input="hello")
    made = runs.create_run(caller(scope), new)

    with unchanged(scope):
        again = runs.create_run(caller(scope), new)

    assert again == made
    assert not again.fresh


def test_the_lease_does_not_make_it_another_content_and_is_not_taken_again() -> None:
    scope, run_id = fresh_scope(), ids.new_id(ids.RUN)
    made = runs.create_run(caller(scope), new_run(scope, id=run_id))

    with unchanged(scope):
        again = runs.create_run(caller(scope), new_run(scope, id=run_id, lease=take("late")))
        half = runs.create_run(caller(scope), new_run(scope, id=run_id, lease=LeaseTake("")))

    assert again == half == made


def test_the_record_is_found_whatever_became_of_the_run() -> None:
    scope = fresh_scope()
    new = new_run(scope, id=ids.new_id(ids.RUN))
    runs.create_run(caller(scope), new)
    ended = runs.finish_run(caller(scope), scope, new.id or "", RunState.FAILED, error="no")

    with unchanged(scope):
        assert runs.create_run(caller(scope), new) == ended


def test_the_record_is_looked_for_before_the_id_is_judged() -> None:
    scope = fresh_scope()
    with at(this_moment()) as now:
        new = new_run(scope, id=ids.id_at(ids.RUN, now + 4 * MINUTE))
        made = runs.create_run(caller(scope), new)

    with at(now - 60 * MINUTE), unchanged(scope):
        assert runs.create_run(caller(scope), new) == made


def test_the_same_id_with_other_content_is_refused() -> None:
    scope, run_id = fresh_scope(), ids.new_id(ids.RUN)
    runs.create_run(caller(scope), new_run(scope, id=run_id, input="one"))

    with refused(AlreadyExists, scope) as refusal:
        runs.create_run(caller(scope), new_run(scope, id=run_id, input="two"))
    assert refusal.value.members() == {}


@pytest.mark.parametrize("where", ["above", "below", "beside", "elsewhere"])
def test_an_id_taken_in_another_scope_is_refused_with_the_same_words_and_shows_nothing(where: str) -> None:
    scope = fresh_scope(2)
    other = support.around(scope)[where]
    mine = new_run(scope, id=ids.new_id(ids.RUN), input="mine")
    runs.create_run(caller(scope), mine)
    with refused(AlreadyExists, scope) as own:
        runs.create_run(caller(scope), replace(mine, request_sha256="0" * 64))

    # The same content in another scope is another run.
    with refused(AlreadyExists, scope, other) as foreign:
        runs.create_run(caller(other), replace(mine, scope=other))

    assert (foreign.value.detail, foreign.value.members()) == (own.value.detail, own.value.members())


# -- chosen ids --------------------------------------------------------------------------------------


def test_a_client_may_choose_an_id_up_to_five_minutes_ahead() -> None:
    scope = fresh_scope()
    with at(this_moment().replace(microsecond=0)) as now:
        chosen = ids.id_at(ids.RUN, now + 5 * MINUTE, sequence=hash(scope.text))
        assert runs.create_run(caller(scope), new_run(scope, id=chosen)).id == chosen


@pytest.mark.parametrize(
    "chosen",
    [
        "",
        "arun_1",
        ids.id_at(ids.SUSPENSION, support.ANCIENT),
        ids.id_at(ids.RUN, support.ANCIENT).upper(),
        "arun_" + "0" * 26,
    ],
)
def test_an_id_that_is_no_run_id_of_version_7_is_refused(chosen: str) -> None:
    scope = fresh_scope()
    with refused(InvalidId, scope):
        runs.create_run(caller(scope), new_run(scope, id=chosen))


def test_an_id_further_ahead_is_refused() -> None:
    scope = fresh_scope()
    with at(this_moment().replace(microsecond=0)) as now, refused(InvalidId, scope):
        runs.create_run(caller(scope), new_run(scope, id=ids.id_at(ids.RUN, now + 5 * MINUTE + MILLISECOND)))


def test_ids_that_the_server_makes_are_increasing() -> None:
    scope = fresh_scope()
    made = [runs.create_run(caller(scope), new_run(scope)).id for _ in range(5)]
    assert made == sorted(set(made))


# -- who may -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.AGENT])
def test_only_an_agent_makes_runs(role: Role) -> None:
    scope = fresh_scope()
    with refused(Forbidden, scope):
        runs.create_run(caller(scope, role), new_run(scope))


def test_a_scope_that_is_not_granted_is_as_if_it_did_not_exist() -> None:
    scope = fresh_scope()
    with refused(NotFound, scope):
        runs.create_run(caller(fresh_scope()), new_run(scope))


def test_a_grant_above_is_enough_and_the_run_keeps_the_scope_it_was_made_in() -> None:
    scope = fresh_scope(3)
    above = Scope.parse(scope.prefixes[0])

    run = runs.create_run(caller(above), new_run(scope))

    row = one_row("run", id=run.id)
    assert [row[f"scope{cut}"] for cut in ("", "_1", "_2", "_3")] == [scope.text, *scope.prefixes]
    assert everything(scope)["run"]
