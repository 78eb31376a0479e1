"""kill -9 of the server itself: who repeats its request hears what was recorded, and nobody else does.

The server that comes after it stands at the same address, as a supervisor would start it.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import count
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from suspensions.domain.policy import Role
from tests.support.api import Client, assert_ok, client_for
from tests.support.eventually import eventually
from tests.support.server import Server, free_port, running_server
from tests.support.walks import TAKE, Walk

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

NEXT = "/resume-starts/next"
KILLS = 3
Serve = Callable[..., AbstractContextManager[Server]]


@pytest.fixture
def serve() -> Serve:
    """Starts the server at an address that stays the test's own."""
    port = free_port()
    return lambda **more: running_server({"WEB_WORKERS": "1", "MAX_LONG_POLLS": "1", **more}, port=port)


def headers_of(client: Client) -> dict[str, str]:
    return {"Authorization": f"Bearer {client.token}", "Cortex-Scope": client.scope or ""}


_http = httpx.Client(timeout=60, limits=httpx.Limits(max_keepalive_connections=0))


def ask(server: Server, client: Client, path: str, body: Any) -> httpx.Response:
    return _http.post(f"{server.url}/api/v1{path}", json=body, headers=headers_of(client))


class Unread:
    """A request that is sent and whose answer nobody reads."""

    def __init__(self, server: Server, client: Client, path: str, body: Any) -> None:
        host, port = urlsplit(server.url).netloc.split(":")
        content = json.dumps(body).encode()
        given = headers_of(client) | {"Host": host, "Content-Type": "application/json"}
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        head = f"POST /api/v1{path} HTTP/1.1\r\n{lines}Content-Length: {len(content)}\r\n\r\n"
        self._wire = socket.create_connection((host, int(port)), timeout=30)
        self._wire.sendall(head.encode() + content)

    def __enter__(self) -> Unread:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()


def is_started(walk: Walk) -> bool:
    return walk.agent.get(f"{walk.receipts_path}/start").status == 200


def test_a_start_whose_answer_was_lost_is_had_again_by_its_request_id_alone(scope: str, serve: Serve) -> None:
    walk = Walk(scope).paused().admitted()
    body = {"lease": TAKE, "request_id": "take-1"}
    with serve() as server, Unread(server, walk.agent, NEXT, body):
        eventually(lambda: is_started(walk))
        server.kill()
    with serve() as server:
        stranger = client_for(scope, Role.AGENT)
        assert ask(server, stranger, NEXT, body).status_code == 204
        assert ask(server, walk.agent, NEXT, body | {"request_id": "take-2"}).status_code == 204
        other_owner = ask(server, walk.agent, NEXT, body | {"lease": TAKE | {"owner": "worker-2"}})
        assert (other_owner.status_code, other_owner.json()["code"]) == (409, "resume_already_started")
        strict = ask(server, walk.agent, "/resume-starts", walk.resume)
        assert (strict.status_code, "input" in strict.json()) == (200, False)
        again = [ask(server, walk.agent, NEXT, body) for _ in range(2)]
    assert [answer.status_code for answer in again] == [200, 200]
    assert again[0].json() == again[1].json()
    assert again[0].json()["suspension"]["id"] == walk.suspension_id
    assert again[0].json()["input"] == walk.admission["input"]
    assert (again[0].json()["fresh"], again[0].json()["lease"]["epoch"]) == (False, 1)


def test_a_poll_that_waited_is_asked_again_and_old_pauses_are_still_there(scope: str, serve: Serve) -> None:
    walks = [Walk(scope).paused() for _ in range(3)]
    agent = walks[0].agent
    body = {"lease": TAKE, "request_id": "take-1", "wait": 25}

    def poll_of(server: Server) -> httpx.Response:
        while "Retry-After" in (answer := ask(server, agent, NEXT, body)).headers:
            pass  # The look below had the one place for a moment.
        return answer

    with serve() as server, ThreadPoolExecutor(max_workers=1) as pool:
        poll = pool.submit(poll_of, server)
        # There is one place to wait: whoever is sent away finds it taken.
        brief = body | {"request_id": "look", "wait": 0.01}
        eventually(lambda: "Retry-After" in ask(server, agent, NEXT, brief).headers)
        server.kill()
        with pytest.raises(httpx.TransportError):
            poll.result()
    with serve() as server, ThreadPoolExecutor(max_workers=1) as pool:
        listed = httpx.get(f"{server.url}/api/v1/suspensions", headers=headers_of(agent), timeout=60).json()
        assert {item["id"] for item in listed["items"]} == {walk.suspension_id for walk in walks}
        poll = pool.submit(poll_of, server)
        assert ask(server, walks[1].approver, f"{walks[1].pause_path}/decision", walks[1].decision()).status_code == 201
        answer = poll.result()
    assert (answer.status_code, answer.json()["version"]["run_id"]) == (201, walks[1].run_id)


