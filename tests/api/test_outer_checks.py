"""The outer checks, in the contract's order: of two faults the earlier one is told."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from suspensions.domain import ids
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import SYSTEM
from suspensions.operations import access
from tests.support.api import Answer, Client, assert_ok, assert_problem, client_for


@dataclass(frozen=True)
class Request:
    """A request that admits a peer's reply: it has a path id's worth of everything that can be at fault."""

    client: Client
    method: str = "POST"
    path: str = ""
    content: bytes = b"{}"
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)

    def send(self) -> Answer:
        return self.client.send(
            self.method, self.path, content=self.content, content_type=self.content_type, headers=self.headers
        )

    def with_header(self, name: str, value: str) -> Request:
        return replace(self, headers={**self.headers, name: value})


Fault = tuple[int, str, Callable[[Request], Request]]

FAULTS: list[Fault] = [
    (404, "not_found", lambda request: replace(request, path="/nowhere/" + ids.new_id(ids.RUN))),
    (401, "unauthenticated", lambda request: request.with_header("Authorization", "Bearer ctx_nobody")),
    (405, "method_not_allowed", lambda request: replace(request, method="PATCH")),
    (406, "not_acceptable", lambda request: request.with_header("Accept", "text/html")),
    (400, "invalid_scope", lambda request: request.with_header("Cortex-Scope", "no scope")),
    (404, "not_found", lambda request: request.with_header("Cortex-Scope", "w=nobody-granted-this")),
    (403, "forbidden", lambda request: replace(request, path=request.path.replace("/claim", "/cancel"))),
    (400, "invalid_id", lambda request: replace(request, path=request.path.replace("arun_", "run_"))),
    (415, "unsupported_media_type", lambda request: replace(request, content_type="text/plain")),
    (413, "body_too_large", lambda request: replace(request, content=b'"' + b"x" * (32 << 20) + b'"')),
    (400, "malformed_json", lambda request: replace(request, content=b'{"a": NaN}')),
]


@pytest.fixture
def well_formed(scope: str) -> Request:
    """A request of a caller who may claim and may not cancel, on a run that is not there."""
    client = client_for(scope, Role.APPROVER, Role.AGENT)
    return Request(client, path=f"/runs/{ids.new_id(ids.RUN)}/claim")


def test_the_request_itself_passes_every_outer_check(well_formed: Request) -> None:
    assert_problem(well_formed.send(), 409, "not_suspended")


@pytest.mark.parametrize("place", range(len(FAULTS)))
def test_a_single_fault_is_told(well_formed: Request, scope: str, place: int) -> None:
    status, code, spoil = FAULTS[place]
    request = _of_the_role(well_formed, scope, code)
    assert_problem(spoil(request).send(), status, code)


@pytest.mark.parametrize(("earlier", "later"), list(itertools.combinations(range(len(FAULTS)), 2)))
def test_of_two_faults_the_earlier_one_is_told(well_formed: Request, scope: str, earlier: int, later: int) -> None:
    status, code, spoil = FAULTS[earlier]
    spoil_too = FAULTS[later][2]
    request = _of_the_role(well_formed, scope, *(FAULTS[place][1] for place in (earlier, later)))
    # The earlier one goes last: both may stand in one place, the scope's header or the body.
    assert_problem(spoil(spoil_too(request)).send(), status, code)


def _of_the_role(request: Request, scope: str, *codes: str) -> Request:
    """Only a viewer lacks a role on the claim itself; a cancel needs one that an approver lacks."""
    return replace(request, client=client_for(scope, Role.VIEWER)) if "forbidden" in codes else request


def test_a_body_scope_is_compared_before_anything_is_read(scope: str) -> None:
    client = client_for(scope, Role.BUS)
    body: dict[str, Any] = {
        "scope": "w=another",
        "version": {
            "run_id": ids.new_id(ids.RUN),
            "suspension_id": ids.new_id(ids.SUSPENSION),
            "run_revision": 2,
        },
        "input": "eA==",
        "reply_with": [],
    }
    assert_problem(client.post("/resume-admissions", body), 409, "scope_mismatch")
    assert_problem(client.post("/resume-admissions", body | {"input": "?"}), 400, "invalid_request")
    assert_problem(client.post("/resume-admissions", body | {"scope": "another"}), 400, "invalid_scope")
    assert_problem(client.post("/resume-admissions", body | {"scope": scope}), 409, "not_suspended")


# -- the scope ---------------------------------------------------------------------------------------


def test_the_scope_may_be_left_out_where_every_grant_names_one(scope: str) -> None:
    client = client_for(scope, Role.VIEWER, Role.AGENT, at=None)
    assert assert_ok(client.post("/runs", {}), 201)["scope"] == scope


def test_without_a_scope_of_several_none_is_guessed(scope: str) -> None:
    client = client_for(scope, Role.VIEWER, at=None)
    access.grant_role(client.principal, Role.VIEWER, Scope.parse(f"{scope}/p=below"), SYSTEM)
    document = assert_problem(client.get("/runs"), 400, "no_scope")
    assert document["errors"] == []


def test_a_grant_covers_the_scopes_below_it_and_no_lookalike(scope: str) -> None:
    client = client_for(f"{scope}/p=a_b", Role.VIEWER)
    for at, status in ((f"{scope}/p=a_b", 200), (f"{scope}/p=a_b/t=x", 200), (scope, 404), (f"{scope}/p=axb", 404)):
        assert client.send("GET", "/runs", headers={"Cortex-Scope": at}).status == status
    assert client.send("GET", "/runs", headers={"Cortex-Scope": f"{scope}/p=A_B"}).status == 404


def test_a_scope_that_is_not_granted_looks_like_one_that_is_not_there(scope: str) -> None:
    client_for(scope)
    stranger = client_for(f"{scope}x")
    answers = [stranger.send("GET", "/runs", headers={"Cortex-Scope": at}) for at in (scope, "w=never-heard-of")]
    first, second = (assert_problem(answer, 404, "not_found") for answer in answers)
    assert first | {"request_id": ""} == second | {"request_id": ""}


@pytest.mark.parametrize(
    "given", ["a=b=c", "a=b/c=d/e=f/g=h", "a", "=b", "a=", "a=b/", "a=b c", "a=" + "x" * 129, "a=ü"]
)
def test_a_malformed_scope_is_told(client: Client, given: str) -> None:
    assert_problem(client.send("GET", "/runs", headers={"Cortex-Scope": given}), 400, "invalid_scope")


# -- roles -------------------------------------------------------------------------------------------


def test_the_missing_role_is_named(scope: str) -> None:
    document = assert_problem(client_for(scope, Role.ADMIN).post("/runs", {}), 403, "forbidden")
    assert document["roles"] == ["agent"]
    assert "agent" in document["detail"]


def test_each_role_also_reads(scope: str) -> None:
    for role in Role:
        assert_ok(client_for(scope, role).get("/runs"))


# -- methods, media types, headers -------------------------------------------------------------------


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_another_method_is_told_with_those_that_there_are(client: Client, method: str) -> None:
    answer = client.send(method, "/runs")
    assert_problem(answer, 405, "method_not_allowed")
    assert answer.headers["Allow"] == "POST, GET"


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/json", 200),
        ("*/*", 200),
        ("application/*;q=0.1", 200),
        ("text/html, */*;q=0.8", 200),
        ("application/problem+json, application/json", 200),
        ("text/html", 406),
        ("application/json;q=0, */*", 406),
        ("text/*", 406),
    ],
)
def test_answers_are_json(client: Client, accept: str, status: int) -> None:
    assert client.send("GET", "/runs", headers={"Accept": accept}).status == status


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 201),
        ("application/json; charset=utf-8", 201),
        ("Application/JSON;charset=UTF-8", 201),
        ("application/json; charset=latin-1", 415),
        ("application/problem+json", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("", 415),
    ],
)
def test_bodies_are_json_in_utf_8(client: Client, content_type: str, status: int) -> None:
    assert client.send("POST", "/runs", content=b"{}", content_type=content_type).status == status


def test_who_is_not_known_is_told_how_to_say_who_they_are(client: Client) -> None:
    for header in ("", "Basic eDp5", "Bearer", "Bearer ", "Bearer ctx_wrong", client.token):
        answer = client.send("GET", "/runs", headers={"Authorization": header})
        assert_problem(answer, 401, "unauthenticated")
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_sane_request_id_is_taken_over_and_another_is_not(client: Client) -> None:
    assert client.send("GET", "/runs", headers={"X-Request-ID": "my-1.a_B"}).headers["X-Request-ID"] == "my-1.a_B"
    answer = client.send("GET", "/runs/x", headers={"X-Request-ID": "a b<c>"})
    assert assert_problem(answer, 400, "invalid_id")["request_id"] == answer.headers["X-Request-ID"] != "a b<c>"


def test_nothing_is_left_in_a_cache(client: Client) -> None:
    assert client.get("/runs").headers["Cache-Control"] == "no-store"
    assert client.get("/runs/x").headers["Cache-Control"] == "no-store"


# -- ids and queries ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given", ["arun_", "sus_01kb9x6q3hf5trm0c8zv2w4yej", "arun_8zzzzzzzzzzzzzzzzzzzzzzzzz", "%ff", "a%00b"]
)
def test_an_id_of_another_form_is_invalid(client: Client, given: str) -> None:
    assert_problem(client.get(f"/runs/{given}"), 400, "invalid_id")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"limit": "0"}, "invalid_limit"),
        ({"limit": "257"}, "invalid_limit"),
        ({"limit": "ten"}, "invalid_limit"),
        ({"limit": "-1"}, "invalid_limit"),
        ({"limit": "٣"}, "invalid_limit"),
        ({"limit": ["1", "2"]}, "invalid_request"),
        ({"cursor": "x"}, "invalid_cursor"),
        ({"cursor": ""}, "invalid_cursor"),
        ({"state": "sleeping"}, "invalid_request"),
        ({"sate": "running"}, "invalid_request"),
        ({"q": "a\0b"}, "invalid_request"),
        ({"agent_name": "a\x07"}, "invalid_request"),
    ],
)
def test_a_parameter_at_fault_is_told(client: Client, query: dict[str, Any], code: str) -> None:
    document = assert_problem(client.get("/runs", **query), 400, code)
    assert document["errors"] == []


def test_a_query_of_a_thousand_parameters_is_refused_and_no_defect(client: Client) -> None:
    assert_problem(client.get("/runs", **{f"p{number}": "" for number in range(2000)}), 400, "invalid_request")
