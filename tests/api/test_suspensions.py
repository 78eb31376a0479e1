"""Pausing, reading and listing pauses, claiming and deleting them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from suspensions.domain import clock, ids
from suspensions.domain.ids import id_at
from suspensions.domain.instants import format_instant, parse_instant
from suspensions.domain.policy import Role
from tests.support.api import assert_ok, assert_problem, client_for
from tests.support.walks import CONTINUATION, TAKE, Walk, pending_for


def in_seconds(seconds: float) -> str:
    return format_instant(clock.now() + timedelta(seconds=seconds))


# -- pausing -----------------------------------------------------------------------------------------


def test_a_pause_makes_its_run_and_has_every_member(scope: str) -> None:
    walk = Walk(scope)
    run = {"id": walk.run_id, "agent_name": "desk", "lease": TAKE}
    pause = walk.paused(run=run, expires_at="2031-05-01T12:00:00Z").pause
    assert (pause["run"]["state"], pause["run"]["revision"], pause["run"]["lease"]) == ("paused", 2, None)
    assert pause["checkpoint_id"].startswith("acp_")
    assert pause["pending"][0]["reply_with"] is pause["claimed_at"] is pause["retired_at"] is None
    assert pause["expires_at"] == "2031-05-01T12:00:00.000000Z"
    read = assert_ok(walk.agent.get(walk.pause_path))
    assert read == {name: value for name, value in pause.items() if name != "run"} | {"fresh": False}
    assert assert_ok(walk.agent.get(f"{walk.run_path}/suspension")) == read


def test_the_same_pause_again_is_that_pause_whatever_became_of_it(scope: str) -> None:
    walk = Walk(scope).paused()
    body = json.loads(json.dumps(dict(reversed(walk.pause_body().items()))))
    again = assert_ok(walk.agent.post("/suspensions", body | {"lease": {"owner": "anybody", "epoch": 7}}))
    assert again == walk.pause | {"fresh": False}
    walk.admitted().started()
    later = assert_ok(walk.agent.post("/suspensions", body))
    assert (later["id"], later["fresh"], later["run"]["state"]) == (walk.suspension_id, False, "running")
    assert_problem(walk.agent.post("/suspensions", body | {"reason": "external_tool"}), 409, "already_exists")


def test_the_run_of_a_pause_is_the_one_that_posting_it_would_make(scope: str) -> None:
    walk = Walk(scope)
    run = {"id": walk.run_id, "agent_name": "desk", "metadata": {"n": 1.00}}
    walk.paused(run=run)
    assert assert_ok(walk.agent.post("/runs", run))["fresh"] is False


def test_a_second_pause_names_the_first(scope: str) -> None:
    walk = Walk(scope).paused()
    body = walk.pause_body(id=ids.new_id(ids.SUSPENSION))
    document = assert_problem(walk.agent.post("/suspensions", body), 409, "already_exists")
    assert document["suspension_id"] == walk.suspension_id


def test_a_pause_is_refused(scope: str) -> None:
    walk = Walk(scope)
    body = {name: value for name, value in walk.pause_body().items() if name != "run"}
    assert_problem(walk.agent.post("/suspensions", body), 404, "run_not_found")
    other = body | {"run": {"id": ids.new_id(ids.RUN)}}
    document = assert_problem(walk.agent.post("/suspensions", other), 400, "invalid_request")
    assert document["errors"][0]["pointer"] == "/run/id"
    walk.make_run(lease=TAKE)
    assert_problem(walk.agent.post("/suspensions", body), 409, "run_lease_lost")
    assert_problem(walk.agent.post("/suspensions", body | {"lease": {"owner": "worker-1"}}), 409, "run_lease_lost")
    assert_ok(walk.agent.post("/suspensions", body | {"lease": {"owner": "worker-1", "epoch": 1}}), 201)


def test_ids_of_a_run_only_grow(scope: str) -> None:
    walk = Walk(scope, reason="external_tool").paused()
    assert_ok(walk.agent.post(f"{walk.run_path}/claim", {}))
    early = id_at(ids.SUSPENSION, clock.now() - timedelta(days=1))
    assert_problem(walk.agent.post("/suspensions", walk.pause_body(id=early)), 400, "invalid_id")
    late = id_at(ids.SUSPENSION, clock.now() + timedelta(minutes=6))
    assert_problem(walk.agent.post("/suspensions", walk.pause_body(id=late)), 400, "invalid_id")
    second = assert_ok(walk.agent.post("/suspensions", walk.pause_body(id=ids.new_id(ids.SUSPENSION))), 201)
    assert assert_ok(walk.agent.get(walk.pause_path))["retired_at"] is not None
    assert assert_ok(walk.agent.get(f"{walk.run_path}/suspension"))["id"] == second["id"]


def test_a_deadline_in_the_past_expires_at_once(scope: str) -> None:
    walk = Walk(scope).paused(expires_at="2001-01-01T00:00:00Z")
    document = assert_problem(walk.decide(), 409, "suspension_expired")
    assert document["expires_at"] == "2001-01-01T00:00:00.000000Z"
    expired = assert_ok(walk.operator.get("/suspensions/expired"))["items"]
    assert [item["id"] for item in expired] == [walk.suspension_id]


@pytest.mark.parametrize(
    "run_id", ["", " ", "\t", "a" * 10_000, "a/b", "a\nb", "arun_", "arun_01KB9X6Q3HF5TRM0C8ZV2W4YEJ", 7]
)
def test_a_run_id_that_is_none_makes_no_row(scope: str, run_id: Any) -> None:
    walk = Walk(scope)
    body = walk.pause_body(run_id=run_id, run={"agent_name": "desk"})
    assert_problem(walk.agent.post("/suspensions", body), 400, "invalid_id")
    assert_problem(walk.agent.post("/runs", {"id": run_id}), 400, "invalid_id")
    assert assert_ok(walk.agent.get("/runs"))["items"] == assert_ok(walk.agent.get("/suspensions"))["items"] == []


def test_the_sites_deadlines_hold(scope: str, settings: Settings) -> None:
    settings.DEFAULT_DEADLINE, settings.MAX_DEADLINE = timedelta(hours=1), timedelta(hours=24)
    now = clock.now()

    def seconds(**members: Any) -> float:
        pause = Walk(scope).paused(**members).pause
        return (parse_instant(pause["expires_at"]) - parse_instant(pause["created_at"])).total_seconds()

    assert seconds() == 3600
    assert seconds(expires_at=format_instant(now + timedelta(minutes=1))) <= 60
    walk = Walk(scope)
    body = walk.pause_body(expires_at=format_instant(now + timedelta(days=30)))
    document = assert_problem(walk.agent.post("/suspensions", body), 400, "invalid_request")
    assert [fault["pointer"] for fault in document["errors"]] == ["/expires_at"]
    assert_problem(walk.agent.get(walk.run_path), 404, "run_not_found")


def test_only_an_agent_pauses(scope: str) -> None:
    walk = Walk(scope)
    for client in (walk.approver, walk.bus, walk.operator, client_for(scope, Role.ADMIN)):
        assert_problem(client.post("/suspensions", walk.pause_body()), 403, "forbidden")


# -- lists -------------------------------------------------------------------------------------------


def test_a_list_shows_previews_and_no_continuation(scope: str) -> None:
    tail = "x" * 5000 + "TAIL"
    call = {"id": "c1", "name": "wire", "arguments": json.dumps({"amount": 5, "memo": tail}), "note": "why"}
    walk = Walk(scope).paused(pending=[call])
    answer = walk.agent.get("/suspensions")
    item = assert_ok(answer)["items"][0]
    assert (item["id"], item["pending"][0]["name"], item["pending"][0]["note"]) == (walk.suspension_id, "wire", "why")
    assert item["pending"][0]["members"][0] == ["amount", "5"]
    assert "continuation" not in item
    assert b"TAIL" not in answer.content


def test_pauses_are_filtered(scope: str) -> None:
    approval = Walk(scope).paused(run={"agent_name": "desk"}, expires_at=in_seconds(60))
    tool = Walk(scope, reason="external_tool")
    tool.paused(pending=[{"id": "c1", "name": 'ship "it"', "arguments": '{"to":"Oslo harbour"}'}])
    assert_ok(tool.agent.post(f"{tool.run_path}/claim", {}))

    def found(**query: Any) -> list[str]:
        return [item["id"] for item in assert_ok(approval.agent.get("/suspensions", **query))["items"]]

    both = [tool.suspension_id, approval.suspension_id]
    assert found() == both
    assert found(reason="approval") == found(claimed="false") == [approval.suspension_id]
    assert found(reason="external_tool") == found(claimed="true") == [tool.suspension_id]
    assert found(tool='ship "it"') == [tool.suspension_id]
    assert found(tool="ship") == found(tool='SHIP "it"') == found(tool='it"') == []
    assert found(run_id=approval.run_id) == found(agent_name="desk") == [approval.suspension_id]
    assert found(q="harbour OSLO") == found(q=tool.run_id) == found(q=tool.suspension_id) == [tool.suspension_id]
    assert found(q="harbour bergen") == []
    assert found(expires_before=in_seconds(120)) == [approval.suspension_id]
    assert found(expires_before=in_seconds(30)) == []
    assert_problem(approval.agent.get("/suspensions", reason="because"), 400, "invalid_request")
    assert_problem(approval.agent.get("/suspensions", claimed="yes"), 400, "invalid_request")
    assert_problem(approval.agent.get("/suspensions", expires_before="2031-05-01T12:00:00"), 400, "invalid_request")


def test_expired_pauses_come_earliest_deadline_first(scope: str) -> None:
    later = Walk(scope).paused(expires_at="2002-01-01T00:00:00Z")
    earlier = Walk(scope).paused(expires_at="2001-01-01T00:00:00Z")
    Walk(scope).paused()
    items = assert_ok(later.operator.get("/suspensions/expired"))["items"]
    assert [item["id"] for item in items] == [earlier.suspension_id, later.suspension_id]
    until = assert_ok(later.operator.get("/suspensions/expired", now="2001-06-01T00:00:00Z", limit=1))
    assert [item["id"] for item in until["items"]] == [earlier.suspension_id]
    assert_problem(later.operator.get("/suspensions/expired", now="2101-01-01T00:00:00Z"), 400, "invalid_request")
    assert_problem(later.operator.get("/suspensions/expired", limit=0), 400, "invalid_limit")
    assert_problem(later.agent.get("/suspensions/expired"), 403, "forbidden")


# -- claims ------------------------------------------------------------------------------------------


def test_a_claim_gives_pause_run_and_lease(scope: str) -> None:
    walk = Walk(scope, reason="external_tool").paused()
    first = {"continuation": CONTINUATION, "started": pending_for("external_tool")}
    body = {"version": walk.version, "lease": TAKE, "first": first}
    claimed = assert_ok(walk.agent.post(f"{walk.run_path}/claim", body))
    assert (claimed["claimed_run"]["state"], claimed["claimed_run"]["revision"]) == ("running", 3)
    assert claimed["lease"] == claimed["claimed_run"]["lease"]
    assert claimed["claimed_at"] is not None
    progress = assert_ok(walk.agent.get(f"{walk.run_path}/progress"))
    assert (progress["owner"], progress["epoch"]) == ("worker-1", 1)
    assert progress["started"][0]["id"] == "c1"
    assert_problem(walk.agent.post(f"{walk.run_path}/claim", body), 409, "not_suspended")


@pytest.mark.parametrize(
    ("members", "status", "code"),
    [
        ({"lease": {"owner": "w"}}, 409, "run_lease_lost"),
        ({"lease": {"seconds": 5}}, 409, "run_lease_lost"),
        ({"lease": {"owner": "", "seconds": 5}}, 409, "run_lease_lost"),
        ({"first": {"continuation": CONTINUATION}}, 409, "run_lease_lost"),
        ({"lease": TAKE, "first": {"continuation": CONTINUATION, "owner": "other"}}, 409, "run_lease_lost"),
        ({"lease": TAKE, "first": {"continuation": {}}}, 422, "invalid_continuation"),
        ({"lease": TAKE, "first": {}}, 400, "invalid_request"),
        ({"lease": {"owner": "w", "seconds": 5, "expires_at": "2031-01-01T00:00:00Z"}}, 400, "invalid_request"),
        ({"expired_by": "2101-01-01T00:00:00Z"}, 403, "forbidden"),
    ],
)
def test_a_claim_is_refused(scope: str, members: dict[str, Any], status: int, code: str) -> None:
    walk = Walk(scope, reason="external_tool").paused()
    assert_problem(walk.agent.post(f"{walk.run_path}/claim", members), status, code)
    assert assert_ok(walk.agent.get(walk.run_path))["state"] == "paused"


def test_a_claim_of_another_moment_tells_where_the_run_stands(scope: str) -> None:
    walk = Walk(scope, reason="external_tool").paused()
    for change in ({"run_revision": 1}, {"suspension_id": ids.new_id(ids.SUSPENSION)}):
        body = {"version": walk.version | change}
        document = assert_problem(walk.agent.post(f"{walk.run_path}/claim", body), 409, "run_conflict")
        assert document["run"] == {"state": "paused", "revision": 2}
    body = {"version": walk.version | {"run_id": ids.new_id(ids.RUN)}}
    document = assert_problem(walk.agent.post(f"{walk.run_path}/claim", body), 400, "invalid_request")
    assert document["errors"][0]["pointer"] == "/version/run_id"


def test_a_plain_claim_is_for_external_tools_alone(scope: str) -> None:
    approval, reply = Walk(scope).paused(), Walk(scope, reason="agent_reply").paused()
    assert_problem(approval.agent.post(f"{approval.run_path}/claim", {}), 403, "requires_approval")
    assert_problem(reply.agent.post(f"{reply.run_path}/claim", {}), 403, "not_agent_reply_resumable")
    stale = {"version": approval.version | {"run_revision": 9}}
    assert_problem(approval.agent.post(f"{approval.run_path}/claim", stale), 409, "run_conflict")


def test_an_operator_claims_what_has_expired_whatever_its_reason(scope: str) -> None:
    expired, waiting = Walk(scope).paused(expires_at="2001-01-01T00:00:00Z"), Walk(scope).paused()
    body = {"expired_by": in_seconds(-1)}
    assert assert_ok(expired.operator.post(f"{expired.run_path}/claim", body))["claimed_run"]["state"] == "running"
    assert_problem(waiting.operator.post(f"{waiting.run_path}/claim", body), 409, "not_suspended")
    future = {"expired_by": in_seconds(60)}
    assert_problem(waiting.operator.post(f"{waiting.run_path}/claim", future), 400, "invalid_request")
    assert_problem(waiting.operator.post(f"{waiting.run_path}/claim", {}), 403, "forbidden")


def test_a_claim_without_a_body_is_an_empty_one(scope: str) -> None:
    walk = Walk(scope, reason="external_tool").paused()
    path = f"{walk.run_path}/claim"
    assert_problem(walk.agent.send("POST", path, content=b"", content_type="text/plain"), 415, "unsupported_media_type")
    assert_problem(walk.agent.send("POST", path, content=b"{}", content_type=""), 415, "unsupported_media_type")
    assert_ok(walk.agent.send("POST", path, content=b"", content_type=""))


# -- deleting ----------------------------------------------------------------------------------------


def test_a_pause_is_deleted_once_it_was_handled(scope: str) -> None:
    walk = Walk(scope).paused()
    path = f"{walk.run_path}/suspension"
    assert_problem(walk.agent.delete(path), 409, "invalid_state")
    assert_problem(walk.admitted().agent.delete(path), 409, "invalid_state")
    walk.started()
    other = ids.new_id(ids.SUSPENSION)
    assert_problem(walk.agent.delete(path, suspension_id=other), 409, "not_suspended")
    assert_problem(walk.agent.delete(path, suspension=walk.suspension_id), 400, "invalid_request")
    assert_ok(walk.agent.delete(path, suspension_id=walk.suspension_id), 204)
    assert_problem(walk.agent.delete(path), 409, "not_suspended")
    assert_problem(walk.agent.get(path), 409, "not_suspended")
    assert assert_ok(walk.agent.get(walk.pause_path))["retired_at"] is not None
    assert assert_ok(walk.agent.get(f"{walk.receipts_path}/admission"))["request_digest"]
