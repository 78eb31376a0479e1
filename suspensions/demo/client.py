"""A small client of the REST API, as an outsider would write one: a token, a scope, and patience."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import httpx
import structlog

Wait = Callable[[float], bool]
"""Waits so many seconds, or less where the end was asked for; whether it was."""

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
_TRY_AGAIN = frozenset({429, 500, 502, 503, 504})

log = structlog.stdlib.get_logger("cortex.demo")


class Refused(Exception):
    """The server said no, and would say it again: `code` is the problem's."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        self.status = status
        self.code = code
        super().__init__(f"{status} {code}: {detail}")


class Stopped(Exception):
    """The end was asked for while the server was not there."""


class Api:
    """Calls in one scope. A server that is away or busy is asked again, a little later each time.

    Every request that makes a record brings an id of its own or is repeatable by content, so that asking again after a
    lost answer finds the record instead of making a second one.
    """

    def __init__(
        self, url: str, token: str, scope: str, wait: Wait, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.scope = scope
        self._wait = wait
        self._http = httpx.Client(
            base_url=f"{url.rstrip('/')}/api/v1/",
            headers={"Authorization": f"Bearer {token}", "Cortex-Scope": scope},
            # A long poll answers within 30 seconds at the latest.
            timeout=httpx.Timeout(10.0, read=40.0),
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._http.close()

    def get(self, address: str, **query: Any) -> Any:
        return self._ask("GET", address, params=query)

    def post(self, address: str, body: dict[str, Any]) -> Any:
        """The answer's document; None for an answer without one."""
        return self._ask("POST", address, json=body)

    def put(self, address: str, body: dict[str, Any]) -> Any:
        return self._ask("PUT", address, json=body)

    def pages(self, address: str, **query: Any) -> list[dict[str, Any]]:
        """Every item of a list."""
        items: list[dict[str, Any]] = []
        page = self.get(address, limit=256, **query)
        items += page["items"]
        while page["next"] is not None:
            page = self.get(address, limit=256, cursor=page["next"], **query)
            items += page["items"]
        return items

    def _ask(self, method: str, address: str, **more: Any) -> Any:
        """Raises: Refused, Stopped."""
        pause = FIRST_PAUSE
        while True:
            try:
                response = self._http.request(method, address, **more)
            except httpx.TransportError as error:
                trouble = type(error).__name__
            else:
                if response.status_code not in _TRY_AGAIN:
                    return _read(response)
                trouble = f"HTTP {response.status_code}"
            log.info("the server is not ready, asking again", trouble=trouble, in_seconds=pause)
            if self._wait(pause):
                raise Stopped
            pause = min(pause * 2, LONGEST_PAUSE)


def _read(response: httpx.Response) -> Any:
    """Raises: Refused."""
    if response.status_code == 204:
        return None
    try:
        document = response.json()
    except ValueError:
        document = {}
    if response.is_success:
        return document
    raise Refused(response.status_code, document.get("code", "unknown"), document.get("detail", response.reason_phrase))
