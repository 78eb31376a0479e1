"""The sample agents against the real server: they wait for the person, and honour what was decided."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from suspensions.demo.agents import LEASE_SECONDS, Agent, Peer
from suspensions.demo.client import Api, Refused
from suspensions.demo.script import Case
from suspensions.demo.transcripts import PROJECTS
from suspensions.domain import clock
from suspensions.domain.decisions import CallDecision
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import SYSTEM, Suspension
from suspensions.models.fields import to_database
from suspensions.operations import access, resumes, runs, suspensions
from suspensions.operations.sweep import sweep_once
from tests.support import builders
from tests.support.server import Server, running_server

ROOT = Path(__file__).resolve().parents[2]
CASES = {case.name: case for cases in PROJECTS.values() for case in cases}


def at_once(seconds: float) -> bool:
    return False


@pytest.fixture(scope="module")
def server(database: None) -> Iterator[Server]:
    with running_server() as running:
        yield running


@dataclass
class Stage:
    """One agent in a scope of its own, and the person who decides there."""

    server: Server
    scope: Scope
    api: Api
    token: str

    def agent(self, *cases: Case, owner: str = "demo-1") -> Agent:
        return Agent(self.api, cases, owner, at_once, work_seconds=0, poll_seconds=0)

    def waiting(self) -> dict[str, Suspension]:
        """Each live pause, by its case."""
        found = {}
        for item in self.api.pages("suspensions"):
            run = self.api.get(f"runs/{item['run_id']}")
            if run["state"] == "paused":
                pause = suspensions.read_suspension(builders.caller(self.scope), self.scope, item["id"])
                found[run["metadata"]["case"]] = pause
        return found

    def decide(self, pause: Suspension, **denied: str) -> None:
        """Approve all but what is named, with its note; complete what an external tool was asked for."""
        made = []
        for call in pause.pending:
            if pause.reason == "external_tool":
                made.append(CallDecision(call.id, call.arguments_sha256, content="Unused and complete."))
            elif call.name in denied:
                note = denied[call.name]
                made.append(CallDecision(call.id, call.arguments_sha256, decision="deny", note=note))
            else:
                made.append(CallDecision(call.id, call.arguments_sha256, decision="approve"))
        revision = self.api.get(f"runs/{pause.run_id}")["revision"]
        resumes.decide(builders.caller(self.scope), self.scope, pause.id, revision, tuple(made))

    def run(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.api.get(f"runs/{run_id}")
        return found


@pytest.fixture
def stage(server: Server) -> Iterator[Stage]:
    scope = builders.fresh_scope(2)
    token = token_for(scope, Role.AGENT)
    with Api(server.url, token, scope.text, at_once) as api:
        yield Stage(server, scope, api, token)


def token_for(scope: Scope, role: Role) -> str:
    name = f"demo-{role}-{scope.text.rpartition('=')[2]}"
    access.make_principal(name, service=True, by=SYSTEM)
    access.grant_role(name, role, scope, SYSTEM)
    return access.renew_token(name, "demo", SYSTEM)


def test_every_case_waits_at_once_and_once(stage: Stage) -> None:
    agent = stage.agent(*CASES.values())

    agent.look()
    agent.look()

    pauses = stage.waiting()
    assert pauses.keys() == CASES.keys()
    assert len(stage.api.pages("suspensions")) == len(CASES)
    assert Counter(str(pause.reason) for pause in pauses.values())["approval"] >= 6
    assert pauses["key-rotation"].expires_at is None


def test_arguments_reach_the_person_character_by_character(stage: Stage) -> None:
    stage.agent(CASES["changed-payee"], CASES["returned-item"]).look()
    pauses = stage.waiting()

    (payee,) = pauses["changed-payee"].pending
    assert "N\u043erdlicht" in payee.arguments
    assert "0400\u200b 2391 \u200f5501" in payee.arguments
    run = stage.run(pauses["returned-item"].run_id)
    (inspect,) = pauses["returned-item"].pending
    assert inspect.arguments == CASES["returned-item"].filled(run["metadata"]["seed"]).steps[0].calls[0].arguments


def test_a_denied_call_is_not_run_and_the_next_pause_says_so(stage: Stage) -> None:
    agent = stage.agent(CASES["rebooking"])
    agent.look()
    first = stage.waiting()["rebooking"]

    stage.decide(first, book_flight="Too dear.")
    agent.look()

    second = stage.waiting()["rebooking"]
    assert second.run_id == first.run_id
    assert [call.name for call in second.pending] == ["send_voucher"]
    messages = stage.api.get(f"suspensions/{second.id}")["continuation"]["messages"]
    assert "book_flight was denied, so I have not run it. The reason given: “Too dear.”" in messages[-2]["content"]
    done = stage.api.get(f"runs/{first.run_id}/progress")["done"]
    assert {each["call_id"]: each["outcome"] for each in done} == {
        "call_cancel_1": "completed",
        "call_book_1": "denied",
    }


def test_a_run_is_played_to_its_end_and_followed_by_another(stage: Stage) -> None:
    agent = stage.agent(CASES["returned-item"])
    agent.look()
    first = stage.waiting()["returned-item"]
    for _ in CASES["returned-item"].steps:
        stage.decide(stage.waiting()["returned-item"])
        agent.look()

    run = stage.run(first.run_id)
    assert (run["state"], run["lease"]) == ("completed", None)
    assert "on their way back to you" in run["output"]
    agent.look()
    assert stage.waiting()["returned-item"].run_id != first.run_id


def test_where_everything_was_denied_the_run_ends_without_it(stage: Stage) -> None:
    agent = stage.agent(CASES["erasure"])
    agent.look()
    pause = stage.waiting()["erasure"]
    stage.decide(pause, delete_records="Not without a second letter.")
    agent.look()

    run = stage.run(pause.run_id)
    assert run["state"] == "completed"
    assert run["output"] == (
        "delete_records was denied, so I have not run it. The reason given: “Not without a second letter.”"
    )


def test_an_expired_pause_is_renewed(stage: Stage) -> None:
    agent = stage.agent(CASES["goodwill"])
    agent.look()
    first = stage.waiting()["goodwill"]
    later = builders.now() + timedelta(hours=1)
    with clock.use_clock(lambda: later):
        sweep_once(100)

    agent.look()

    assert stage.run(first.run_id)["state"] == "failed"
    assert stage.waiting()["goodwill"].run_id != first.run_id


def test_a_peer_answers_through_the_bus_and_the_agent_goes_on(stage: Stage) -> None:
    agent = stage.agent(CASES["peer-question"])
    agent.look()
    question = stage.waiting()["peer-question"]
    with Api(stage.server.url, token_for(stage.scope, Role.BUS), stage.scope.text, at_once) as bus:
        Peer(bus, at_once, thinks_seconds=3600).look()
        assert stage.run(question.run_id)["state"] == "paused"
        Peer(bus, at_once, thinks_seconds=0).look()
        Peer(bus, at_once, thinks_seconds=0).look()

    agent.look()

    following = stage.waiting()["peer-question"]
    assert following.run_id == question.run_id
    assert [call.name for call in following.pending] == ["delete_records"]


def test_a_person_who_cancels_does_not_stop_the_agent(stage: Stage) -> None:
    agent = stage.agent(CASES["key-rotation"])
    agent.look()
    pause = stage.waiting()["key-rotation"]
    runs.cancel_run(builders.caller(stage.scope), stage.scope, pause.run_id, "not today")

    agent.look()

    assert stage.waiting()["key-rotation"].run_id != pause.run_id


# -- an agent that was killed --------------------------------------------------------------------------


def lapse(run_id: str) -> None:
    """Let the lease of a worker that is no more lapse now."""
    past = builders.now() - timedelta(seconds=LEASE_SECONDS)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE run SET lease_expires_at = %s WHERE id = %s", (to_database(past, connection.vendor), run_id)
        )


class Killed(Exception):
    """The agent's process ended here."""


