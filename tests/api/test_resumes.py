"""Admissions through the bus, starts, start next, expiries, and their reads and lists."""

from __future__ import annotations

import secrets
from base64 import b64decode, b64encode
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from suspensions.domain import clock, ids
from suspensions.domain.ids import id_at
from suspensions.domain.instants import format_instant
from suspensions.domain.policy import Role
from tests.support.api import assert_ok, assert_problem, client_for
from tests.support.threads import together
from tests.support.walks import CONTINUATION, TAKE, Walk

# -- the bus -----------------------------------------------------------------------------------------


def test_the_bus_admits_a_peers_reply_byte_for_byte(scope: str) -> None:
    walk = Walk(scope, reason="agent_reply").paused()
    value = b"\x00\xff not JSON"
    first = {"continuation": CONTINUATION}
    admission = assert_ok(walk.bus.post("/resume-admissions", walk.reply(value, lease=TAKE, first=first)), 201)
    assert b64decode(admission["input"]) == value
    assert (admission["lease"]["owner"], admission["lease_epoch"], admission["reason"]) == (
        "worker-1",
        1,
        "agent_reply",
    )
    again = assert_ok(walk.bus.post("/resume-admissions", walk.reply(value, lease={"owner": "other", "seconds": 5})))
    assert again == admission | {"fresh": False, "lease": None}
    assert assert_ok(walk.agent.get(f"{walk.run_path}/progress"))["owner"] == "worker-1"
    assert_problem(walk.bus.post("/resume-admissions", walk.reply(b"other")), 409, "resume_admission_conflict")


OTHER_RUN = ids.new_id(ids.RUN)


@pytest.mark.parametrize(
    ("members", "status", "code"),
    [
        ({"reply_with": []}, 403, "not_agent_reply_resumable"),
        ({"reply_with": ["r1", "r2"]}, 403, "not_agent_reply_resumable"),
        ({"reply_with": None}, 400, "invalid_request"),
        ({"reply_with": "r1"}, 400, "invalid_request"),
        ({"input": ""}, 400, "invalid_request"),
        ({"input": "eA"}, 400, "invalid_request"),
        ({"input": "eA==\n"}, 400, "invalid_request"),
        ({"input": "eB=="}, 400, "invalid_request"),
        ({"input": "-_=="}, 400, "invalid_request"),
        ({"lease": {"owner": "w"}}, 409, "run_lease_lost"),
        ({"first": {"continuation": CONTINUATION}}, 409, "run_lease_lost"),
        ({"first": {"continuation": CONTINUATION, "run_id": OTHER_RUN}, "lease": TAKE}, 409, "run_lease_lost"),
    ],
)
def test_a_reply_is_refused(scope: str, members: dict[str, Any], status: int, code: str) -> None:
    walk = Walk(scope, reason="agent_reply").paused()
    assert_problem(walk.bus.post("/resume-admissions", walk.reply(**members)), status, code)
    assert assert_ok(walk.agent.get(walk.run_path))["state"] == "paused"


def test_the_bus_answers_no_other_pause_and_nobody_else_answers_this_one(scope: str) -> None:
    approval, tool = Walk(scope).paused(), Walk(scope, reason="external_tool").paused()
    assert_problem(approval.bus.post("/resume-admissions", approval.reply()), 403, "requires_approval")
    assert_problem(tool.bus.post("/resume-admissions", tool.reply()), 403, "not_agent_reply_resumable")
    reply = Walk(scope, reason="agent_reply").paused()
    for client in (reply.agent, reply.approver, reply.operator):
        assert_problem(client.post("/resume-admissions", reply.reply()), 403, "forbidden")


