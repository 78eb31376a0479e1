"""Races over HTTP against a server of several processes: one wins, and the others hear what they lost to."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from copy import copy
from typing import Any

import httpx
import pytest

from suspensions.domain import ids
from tests.support.api import Client, assert_ok
from tests.support.server import Server, running_server
from tests.support.walks import CONTINUATION, TAKE, Walk

pytestmark = pytest.mark.slow

MANY = 20
PROCESSES = 3

Ask = Callable[[httpx.Client], httpx.Response]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server({"WEB_WORKERS": str(PROCESSES)}) as running:
        yield running


def http_of(server: Server, client: Client) -> httpx.Client:
    headers = {"Authorization": f"Bearer {client.token}", "Cortex-Scope": client.scope or ""}
    return httpx.Client(base_url=f"{server.url}/api/v1", headers=headers, timeout=60)


def race(server: Server, client: Client, asks: Sequence[Ask]) -> list[httpx.Response]:
    """Every request on a connection of its own that is open already, all let go at once."""
    go = threading.Barrier(len(asks))

    def run(ask: Ask) -> httpx.Response:
        with http_of(server, client) as http:
            assert http.get("/me").status_code == 200
            go.wait(timeout=60)
            return ask(http)

    with ThreadPoolExecutor(max_workers=len(asks)) as pool:
        return list(pool.map(run, asks))


def post(path: str, body: Any) -> Ask:
    return lambda http: http.post(path, json=body)


def statuses(answers: Sequence[httpx.Response]) -> Counter[int]:
    return Counter(answer.status_code for answer in answers)


def won(answers: Sequence[httpx.Response]) -> dict[str, Any]:
    """What the one fresh answer says. Raises: AssertionError where there is not exactly one."""
    found = [answer.json() for answer in answers if answer.status_code == 201]
    assert len(found) == 1, statuses(answers)
    assert found[0]["fresh"] is True
    document: dict[str, Any] = found[0]
    return document


def lost(answers: Sequence[httpx.Response], code: str) -> list[dict[str, Any]]:
    """What the losers hear, all by the same code."""
    documents = [answer.json() for answer in answers if answer.status_code != 201]
    assert {document.get("code") for document in documents} == {code}
    return documents


def test_the_processes_share_the_connections(server: Server) -> None:
    assert len(server.workers()) >= PROCESSES


def test_of_many_different_replies_one_is_admitted(scope: str, server: Server) -> None:
    walk = Walk(scope, reason="agent_reply").paused()
    replies = [walk.reply(b'{"reply":%d}' % number) for number in range(MANY)]
    answers = race(server, walk.bus, [post("/resume-admissions", reply) for reply in replies])
    winner = won(answers)
    told = {name: winner[name] for name in ("request_digest", "admitted_at", "admitted_by")}
    losers = lost(answers, "resume_admission_conflict")
    assert [loser["admission"] for loser in losers] == [told] * (MANY - 1)
    assert assert_ok(walk.agent.get(f"{walk.receipts_path}/admission")) == winner | {"fresh": False}


def test_of_many_different_decisions_one_is_admitted(scope: str, server: Server) -> None:
    walk = Walk(scope).paused()
    decisions = [walk.decision(("approve", "deny")[number % 2], note=str(number)) for number in range(MANY)]
    answers = race(server, walk.approver, [post(f"{walk.pause_path}/decision", each) for each in decisions])
    winner = won(answers)
    for loser in lost(answers, "resume_admission_conflict"):
        assert loser["admission"]["admitted_by"]["principal"] == walk.approver.principal
        assert loser["admission"]["request_digest"] == winner["request_digest"]


def test_many_equal_decisions_are_one(scope: str, server: Server) -> None:
    walk = Walk(scope).paused()
    answers = race(server, walk.approver, [post(f"{walk.pause_path}/decision", walk.decision())] * MANY)
    winner = won(answers)
    assert statuses(answers) == {201: 1, 200: MANY - 1}
    repeats = [answer.json() for answer in answers if answer.status_code == 200]
    assert repeats == [winner | {"fresh": False}] * (MANY - 1)


def test_of_many_starts_one_hands_over(scope: str, server: Server) -> None:
    walk = Walk(scope).paused().admitted()
    takes = [{"owner": f"worker-{number}", "seconds": 60} for number in range(MANY)]
    answers = race(server, walk.agent, [post("/resume-starts", walk.resume | {"lease": take}) for take in takes])
    winner = won(answers)
    assert winner["suspension"]["id"] == walk.suspension_id
    assert statuses(answers) == {201: 1, 200: MANY - 1}
    for answer in answers:
        if answer.status_code == 200:
            assert {"suspension", "input", "claimed_run"}.isdisjoint(answer.json())
            assert answer.json()["digest"] == winner["digest"]
    lease = assert_ok(walk.agent.get(walk.run_path))["lease"]
    assert (lease["owner"], lease["epoch"]) == (winner["lease_owner"], 1)


def test_of_many_who_ask_for_the_next_one_gets_it(scope: str, server: Server) -> None:
    walk = Walk(scope).paused().admitted()
    bodies = [{"lease": TAKE, "request_id": f"take-{number}"} for number in range(MANY)]
    answers = race(server, walk.agent, [post("/resume-starts/next", body) for body in bodies])
    assert won(answers)["version"]["run_id"] == walk.run_id
    assert statuses(answers) == {201: 1, 204: MANY - 1}


def test_one_request_sent_many_times_gets_one_and_the_same(scope: str, server: Server) -> None:
    walks = [Walk(scope).paused().admitted() for _ in range(3)]
    body = {"lease": TAKE, "request_id": "take-1"}
    answers = race(server, walks[0].agent, [post("/resume-starts/next", body)] * MANY)
    winner = won(answers)
    assert statuses(answers) == {201: 1, 200: MANY - 1}
    assert [answer.json() for answer in answers if answer.status_code == 200] == [winner | {"fresh": False}] * (
        MANY - 1
    )
    assert winner["version"]["run_id"] == walks[0].run_id


def test_many_workers_share_out_all_that_is_there(scope: str, server: Server) -> None:
    walks = [Walk(scope).paused().admitted() for _ in range(10)]
    bodies = [{"lease": TAKE, "request_id": f"take-{number}", "wait": 0.5} for number in range(MANY)]
    answers = race(server, walks[0].agent, [post("/resume-starts/next", body) for body in bodies])
    assert statuses(answers) == {201: len(walks), 204: MANY - len(walks)}
    taken = {answer.json()["version"]["run_id"] for answer in answers if answer.status_code == 201}
    assert taken == {walk.run_id for walk in walks}


def test_of_many_pauses_of_one_run_one_stands(scope: str, server: Server) -> None:
    walk = Walk(scope)
    walk.make_run()
    answers = race(server, walk.agent, [post("/suspensions", walk.pause_body(id=None, run=None))] * MANY)
    winner = won(answers)
    assert {loser["suspension_id"] for loser in lost(answers, "already_exists")} == {winner["id"]}


def test_many_equal_runs_are_one(scope: str, server: Server) -> None:
    walk = Walk(scope)
    answers = race(server, walk.agent, [post("/runs", {"id": walk.run_id, "input": "x", "lease": TAKE})] * MANY)
    won(answers)
    assert statuses(answers) == {201: 1, 200: MANY - 1}
    assert {answer.json()["lease_epoch"] for answer in answers} == {1}


def test_a_mixed_load_is_carried_out_without_a_failure(scope: str, server: Server) -> None:
    walks = [Walk(scope) for _ in range(12)]

    def live(walk: Walk) -> list[int]:
        """Five lives of a run, by whoever has the role; the statuses of all answers."""
        told: list[int] = []
        everybody = {name: caller.enter_context(http_of(server, getattr(walk, name))) for name in ("agent", "approver")}

        def ask(name: str, method: str, path: str, body: Any) -> Any:
            answer = everybody[name].request(method, path, json=body)
            told.append(answer.status_code)
            return answer.json() if answer.content else None

        for _ in range(5):
            mine = copy(walk)
            mine.run_id, mine.suspension_id = ids.new_id(ids.RUN), ids.new_id(ids.SUSPENSION)
            mine.pause = ask("agent", "POST", "/suspensions", mine.pause_body())
            mine.revision = 2
            mine.admission = ask("approver", "POST", f"{mine.pause_path}/decision", mine.decision())
            start = ask("agent", "POST", "/resume-starts", mine.resume | {"lease": TAKE})
            holder = {"owner": "worker-1", "epoch": start["lease"]["epoch"]}
            for seconds in (120, 180):
                ask("agent", "POST", f"{mine.run_path}/lease/renew", holder | {"seconds": seconds})
            ask("agent", "PUT", f"{mine.run_path}/progress", holder | {"continuation": CONTINUATION})
            ask("agent", "POST", f"{mine.run_path}/finish", {"outcome": "completed", "lease": holder})
        return told

    with ExitStack() as caller, ThreadPoolExecutor(max_workers=len(walks)) as pool:
        told = list(pool.map(live, walks))
    assert told == [[201, 201, 201, 200, 200, 200, 200] * 5] * len(walks)
