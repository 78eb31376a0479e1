"""The guide for agents, run as it stands: its code is taken out of it and used against a real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from suspensions.domain import ids
from suspensions.domain.policy import Role
from tests.support.api import Client, assert_ok, client_for
from tests.support.eventually import eventually
from tests.support.server import Server, free_port, running_server
from tests.support.walks import Walk

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "agents.md"
ARGUMENTS = '{"amount": 480}'
OPENAI = [
    {"role": "user", "content": "Please refund my order."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "refund", "arguments": ARGUMENTS}}],
    },
]
ANTHROPIC = [
    {"role": "user", "content": "Please refund my order."},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "refund", "input": {"amount": 480}}]},
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with every file of the guide."""
    for name, code in re.findall(r"```\w+ file=(\S+)\n(.*?)```", GUIDE.read_text(), re.DOTALL):
        (tmp_path / name).write_text(code)
    return tmp_path


def environment(server: Server, agent: Client, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "CORTEX_URL": server.url,
        "CORTEX_SCOPE": agent.scope or "",
        "AGENT_TOKEN": agent.token,
        **more,
    }


PREAMBLE = """
import json, os, sys
from cortex import Cortex, Refused, new_id
cortex = Cortex(os.environ["CORTEX_URL"], os.environ["AGENT_TOKEN"], os.environ["CORTEX_SCOPE"])
"""