def test_an_input_of_eight_mebibytes_is_admitted_and_one_byte_more_is_not(scope: str) -> None:
    walk = Walk(scope, reason="agent_reply").paused()
    content = b"\0" * (8 << 20)
    too_large = walk.reply() | {"input": b64encode(content + b"\0").decode()}
    assert_problem(walk.bus.post("/resume-admissions", too_large), 413, "input_too_large")
    assert assert_ok(walk.admitted(value=content).agent.get(walk.run_path))["state"] == "running"
    assert walk.admission["input_bytes"] == 8 << 20


def test_runs_that_wait_for_a_peer_are_listed(scope: str) -> None:
    waiting, admitted = (
        Walk(scope, reason="agent_reply").paused(),
        Walk(scope, reason="agent_reply").paused().admitted(),
    )
    Walk(scope).paused()
    both = sorted([waiting.run_id, admitted.run_id])
    assert assert_ok(waiting.bus.get("/agent-reply-runs")) == {"items": both, "next": None}
    assert assert_ok(waiting.bus.get("/agent-reply-runs", after=both[0], limit=1))["items"] == both[1:]
    assert_problem(waiting.bus.get("/agent-reply-runs", after="x"), 400, "invalid_id")
    assert_problem(waiting.agent.get("/agent-reply-runs"), 403, "forbidden")


# -- starts ------------------------------------------------------------------------------------------


def test_only_the_fresh_start_carries_what_to_execute(scope: str) -> None:
    walk = Walk(scope).paused().admitted()
    start = walk.started().start
    assert start["suspension"]["continuation"] == CONTINUATION
    assert start["input"] == walk.admission["input"]
    assert start["claimed_run"]["lease"] == start["lease"]
    assert (start["lease"]["epoch"], start["claimed_run"]["revision"]) == (1, 3)
    again = assert_ok(walk.agent.post("/resume-starts", walk.resume | {"lease": TAKE}))
    carried = {"suspension", "input", "claimed_run"}
    assert again == {name: value for name, value in start.items() if name not in carried} | {
        "fresh": False,
        "lease": None,
    }
    assert assert_ok(walk.agent.get(f"{walk.receipts_path}/start")) == again


def test_of_many_starts_one_is_fresh(scope: str) -> None:
    walk = Walk(scope).paused().admitted()
    clients = [client_for(scope, Role.AGENT) for _ in range(8)]
    answers = together([partial(client.post, "/resume-starts", walk.resume) for client in clients])
    assert sorted(answer.status for answer in answers if not isinstance(answer, Exception)) == [200] * 7 + [201]


def test_a_start_is_refused(scope: str) -> None:
    walk = Walk(scope).paused()
    assert_problem(walk.agent.post("/resume-starts", walk.resume), 404, "resume_admission_not_found")
    walk.admitted()
    other = walk.resume | {"request_digest": "0" * 64}
    document = assert_problem(walk.agent.post("/resume-starts", other), 409, "resume_admission_conflict")
    assert document["admission"]["request_digest"] == walk.admission["request_digest"]
    half = walk.resume | {"lease": {"owner": "w"}}
    assert_problem(walk.agent.post("/resume-starts", half), 409, "run_lease_lost")
    assert_problem(walk.agent.post("/resume-starts", walk.resume | {"request_digest": "x"}), 400, "invalid_request")
    assert_problem(walk.approver.post("/resume-starts", walk.resume), 403, "forbidden")
    assert_ok(walk.operator.post(f"{walk.run_path}/cancel", {"reason": "x"}))
    document = assert_problem(walk.agent.post("/resume-starts", walk.resume), 409, "run_conflict")
    assert document["run"]["state"] == "cancelled"


# -- start next --------------------------------------------------------------------------------------


def test_the_oldest_admitted_resume_is_started_first(scope: str) -> None:
    walks = [Walk(scope).paused() for _ in range(3)]
    for walk in reversed(walks):
        walk.admitted()
    started = [assert_ok(walks[0].agent.post("/resume-starts/next", {"lease": TAKE}), 201) for _ in walks]
    assert [start["version"]["run_id"] for start in started] == [walk.run_id for walk in reversed(walks)]
    assert_ok(walks[0].agent.post("/resume-starts/next", {"lease": TAKE}), 204)


