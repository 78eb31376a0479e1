"""A client of the REST API, in this process, and the one way to check a refusal."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.test import Client as DjangoClient

from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import SYSTEM
from suspensions.operations import access
from suspensions.problems import PROBLEMS
from tests.support.openapi import require_documented

BASE = "/api/v1"
MEMBERS = ("type", "title", "status", "detail", "instance", "code", "errors", "request_id")


@dataclass(frozen=True)
class Answer:
    """An answer: its status, headers and JSON."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


class Client:
    """Sends JSON with a bearer token; `scope` goes into the header unless it is None.

    Every answer is held against the OpenAPI document.
    """

    def __init__(self, token: str, scope: str | None, principal: str = "") -> None:
        self.token, self.scope, self.principal = token, scope, principal
        self._django = DjangoClient(raise_request_exception=False)

    def get(self, path: str, **query: Any) -> Answer:
        return self.send("GET", path, query=query)

    def post(self, path: str, body: Any = None, **query: Any) -> Answer:
        return self.send("POST", path, body=body, query=query)

    def put(self, path: str, body: Any) -> Answer:
        return self.send("PUT", path, body=body)

    def delete(self, path: str, **query: Any) -> Answer:
        return self.send("DELETE", path, query=query)

    def send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        content: bytes | None = None,
        query: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request; `content` is sent as it is, `body` as JSON."""
        data = content if content is not None else b"" if body is None else json.dumps(body).encode()
        given = {
            "Authorization": f"Bearer {self.token}",
            **({} if self.scope is None else {"Cortex-Scope": self.scope}),
        }
        sent = given | dict(headers or {})
        if content == b"":
            # Django's client names no type for an empty body; a real one may.
            sent["Content-Type"] = content_type
        address = path if path.startswith("/api") else BASE + path
        response = self._django.generic(
            method,
            address,
            data,
            content_type=content_type,
            query_params=query or None,
            headers={name: value for name, value in sent.items() if value},
        )
        answer = Answer(response.status_code, response.headers, response.content)
        body = answer.json() if answer.content and method != "HEAD" else None
        require_documented(method, address, answer.status, answer.headers, body)
        return answer


def client_for(scope: str | Scope, *roles: Role, at: str | None = "", name: str = "") -> Client:
    """A client of a new service with the roles (none given: every role) at the scope.

    `at` is the working scope that it sends, the granted one unless told; None sends no header.
    """
    granted = Scope.parse(str(scope))
    principal = name or f"svc-{secrets.token_hex(5)}"
    access.make_principal(principal, service=True, by=SYSTEM)
    for role in roles or tuple(Role):
        access.grant_role(principal, role, granted, SYSTEM)
    token = access.issue_token(principal, "test", None, SYSTEM)
    return Client(token, granted.text if at == "" else at, principal)


def assert_problem(answer: Answer, status: int, code: str) -> dict[str, Any]:
    """The answer is this refusal, whole and of the one shape; gives its document."""
    assert answer.headers["Content-Type"] == "application/problem+json", answer.content[:300]
    document: dict[str, Any] = answer.json()
    assert (answer.status, document["code"]) == (status, code), document
    assert list(document)[: len(MEMBERS)] == list(MEMBERS)
    assert document["status"] == status == PROBLEMS[code].status
    assert document["type"] == f"/problems/{code}"
    assert document["title"] == PROBLEMS[code].title
    assert document["detail"] and document["request_id"] == answer.headers["X-Request-ID"]
    assert all(set(fault) == {"pointer", "detail"} for fault in document["errors"])
    return document


def assert_ok(answer: Answer, status: int = 200) -> Any:
    """The answer is a success of this status; gives its document, None for 204."""
    assert answer.status == status, answer.content[:2000]
    if status == 204:
        assert not answer.content
        return None
    assert answer.headers["Content-Type"] == "application/json"
    return answer.json()
