"""One shape of error from everywhere: from outside of the API's views as well."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client as DjangoClient
from pytest_django.fixtures import Settings

from suspensions.domain import errors
from suspensions.domain.errors import CortexError
from suspensions.problems import PROBLEMS, problem_document
from suspensions.queries import runs
from tests.support.api import Answer, Client, assert_problem


def all_refusals(of: type[CortexError] = CortexError) -> set[type[CortexError]]:
    return {of}.union(*(all_refusals(kind) for kind in of.__subclasses__()))


def asked(method: str, path: str, **more: Any) -> Answer:
    client = DjangoClient(enforce_csrf_checks=True, raise_request_exception=False)
    response = client.generic(method, path, **more)
    return Answer(response.status_code, response.headers, response.content)


def test_every_refusal_has_a_line_in_the_table_and_every_line_a_refusal() -> None:
    assert {refusal.code for refusal in all_refusals()} == set(PROBLEMS)


def test_every_code_is_explained() -> None:
    for code, problem in PROBLEMS.items():
        assert problem.title and problem.explanation, code
        assert 400 <= problem.status < 600


@pytest.mark.parametrize(
    "path", ["/api", "/api/", "/api/v1", "/api/v1/", "/api/v1/runs/", "/api/v2/runs", "/api/v1/a//b", "/api/é"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "BREW"])
def test_an_unknown_address(path: str, method: str) -> None:
    assert_problem(asked(method, path), 404, "not_found")


def test_an_unknown_address_with_debug_on(settings: Settings) -> None:
    settings.DEBUG = True
    assert_problem(asked("GET", "/api/v1/nowhere"), 404, "not_found")


@pytest.mark.parametrize("path", ["/api/schema/", "/api/docs/", "/problems/not_found"])
def test_what_is_open_to_all_is_read_alone(path: str) -> None:
    assert asked("GET", path).status == 200
    assert_problem(asked("POST", path), 405, "method_not_allowed")


def test_a_host_that_is_not_ours() -> None:
    assert_problem(asked("GET", "/api/v1/runs", headers={"Host": "evil.example"}), 400, "invalid_request")


@pytest.mark.parametrize("code", sorted(PROBLEMS))
def test_each_code_has_a_page(code: str) -> None:
    answer = asked("GET", f"/problems/{code}")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    assert code in answer.content.decode()


def test_a_code_that_there_is_not_has_no_page() -> None:
    assert asked("GET", "/problems/bad_weather").status == 404


def test_a_defect_tells_nothing_of_itself(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("SELECT secret FROM payloads")

    monkeypatch.setattr(runs, "list_runs", fail)
    answer = client.get("/runs")
    assert_problem(answer, 500, "internal_error")
    assert b"secret" not in answer.content
    assert b"Traceback" not in answer.content
    assert "secret" not in caplog.text
    assert "RuntimeError" in caplog.text


def test_a_database_that_is_away_is_a_busy_store(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OperationalError("connection to server at 10.0.0.1 failed")

    monkeypatch.setattr(runs, "list_runs", fail)
    answer = client.get("/runs")
    document = assert_problem(answer, 503, "store_busy")
    assert "10.0.0.1" not in document["detail"]
    assert answer.headers["Retry-After"] == "1"


def test_a_refusal_is_rendered_the_same_wherever_it_comes_from() -> None:
    refusal = errors.RunConflict("paused", 4)
    document = problem_document(refusal, instance="/x", request_id="r")
    assert document["run"] == {"state": "paused", "revision": 4}
    assert document["type"] == "/problems/run_conflict"