def test_a_repeat_of_the_request_gets_the_same_start_until_it_is_used(scope: str) -> None:
    walk = Walk(scope).paused().admitted()
    body = {"lease": TAKE, "request_id": "take-1"}
    start = assert_ok(walk.agent.post("/resume-starts/next", body), 201)
    assert assert_ok(walk.agent.post("/resume-starts/next", body)) == start | {"fresh": False}
    stranger = client_for(scope, Role.AGENT)
    assert_ok(stranger.post("/resume-starts/next", body), 204)
    other_owner = body | {"lease": {"owner": "other", "seconds": 60}}
    assert_problem(walk.agent.post("/resume-starts/next", other_owner), 409, "resume_already_started")
    walk.start = start
    assert_ok(walk.agent.put(f"{walk.run_path}/progress", walk.holder | {"continuation": CONTINUATION}))
    assert_problem(walk.agent.post("/resume-starts/next", body), 409, "resume_already_started")


def test_resumes_of_other_agents_are_left(scope: str) -> None:
    walk = Walk(scope).paused(run={"agent_name": "desk"}).admitted()
    assert_ok(walk.agent.post("/resume-starts/next", {"lease": TAKE, "agent_name": "other"}), 204)
    assert_ok(walk.agent.post("/resume-starts/next", {"lease": TAKE, "agent_name": "desk"}), 201)


def test_a_healthy_admitter_keeps_its_own(scope: str) -> None:
    walk = Walk(scope, reason="agent_reply").paused().admitted(lease=TAKE)
    assert_ok(walk.agent.post("/resume-starts/next", {"lease": TAKE}), 204)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "invalid_request"),
        ({"lease": {"owner": "w"}}, 409, "run_lease_lost"),
        ({"lease": TAKE, "wait": -1}, 400, "invalid_request"),
        ({"lease": TAKE, "wait": "5"}, 400, "invalid_request"),
        ({"lease": TAKE, "request_id": ""}, 400, "invalid_request"),
        ({"lease": TAKE, "agent_name": " "}, 400, "invalid_request"),
    ],
)
def test_next_is_refused(scope: str, body: dict[str, Any], status: int, code: str) -> None:
    assert_problem(client_for(scope, Role.AGENT).post("/resume-starts/next", body), status, code)


# -- expiries ----------------------------------------------------------------------------------------


def overdue(scope: str) -> Walk:
    """An answer that was admitted in time and that no worker picked up within the grace."""
    then = clock.now() - timedelta(hours=1)
    run_id, suspension_id = (id_at(kind, then, secrets.randbits(60)) for kind in (ids.RUN, ids.SUSPENSION))
    with clock.use_clock(lambda: then):
        walk = Walk(scope, run_id=run_id, suspension_id=suspension_id)
        return walk.paused(expires_at=format_instant(then + timedelta(minutes=1))).admitted()


def test_an_overdue_resume_expires_and_is_never_started(scope: str) -> None:
    walk = overdue(scope)
    document = assert_problem(walk.agent.post("/resume-starts", walk.resume), 409, "suspension_expired")
    assert document["expires_at"] == walk.pause["expires_at"]
    assert document["start_by"] == walk.admission["start_by"]
    assert_ok(walk.agent.post("/resume-starts/next", {"lease": TAKE}), 204)
    expiry = assert_ok(walk.operator.post("/resume-expiries", walk.resume), 201)
    assert (expiry["run_revision"], expiry["fresh"]) == (4, True)
    assert assert_ok(walk.operator.post("/resume-expiries", walk.resume)) == expiry | {"fresh": False}
    assert assert_ok(walk.agent.get(f"{walk.receipts_path}/expiry")) == expiry | {"fresh": False}
    run = assert_ok(walk.agent.get(walk.run_path))
    assert (run["state"], run["revision"]) == ("failed", 4)
    assert_problem(walk.agent.post("/resume-starts", walk.resume), 409, "suspension_expired")