class Dying(Api):
    """An API client whose process is killed before the first or a later request of a kind."""

    def __init__(self, stage: Stage, before: str, nth: int = 1) -> None:
        super().__init__(stage.server.url, stage.token, stage.scope.text, at_once)
        self._before = before
        self._left = nth

    def _ask(self, method: str, address: str, **more: Any) -> Any:
        if f"{method} {address}".startswith(self._before):
            self._left -= 1
            if not self._left:
                raise Killed
        return super()._ask(method, address, **more)


@pytest.mark.parametrize(
    ("before", "nth", "state"),
    [("PUT runs", 1, "failed"), ("PUT runs", 2, "failed"), ("POST suspensions", 1, "paused")],
)
def test_a_killed_agents_run_is_taken_over(stage: Stage, before: str, nth: int, state: str) -> None:
    """Killed after its calls were done it goes on; killed before it could tell of them, it runs nothing twice."""
    case = CASES["rebooking"]
    stage.agent(case).look()
    pause = stage.waiting()["rebooking"]
    stage.decide(pause)
    with Dying(stage, before, nth) as api, pytest.raises(Killed):
        Agent(api, [case], "demo-1", at_once, work_seconds=0, poll_seconds=0).look()
    assert stage.run(pause.run_id)["state"] == "running"
    lapse(pause.run_id)

    stage.agent(case, owner="demo-2").look()

    assert stage.run(pause.run_id)["state"] == state


def test_a_run_that_never_came_to_its_first_pause_begins_again(stage: Stage) -> None:
    case = CASES["release"]
    with Dying(stage, "POST suspensions") as api, pytest.raises(Killed):
        Agent(api, [case], "demo-1", at_once, work_seconds=0, poll_seconds=0).look()
    (run,) = stage.api.pages("runs")
    lapse(run["id"])

    stage.agent(case, owner="demo-2").look()

    (again,) = stage.api.pages("runs")
    assert (again["id"], again["state"]) == (run["id"], "paused")


# -- the command ---------------------------------------------------------------------------------------


def demo_agent(server: Server, token: str, scope: Scope) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "demo_agent"],
        cwd=ROOT,
        env=os.environ | {"CORTEX_URL": server.url, "CORTEX_TOKEN": token, "CORTEX_SCOPE": scope.text},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_command_ends_when_asked_to(server: Server) -> None:
    scope = builders.fresh_scope()
    process = demo_agent(server, token_for(scope, Role.AGENT), scope)
    assert process.stdout is not None
    assert process.stdout.readline().startswith(f"sample agents play in {scope}")

    process.send_signal(signal.SIGTERM)

    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")


def test_the_command_says_that_its_token_is_no_good(server: Server) -> None:
    process = demo_agent(server, "ctx_" + "A" * 43, builders.fresh_scope())

    _, errors = process.communicate(timeout=30)

    assert process.returncode == 1
    assert "unauthenticated" in errors
    assert errors.count("\n") == 1


def test_a_scope_that_is_not_granted_ends_the_agent(stage: Stage) -> None:
    elsewhere = builders.fresh_scope()
    with Api(stage.server.url, stage.token, elsewhere.text, at_once) as api, pytest.raises(Refused):
        Agent(api, [CASES["release"]], "demo-1", at_once, work_seconds=0, poll_seconds=0).look()
