"""POST and GET /runs, finish, cancel."""

from __future__ import annotations

from typing import Any

import pytest

from suspensions.domain import clock, ids
from suspensions.domain.ids import id_at
from suspensions.domain.policy import Role
from tests.support.api import Client, assert_ok, assert_problem, client_for
from tests.support.walks import TAKE, Walk


def test_a_run_has_every_member(client: Client, scope: str) -> None:
    body = {
        "id": ids.new_id(ids.RUN),
        "agent_id": ids.new_id(ids.AGENT),
        "agent_name": "desk",
        "session_id": ids.new_id(ids.SESSION),
        "input": "a\0b",
        "metadata": {"b": 1, "a": [1.0]},
        "persona_ref": "p",
        "lease": TAKE,
    }
    run = assert_ok(client.post("/runs", body), 201)
    assert {name: run[name] for name in body if name != "lease"} == {
        name: body[name] for name in body if name != "lease"
    }
    assert (run["state"], run["revision"], run["scope"], run["fresh"]) == ("running", 1, scope, True)
    assert (run["lease"]["owner"], run["lease"]["epoch"], run["lease_epoch"]) == ("worker-1", 1, 1)
    assert run["created_by"] == {"principal": client.principal, "via": "token:test"}
    assert list(run["metadata"]) == ["b", "a"]
    assert assert_ok(client.get(f"/runs/{run['id']}")) == run | {"fresh": False}


def test_the_same_content_again_is_the_same_run(client: Client) -> None:
    run_id = ids.new_id(ids.RUN)
    first = assert_ok(client.post("/runs", {"id": run_id, "input": "x", "agent_name": "a", "lease": TAKE}), 201)
    again = assert_ok(
        client.post("/runs", {"agent_name": "a", "lease": {"owner": "other", "seconds": 9}, "id": run_id, "input": "x"})
    )
    assert again == first | {"fresh": False}
    assert_problem(client.post("/runs", {"id": run_id, "input": "y", "agent_name": "a"}), 409, "already_exists")
    assert_problem(client.post("/runs", {"id": run_id, "input": "x"}), 409, "already_exists")


def test_an_id_taken_in_another_scope_is_refused_in_the_same_words(client: Client, scope: str) -> None:
    run_id = ids.new_id(ids.RUN)
    assert_ok(client.post("/runs", {"id": run_id}), 201)
    mine = assert_problem(client.post("/runs", {"id": run_id, "input": "x"}), 409, "already_exists")
    theirs = assert_problem(client_for(f"{scope}x").post("/runs", {"id": run_id}), 409, "already_exists")
    assert theirs | {"request_id": ""} == mine | {"request_id": ""}


@pytest.mark.parametrize(
    ("members", "status", "code"),
    [
        ({"id": id_at(ids.RUN, clock.now().replace(year=2100))}, 400, "invalid_id"),
        ({"id": "sus_01kb9x6q3hf5trm0c8zv2w4yej"}, 400, "invalid_id"),
        ({"agent_id": "agent-1"}, 400, "invalid_id"),
        ({"agent_name": " "}, 400, "invalid_request"),
        ({"metadata": []}, 400, "invalid_request"),
        ({"lease": {"owner": "w", "seconds": 0}}, 400, "invalid_request"),
        ({"lease": {"owner": "w", "seconds": 3601}}, 400, "invalid_request"),
        ({"lease": {"owner": "w", "seconds": 1.5}}, 400, "invalid_request"),
        ({"lease": {"owner": "w", "seconds": True}}, 400, "invalid_request"),
        ({"lease": {"owner": "w", "expires_at": "2001-01-01T00:00:00Z"}}, 400, "invalid_request"),
        ({"lease": {"owner": "w", "expires_at": "2101-01-01T00:00:00Z"}}, 400, "invalid_request"),
        ({"lease": {"owner": "w", "seconds": 5, "expires_at": "2101-01-01T00:00:00Z"}}, 400, "invalid_request"),
        ({"lease": {"owner": "a\tb", "seconds": 5}}, 400, "invalid_request"),
        ({"lease": {"owner": "x" * 257, "seconds": 5}}, 400, "invalid_request"),
        ({"lease": {"owner": "", "seconds": 5}}, 409, "run_lease_lost"),
        ({"lease": {"seconds": 5}}, 409, "run_lease_lost"),
        ({"lease": {"owner": "w"}}, 409, "run_lease_lost"),
        ({"lease": {}}, 409, "run_lease_lost"),
    ],
)
def test_a_run_is_refused(client: Client, members: dict[str, Any], status: int, code: str) -> None:
    assert_problem(client.post("/runs", members), status, code)
    assert assert_ok(client.get("/runs"))["items"] == []


