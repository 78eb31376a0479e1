"""Ids in the store: of the right kind, in order, and looked up exactly. Source: store.md section 1, "Ids"."""

from __future__ import annotations

from typing import Any

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import CortexError
from suspensions.domain.states import RunState
from suspensions.domain.values import Reason
from suspensions.operations import resumes, runs, suspensions
from tests.store import situations
from tests.store.rows import execute, rows, run_chain
from tests.store.support import MINUTE, at, claim, this_moment, unchanged
from tests.support.builders import admit, approve_all, call, caller, fresh_scope, make_pause, make_run, start


def test_every_row_of_a_life_bears_an_id_of_its_own_kind() -> None:
    made = situations.closed(fresh_scope())
    assert made.pause is not None and made.admission is not None and made.closure is not None
    ids.require_id(made.run_id, ids.RUN)
    ids.require_id(made.pause.id, ids.SUSPENSION)
    ids.require_id(made.pause.checkpoint_id, ids.CHECKPOINT)
    for event_id in (made.admission.event_id, made.closure.event_id):
        ids.require_id(event_id, ids.EVENT)
    for event in run_chain(made.run_id):
        ids.require_id(event["id"], ids.EVENT)


def test_the_events_of_a_run_are_in_the_order_of_their_ids() -> None:
    made = situations.closed(fresh_scope())
    found = [event["id"] for event in run_chain(made.run_id)]
    assert found == sorted(set(found))


def test_the_pauses_of_a_run_are_in_the_order_of_their_ids() -> None:
    made = situations.running(fresh_scope())
    made_ids = []
    for _ in range(4):
        made_ids.append(make_pause(made.scope, run=made.run).id)
        claim(made.scope, made.run_id)
    assert made_ids == sorted(set(made_ids))


def test_latest_is_the_highest_suspension_id_also_where_ids_were_chosen_ahead() -> None:
    made = situations.running(fresh_scope())
    ahead = ids.id_at(ids.SUSPENSION, this_moment() + 4 * MINUTE, sequence=hash(made.run_id))
    first = make_pause(made.scope, Reason.AGENT_REPLY, run=made.run, id=ahead)
    start(admit(first))
    second = make_pause(made.scope, Reason.AGENT_REPLY, run=made.run)
    admission = admit(second)

    assert second.id > first.id
    assert resumes.latest_admission(caller(made.scope), made.scope, made.run_id) == admission


def test_the_order_holds_where_the_servers_clock_went_back() -> None:
    made = situations.running(fresh_scope())
    now = this_moment()
    with at(now):
        first = make_pause(made.scope, run=made.run)
        claim(made.scope, made.run_id)
    with at(now - 60 * MINUTE):
        assert make_pause(made.scope, run=made.run).id > first.id


@pytest.mark.parametrize(
    "change", [str.upper, lambda text: text + " ", lambda text: text[:-1], lambda text: text + "0"]
)
def test_an_id_is_looked_up_exactly(change: Any) -> None:
    made = situations.paused(fresh_scope())
    assert made.pause is not None
    who, run_id = caller(made.scope), change(made.run_id)
    for act in (
        lambda: suspensions.get_suspension(who, made.scope, run_id),
        lambda: claim(made.scope, run_id),
        lambda: runs.finish_run(who, made.scope, run_id, RunState.FAILED),
        lambda: suspensions.read_suspension(who, made.scope, change(made.pause.id)),
    ):
        with unchanged(made.scope), pytest.raises(CortexError):
            act()


# -- a model's own call ids --------------------------------------------------------------------------


def test_a_models_call_id_may_repeat_in_a_later_response() -> None:
    made = situations.running(fresh_scope())
    for _ in range(3):
        pause = make_pause(made.scope, run=made.run, pending=(call("call-1"), call("call-2")))
        admission = resumes.decide(caller(made.scope), made.scope, pause.id, made.run.revision, approve_all(pause))
        started = start(admission)
        assert started.suspension is not None
        assert [each.id for each in started.suspension.pending] == ["call-1", "call-2"]


@pytest.mark.parametrize("call_id", ["a/b", "x" * 256, "🧩", "a b", "%2F", "..", "call:1", "é", "e\u0301"], ids=ascii)
def test_a_call_is_found_by_whatever_id_the_model_gave_it(call_id: str) -> None:
    pause = make_pause(fresh_scope(), pending=(call("first"), call(call_id)))
    admission = resumes.decide(caller(pause.scope), pause.scope, pause.id, 2, tuple(reversed(approve_all(pause))))
    assert admission.fresh


def test_two_call_ids_that_only_look_alike_are_two() -> None:
    alike = ("\u00e9", "e\u0301", "E\u0301", "a", "A", "a ")
    pause = make_pause(fresh_scope(), pending=[call(each) for each in alike])
    assert admit(pause).fresh
    assert [each.id for each in pause.pending] == list(alike)


# -- columns -----------------------------------------------------------------------------------------


def test_ids_scopes_and_names_are_compared_byte_by_byte(engine: str) -> None:
    """A database's locale must decide neither their equality nor their order."""
    scope = fresh_scope()
    names = ["b", "B", "a", "Z", "_", "é", "z", "~", "-"]
    for name in names:
        make_run(scope, agent_name=name)
    found = rows("SELECT agent_name FROM run WHERE scope = %s ORDER BY agent_name", [scope.text])
    assert [row["agent_name"] for row in found] == sorted(names, key=str.encode)
    assert execute("UPDATE run SET agent_name = 'x' WHERE scope = %s AND agent_name = 'b'", [scope.text]) == 1
    if engine == "postgresql":
        odd = rows(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
            " AND column_name IN ('id', 'run_id', 'suspension_id', 'scope', 'scope_1', 'scope_2', 'scope_3')"
            " AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'"
        )
        assert odd == []
