"""Health checks tell a process that answers from one that can serve."""

import pytest
from django.test import Client


def test_a_process_that_answers_is_healthy() -> None:
    response = Client().get("/healthz")
    assert response.status_code == 200
    assert response.json() == {"status": "ok"}


def test_a_migrated_database_is_ready() -> None:
    assert Client().get("/readyz").status_code == 200


def test_a_sane_request_id_is_taken_over() -> None:
    response = Client().get("/healthz", headers={"X-Request-ID": "job-17.a"})
    assert response.headers["X-Request-ID"] == "job-17.a"


def test_a_request_id_that_could_forge_a_log_line_is_replaced() -> None:
    response = Client().get("/healthz", headers={"X-Request-ID": "a b\u2028c"})
    assert len(response.headers["X-Request-ID"]) == 24


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_probe_only_reads(path: str) -> None:
    response = Client().post(path)
    assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")
    assert response.headers["Allow"] == "GET, HEAD"
    assert Client().head(path).status_code == 200
