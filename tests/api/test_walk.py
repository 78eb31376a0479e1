"""The walk of a pause: made, decided, started, saved, finished, and what is read of it."""

from __future__ import annotations

import json
from base64 import b64decode

from suspensions.domain import ids
from tests.support.api import Client, assert_ok, client_for

CONTINUATION = {"messages": [{"role": "user", "content": "Please cancel my booking."}], "unknown": {"n": 10**40}}


def test_a_pause_is_decided_started_and_finished(client: Client, scope: str) -> None:
    run_id, suspension_id = ids.new_id(ids.RUN), ids.new_id(ids.SUSPENSION)
    run = assert_ok(client.post("/runs", {"id": run_id, "agent_name": "desk", "input": "hello"}), 201)
    assert (run["state"], run["revision"], run["fresh"]) == ("running", 1, True)
    body = {
        "id": suspension_id,
        "run_id": run_id,
        "reason": "approval",
        "pending": [{"id": "c1", "name": "cancel", "arguments": '{"n": 1.0}', "note": "why"}],
        "continuation": CONTINUATION,
    }
    pause = assert_ok(client.post("/suspensions", body), 201)
    assert pause["run"]["state"] == "paused"
    assert pause["run"]["revision"] == 2
    assert assert_ok(client.post("/suspensions", body))["fresh"] is False

    approver = client_for(scope)
    seen = assert_ok(approver.get(f"/suspensions/{suspension_id}"))
    assert seen["continuation"] == CONTINUATION
    decision = {
        "run_revision": 2,
        "decisions": [
            {"call_id": "c1", "decision": "approve", "arguments_sha256": seen["pending"][0]["arguments_sha256"]}
        ],
    }
    admission = assert_ok(approver.post(f"/suspensions/{suspension_id}/decision", decision), 201)
    assert admission["fresh"] is True

    start = assert_ok(client.post("/resume-starts/next", {"lease": {"owner": "w1", "seconds": 60}, "wait": 5}), 201)
    assert start["fresh"] is True
    assert json.loads(b64decode(start["input"]))["decisions"][0]["outcome"] == "approved"
    assert start["suspension"]["continuation"] == CONTINUATION
    lease = {"owner": "w1", "epoch": start["lease"]["epoch"]}

    assert_ok(client.put(f"/runs/{run_id}/progress", {**lease, "continuation": CONTINUATION}))
    ended = assert_ok(client.post(f"/runs/{run_id}/finish", {"outcome": "completed", "output": "done", "lease": lease}))
    assert (ended["state"], ended["output"]) == ("completed", "done")
    events = assert_ok(client.get(f"/runs/{run_id}/events"))["items"]
    assert [event["type"] for event in events] == [
        "run.created",
        "run.paused",
        "resume.admitted",
        "resume.started",
        "run.finished",
    ]
    receipts = f"/runs/{run_id}/suspensions/{suspension_id}"
    assert assert_ok(client.get(f"{receipts}/admission"))["request_digest"] == admission["request_digest"]
    assert assert_ok(client.get(f"{receipts}/start"))["digest"] == start["digest"]
    assert "suspension" not in assert_ok(client.get(f"{receipts}/start"))


def test_every_list_and_read_answers_as_documented(client: Client, scope: str) -> None:
    for path in (
        "/runs",
        "/suspensions",
        "/suspensions/expired",
        "/resume-admissions",
        "/resume-starts",
        "/resume-expiries",
        "/resume-closures",
        "/uncertain-resumes",
        "/agent-reply-runs",
        "/interactions",
    ):
        assert assert_ok(client.get(path)) == {"items": [], "next": None}, path
    me = assert_ok(client.get("/me"))
    assert (me["principal"], me["token"]) == (client.principal, {"name": "test", "expires_at": None})