def test_runs_are_listed_newest_first_without_their_contents(client: Client, scope: str) -> None:
    made = [assert_ok(client.post("/runs", {"input": "secret", "agent_name": f"agent {n}"}), 201) for n in range(5)]
    below = client_for(f"{scope}/p=a").post("/runs", {})
    expected = [assert_ok(below, 201)["id"], *(run["id"] for run in reversed(made))]
    found, cursor = [], None
    while True:
        page = assert_ok(client.get("/runs", limit=2, **({} if cursor is None else {"cursor": cursor})))
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
    assert [run["id"] for run in found] == expected
    assert not any({"input", "output", "error"} & run.keys() for run in found)


def test_runs_are_filtered(client: Client) -> None:
    session = ids.new_id(ids.SESSION)
    first = assert_ok(client.post("/runs", {"agent_name": "Care Desk", "session_id": session}), 201)["id"]
    second = assert_ok(client.post("/runs", {"agent_name": "billing_100%"}), 201)["id"]
    assert_ok(client.post(f"/runs/{second}/finish", {"outcome": "failed", "error": "no"}))

    def found(**query: Any) -> list[str]:
        return [run["id"] for run in assert_ok(client.get("/runs", **query))["items"]]

    assert found(state="running") == [first]
    assert found(state="failed") == [second]
    assert found(agent_name="Care Desk") == [first]
    assert found(agent_name="care desk") == []
    assert found(q="care") == [first]
    assert found(q="%") == found(q="_") == found(q="100%") == [second]
    assert found(q=session) == found(q=first) == [first]
    assert found(q="nothing") == []


def test_a_cursor_belongs_to_its_list_and_filters(client: Client, scope: str) -> None:
    for _ in range(3):
        assert_ok(client.post("/runs", {"agent_name": "a"}), 201)
    cursor = assert_ok(client.get("/runs", limit=1))["next"]
    assert assert_ok(client.get("/runs", limit=2, cursor=cursor))["items"]
    for path, query in (("/runs", {"agent_name": "a"}), ("/suspensions", {}), ("/resume-starts", {})):
        assert_problem(client.get(path, cursor=cursor, **query), 400, "invalid_cursor")
    other = client.send("GET", "/runs", query={"cursor": cursor}, headers={"Cortex-Scope": f"{scope}/p=a"})
    assert_problem(other, 400, "invalid_cursor")


def test_rows_that_come_between_two_pages_leave_no_gap_and_no_repeat(client: Client) -> None:
    made = [assert_ok(client.post("/runs", {}), 201)["id"] for _ in range(4)]
    page = assert_ok(client.get("/runs", limit=2))
    assert_ok(client.post("/runs", {}), 201)
    rest = assert_ok(client.get("/runs", limit=9, cursor=page["next"]))
    assert [run["id"] for run in page["items"] + rest["items"]] == made[::-1]


# -- ends --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["completed", "failed", "cancelled", "incomplete"])
def test_a_run_is_finished_and_the_same_again_is_the_same_run(client: Client, outcome: str) -> None:
    run_id = assert_ok(client.post("/runs", {}), 201)["id"]
    body = {"outcome": outcome, "output": "o\0", "error": "e"}
    first = assert_ok(client.post(f"/runs/{run_id}/finish", body))
    assert (first["state"], first["output"], first["error"], first["revision"]) == (outcome, "o\0", "e", 2)
    assert first["completed_at"] is not None
    assert assert_ok(client.post(f"/runs/{run_id}/finish", body)) == first | {"fresh": False}
    document = assert_problem(client.post(f"/runs/{run_id}/finish", body | {"output": ""}), 409, "invalid_state")
    assert document["state"] == outcome