@pytest.mark.parametrize("reason", ["approval", "external_tool", "agent_reply"])
def test_an_answer_whose_admission_was_not_heard_of_is_sent_again(scope: str, serve: Serve, reason: str) -> None:
    walk = Walk(scope, reason=reason).paused()
    if reason == "agent_reply":
        client, path, body, other = walk.bus, "/resume-admissions", walk.reply(), walk.reply(b"another")
    else:
        client, path = walk.approver, f"{walk.pause_path}/decision"
        other = {"content": "another"} if reason == "external_tool" else {"decision": "deny"}
        body, other = walk.decision(), walk.decision(**other)
    with serve() as server, Unread(server, client, path, body):
        eventually(lambda: walk.agent.get(f"{walk.receipts_path}/admission").status == 200)
        server.kill()
    with serve() as server:
        again = ask(server, client, path, body)
        rival = ask(server, client, path, other)
    recorded = assert_ok(walk.agent.get(f"{walk.receipts_path}/admission"))
    assert (again.status_code, again.json()) == (200, recorded | {"lease": None})
    assert (rival.status_code, rival.json()["code"]) == (409, "resume_admission_conflict")
    assert rival.json()["admission"]["request_digest"] == recorded["request_digest"]


# -- a worker that lives through it ------------------------------------------------------------------


class Persistent:
    """A client as the guide says: on a lost connection or a busy store it sends the very same again."""

    def __init__(self, server: Server, client: Client, over: threading.Event) -> None:
        self._http = httpx.Client(base_url=f"{server.url}/api/v1", headers=headers_of(client), timeout=60)
        self._over = over

    def __enter__(self) -> Persistent:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def post(self, path: str, body: Any) -> httpx.Response:
        while True:
            try:
                answer = self._http.post(path, json=body)
                if answer.status_code != 503:
                    return answer
            except httpx.TransportError:
                pass
            assert not self._over.wait(0.1), "the test was over before an answer came"


def test_through_three_kills_each_decision_is_carried_out_once(scope: str, serve: Serve) -> None:
    """Approvers decide and workers take and finish, while their server is killed in between, over and over."""
    walks = [Walk(scope).paused() for _ in range(KILLS * 6)]
    over, carried_out = threading.Event(), Counter[str]()

    def approve(server: Server, some: list[Walk]) -> None:
        for walk in some:
            with Persistent(server, walk.approver, over) as client:
                answer = client.post(f"{walk.pause_path}/decision", walk.decision())
            assert answer.status_code in (200, 201), answer.text

    def work(server: Server, owner: str, agent: Client) -> None:
        with Persistent(server, agent, over) as client:
            for number in count():
                if len(carried_out) == len(walks):
                    return
                take = {"lease": {"owner": owner, "seconds": 60}, "request_id": f"{owner}-{number}", "wait": 0.2}
                answer = client.post(NEXT, take)
                if answer.status_code == 204:
                    continue
                assert answer.status_code in (200, 201), answer.text
                start = answer.json()
                run_id, lease = start["version"]["run_id"], start["lease"]
                carried_out[run_id] += 1
                end = {"outcome": "completed", "lease": {"owner": owner, "epoch": lease["epoch"]}}
                done = client.post(f"/runs/{run_id}/finish", end)
                assert done.status_code == 200, done.text

    def all_done() -> bool:
        for job in jobs:
            if job.done():
                job.result()
        return all(job.done() for job in jobs)

    with ThreadPoolExecutor(max_workers=4) as pool:
        jobs: list[Future[None]] = []
        for kill in range(KILLS):
            with serve(WEB_WORKERS="2", MAX_LONG_POLLS="8") as server:
                if not jobs:
                    jobs += [pool.submit(work, server, f"worker-{each}", walks[each].agent) for each in range(3)]
                before = len(carried_out)
                jobs.append(pool.submit(approve, server, walks[kill * 6 : kill * 6 + 6]))
                eventually(lambda before=before: len(carried_out) > before + 2)  # type: ignore[misc]
                server.kill()
        with serve():
            try:
                eventually(all_done)
            finally:
                over.set()
    assert set(carried_out.values()) == {1}
    assert set(carried_out) == {walk.run_id for walk in walks}
    runs = [assert_ok(walk.agent.get(walk.run_path)) for walk in walks]
    assert {(run["state"], run["revision"]) for run in runs} == {("completed", 4)}
