"""A holder that stalled and woke up again can no longer write: not even where its successor bears its name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from suspensions.domain.values import Holder, Reason, Run
from tests.concurrency import requests
from tests.concurrency.consistency import footprint
from tests.concurrency.outcomes import Call, attempt
from tests.support.builders import caller, fresh_scope, holder_of, make_pause, take

_WRITES: dict[str, Callable[[Run], Call]] = {
    "save progress": lambda run: requests.save_progress(run, caller(run.scope)),
    "delete progress": lambda run: requests.delete_progress(run, caller(run.scope)),
    "renew": lambda run: requests.renew(run, caller(run.scope), seconds=3600),
    "release": lambda run: requests.release(run, caller(run.scope)),
    "pause": lambda run: requests.pause(run.scope, caller(run.scope), run.id, holder=holder_of(run)),
    "finish": lambda run: requests.finish(run, caller(run.scope), holder=holder_of(run)),
}


@pytest.mark.parametrize("write", sorted(_WRITES))
@pytest.mark.parametrize("successor", ["worker-1", "worker-2"])
def test_a_stalled_holder_is_fenced_once_the_run_was_taken_over(write: str, successor: str) -> None:
    scope = fresh_scope()
    run = requests.lapsed_run(scope, "worker-1")
    taken, _ = requests.reclaim(run, caller(scope), successor)()
    before = footprint(scope)

    assert attempt(_WRITES[write](run)).code == "run_lease_lost"
    assert footprint(scope) == before
    # The one that took over is not disturbed by it.
    assert attempt(_WRITES[write](taken)).answered


def test_a_start_fences_whoever_admitted_under_a_lease() -> None:
    """The leased start takes the run whoever held it; an admitter of the same name is fenced all the same."""
    scope = fresh_scope()
    pause = make_pause(scope, Reason.AGENT_REPLY)
    admission = requests.admit(pause, caller(scope), b"yes", lease=take("worker-1"))()
    begun = requests.start(admission, caller(scope), "worker-1")()
    run = begun.claimed_run
    assert (admission.lease_epoch, begun.lease_epoch) == (1, 2)

    stalled = Holder("worker-1", admission.lease_epoch)
    assert attempt(requests.finish(run, caller(scope), holder=stalled)).code == "run_lease_lost"
    assert attempt(requests.finish(run, caller(scope), holder=holder_of(run))).fresh
