"""However many come at once, one wins, and everybody else hears to whom it lost.

Each contest is met by threads (held so that all have begun before the first one writes), by processes, and once without
the guard that decides it, to show that the race is there at all.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection

from suspensions.domain.policy import Caller
from suspensions.domain.values import Run
from tests.concurrency import children, requests
from tests.concurrency.consistency import Ground
from tests.concurrency.contests import CONTESTS
from tests.concurrency.meeting import contend, held, race_without_guard, race_without_lock, unlocked
from tests.concurrency.outcomes import Call, attempt, codes, summary
from tests.support.builders import caller, fresh_scope, holder_of

MANY = 20
SEVERAL = 4

every_contest = pytest.mark.parametrize("name", sorted(CONTESTS))


@every_contest
def test_threads_have_one_winner(name: str) -> None:
    contest = CONTESTS[name](MANY)
    contest.check(contend(contest.calls, alone=contest.alone))


@every_contest
@pytest.mark.usefixtures("warm_parent")
def test_processes_have_one_winner(name: str) -> None:
    contest = CONTESTS[name](SEVERAL)
    contest.check(children.contend_in_processes(contest.calls))


@every_contest
def test_the_race_happens_once_its_guard_is_gone(name: str, engine: str) -> None:
    """On PostgreSQL what must hold breaks; on SQLite, where a late lock shows no double, the losers are not told
    why they lost: they fail with "database is locked"."""
    contest = CONTESTS[name](SEVERAL)
    outcomes, met = race_without_guard(contest.calls)
    assert met == SEVERAL, f"only {met} were between reading and writing at one time"
    if engine == "sqlite":
        assert "store_busy" in codes(outcomes), summary(outcomes)
    with pytest.raises(AssertionError):
        contest.check(outcomes)


# SQLite has one lock for everything, so there is nothing behind it to be seen without it.
if connection.vendor == "postgresql":
    # A holder's write and a takeover after it may both land rightly; without the lock either order comes about.
    BOTH_MAY_LAND = ("progress against reclaim", "renewal against reclaim")

    @pytest.mark.parametrize("name", [name for name in CONTESTS if name not in BOTH_MAY_LAND])
    def test_what_a_write_repeats_holds_without_the_lock(name: str) -> None:
        """The second guard: a write that finds the row moved touches nothing, and the operation looks again."""
        contest = CONTESTS[name](SEVERAL)
        contest.check(race_without_lock(contest.calls))

    _OF_A_HOLDER: dict[str, Callable[[Run, Caller], Call]] = {
        "renew": requests.renew,
        "release": requests.release,
        "save progress": requests.save_progress,
        "finish": lambda run, by: requests.finish(run, by, holder=holder_of(run)),
        "pause": lambda run, by: requests.pause(run.scope, by, run.id, holder=holder_of(run)),
    }

    @pytest.mark.parametrize("write", _OF_A_HOLDER)
    def test_a_holders_write_touches_nothing_after_a_takeover_that_no_lock_held_back(write: str) -> None:
        scope = fresh_scope()
        run = requests.lapsed_run(scope)
        call = _OF_A_HOLDER[write](run, caller(scope))
        with unlocked(), held(call) as let_go_on:
            taken = attempt(requests.reclaim(run, caller(scope), "worker-2"))
            assert taken.fresh, summary([taken])
            before = Ground(scope).rows
            assert let_go_on().code == "run_lease_lost"
        assert Ground(scope).rows == before

    def test_a_takeover_touches_nothing_after_a_renewal_that_no_lock_held_back() -> None:
        scope = fresh_scope()
        run = requests.lapsed_run(scope)
        with unlocked(), held(requests.reclaim(run, caller(scope), "worker-2")) as let_go_on:
            assert attempt(requests.renew(run, caller(scope))).fresh
            before = Ground(scope).rows
            assert let_go_on().code == "run_lease_lost"
        assert Ground(scope).rows == before
