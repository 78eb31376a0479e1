"""What an admin does about webhooks, within the scopes that are theirs. Source: api.md roles; ADR 51."""

from __future__ import annotations

from collections.abc import Iterable

import structlog
from django.conf import settings

from suspensions.domain import clock
from suspensions.domain.errors import InvalidState
from suspensions.domain.ids import EVENT, new_id, require_id
from suspensions.domain.policy import Caller, Role
from suspensions.domain.reach import reach_of
from suspensions.domain.scopes import Scope
from suspensions.domain.texts import require_text
from suspensions.domain.values import Page
from suspensions.domain.webhooks import (
    MAX_DESCRIPTION,
    PING,
    WEBHOOK,
    Delivery,
    Told,
    Webhook,
    new_secret,
    require_types,
    require_url,
)
from suspensions.operations.transactions import in_transaction
from suspensions.queries import webhooks as queries
from suspensions.store import deliveries
from suspensions.store import webhooks as store

log = structlog.stdlib.get_logger("cortex.webhooks")


def add_webhook(caller: Caller, scope: Scope, url: str, description: str, types: Iterable[str]) -> tuple[Webhook, str]:
    """Make a webhook, and give it with its secret, this once.

    Raises: NotFound for a foreign scope, Forbidden, InvalidRequest.
    """
    caller.require(scope, Role.ADMIN)
    url = require_url(url, private=settings.WEBHOOK_ALLOW_PRIVATE)
    description = require_text(description, "/description", longest=MAX_DESCRIPTION)
    chosen = require_types(types)
    webhook_id, secret = new_id(WEBHOOK), new_secret()

    def add() -> None:
        store.insert_webhook(
            webhook_id,
            scope,
            url=url,
            description=description,
            types=chosen,
            secret=secret,
            actor=caller.actor,
            now=clock.now(),
        )

    in_transaction(add)
    # The address may hold a secret of its own, in its path or query: logs name the webhook alone.
    log.info("webhook made", webhook=webhook_id, scope=scope.text, by=caller.principal)
    return queries.find_webhook(webhook_id), secret


def list_webhooks(caller: Caller) -> tuple[Webhook, ...]:
    """Those of the scopes where the caller is an admin."""
    return queries.list_webhooks(reach_of(caller, Role.ADMIN))


def find_webhook(caller: Caller, webhook_id: str) -> Webhook:
    """Raises: NotFound, also for one of a foreign scope; Forbidden, InvalidId."""
    found = queries.find_webhook(require_id(webhook_id, WEBHOOK))
    caller.require(found.scope, Role.ADMIN)
    return found


def list_deliveries(caller: Caller, webhook_id: str, cursor: str | None, limit: int) -> Page[Delivery]:
    """Raises: as `find_webhook`; InvalidCursor."""
    find_webhook(caller, webhook_id)
    return queries.list_deliveries(webhook_id, cursor, limit)


def renew_secret(caller: Caller, webhook_id: str) -> str:
    """Sign with a new secret from now on, and give it, this once. Raises: as `find_webhook`."""
    find_webhook(caller, webhook_id)
    secret = new_secret()
    in_transaction(store.replace_secret, webhook_id, secret)
    log.info("webhook's secret renewed", webhook=webhook_id, by=caller.principal)
    return secret


def disable_webhook(caller: Caller, webhook_id: str) -> None:
    """Tell it nothing more; what it was not told yet is given up. Raises: as `find_webhook`."""
    find_webhook(caller, webhook_id)
    if in_transaction(store.disable_webhook, webhook_id, caller.actor, clock.now()):
        log.info("webhook disabled", webhook=webhook_id, by=caller.principal)


def enable_webhook(caller: Caller, webhook_id: str) -> None:
    """Tell it of what happens from now on. Raises: as `find_webhook`; InvalidRequest where its address will not do."""
    found = find_webhook(caller, webhook_id)
    require_url(found.url, private=settings.WEBHOOK_ALLOW_PRIVATE)
    if in_transaction(store.enable_webhook, webhook_id, clock.now()):
        log.info("webhook enabled", webhook=webhook_id, by=caller.principal)


def ping_webhook(caller: Caller, webhook_id: str) -> Told:
    """Send it one delivery that tells of no event, like all others. Raises: as `find_webhook`; InvalidState."""
    found = find_webhook(caller, webhook_id)

    def ping() -> Told:
        _require_enabled(webhook_id)
        now = clock.now()
        told = Told(new_id(EVENT), PING, now, found.scope)
        deliveries.insert_delivery(told, webhook_id, now)
        return told

    return in_transaction(ping)


def retry_delivery(caller: Caller, webhook_id: str, delivery_id: int) -> None:
    """Send once more what was given up. Raises: as `find_webhook`; InvalidState."""
    find_webhook(caller, webhook_id)

    def retry() -> None:
        _require_enabled(webhook_id)
        deliveries.retry_delivery(webhook_id, delivery_id, clock.now())

    in_transaction(retry)


def _require_enabled(webhook_id: str) -> None:
    """Raises: InvalidState, NotFound."""
    if not store.is_enabled(webhook_id):
        raise InvalidState("disabled", "The webhook is disabled: nothing is sent to it.")