def test_only_the_holder_finishes_a_leased_run(client: Client) -> None:
    run = assert_ok(client.post("/runs", {"lease": TAKE}), 201)
    path, body = f"/runs/{run['id']}/finish", {"outcome": "completed"}
    for lease in (None, {"owner": "worker-1", "epoch": 2}, {"owner": "other", "epoch": 1}, {"owner": "worker-1"}, {}):
        assert_problem(client.post(path, body | {"lease": lease}), 409, "run_lease_lost")
    assert assert_ok(client.post(path, body | {"lease": {"owner": "worker-1", "epoch": 1}}))["lease"] is None


def test_a_paused_run_is_not_finished_whoever_asks(scope: str) -> None:
    walk = Walk(scope).paused()
    answer = walk.agent.post(f"{walk.run_path}/finish", {"outcome": "completed", "lease": {"owner": "x", "epoch": 9}})
    assert assert_problem(answer, 409, "invalid_state")["state"] == "paused"


def test_an_admitted_run_is_nobodys_to_touch(scope: str) -> None:
    walk = Walk(scope).paused().admitted()
    assert_problem(walk.agent.post(f"{walk.run_path}/finish", {"outcome": "completed"}), 409, "invalid_state")
    progress = {"owner": "w", "epoch": 1, "continuation": {"messages": []}}
    assert_problem(walk.agent.put(f"{walk.run_path}/progress", progress), 409, "invalid_state")
    assert_problem(walk.agent.post(f"{walk.run_path}/lease/reclaim", TAKE), 409, "invalid_state")
    body = walk.pause_body(id=ids.new_id(ids.SUSPENSION))
    assert_problem(walk.agent.post("/suspensions", body), 409, "invalid_state")


def test_an_operator_cancels_a_paused_run(scope: str) -> None:
    walk = Walk(scope).paused()
    run = assert_ok(walk.operator.post(f"{walk.run_path}/cancel", {"reason": "called off"}))
    assert (run["state"], run["error"], run["revision"]) == ("cancelled", "called off", walk.revision + 2)
    again = assert_ok(walk.operator.post(f"{walk.run_path}/cancel", {"reason": "called off"}))
    assert again == run | {"fresh": False}
    assert_problem(walk.operator.post(f"{walk.run_path}/cancel", {"reason": "other"}), 409, "invalid_state")
    assert assert_ok(walk.agent.get("/suspensions"))["items"] == []
    assert assert_problem(walk.decide(), 409, "not_suspended")["state"] == "cancelled"


def test_an_agent_cancels_only_what_it_holds(scope: str) -> None:
    agent = client_for(scope, Role.AGENT)
    run = assert_ok(agent.post("/runs", {"lease": TAKE}), 201)
    path = f"/runs/{run['id']}/cancel"
    assert assert_problem(agent.post(path, {"reason": "x"}), 403, "forbidden")["roles"] == ["operator"]
    lease = {"owner": "worker-1", "epoch": 2}
    assert_problem(agent.post(path, {"reason": "x", "lease": lease}), 409, "run_lease_lost")
    assert_problem(client_for(scope, Role.OPERATOR).post(path, {"reason": "x"}), 409, "run_lease_lost")
    assert assert_ok(agent.post(path, {"reason": "x", "lease": lease | {"epoch": 1}}))["state"] == "cancelled"


def test_a_run_that_is_not_there_is_not_found(client: Client) -> None:
    path = f"/runs/{ids.new_id(ids.RUN)}"
    for answer in (
        client.get(path),
        client.get(f"{path}/events"),
        client.get(f"{path}/wait", revision=0),
        client.post(f"{path}/finish", {"outcome": "completed"}),
        client.post(f"{path}/cancel", {"reason": "x"}),
    ):
        assert_problem(answer, 404, "run_not_found")


def test_events_are_a_chain_read_in_pages(scope: str) -> None:
    walk = Walk(scope).paused().admitted().started()
    events: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = assert_ok(walk.agent.get(f"{walk.run_path}/events", limit=1, **cursor))
        events += page["items"]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert [event["position"] for event in events] == [1, 2, 3, 4]
    assert [event["previous"] for event in events] == [None, *(event["hash"] for event in events[:-1])]
    assert events[2]["record_sha256"] == walk.admission["record_sha256"]
    assert [event["revision"] for event in events] == [1, 2, 3, 3]
