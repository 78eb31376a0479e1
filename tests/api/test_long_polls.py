"""Long polls: answered soon after the commit, bounded in number and time, in nobody's way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx
import pytest
from django.db import DatabaseError, connection, connections
from pytest_django.fixtures import Settings

from suspensions.api import long_polls
from suspensions.domain import ids
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.queries import runs
from tests.support.api import Answer, Client, assert_ok, assert_problem, client_for
from tests.support.eventually import eventually
from tests.support.server import Server, running_server
from tests.support.walks import TAKE, Walk

Later = Callable[[Callable[[], Answer]], "Future[tuple[Answer, float]]"]


@pytest.fixture
def later() -> Iterator[Later]:
    """Ask in a thread; the future gives the answer and when it came. Ends with nobody left waiting."""

    def ask(call: Callable[[], Answer]) -> tuple[Answer, float]:
        try:
            return call(), time.monotonic()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=16) as pool:
        yield lambda call: pool.submit(ask, call)
    eventually(lambda: long_polls.waiting() == 0 and not long_polls.is_watching())


@pytest.fixture
def soon(engine: str) -> float:
    """Seconds from a commit to the answer of who waits for it."""
    return 0.2 if engine == "postgresql" else 1.0


def ask_next(client: Client, wait: float = 20, **members: object) -> Answer:
    return client.post("/resume-starts/next", {"lease": TAKE, "wait": wait, **members})


# -- waiting for a resume ----------------------------------------------------------------------------


def test_a_decision_wakes_a_waiting_worker(scope: str, later: Later, soon: float) -> None:
    walk = Walk(scope).paused()
    poll = later(partial(ask_next, walk.agent))
    eventually(lambda: long_polls.waiting() == 1)
    walk.admitted()
    committed = time.monotonic()
    answer, came = poll.result()
    assert assert_ok(answer, 201)["version"]["run_id"] == walk.run_id
    assert came - committed < soon


def test_a_decision_before_the_first_poll_is_had_at_once(scope: str) -> None:
    walk = Walk(scope).paused().admitted()
    started = time.monotonic()
    assert_ok(ask_next(walk.agent), 201)
    assert time.monotonic() - started < 1


def test_of_many_who_wait_one_gets_it(scope: str, later: Later) -> None:
    walk = Walk(scope).paused()
    workers = [client_for(scope, Role.AGENT) for _ in range(6)]
    polls = [later(partial(ask_next, worker, 1.5)) for worker in workers]
    eventually(lambda: long_polls.waiting() == len(workers))
    walk.admitted()
    assert sorted(poll.result()[0].status for poll in polls) == [201] + [204] * 5


def test_who_waits_for_another_agent_or_scope_sleeps_on(scope: str, later: Later) -> None:
    walk = Walk(scope).paused(run={"agent_name": "desk"})
    other_agent = later(partial(ask_next, walk.agent, 1, agent_name="other"))
    other_scope = later(partial(ask_next, client_for(f"{scope}x", Role.AGENT), 1))
    right = later(partial(ask_next, walk.agent, 20, agent_name="desk"))
    eventually(lambda: long_polls.waiting() == 3)
    walk.admitted()
    assert right.result()[0].status == 201
    assert other_agent.result()[0].status == other_scope.result()[0].status == 204


def test_a_lease_that_lapses_wakes_who_waits(scope: str, later: Later) -> None:
    walk = Walk(scope, reason="agent_reply").paused().admitted(lease={"owner": "admitter", "seconds": 1})
    answer, _ = later(partial(ask_next, walk.agent)).result()
    assert assert_ok(answer, 201)["lease"]["epoch"] == 2


def test_a_wait_ends_in_its_time(scope: str) -> None:
    started = time.monotonic()
    assert_ok(ask_next(client_for(scope, Role.AGENT), 0.3), 204)
    assert 0.3 <= time.monotonic() - started < 2


def test_no_wait_is_longer_than_the_longest() -> None:
    assert long_polls.LONGEST == 30
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_polls, "LONGEST", 0.1)
        assert long_polls.wait_for_revision(ids.new_id(ids.RUN), -5, 999_999) is long_polls.Waited.MOVED
        started = time.monotonic()
        run_id = _run()
        assert long_polls.wait_for_revision(run_id, 1, 999_999) is long_polls.Waited.IN_VAIN
        assert time.monotonic() - started < 2


def _run() -> str:
    scope = f"w={ids.new_id(ids.RUN)}"
    return str(assert_ok(client_for(scope, Role.AGENT).post("/runs", {}), 201)["id"])


def test_a_lost_answer_is_had_again_after_a_wait(scope: str, later: Later) -> None:
    walk = Walk(scope).paused()
    poll = later(partial(ask_next, walk.agent, 20, request_id="take-1"))
    eventually(lambda: long_polls.waiting() == 1)
    walk.admitted()
    first = assert_ok(poll.result()[0], 201)
    assert assert_ok(ask_next(walk.agent, 20, request_id="take-1")) == first | {"fresh": False}


# -- waiting for a run -------------------------------------------------------------------------------


def test_a_transition_wakes_who_waits_for_the_run(scope: str, later: Later, soon: float) -> None:
    walk = Walk(scope).paused()
    poll = later(partial(walk.agent.get, f"{walk.run_path}/wait", revision=2, timeout=20))
    eventually(lambda: long_polls.waiting() == 1)
    walk.admitted()
    committed = time.monotonic()
    answer, came = poll.result()
    assert (assert_ok(answer)["revision"], answer.json()["state"]) == (3, "running")
    assert came - committed < soon


def test_a_revision_that_has_passed_answers_at_once(scope: str) -> None:
    walk = Walk(scope).paused()
    assert assert_ok(walk.agent.get(f"{walk.run_path}/wait", revision=1, timeout=20))["revision"] == 2
    assert assert_ok(walk.agent.get(f"{walk.run_path}/wait"))["revision"] == 2
    assert_ok(walk.agent.get(f"{walk.run_path}/wait", revision=2, timeout=0.2), 204)
    assert_ok(walk.agent.get(f"{walk.run_path}/wait", revision=2), 204)


@pytest.mark.parametrize("query", [{"timeout": "-1"}, {"timeout": "soon"}, {"revision": "x"}, {"revision": "9" * 30}])
def test_a_wait_of_another_form_is_refused(scope: str, query: dict[str, str]) -> None:
    walk = Walk(scope).paused()
    assert_problem(walk.agent.get(f"{walk.run_path}/wait", **query), 400, "invalid_request")
    assert_problem(walk.approver.get(f"{walk.run_path}/wait"), 403, "forbidden")


# -- bounds ------------------------------------------------------------------------------------------


def test_beyond_the_set_number_nobody_waits(scope: str, later: Later, settings: Settings) -> None:
    settings.MAX_LONG_POLLS = 2
    walk = Walk(scope).paused()
    polls = [later(partial(ask_next, walk.agent, 1)) for _ in range(2)]
    eventually(lambda: long_polls.waiting() == 2)
    started = time.monotonic()
    for answer in (ask_next(walk.agent), walk.agent.get(f"{walk.run_path}/wait", revision=2, timeout=20)):
        assert_ok(answer, 204)
        assert answer.headers["Retry-After"] == "1"
    assert time.monotonic() - started < 1
    assert [poll.result()[0].status for poll in polls] == [204, 204]
    assert_ok(ask_next(walk.agent, 0.1), 204)


def test_who_sleeps_holds_no_connection(scope: str) -> None:
    walk = Walk(scope).paused()
    assert connection.connection is not None
    assert long_polls.wait_for_revision(walk.run_id, 2, 0.05) is long_polls.Waited.IN_VAIN
    assert connection.connection is None
    connection.ensure_connection()
    assert long_polls.wait_for_start(Scope.parse(scope), None, 0.05, lambda: None) is long_polls.Waited.IN_VAIN
    assert connection.connection is None


def test_a_database_that_is_away_for_a_while_ends_no_wait(
    scope: str, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = Walk(scope).paused()
    look = runs.startable
    failures: list[bool] = []

    def fail_once(*given: object) -> object:
        if not failures:
            failures.append(True)
            raise DatabaseError("gone")
        return look(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(runs, "startable", fail_once)
    poll = later(partial(ask_next, walk.agent))
    eventually(lambda: bool(failures))
    walk.admitted()
    assert poll.result()[0].status == 201


# -- over the wire -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server({"MAX_LONG_POLLS": "50"}) as running:
        yield running


def caller(server: Server, client: Client, **more: Any) -> httpx.Client:
    headers = {"Authorization": f"Bearer {client.token}", "Cortex-Scope": client.scope or ""}
    return httpx.Client(base_url=f"{server.url}/api/v1", headers=headers, timeout=40, **more)


def test_fifty_who_wait_are_in_nobodys_way(scope: str, server: Server, soon: float) -> None:
    walk = Walk(scope).paused()
    limits = httpx.Limits(max_connections=80)
    with (
        caller(server, walk.agent, limits=limits) as http,
        ThreadPoolExecutor(max_workers=50) as pool,
    ):
        body = {"lease": TAKE, "wait": 6}

        def ask() -> tuple[int, float]:
            while "Retry-After" in (answer := http.post("/resume-starts/next", json=body)).headers:
                pass  # The look below had the last place for a moment.
            return answer.status_code, time.monotonic()

        polls = [pool.submit(ask) for _ in range(50)]
        # One more is sent away at once as soon as, and only when, all fifty wait.
        eventually(lambda: "Retry-After" in http.post("/resume-starts/next", json=body | {"wait": 0.01}).headers)
        times = []
        for _ in range(20):
            started = time.monotonic()
            assert http.get("/suspensions").status_code == 200
            times.append(time.monotonic() - started)
        walk.admitted()
        committed = time.monotonic()
        answers = [poll.result() for poll in polls]
    assert sorted(times)[len(times) // 2] < 0.25
    assert sorted(status for status, _ in answers) == [201] + [204] * 49
    assert next(came for status, came in answers if status == 201) - committed < soon


def test_who_hangs_up_frees_the_place_when_the_wait_ends(scope: str, server: Server) -> None:
    client = client_for(scope, Role.AGENT)
    brief = {"lease": TAKE, "wait": 0.1}
    with caller(server, client) as http:
        for _ in range(60):
            with pytest.raises(httpx.ReadTimeout):
                http.post("/resume-starts/next", json={"lease": TAKE, "wait": 0.5}, timeout=0.01)
        eventually(lambda: "Retry-After" not in http.post("/resume-starts/next", json=brief).headers)
        assert http.get("/runs").status_code == 200
