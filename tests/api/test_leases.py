"""Progress, and leases: renew, release, reclaim, claim continuation."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from suspensions.domain import clock, ids
from suspensions.domain.instants import format_instant, parse_instant
from suspensions.domain.policy import Role
from tests.support.api import Client, assert_ok, assert_problem, client_for
from tests.support.walks import CONTINUATION, TAKE, Walk

HOLDER: dict[str, Any] = {"owner": "worker-1", "epoch": 1}
SAVE = HOLDER | {"continuation": CONTINUATION}


@pytest.fixture
def held(client: Client) -> str:
    """The address of a run that worker-1 holds for a minute."""
    return f"/runs/{assert_ok(client.post('/runs', {'lease': TAKE}), 201)['id']}"


def an_hour_later() -> Any:
    then = clock.now() + timedelta(hours=1)
    return clock.use_clock(lambda: then)


# -- progress ----------------------------------------------------------------------------------------


def test_a_snapshot_is_replaced_whole(client: Client, held: str) -> None:
    call = {"id": "c", "name": "charge", "arguments": "{}"}
    done = [{"call_id": "c", "content": "ok", "outcome": "completed"}]
    members = {"started": [call], "done": done, "ending": {"kind": "cancel", "reason": "r"}}
    saved = assert_ok(client.put(f"{held}/progress", SAVE | members))
    assert (saved["owner"], saved["epoch"], saved["done"]) == ("worker-1", 1, done)
    assert saved["started"][0]["arguments"] == "{}"
    assert saved["ending"] == members["ending"]
    assert assert_ok(client.get(f"{held}/progress")) == saved
    assert assert_ok(client.put(f"{held}/progress", SAVE))["started"] is None
    assert assert_ok(client.get(f"{held}/progress"))["done"] is None


@pytest.mark.parametrize(
    "lease",
    [{"owner": "other", "epoch": 1}, {"owner": "worker-1", "epoch": 2}, {"owner": "", "epoch": 1}, {"epoch": 1}],
)
def test_only_the_holder_saves(client: Client, held: str, lease: dict[str, Any]) -> None:
    assert_problem(client.put(f"{held}/progress", lease | {"continuation": CONTINUATION}), 409, "run_lease_lost")
    assert_problem(client.get(f"{held}/progress"), 404, "progress_not_found")


def test_an_unleased_run_has_no_progress(client: Client) -> None:
    path = f"/runs/{assert_ok(client.post('/runs', {}), 201)['id']}"
    for owner in ("", "anybody"):
        body = {"owner": owner, "epoch": 0, "continuation": CONTINUATION}
        assert_problem(client.put(f"{path}/progress", body), 409, "run_lease_lost")


def test_a_lease_that_lapsed_but_was_not_taken_over_still_writes(client: Client, held: str) -> None:
    with an_hour_later():
        assert_ok(client.put(f"{held}/progress", SAVE))
        assert_ok(client.post(f"{held}/lease/reclaim", {"owner": "worker-2", "seconds": 60}))
        assert_problem(client.put(f"{held}/progress", SAVE), 409, "run_lease_lost")


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"done": {}}, "/done"),
        ({"done": [{"call_id": "c", "outcome": "maybe"}]}, "/done/0/outcome"),
        ({"done": [{"call_id": "c", "outcome": "completed", "more": 1}]}, "/done/0/more"),
        ({"started": [{"id": "c"}]}, "/started/0/arguments"),
        ({"ending": {"kind": "pause"}}, "/ending/kind"),
        ({"epoch": "1"}, "/epoch"),
        ({"owner": "a\0"}, "/owner"),
        ({"continuation": None}, "/continuation"),
    ],
)
def test_a_snapshot_at_fault_is_pointed_at(client: Client, held: str, members: dict[str, Any], pointer: str) -> None:
    document = assert_problem(client.put(f"{held}/progress", SAVE | members), 400, "invalid_request")
    assert document["errors"][0]["pointer"] == pointer


def test_a_snapshot_is_removed_by_its_holder_and_again_by_nobody(client: Client, held: str) -> None:
    assert_ok(client.put(f"{held}/progress", SAVE))
    for query in ({}, {"owner": "worker-1"}, {"epoch": 1}, {"owner": "worker-1", "epoch": 2}):
        assert_problem(client.delete(f"{held}/progress", **query), 409, "run_lease_lost")
    assert_problem(client.delete(f"{held}/progress", owner="worker-1", epoch="one"), 400, "invalid_request")
    assert_ok(client.delete(f"{held}/progress", **HOLDER), 204)
    assert_ok(client.delete(f"{held}/progress", **HOLDER), 204)
    assert_problem(client.get(f"{held}/progress"), 404, "progress_not_found")
    assert_ok(client.delete(f"/runs/{ids.new_id(ids.RUN)}/progress"), 204)


# -- leases ------------------------------------------------------------------------------------------


def test_a_lease_is_renewed_to_a_later_instant_alone(client: Client, held: str) -> None:
    renewed = assert_ok(client.post(f"{held}/lease/renew", HOLDER | {"seconds": 600}))
    assert renewed["lease"] == renewed["run"]["lease"]
    assert parse_instant(renewed["lease"]["expires_at"]) > clock.now() + timedelta(seconds=590)
    assert (renewed["lease"]["epoch"], renewed["run"]["revision"], renewed["progress"]) == (1, 1, None)
    assert_problem(client.post(f"{held}/lease/renew", HOLDER | {"seconds": 5}), 409, "run_lease_lost")
    until = format_instant(clock.now() + timedelta(seconds=700))
    assert assert_ok(client.post(f"{held}/lease/renew", HOLDER | {"expires_at": until}))["lease"]["expires_at"] == until


@pytest.mark.parametrize(
    ("members", "status", "code"),
    [
        ({"seconds": 0}, 400, "invalid_request"),
        ({"seconds": 5, "expires_at": "2031-01-01T00:00:00Z"}, 400, "invalid_request"),
        ({"expires_at": "2101-01-01T00:00:00Z"}, 400, "invalid_request"),
        ({"epoch": 2, "seconds": 600}, 409, "run_lease_lost"),
        ({"owner": "other", "seconds": 600}, 409, "run_lease_lost"),
        ({"owner": None, "seconds": 600}, 409, "run_lease_lost"),
        ({}, 409, "run_lease_lost"),
    ],
)
def test_a_renewal_is_refused(client: Client, held: str, members: dict[str, Any], status: int, code: str) -> None:
    assert_problem(client.post(f"{held}/lease/renew", HOLDER | members), status, code)


def test_a_lease_is_given_up_and_again_changes_nothing(client: Client, held: str) -> None:
    released = assert_ok(client.post(f"{held}/lease/release", HOLDER))
    assert (released["lease"], released["run"]["lease_epoch"]) == (None, 1)
    again = assert_ok(client.post(f"{held}/lease/release", HOLDER))
    assert again["run"] == released["run"] | {"fresh": False}
    assert_problem(client.post(f"{held}/lease/release", HOLDER | {"epoch": 0}), 409, "run_lease_lost")
    assert_problem(client.post(f"{held}/lease/renew", HOLDER | {"seconds": 600}), 409, "run_lease_lost")


def test_a_run_is_taken_over_once_with_its_snapshot(client: Client, held: str) -> None:
    assert_ok(client.put(f"{held}/progress", SAVE))
    take = {"owner": "worker-1", "seconds": 60}
    assert_problem(client.post(f"{held}/lease/reclaim", take), 409, "run_lease_lost")
    with an_hour_later():
        taken = assert_ok(client.post(f"{held}/lease/reclaim", take))
        assert (taken["lease"]["epoch"], taken["progress"]["continuation"]) == (2, CONTINUATION)
        assert_problem(client.post(f"{held}/lease/reclaim", take), 409, "run_lease_lost")
        # The same name as its successor's does not help the one that stalled.
        assert_problem(client.put(f"{held}/progress", SAVE), 409, "run_lease_lost")
        assert_ok(client.put(f"{held}/progress", SAVE | {"epoch": 2}))


def test_a_lease_that_was_given_up_is_taken_over_by_an_operator(scope: str, client: Client, held: str) -> None:
    assert_ok(client.post(f"{held}/lease/release", HOLDER))
    operator = client_for(scope, Role.OPERATOR)
    assert_problem(operator.post(f"{held}/lease/reclaim", {"owner": "o"}), 409, "run_lease_lost")
    assert_problem(operator.post(f"{held}/lease/reclaim", {"seconds": 5}), 409, "run_lease_lost")
    assert assert_ok(operator.post(f"{held}/lease/reclaim", {"owner": "o", "seconds": 5}))["lease"]["epoch"] == 2


def test_what_was_never_leased_is_not_taken_over(client: Client) -> None:
    run = assert_ok(client.post("/runs", {}), 201)
    assert_problem(client.post(f"/runs/{run['id']}/lease/reclaim", TAKE), 409, "run_lease_lost")


def test_leases_of_runs_that_are_not_there(client: Client) -> None:
    path = f"/runs/{ids.new_id(ids.RUN)}"
    for name, body in (("renew", HOLDER | {"seconds": 5}), ("release", HOLDER), ("reclaim", TAKE)):
        assert_problem(client.post(f"{path}/lease/{name}", body), 404, "run_not_found")
    assert_problem(client.post(f"{path}/claim-continuation", {"lease": TAKE}), 404, "run_not_found")


# -- continuing an incomplete run --------------------------------------------------------------------


def test_an_incomplete_run_is_taken_up_again(scope: str) -> None:
    walk = Walk(scope)
    walk.make_run()
    path = f"{walk.run_path}/claim-continuation"
    assert_problem(walk.agent.post(path, {"lease": TAKE}), 409, "invalid_state")
    assert_ok(walk.agent.post(f"{walk.run_path}/finish", {"outcome": "incomplete"}))
    assert_problem(walk.agent.post(path, {}), 400, "invalid_request")
    assert_problem(walk.agent.post(path, {"lease": {"owner": ""}}), 409, "run_lease_lost")
    other = {"lease": TAKE, "first": {"continuation": CONTINUATION, "owner": "other"}}
    assert_problem(walk.agent.post(path, other), 409, "run_lease_lost")
    elsewhere = {"lease": TAKE, "first": {"continuation": CONTINUATION, "run_id": ids.new_id(ids.RUN)}}
    assert_problem(walk.agent.post(path, elsewhere), 400, "invalid_request")
    run = assert_ok(walk.agent.post(path, {"lease": TAKE, "first": {"continuation": CONTINUATION}}))
    assert (run["state"], run["revision"], run["lease"]["owner"], run["completed_at"]) == (
        "running",
        3,
        "worker-1",
        None,
    )
    assert assert_ok(walk.agent.get(f"{walk.run_path}/progress"))["continuation"] == CONTINUATION
    assert_problem(walk.operator.post(path, {"lease": TAKE}), 403, "forbidden")