def start_program(folder: Path, server: Server, agent: Client, code: str, **more: str) -> subprocess.Popen[str]:
    (folder / "program.py").write_text(PREAMBLE + dedent(code))
    return subprocess.Popen(
        [sys.executable, "program.py"],
        cwd=folder,
        env=environment(server, agent, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_program(folder: Path, server: Server, agent: Client, code: str, **more: str) -> Any:
    """Run a program beside the guide's files; it prints one line of JSON."""
    out, err = start_program(folder, server, agent, code, **more).communicate(timeout=50)
    assert out, err
    return json.loads(out)


RESUME = """
from worker import take, resume
def refund(arguments):
    with open("ledger.txt", "a") as ledger:
        ledger.write(arguments + "\\n")
    return "refunded"
start = take(cortex, "worker-1")
run = resume(cortex, start, {"refund": refund}, lambda messages: messages[-1]["content"])
print(json.dumps(run))
"""


@pytest.mark.parametrize(("kind", "messages"), [("openai", OPENAI), ("anthropic", ANTHROPIC)])
def test_a_pause_from_either_kind_of_messages_is_resumed(
    scope: str, server: Server, folder: Path, kind: str, messages: Any
) -> None:
    walk = Walk(scope)
    code = f"""
    from pausing import pause, calls_of_{kind}
    messages = json.loads(os.environ["MESSAGES"])
    print(json.dumps(pause(cortex, new_id("arun"), calls_of_{kind}(messages), messages)))
    """
    walk.pause = run_program(folder, server, walk.agent, code, MESSAGES=json.dumps(messages))
    walk.run_id, walk.suspension_id, walk.revision = walk.pause["run_id"], walk.pause["id"], 2
    assert walk.pause["continuation"] == {"messages": messages}
    assert walk.pause["pending"][0]["arguments"] == ARGUMENTS
    walk.admitted(arguments='{"amount": 48}')
    run = run_program(folder, server, walk.agent, RESUME)
    assert (run["state"], run["output"]) == ("completed", "refunded")
    assert (folder / "ledger.txt").read_text() == '{"amount": 48}\n'


def test_a_denied_call_never_runs(scope: str, server: Server, folder: Path) -> None:
    walk = Walk(scope).paused()
    walk.admitted(decision="deny", note="not this one")
    run = run_program(folder, server, walk.agent, RESUME)
    assert (run["state"], run["output"]) == ("completed", "Denied: not this one")
    assert not (folder / "ledger.txt").exists()


def test_a_worker_killed_in_mid_call_is_never_repeated(scope: str, server: Server, folder: Path) -> None:
    call = {"id": "c1", "name": "refund", "arguments": ARGUMENTS}
    walk = Walk(scope).paused(pending=[call]).admitted()
    code = """
    import time
    from worker import take, resume
    def refund(arguments):
        with open("ledger.txt", "a") as ledger:
            ledger.write(arguments + "\\n")
        time.sleep(60)
    start = take(cortex, "worker-1", seconds=2)
    resume(cortex, start, {"refund": refund}, str, seconds=2)
    """
    worker = start_program(folder, server, walk.agent, code)
    eventually((folder / "ledger.txt").exists)
    worker.kill()
    worker.communicate()
    eventually(lambda: bool(assert_ok(walk.operator.get("/uncertain-resumes"))["items"]))
    assert assert_ok(walk.agent.get(f"{walk.run_path}/progress"))["started"][0]["id"] == "c1"
    other = client_for(scope, Role.AGENT)
    assert_ok(other.post("/resume-starts/next", {"lease": {"owner": "worker-2", "seconds": 60}, "wait": 0.5}), 204)
    assert assert_ok(other.post("/resume-starts", walk.resume))["fresh"] is False
    assert (folder / "ledger.txt").read_text() == f"{ARGUMENTS}\n"


LOOP = """
import loop
from loop import work
def refund(arguments):
    with open("ledger.txt", "a") as ledger:
        ledger.write(arguments + "\\n")
    return "refunded"
work(cortex, "worker-1", {"refund": refund}, lambda messages: messages[-1]["content"])
"""


def is_completed(walk: Walk) -> bool:
    return bool(assert_ok(walk.agent.get(walk.run_path))["state"] == "completed")


def test_a_worker_killed_before_its_first_step_finds_its_start_again(scope: str, server: Server, folder: Path) -> None:
    call = {"id": "c1", "name": "refund", "arguments": ARGUMENTS}
    walk = Walk(scope).paused(pending=[call]).admitted()
    killed = LOOP.replace("work(", "loop.resume = lambda *_: os.kill(os.getpid(), 9)\nwork(")
    worker = start_program(folder, server, walk.agent, killed)
    worker.communicate(timeout=50)
    assert (worker.returncode, (folder / "ledger.txt").exists()) == (-9, False)
    assert_ok(walk.agent.get(f"{walk.receipts_path}/start"))
    worker = start_program(folder, server, walk.agent, LOOP)
    try:
        eventually(lambda: is_completed(walk))
    finally:
        worker.kill()
        worker.communicate()
    assert (folder / "ledger.txt").read_text() == f"{ARGUMENTS}\n"


def test_a_worker_outlives_its_server(scope: str, folder: Path) -> None:
    call = {"id": "c1", "name": "refund", "arguments": ARGUMENTS}
    walks = [Walk(scope).paused(pending=[call]) for _ in range(2)]
    port = free_port()
    with running_server(port=port) as server:
        worker = start_program(folder, server, walks[0].agent, LOOP)
        try:
            walks[0].admitted()
            eventually(lambda: is_completed(walks[0]))
            server.kill()
            walks[1].admitted()
            with running_server(port=port):
                eventually(lambda: is_completed(walks[1]))
        finally:
            worker.kill()
            worker.communicate()
    assert (folder / "ledger.txt").read_text() == f"{ARGUMENTS}\n" * 2


def test_a_worker_that_was_replaced_stops(scope: str, server: Server, folder: Path) -> None:
    walk = Walk(scope).paused(pending=[{"id": "c1", "name": "refund", "arguments": ARGUMENTS}]).admitted()
    code = """
    import time
    from worker import LeaseLost, take, resume
    def refund(arguments):
        open("begun", "w").close()
        while not os.path.exists("replaced"):
            time.sleep(0.01)
        return "refunded"
    start = take(cortex, "worker-1", seconds=3600)
    try:
        print(json.dumps(resume(cortex, start, {"refund": refund}, str, seconds=3600)))
    except LeaseLost:
        print(json.dumps("stopped"))
    """
    worker = start_program(folder, server, walk.agent, code)
    eventually((folder / "begun").exists)
    lease = assert_ok(walk.agent.get(walk.run_path))["lease"]
    holder = {"owner": lease["owner"], "epoch": lease["epoch"]}
    assert_ok(walk.agent.post(f"{walk.run_path}/lease/release", holder))
    assert_ok(walk.agent.post(f"{walk.run_path}/lease/reclaim", {"owner": "worker-2", "seconds": 60}))
    (folder / "replaced").touch()
    out, err = worker.communicate(timeout=50)
    assert out.strip() == '"stopped"', err
    assert assert_ok(walk.agent.get(walk.run_path))["state"] == "running"


def test_the_walk_by_hand(scope: str, server: Server, folder: Path) -> None:
    walk = Walk(scope)
    given = environment(
        server,
        walk.agent,
        APPROVER_TOKEN=walk.approver.token,
        RUN_ID=walk.run_id,
        SUSPENSION_ID=ids.new_id(ids.SUSPENSION),
    )
    subprocess.run(["bash", "-euo", "pipefail", "walk.sh"], cwd=folder, env=given, check=True, timeout=50)
    run = json.loads((folder / "run.json").read_text())
    assert (run["state"], run["output"]) == ("completed", "Refunded.")
    assert json.loads((folder / "start.json").read_text())["fresh"] is True
