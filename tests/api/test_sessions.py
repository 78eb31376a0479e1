"""A signed-in browser as a caller, and who that is."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from django.contrib.auth import get_user_model
from django.middleware.csrf import _get_new_csrf_string
from django.test import Client as DjangoClient
from pytest_django.fixtures import Settings

from suspensions.domain import clock, rates
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import SYSTEM
from suspensions.management.shared_windows import SharedWindows
from suspensions.operations import access
from tests.support.api import Answer, Client, assert_ok, assert_problem, client_for
from tests.support.server import running_server


@pytest.fixture
def browser(scope: str) -> DjangoClient:
    """A signed-in person with the role of an agent; CSRF checks are on."""
    name = f"person-{scope[2:]}"
    access.make_principal(name, password="correct horse battery", by=SYSTEM)
    access.grant_role(name, Role.AGENT, Scope.parse(scope), SYSTEM)
    client = DjangoClient(enforce_csrf_checks=True)
    client.force_login(get_user_model().objects.get(username=name), "django.contrib.auth.backends.ModelBackend")
    return client


def send(browser: DjangoClient, method: str, path: str, **headers: str) -> Answer:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    content = b"{}" if method == "POST" else b""
    response = browser.generic(method, f"/api/v1{path}", content, "application/json", headers=given)
    return Answer(response.status_code, response.headers, response.content)


def test_a_session_reads(browser: DjangoClient, scope: str) -> None:
    assert_ok(send(browser, "GET", "/runs"))
    me = assert_ok(send(browser, "GET", "/me"))
    assert (me["via"], me["token"]) == ("session", None)
    assert me["grants"] == [{"scope": scope, "role": "agent"}]


def test_a_session_writes_with_its_csrf_token_alone(browser: DjangoClient) -> None:
    assert_problem(send(browser, "POST", "/runs"), 403, "csrf_failed")
    secret = _get_new_csrf_string()
    browser.cookies["cortex_csrf"] = secret
    assert_problem(send(browser, "POST", "/runs"), 403, "csrf_failed")
    assert_problem(send(browser, "POST", "/runs", X_CSRFToken="x" * 32), 403, "csrf_failed")
    made = assert_ok(send(browser, "POST", "/runs", X_CSRFToken=secret), 201)
    assert made["created_by"]["via"] == "session"


def test_the_token_is_not_looked_for_in_a_form(browser: DjangoClient) -> None:
    secret = _get_new_csrf_string()
    browser.cookies["cortex_csrf"] = secret
    form = f"csrfmiddlewaretoken={secret}".encode()
    response = browser.generic("POST", "/api/v1/runs", form, "application/x-www-form-urlencoded")
    assert_problem(Answer(response.status_code, response.headers, response.content), 403, "csrf_failed")


def test_a_csrf_token_is_asked_for_before_the_method(browser: DjangoClient) -> None:
    assert_problem(send(browser, "DELETE", "/runs"), 403, "csrf_failed")


def test_a_bearer_token_goes_before_the_session(browser: DjangoClient, scope: str) -> None:
    bearer = client_for(scope, Role.VIEWER)
    answer = send(browser, "GET", "/me", Authorization=f"Bearer {bearer.token}")
    assert assert_ok(answer)["principal"] == bearer.principal
    assert_problem(send(browser, "GET", "/me", Authorization="Bearer x"), 401, "unauthenticated")


def test_what_was_taken_away_counts_at_the_next_request(browser: DjangoClient, scope: str) -> None:
    name = f"person-{scope[2:]}"
    access.revoke_role(name, Role.AGENT, None, SYSTEM)
    assert_problem(send(browser, "GET", "/runs", Cortex_Scope=scope), 404, "not_found")
    assert_problem(send(browser, "GET", "/runs"), 400, "no_scope")


# -- tokens ------------------------------------------------------------------------------------------


def test_a_token_says_its_name_and_expiry(scope: str) -> None:
    client = client_for(scope, Role.VIEWER)
    token = access.issue_token(client.principal, "short", timedelta(days=30), SYSTEM)
    me = assert_ok(Client(token, None).get("/me"))
    assert me["via"] == "token:short"
    assert me["token"]["name"] == "short"
    assert me["token"]["expires_at"].endswith("Z")


def test_a_token_that_was_revoked_or_has_expired_is_none(scope: str) -> None:
    client = client_for(scope, Role.VIEWER)
    short = Client(access.issue_token(client.principal, "short", timedelta(hours=1), SYSTEM), scope)
    assert_ok(short.get("/runs"))
    then = clock.now() + timedelta(hours=2)
    with clock.use_clock(lambda: then):
        assert_problem(short.get("/runs"), 401, "unauthenticated")
    access.revoke_token(client.principal, "test", SYSTEM)
    assert_problem(client.get("/runs"), 401, "unauthenticated")


# -- rates -------------------------------------------------------------------------------------------


def test_a_token_is_slowed_and_another_is_not(scope: str, settings: Settings) -> None:
    settings.RATE_LIMIT = (2, timedelta(minutes=1))
    client, other = client_for(scope), client_for(scope)
    for _ in range(2):
        assert_ok(client.get("/runs"))
    answer = client.get("/runs")
    assert_problem(answer, 429, "rate_limited")
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert_ok(other.get("/runs"))


@pytest.fixture(params=["own", "shared"])
def windows(request: pytest.FixtureRequest, tmp_path: Path) -> rates.Windows:
    return rates.OwnWindows() if request.param == "own" else SharedWindows(str(tmp_path))


def test_a_window_begins_with_a_request_and_ends_in_its_time(windows: rates.Windows) -> None:
    assert [windows.count("a", 2, 60, at) for at in (100, 130, 140, 159)] == [0, 0, 20, 1]
    assert windows.count("b", 2, 60, 140) == 0
    assert [windows.count("a", 2, 60, at) for at in (160, 161, 162)] == [0, 0, 58]


def test_more_tokens_than_there_are_places_are_counted_too(windows: rates.Windows) -> None:
    for number in range(20_000):
        assert windows.count(str(number), 1, 60, 100 + number / 1000) == 0
    assert windows.count("19999", 1, 60, 121) > 0


def test_processes_count_in_one_place(tmp_path: Path) -> None:
    one, other = SharedWindows(str(tmp_path)), SharedWindows(str(tmp_path))
    assert [each.count("a", 2, 60, 100) for each in (one, other, one, other)] == [0, 0, 60, 60]


@pytest.mark.slow
def test_the_processes_of_a_server_slow_a_token_together(scope: str) -> None:
    client = client_for(scope)
    headers = {"Authorization": f"Bearer {client.token}"}
    with running_server({"WEB_WORKERS": "3", "RATE_LIMIT": "20/1h"}) as server:
        # A connection each, so that they meet different processes.
        told = [httpx.get(f"{server.url}/api/v1/me", headers=headers).status_code for _ in range(40)]
    assert told == [200] * 20 + [429] * 20
