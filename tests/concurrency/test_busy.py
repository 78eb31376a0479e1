"""One database under several processes that all write at once: nobody is told that it is locked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

import pytest

from suspensions.domain.values import Reason
from tests.concurrency import children, requests
from tests.concurrency.consistency import require_consistent
from tests.concurrency.outcomes import Call, Outcome, attempt, summary
from tests.support.builders import caller, fresh_scope, make_pause

PROCESSES = 4
PAUSES = 25

pytestmark = pytest.mark.usefixtures("warm_parent")


def _all_of(calls: Sequence[Call]) -> tuple[list[Outcome], float]:
    """In a child: every call in turn, and how long the slowest of them took."""
    outcomes, slowest = [], 0.0
    for call in calls:
        begun = time.monotonic()
        outcomes.append(attempt(call))
        slowest = max(slowest, time.monotonic() - begun)
    return outcomes, slowest


@pytest.mark.slow
def test_decisions_replies_and_heartbeats_from_four_processes() -> None:
    """Each pause gets one answer; who came second is told so; no call fails, and none waits for ever."""
    scope = fresh_scope()
    asked = [make_pause(scope) for _ in range(PAUSES)]
    waiting = [make_pause(scope, Reason.AGENT_REPLY) for _ in range(PAUSES)]
    workers = []
    for number in range(PROCESSES):
        run = requests.leased_run(scope, f"worker-{number}")
        calls: list[Call] = []
        for index in range(PAUSES):
            calls.append(requests.decide(asked[index], caller(scope), "approve" if number % 2 else "deny"))
            calls.append(requests.admit(waiting[index], caller(scope), b'{"reply":%d}' % number))
            calls.append(requests.save_progress(run, caller(scope), step=index))
        workers.append(partial(_all_of, calls))

    told = [outcome.value for outcome in children.contend_in_processes(workers)]

    ground = require_consistent(scope)
    assert len(ground.rows["admissions"]) == 2 * PAUSES
    everything = [outcome for outcomes, _ in told for outcome in outcomes]
    refusals = {outcome.code for outcome in everything if not outcome.answered}
    assert refusals <= {"resume_admission_conflict"}, summary(everything)
    assert len([outcome for outcome in everything if outcome.fresh]) == 2 * PAUSES, summary(everything)
    assert max(slowest for _, slowest in told) < 15
