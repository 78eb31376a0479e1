"""A receiver of webhooks, on a port of this machine, and webhooks that lead there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from threading import Event, Thread
from typing import Any

from django.db import connection
from standardwebhooks.webhooks import Webhook

from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.operations import webhooks
from tests.support.builders import caller
from tests.support.threads import PATIENCE


@dataclass(frozen=True)
class Received:
    """One request, as it came, but for the case of its headers' names."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        members: dict[str, Any] = json.loads(self.body)
        return members


@dataclass
class Receiver:
    """What came, and what is answered: the next of `statuses`, else 204."""

    url: str = ""
    received: list[Received] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    location: str = ""
    """Where a redirect leads."""
    hold: Event | None = None
    """Where given, an answer waits for it."""
    tls: SSLContext | None = None
    """Where given, connections speak TLS by it."""

    def ids(self) -> list[str]:
        return [each.headers["webhook-id"] for each in self.received]

    def verified(self, secret: str) -> list[dict[str, Any]]:
        """The bodies, each signed with the secret. Raises: WebhookVerificationError."""
        return [Webhook(secret).verify(each.body, each.headers) for each in self.received]


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    """A receiver that answers until the block ends."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): text for name, text in self.headers.items()}
            receiver.received.append(Received(self.path, headers, body))
            if receiver.hold is not None:
                receiver.hold.wait(PATIENCE)
            self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
            if receiver.location:
                self.send_header("Location", receiver.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 64

        def finish_request(self, request: Any, client_address: Any) -> None:
            if receiver.tls is None:
                super().finish_request(request, client_address)
                return
            # A client that does not like the certificate goes away.
            with suppress(OSError), receiver.tls.wrap_socket(request, server_side=True) as wrapped:
                super().finish_request(wrapped, client_address)

    server = Server(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        if receiver.hold is not None:
            receiver.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()


def add_webhook(scope: Scope, url: str, *types: str) -> tuple[str, str]:
    """A webhook's id and secret."""
    made, secret = webhooks.add_webhook(caller(scope, Role.ADMIN), scope, url, "", types)
    return made.id, secret


def forget_webhooks() -> None:
    """Remove all: a deliverer serves every scope, also those of earlier tests."""
    with connection.cursor() as cursor:
        for table in ("webhook_delivery", "webhook", "webhook_position"):
            cursor.execute(f"DELETE FROM {table}")
