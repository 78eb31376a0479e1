"""An agent over the REST API and a person in a browser, for tests that walk through the real server."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from playwright.sync_api import Browser, BrowserContext, Page

from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import SYSTEM
from suspensions.operations import access
from tests.support.people import PASSWORD

MESSAGES = [
    {"role": "user", "content": "My flight was cancelled. I need another one, and I think you owe me something."},
    {"role": "assistant", "content": "I move you to Saturday and send a certificate for the night at the airport."},
]


class Agent:
    """A service with a token of its own that speaks REST, as any agent would."""

    def __init__(self, url: str, scope: str, *roles: Role, name: str = "") -> None:
        self.scope = scope
        self.principal = name or f"svc-{secrets.token_hex(5)}"
        access.make_principal(self.principal, service=True, by=SYSTEM)
        for role in roles or (Role.AGENT,):
            access.grant_role(self.principal, role, Scope.parse(scope), SYSTEM)
        token = access.issue_token(self.principal, "test", None, SYSTEM)
        headers = {"Authorization": f"Bearer {token}", "Cortex-Scope": scope}
        self._http = httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=60)

    def close(self) -> None:
        self._http.close()

    def post(self, path: str, body: Mapping[str, Any], status: int | None = None) -> Any:
        response = self._http.post(path, json=body)
        assert response.status_code == (status or response.status_code), response.text
        assert response.is_success, response.text
        return response.json() if response.content else None

    def get(self, path: str) -> Any:
        response = self._http.get(path)
        assert response.is_success, response.text
        return response.json()

    def run(self, **more: Any) -> Any:
        return self.post("/runs", {"agent_name": "care-desk", **more})

    def pause(self, *calls: Mapping[str, Any], run_id: str = "", reason: str = "approval", **more: Any) -> Any:
        """A paused run's pause; the run is made where none is given."""
        body = {
            "run_id": run_id or self.run()["id"],
            "reason": reason,
            "pending": [{"arguments": "{}", **call} for call in calls],
            "continuation": {"messages": MESSAGES, "new_messages_from": 1},
            **more,
        }
        return self.post("/suspensions", body)

    def take(self, **more: Any) -> Any:
        """The next decided pause, started; None where there is none."""
        return self.post("/resume-starts/next", {"lease": {"owner": "worker-1", "seconds": 60}, **more})

    def finish(self, run_id: str, lease: Mapping[str, Any], outcome: str = "completed") -> Any:
        holder = {"owner": lease["owner"], "epoch": lease["epoch"]}
        return self.post(f"/runs/{run_id}/finish", {"outcome": outcome, "output": "done", "lease": holder})

    def admission_of(self, pause: Mapping[str, Any]) -> Any:
        """The pause's admission; None where nothing was admitted."""
        response = self._http.get(f"/runs/{pause['run_id']}/suspensions/{pause['id']}/admission")
        return None if response.status_code == 404 else response.json()


@dataclass(frozen=True)
class Visitor:
    """A person with a browser page, and what the browser's console said meanwhile."""

    name: str
    page: Page
    context: BrowserContext
    complaints: list[str]


@contextmanager
def visitor(browser: Browser, arguments: Mapping[str, Any], name: str, **more: Any) -> Iterator[Visitor]:
    """A person in a browser of their own, not signed in yet."""
    context = browser.new_context(**{**arguments, **more})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        yield Visitor(name, page, context, complaints)
    finally:
        context.close()


def sign_in(page: Page, name: str) -> None:
    """Fill the sign-in that the page shows, until the page behind it has loaded with its scripts."""
    page.fill("#username", name)
    page.fill("#password", PASSWORD)
    with page.expect_event("load"):
        page.click("#sign-in button[type=submit]")
