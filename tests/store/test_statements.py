"""How many statements the hot operations send, and what they leave unread, on either engine."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from suspensions.domain.errors import CortexError, NotSuspended
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Holder, Reason
from suspensions.operations import leases, progress, resumes, runs, suspensions
from suspensions.queries import queue
from suspensions.queries import runs as run_queries
from suspensions.queries import suspensions as pause_queries
from suspensions.queries.queue import Answerer, QueueFilters
from suspensions.queries.suspensions import Filters
from tests.store import situations, support
from tests.store.situations import Made, Situation, take
from tests.store.support import claim, refused, statements
from tests.support.builders import (
    admit,
    caller,
    fresh_scope,
    make_pause,
    new_run,
    new_suspension,
    snapshot,
    start,
    version_of,
)


def _asking_a_peer(scope: Scope) -> Made:
    return situations.paused(scope, Reason.AGENT_REPLY)


def _admit(made: Made, **more: Any) -> Any:
    assert made.pause is not None
    return admit(made.pause, **more)


def _start(made: Made, **more: Any) -> Any:
    assert made.admission is not None
    return start(made.admission, **more)


def _first(made: Made) -> dict[str, Any]:
    return {"lease": take("worker-1"), "first": snapshot(made.run_id)}


HOLDER = Holder("worker-1", 1)

# Each with the most that it may send, BEGIN and COMMIT among them.
BUDGETS: dict[str, tuple[int, Situation, Callable[[Made], Any]]] = {
    "admit": (7, _asking_a_peer, _admit),
    "admit leased": (7, _asking_a_peer, lambda made: _admit(made, lease=take())),
    "admit with a first snapshot": (8, _asking_a_peer, lambda made: _admit(made, **_first(made))),
    "start": (7, situations.admitted, _start),
    "start leased": (7, situations.admitted, lambda made: _start(made, lease=take())),
    "start with a first snapshot": (8, situations.admitted, lambda made: _start(made, **_first(made))),
    "create": (5, situations.running, lambda made: runs.create_run(caller(made.scope), new_run(made.scope, input="x"))),
    "pause": (
        7,
        situations.running,
        lambda made: suspensions.create_suspension(caller(made.scope), new_suspension(made.scope, made.run_id)),
    ),
    "claim": (6, situations.paused, lambda made: claim(made.scope, made.run_id)),
    "claim with a first snapshot": (7, situations.paused, lambda made: claim(made.scope, made.run_id, **_first(made))),
    "save": (
        5,
        situations.leased,
        lambda made: progress.save_progress(caller(made.scope), made.scope, snapshot(made.run_id), HOLDER),
    ),
    "renew": (
        5,
        situations.leased,
        lambda made: leases.renew_lease(caller(made.scope), made.scope, made.run_id, HOLDER, take(seconds=900)),
    ),
    "finish": (
        7,
        situations.claimed,
        lambda made: runs.finish_run(caller(made.scope), made.scope, made.run_id, RunState.COMPLETED, output="x"),
    ),
}


@pytest.mark.parametrize("name", BUDGETS)
def test_a_hot_operation_keeps_to_its_number_of_statements(name: str) -> None:
    budget, situation, act = BUDGETS[name]
    made = situation(fresh_scope())
    with statements() as sent:
        act(made)

    assert len(sent) <= budget, "\n".join(query[:200] for query in sent)
    assert sent[0].startswith("BEGIN")
    assert sent[-1] == "COMMIT"


@pytest.mark.parametrize("name", BUDGETS)
def test_on_postgresql_a_hot_operation_locks_reads_and_writes_once_each(name: str, engine: str) -> None:
    _, situation, act = BUDGETS[name]
    made = situation(fresh_scope())
    with statements() as sent:
        act(made)

    if engine == "postgresql":
        kinds = [query.split()[0] for query in sent]
        assert len(sent) <= 5
        assert kinds.count("SELECT") <= 2
        assert sum("FOR UPDATE" in query for query in sent) <= 1
    else:
        assert [query for query in sent if "FOR UPDATE" in query] == []
        assert sent[0] == "BEGIN IMMEDIATE"


# -- what is left unread -----------------------------------------------------------------------------

BODY = re.compile(r"suspension_continuation|resume_admission\.input\b(?!_)")


def test_the_loser_of_a_claim_loads_no_continuation_it_cannot_have() -> None:
    made = situations.claimed(fresh_scope())
    with statements() as sent, refused(NotSuspended, made.scope):
        claim(made.scope, made.run_id)
    (read,) = [query for query in sent if "suspension_continuation.body" in query]
    assert "suspension.claimed_at IS NULL" in read


def test_the_loser_of_an_admission_reads_no_continuation_and_no_input() -> None:
    made = situations.admitted(fresh_scope())
    assert made.pause is not None
    with statements() as sent, pytest.raises(CortexError):
        resumes.decide(caller(made.scope), made.scope, made.pause.id, version_of(made.pause).run_revision, ())
    assert not [query for query in sent if BODY.search(query)]


def test_admitting_reads_no_continuation() -> None:
    made = _asking_a_peer(fresh_scope())
    with statements() as sent:
        _admit(made)
    assert not [query for query in sent if "suspension_continuation" in query]


WHO = Answerer("somebody", support.ANCIENT, (), ())
LISTS: dict[str, Callable[[Scope], Any]] = {
    "live pauses": lambda scope: pause_queries.list_live(scope, None, 50, Filters()),
    "live pauses that were searched": lambda scope: pause_queries.list_live(
        scope, None, 50, Filters(Reason.APPROVAL, "cancel_reservation", words="cancel")
    ),
    "the queue": lambda scope: queue.list_waiting((scope,), WHO, QueueFilters(), None, 50, mine=False),
    "the queue that was searched": lambda scope: queue.list_waiting(
        (scope,), WHO, QueueFilters(tool="cancel_reservation", words="cancel"), None, 50, mine=False
    ),
    "expired pauses": lambda scope: suspensions.list_expired(caller(scope), scope, support.this_moment(), 50),
    "runs": lambda scope: run_queries.list_runs(scope, None, 50),
    "admissions": lambda scope: resumes.list_admissions(caller(scope), scope, None, 50),
    "started admissions": lambda scope: resumes.list_admissions(caller(scope), scope, None, 50, "started"),
    "starts": lambda scope: resumes.list_starts(caller(scope), scope, None, 50),
    "expiries": lambda scope: resumes.list_expiries(caller(scope), scope, None, 50),
    "agent reply runs": lambda scope: resumes.list_agent_reply_runs(caller(scope), scope, None, 50),
}
CONTENT = re.compile(r"suspension_continuation|run_content|run_result|\bbody\b|\bpending\b|\binput\b|SELECT \*|\.\*")


@pytest.mark.parametrize("name", LISTS)
def test_a_list_loads_no_continuation_no_arguments_and_no_input(name: str) -> None:
    made = situations.started(fresh_scope())
    make_pause(made.scope, expires_at=support.ANCIENT)
    with statements() as sent:
        LISTS[name](made.scope)
    assert sent
    assert not [query for query in sent if CONTENT.search(query)]
