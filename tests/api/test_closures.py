"""Uncertain resumes, closing them with proof, and verifying receipts, over the API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from suspensions.domain import clock, ids
from suspensions.domain.instants import format_instant
from tests.support.api import assert_ok, assert_problem
from tests.support.walks import TAKE, Walk


def an_hour_later() -> Any:
    then = clock.now() + timedelta(hours=1)
    return clock.use_clock(lambda: then)


def closure_request(walk: Walk, **members: Any) -> dict[str, Any]:
    now = clock.now()
    return {
        "schema_version": 1,
        "scope": walk.scope,
        "version": walk.version,
        "admission_digest": walk.admission["request_digest"],
        "start_digest": walk.start["digest"],
        "run_revision": walk.start["claimed_run"]["revision"],
        "actor": walk.operator.principal,
        "issuer": "quiet-workers",
        "issuer_revision": "1",
        "proof_ref": ids.new_id(ids.PROOF),
        "proof_digest": "0" * 64,
        "observed_at": format_instant(now),
        "expires_at": format_instant(now + timedelta(hours=1)),
        **members,
    }


# -- uncertain resumes -------------------------------------------------------------------------------


def test_a_start_whose_lease_lapsed_is_uncertain(scope: str) -> None:
    walk = Walk(scope).paused().admitted().started()
    assert assert_ok(walk.operator.get("/uncertain-resumes"))["items"] == []
    with an_hour_later():
        item = assert_ok(walk.operator.get("/uncertain-resumes"))["items"][0]
    assert (item["run_id"], item["suspension_id"]) == (walk.run_id, walk.suspension_id)
    assert (item["lease_owner"], item["progress_at"], item["start_digest"]) == ("worker-1", None, walk.start["digest"])
    assert item["run"]["state"] == "running"
    assert_problem(walk.agent.get("/uncertain-resumes"), 403, "forbidden")


def test_a_start_whose_lease_was_given_up_is_uncertain_at_once(scope: str) -> None:
    walk = Walk(scope).paused().admitted().started()
    assert_ok(walk.agent.post(f"{walk.run_path}/lease/release", walk.holder))
    assert len(assert_ok(walk.operator.get("/uncertain-resumes"))["items"]) == 1
    assert_ok(walk.agent.post(f"{walk.run_path}/lease/reclaim", TAKE))
    assert assert_ok(walk.operator.get("/uncertain-resumes"))["items"] == []


def test_a_start_without_a_lease_is_uncertain_once_it_was_silent(scope: str) -> None:
    walk = Walk(scope).paused().admitted().started(lease=None)
    assert assert_ok(walk.operator.get("/uncertain-resumes"))["items"] == []
    with an_hour_later():
        assert len(assert_ok(walk.operator.get("/uncertain-resumes"))["items"]) == 1
    assert_ok(walk.agent.post(f"{walk.run_path}/finish", {"outcome": "completed"}))
    with an_hour_later():
        assert assert_ok(walk.operator.get("/uncertain-resumes"))["items"] == []


def test_uncertain_resumes_come_in_pages(scope: str) -> None:
    walks = [Walk(scope).paused().admitted().started() for _ in range(3)]
    with an_hour_later():
        page = assert_ok(walks[0].operator.get("/uncertain-resumes", limit=2))
        rest = assert_ok(walks[0].operator.get("/uncertain-resumes", limit=2, cursor=page["next"]))
    listed = [item["run_id"] for item in page["items"] + rest["items"]]
    assert listed == [walk.run_id for walk in reversed(walks)]
    assert rest["next"] is None


# -- closing -----------------------------------------------------------------------------------------


def test_freezing_gives_the_digest_and_grants_nothing(scope: str) -> None:
    walk = Walk(scope).paused().admitted().started()
    request = closure_request(walk)
    frozen = assert_ok(walk.operator.post("/resume-closures/freeze", request))
    assert frozen["request"] == request
    assert assert_ok(walk.operator.post("/resume-closures/freeze", dict(reversed(request.items())))) == frozen
    assert assert_ok(walk.operator.get("/resume-closures")) == {"items": [], "next": None}
    assert_problem(walk.agent.post("/resume-closures/freeze", request), 403, "forbidden")


@pytest.mark.parametrize(
    ("members", "status", "code"),
    [
        ({"schema_version": 2}, 400, "invalid_request"),
        ({"schema_version": True}, 400, "invalid_request"),
        ({"admission_digest": "A" * 64}, 400, "invalid_request"),
        ({"start_digest": None}, 400, "invalid_request"),
        ({"run_revision": 0}, 400, "invalid_request"),
        ({"run_revision": 1 << 53}, 400, "invalid_request"),
        ({"actor": ""}, 400, "invalid_request"),
        ({"proof_ref": " "}, 400, "invalid_request"),
        ({"proof_ref": "sus_01kb9x6q3hf5trm0c8zv2w4yej"}, 400, "invalid_id"),
        ({"observed_at": "2031-05-01T12:00:00"}, 400, "invalid_request"),
        ({"observed_at": "2031-05-01T12:00:00.1234567Z"}, 400, "invalid_request"),
        ({"scope": "w=another"}, 409, "scope_mismatch"),
        ({"more": 1}, 400, "invalid_request"),
    ],
)
def test_a_closure_request_of_another_shape_is_refused(
    scope: str, members: dict[str, Any], status: int, code: str
) -> None:
    walk = Walk(scope).paused().admitted().started()
    request = closure_request(walk, **members)
    assert_problem(walk.operator.post("/resume-closures/freeze", request), status, code)
    assert_problem(walk.operator.post("/resume-closures", request | {"proof": "e30.e30.x"}), status, code)


def test_a_closure_needs_a_proof_and_an_authorizer_that_takes_it(scope: str, settings: Settings) -> None:
    settings.CLOSURE_AUTHORIZER = "suspensions.closing.refusing.RefusingAuthorizer"
    walk = Walk(scope).paused().admitted().started()
    request = closure_request(walk)
    document = assert_problem(walk.operator.post("/resume-closures", request), 400, "invalid_request")
    assert document["errors"][0]["pointer"] == "/proof"
    assert_problem(walk.operator.post("/resume-closures", request | {"proof": ""}), 400, "invalid_request")
    answer = walk.operator.post("/resume-closures", request | {"proof": "e30.e30.x"})
    document = assert_problem(answer, 403, "closure_denied")
    assert "authorizer" not in document["detail"]
    assert assert_ok(walk.agent.get(walk.run_path))["state"] == "running"
    assert_problem(walk.agent.post("/resume-closures", request | {"proof": "x"}), 403, "forbidden")


# -- verifying ---------------------------------------------------------------------------------------


def test_receipts_are_verified(scope: str) -> None:
    walk = Walk(scope).paused().admitted().started()
    for kind in ("admission", "start"):
        body = {"kind": kind, "run_id": walk.run_id, "suspension_id": walk.suspension_id}
        verified = assert_ok(walk.agent.post("/receipts/verify", body))
        assert verified["valid"] is True
        assert {"record_sha256", "event", "chain"} <= {check["name"] for check in verified["checks"]}
        assert all(check["ok"] and check["detail"] for check in verified["checks"])


@pytest.mark.parametrize("kind", ["admission", "start", "expiry", "closure"])
def test_a_receipt_that_is_not_there_is_not_verified(scope: str, kind: str) -> None:
    walk = Walk(scope).paused()
    body = {"kind": kind, "run_id": walk.run_id, "suspension_id": walk.suspension_id}
    assert_problem(walk.agent.post("/receipts/verify", body), 404, f"resume_{kind}_not_found")
    assert_problem(walk.agent.post("/receipts/verify", body | {"kind": "event"}), 400, "invalid_request")
