"""Fixtures of the browser tests: Chromium, and the real server on the tests' database."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser

from suspensions.domain.policy import Role
from tests.support.browser import BrowserUnavailable, find_chromium, launch_flags
from tests.support.people import PASSWORD, make_person
from tests.support.server import Server, running_server
from tests.support.walk import Agent, Visitor, visitor


@pytest.fixture(scope="session", autouse=True)
def _async_unsafe_allowed() -> Iterator[None]:
    """Let tests use the database beside Playwright, whose event loop runs in their thread."""
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    yield
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Start the Chromium that is there, instead of a download of Playwright's own."""
    try:
        executable = find_chromium()
    except BrowserUnavailable as error:
        pytest.exit(str(error), returncode=1)
    return browser_type_launch_args | {"executable_path": executable, "args": launch_flags()}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    """Give every page a language, a time zone and a size that do not depend on the machine."""
    return browser_context_args | {
        "locale": "en-GB",
        "timezone_id": "UTC",
        "viewport": {"width": 1440, "height": 900},
    }


@pytest.fixture(scope="session")
def server(database: None) -> Iterator[Server]:
    """Run the production server on this process's database."""
    with running_server({"DJANGO_SETTINGS_MODULE": "tests.support.quick_settings"}) as running:
        yield running


@pytest.fixture(scope="session")
def base_url(server: Server) -> str:
    """Let ``page.goto("/")`` mean the server of the tests."""
    return server.url


@pytest.fixture
def agent(server: Server, scope: str) -> Iterator[Agent]:
    """An agent over REST, in the test's own scope."""
    found = Agent(server.url, scope)
    yield found
    found.close()


@pytest.fixture
def visit(
    browser: Browser, browser_context_args: dict[str, Any], base_url: str, scope: str
) -> Iterator[Callable[..., Visitor]]:
    """Makes people with a browser of their own, by name: approvers and operators, if nothing else is said."""
    with ExitStack() as open_ones:

        def make(display: str = "Dana Whitlock", *roles: Role, **more: Any) -> Visitor:
            person = make_person(scope, *roles, display=display, password=PASSWORD)
            return open_ones.enter_context(
                visitor(browser, browser_context_args | {"base_url": base_url}, person.name, **more)
            )

        yield make


@pytest.fixture(params=[True, False], ids=["with scripts", "without scripts"])
def dana(request: pytest.FixtureRequest, visit: Callable[..., Visitor]) -> Visitor:
    """An approver, with scripts and without."""
    return visit("Dana Whitlock", java_script_enabled=request.param)
