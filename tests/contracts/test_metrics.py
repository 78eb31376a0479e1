"""``/metrics``: who may read it, what it says, and that several processes of one server say the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.db import OperationalError
from django.test import Client

from suspensions.domain import clock, refusals
from suspensions.domain.errors import CortexError, NotSuspended, RunLeaseLost
from suspensions.domain.policy import Role
from suspensions.domain.states import RunState
from suspensions.domain.values import SYSTEM, Holder, NewInteraction, Reason
from suspensions.management.shared_counts import SharedTally
from suspensions.operations import access, interactions, leases, resumes, runs
from suspensions.problems import PROBLEMS
from tests.retention.test_purge import ASSISTANT
from tests.store.rows import rows
from tests.support.api import assert_problem, client_for
from tests.support.builders import admit, at, caller, fresh_scope, holder_of, make_pause, make_run, start, take
from tests.support.engine import reset_database
from tests.support.server import running_server

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
LINE = re.compile(r"^(cortex_\w+)(?:\{(.*)\})? ([0-9.e+-]+)$", re.MULTILINE)


def scrape(**headers: str) -> dict[str, float]:
    """Every sample by its name and labels, as they stand in the answer."""
    response = Client().get("/metrics", headers=headers)
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return samples(response.content.decode())


def samples(text: str) -> dict[str, float]:
    found = {f"{name}{{{labels}}}" if labels else name: float(value) for name, labels, value in LINE.findall(text)}
    assert len(found) == len([line for line in text.splitlines() if not line.startswith("#")])
    return found


def refused(before: Mapping[str, float]) -> dict[str, float]:
    """Which codes were counted since, and how often."""
    prefix = "cortex_refusals_total"
    return {
        name.removeprefix(f'{prefix}{{code="').removesuffix('"}'): value - before[name]
        for name, value in scrape().items()
        if name.startswith(prefix) and value != before[name]
    }


# -- who may read it ---------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1"])
def test_this_machine_may(address: str) -> None:
    assert Client(REMOTE_ADDR=address).get("/metrics").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"REMOTE_ADDR": "10.0.0.7"},
        {"REMOTE_ADDR": "::ffff:10.0.0.7"},
        {"REMOTE_ADDR": ""},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_FORWARDED": "for=10.0.0.7"},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_PROTO": "https"},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_AUTHORIZATION": "Bearer ctx_nonsense"},
        {"REMOTE_ADDR": "10.0.0.7", "HTTP_AUTHORIZATION": "Basic YTpi"},
    ],
)
def test_nobody_else_may_without_a_token(headers: dict[str, str]) -> None:
    response = Client().get("/metrics", **headers)  # type: ignore[arg-type]
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert response.json()["code"] == "unauthenticated"
    assert b"cortex_" not in response.content


def test_a_token_may_from_anywhere_by_any_name_of_the_host(scope: str) -> None:
    token = client_for(scope, Role.VIEWER).token
    headers = {"Authorization": f"Bearer {token}", "Host": "web:8000", "X-Forwarded-For": "10.0.0.7"}
    assert Client(REMOTE_ADDR="10.0.0.7").get("/metrics", headers=headers).status_code == 200
    access.revoke_token(_owner(token), "test", SYSTEM)
    assert Client(REMOTE_ADDR="10.0.0.7").get("/metrics", headers=headers).status_code == 401


def _owner(token: str) -> str:
    return access.caller_for_token(token).principal


def test_nothing_is_written_there() -> None:
    response = Client().post("/metrics")
    assert (response.status_code, response.headers["Allow"]) == (405, "GET, HEAD")


# -- gauges ------------------------------------------------------------------------------------------


def test_an_empty_store_says_so() -> None:
    reset_database()
    found = {name: value for name, value in scrape().items() if not name.startswith("cortex_refusals_total")}
    assert found == {
        "cortex_database_up": 1,
        'cortex_pauses_waiting{reason="approval"}': 0,
        'cortex_pauses_waiting{reason="external_tool"}': 0,
        'cortex_pauses_waiting{reason="agent_reply"}': 0,
        "cortex_oldest_waiting_seconds": 0,
        "cortex_pauses_overdue": 0,
        "cortex_decided_not_picked_up": 0,
        "cortex_oldest_decided_seconds": 0,
        "cortex_uncertain_resumes": 0,
        "cortex_interactions_open": 0,
        "cortex_webhooks_pending": 0,
        "cortex_oldest_webhook_seconds": 0,
    }


def test_each_kind_of_waiting_is_counted_over_all_scopes() -> None:
    reset_database()
    began = clock.now()
    for reason in (Reason.APPROVAL, Reason.APPROVAL, Reason.AGENT_REPLY):
        make_pause(fresh_scope(), reason)
    make_pause(fresh_scope(), expires_at=began + timedelta(seconds=30))
    admit(make_pause(fresh_scope(), Reason.EXTERNAL_TOOL))
    start(admit(make_pause(fresh_scope())), lease=take(seconds=5))
    held = start(admit(make_pause(fresh_scope())), lease=take(seconds=3600))
    finished = start(admit(make_pause(fresh_scope())), lease=take(seconds=5)).claimed_run
    assert held.claimed_run is not None and finished is not None
    runs.finish_run(
        caller(finished.scope),
        finished.scope,
        finished.id,
        RunState.COMPLETED,
        output="",
        error="",
        holder=holder_of(finished),
    )
    asked = fresh_scope()
    for number in range(3):
        question = NewInteraction(asked, f"q{number}", "t1", ASSISTANT)
        interactions.save_interaction(caller(asked), question, "0" * 64)
    interactions.mark_resolved(caller(asked), asked, "q0")
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "yes"}
    interactions.answer_interaction(caller(asked), asked, "q1", answer)
    with at(began + timedelta(minutes=10)):
        found = scrape()
    assert {
        'cortex_pauses_waiting{reason="approval"}': 3,
        'cortex_pauses_waiting{reason="external_tool"}': 0,
        'cortex_pauses_waiting{reason="agent_reply"}': 1,
        "cortex_pauses_overdue": 1,
        "cortex_decided_not_picked_up": 1,
        "cortex_uncertain_resumes": 1,
        "cortex_interactions_open": 1,
    }.items() <= found.items()
    assert 590 < found["cortex_oldest_waiting_seconds"] <= 600
    assert 590 < found["cortex_oldest_decided_seconds"] <= 600


def test_without_a_database_the_rest_is_still_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise OperationalError("the server went away with secrets")

    monkeypatch.setattr("suspensions.api.metrics.read_gauges", fail)
    found = scrape()
    assert found["cortex_database_up"] == 0
    assert "cortex_uncertain_resumes" not in found
    assert 'cortex_refusals_total{code="not_suspended"}' in found
    monkeypatch.setattr("suspensions.api.metrics.caller_for_token", fail)
    response = Client(REMOTE_ADDR="10.0.0.7").get("/metrics", headers={"Authorization": "Bearer x"})
    assert response.status_code == 503
    assert b"secrets" not in response.content


# -- refusals ----------------------------------------------------------------------------------------


def test_every_code_stands_there_from_the_start() -> None:
    found = [name for name in scrape() if name.startswith("cortex_refusals_total")]
    assert found == [f'cortex_refusals_total{{code="{code}"}}' for code in sorted(PROBLEMS)]


def test_a_refusal_counts_once_wherever_it_passes(scope: str) -> None:
    before = scrape()
    client = client_for(scope)
    assert_problem(client.get("/runs/arun_x"), 400, "invalid_id")
    pause = make_pause(fresh_scope(), Reason.EXTERNAL_TOOL)
    other = client_for(pause.scope)
    admit(pause)
    assert_problem(other.post(f"/runs/{pause.run_id}/claim", {}), 409, "not_suspended")
    Client().get("/api/v1/me")
    Client().get("/api/nowhere")
    assert refused(before) == {"invalid_id": 1, "not_suspended": 1, "unauthenticated": 1, "not_found": 1}


def test_a_refusal_counts_without_being_told_by_the_api() -> None:
    """As when a page puts it beside a field."""
    scope = fresh_scope()
    run = make_run(scope, lease=take("worker-1"))
    before = scrape()
    with pytest.raises(RunLeaseLost):
        leases.renew_lease(caller(scope), scope, run.id, Holder("zombie", 1), take("zombie"))
    with pytest.raises(CortexError):
        resumes.start_resume(caller(scope), scope, run.id, "sus_x", "0" * 64)
    assert refused(before) == {"run_lease_lost": 1, "resume_admission_not_found": 1}


def test_what_is_repeated_and_found_is_no_refusal() -> None:
    pause = make_pause(fresh_scope())
    before = scrape()
    first = admit(pause)
    assert admit(pause) == first
    assert refused(before) == {}


def test_a_refusal_writes_no_row(scope: str) -> None:
    client = client_for(scope)
    before = rows("SELECT COUNT(*) AS events FROM event")
    assert_problem(client.post("/runs/arun_01kb9x6q3hf5trm0c8zv2w4yej/claim", {}), 409, "not_suspended")
    assert rows("SELECT COUNT(*) AS events FROM event") == before


# -- several processes -------------------------------------------------------------------------------


def test_processes_share_their_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (SharedTally(str(tmp_path), ["a", "b"]) for _ in range(2))
    for process, tally, code in ((101, first, "a"), (102, second, "a"), (101, first, "b"), (102, second, "b")):
        monkeypatch.setattr("os.getpid", lambda process=process: process)
        tally.add(code)
    assert first.totals() == second.totals() == {"a": 2, "b": 2}
    assert len(list(tmp_path.iterdir())) == 2
    # Another process under a dead one's number counts on.
    monkeypatch.setattr("os.getpid", lambda: 101)
    later = SharedTally(str(tmp_path), ["a", "b"])
    later.add("a")
    assert later.totals() == {"a": 3, "b": 2}
    (tmp_path / "103.counts").touch()
    assert later.totals() == {"a": 3, "b": 2}


def test_a_tally_that_was_forked_goes_on_in_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tally = SharedTally(str(tmp_path), ["a"])
    monkeypatch.setattr("os.getpid", lambda: 1)
    tally.add("a")
    monkeypatch.setattr("os.getpid", lambda: 2)
    tally.add("a")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["1.counts", "2.counts"]
    assert tally.totals() == {"a": 2}


def test_a_counted_refusal_is_not_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suspensions.domain.refusals._tally", refusals.OwnTally())
    refusal = NotSuspended()
    for _ in range(3):
        refusals.count(refusal)
    refusals.count(NotSuspended())
    assert refusals.totals() == {"not_suspended": 2}


@pytest.mark.slow
def test_a_scrape_of_any_process_of_a_server_gives_all_of_its_refusals() -> None:
    sent = 60
    with running_server({"WEB_WORKERS": "3"}) as server:
        # A connection each, so that they meet different processes.
        for _ in range(sent):
            assert httpx.get(f"{server.url}/api/v1/me").status_code == 401
        for _ in range(20):
            found = samples(httpx.get(f"{server.url}/metrics").text)
            assert found['cortex_refusals_total{code="unauthenticated"}'] == sent
        passed_on = httpx.get(f"{server.url}/metrics", headers={"X-Forwarded-For": "127.0.0.1"})
        assert passed_on.status_code == 401


# -- documents ---------------------------------------------------------------------------------------


def test_every_metric_is_documented() -> None:
    with at(clock.now()):
        text = Client().get("/metrics").content.decode()
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    table = re.findall(r"^\| `(cortex_\w+)(?:\{.*\})?` \| (\w+) \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    optional = {"cortex_last_checkpoint_timestamp_seconds": "gauge"}
    assert dict(table) | optional == kinds | optional
    alerts = set(re.findall(r'code="(\w+)"', DOCUMENT.read_text(encoding="utf-8")))
    assert alerts <= set(PROBLEMS)