def test_an_expiry_is_refused(scope: str) -> None:
    walk = Walk(scope).paused()
    assert_problem(walk.operator.post("/resume-expiries", walk.resume), 404, "resume_admission_not_found")
    walk.admitted()
    other = walk.resume | {"request_digest": "0" * 64}
    assert_problem(walk.operator.post("/resume-expiries", other), 409, "resume_admission_conflict")
    assert_problem(walk.operator.post("/resume-expiries", walk.resume), 409, "resume_not_expired")
    assert_problem(walk.agent.post("/resume-expiries", walk.resume), 403, "forbidden")
    walk.started()
    assert_problem(walk.operator.post("/resume-expiries", walk.resume), 409, "resume_already_started")


# -- reads and lists ---------------------------------------------------------------------------------


def test_receipts_that_are_not_there(scope: str) -> None:
    walk = Walk(scope).paused()
    for name in ("admission", "start", "expiry", "closure"):
        assert_problem(walk.agent.get(f"{walk.receipts_path}/{name}"), 404, f"resume_{name}_not_found")
    assert_problem(walk.agent.get(f"{walk.run_path}/resume-admissions/latest"), 404, "resume_admission_not_found")


def test_the_history_is_listed_by_pause_and_without_inputs(scope: str) -> None:
    admitted = Walk(scope).paused().admitted()
    started = Walk(scope).paused().admitted().started()
    expired = overdue(scope)
    assert_ok(expired.operator.post("/resume-expiries", expired.resume), 201)

    def listed(**query: Any) -> list[str]:
        page = assert_ok(admitted.agent.get("/resume-admissions", **query))
        assert not any("input" in item or "input" in item["request"] for item in page["items"])
        return [item["request"]["version"]["suspension_id"] for item in page["items"]]

    everything = sorted((walk.suspension_id for walk in (admitted, started, expired)), reverse=True)
    assert listed() == everything
    assert listed(state="admitted") == [admitted.suspension_id]
    assert listed(state="started") == [started.suspension_id]
    assert listed(state="expired") == [expired.suspension_id]
    assert listed(state="closed") == []
    assert_problem(admitted.agent.get("/resume-admissions", state="lost"), 400, "invalid_request")
    starts = assert_ok(admitted.agent.get("/resume-starts"))["items"]
    assert [start["version"]["suspension_id"] for start in starts] == [started.suspension_id]
    expiries = assert_ok(admitted.agent.get("/resume-expiries"))["items"]
    assert [expiry["version"]["suspension_id"] for expiry in expiries] == [expired.suspension_id]
    latest = assert_ok(admitted.agent.get(f"{admitted.run_path}/resume-admissions/latest"))
    assert latest == assert_ok(admitted.agent.get(f"{admitted.receipts_path}/admission"))
    assert latest == admitted.admission | {"fresh": False, "lease": None}


def test_admissions_are_read_at_the_exact_scope_alone(scope: str) -> None:
    below = Walk(f"{scope}/p=a").paused().admitted()
    above = client_for(scope)
    assert assert_ok(above.get(below.run_path))["id"] == below.run_id
    assert_problem(above.get(f"{below.receipts_path}/admission"), 404, "resume_admission_not_found")
    assert assert_ok(above.get("/resume-admissions"))["items"] == []
    assert_problem(above.post("/resume-starts", below.resume), 404, "resume_admission_not_found")
    assert_ok(above.post("/resume-starts/next", {"lease": TAKE}), 204)


def test_an_external_result_is_not_lost_with_its_ids(scope: str) -> None:
    walk = Walk(scope).paused().admitted()
    missing = f"/runs/{ids.new_id(ids.RUN)}/suspensions/{walk.suspension_id}/admission"
    assert_problem(walk.agent.get(missing), 404, "resume_admission_not_found")
