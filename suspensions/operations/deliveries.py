"""What a deliverer does, but for the sending: find what is to be told, claim it, keep what came of it.

No transaction is open while something is sent. Source: ADR 51.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from suspensions.domain import clock
from suspensions.domain.ids import EVENT, id_at
from suspensions.domain.values import SYSTEM
from suspensions.domain.webhooks import CLAIMED_FOR, GONE, Answer, Claimed, Listener, Told, next_try
from suspensions.operations.transactions import in_transaction
from suspensions.store import deliveries, webhooks

BATCH = 1000
AT_ONCE = 4
"""Deliveries of one webhook that one deliverer sends at the same time: a slow receiver holds up its own alone."""

NEAR = timedelta(seconds=10)
"""How far each look reaches back: ids are made before their commit, by clocks that differ a little."""
FAR = timedelta(minutes=5)
"""How far a look reaches back now and then, for a commit that came very late."""
FAR_EVERY = timedelta(seconds=30)

KEPT_FOR = timedelta(days=30)
FORGOTTEN_AT_ONCE = 1000

log = structlog.stdlib.get_logger("cortex.webhooks")


@dataclass(slots=True)
class Lookout:
    """Finds events that webhooks are to be told of. It remembers up to when it looked; the store does, coarsely.

    Several may look at once, and each looks twice at most events: an event is kept once for each webhook.
    """

    batch: int = BATCH
    _near: datetime | None = None
    _far: datetime | None = None

    def look(self) -> int:
        """Keep what is to be told of the events since the last look; how many deliveries were new."""
        now = clock.now()
        listening = webhooks.listeners()
        if not listening:
            self._near = self._far = None
            return 0
        oldest = min(listener.since for listener in listening)
        is_far = self._near is None or self._far is None or now - self._far >= FAR_EVERY
        if is_far:
            since = max(oldest, self._far or deliveries.looked_to() or oldest) - FAR
        else:
            assert self._near is not None
            since = self._near - NEAR
        found = self._look(since, listening, now)
        self._near = now
        if is_far:
            self._far = now
            in_transaction(deliveries.keep_looked_to, now)
        return found

    def _look(self, since: datetime, listening: list[Listener], now: datetime) -> int:
        scopes = list({listener.scope for listener in listening})
        after: str | None = id_at(EVENT, since)
        count = 0
        while after is not None:
            events, after = deliveries.events_after(after, scopes, self.batch)
            wanted = [(told, each.webhook_id) for told in events for each in listening if each.wants(told)]
            count += _keep_new(wanted, now)
        return count


def _keep_new(wanted: list[tuple[Told, str]], now: datetime) -> int:
    if not wanted:
        return 0
    known = deliveries.told_between(wanted[0][0].event_id, wanted[-1][0].event_id)
    new = [(told, webhook_id) for told, webhook_id in wanted if (told.event_id, webhook_id) not in known]
    # Most looks find nothing new, and then write nothing.
    if new:
        in_transaction(deliveries.add_deliveries, new, now)
    return len(new)


def claim_due(leave: Container[str] = ()) -> list[Claimed]:
    """What is due, for us alone to send within the next minute: a few of each webhook but those to `leave` alone."""
    now = clock.now()
    claimed: list[Claimed] = []
    for webhook_id in deliveries.due_webhooks(now):
        if webhook_id in leave:
            continue
        claimed += in_transaction(deliveries.claim_due, webhook_id, now, now + CLAIMED_FOR, AT_ONCE)
    return claimed


def keep_answer(claimed: Claimed, answer: Answer) -> None:
    """Keep what came of sending: it was taken, is tried again, or is given up. 410 disables the webhook as well."""
    now = clock.now()
    if answer.taken:
        in_transaction(deliveries.keep_delivered, claimed, answer, now)
        return
    again = None if answer.status == GONE else next_try(claimed.attempt, now)
    in_transaction(_keep_failure, claimed, answer, again, now)
    told = {"webhook": claimed.webhook_id, "event_id": claimed.told.event_id, "attempt": claimed.attempt}
    log.warning("webhook not delivered", **told, status=answer.status, reason=answer.error, given_up=again is None)


def _keep_failure(claimed: Claimed, answer: Answer, again: datetime | None, now: datetime) -> None:
    if answer.status == GONE:
        # Its row goes before those of its deliveries, as where an admin disables it.
        webhooks.is_enabled(claimed.webhook_id)
    ours = deliveries.keep_failure(claimed, answer, again)
    if ours and answer.status == GONE:
        webhooks.disable_webhook(claimed.webhook_id, SYSTEM, now)


def forget_settled() -> int:
    """Remove some of what was settled long ago; how many."""
    return in_transaction(deliveries.forget_settled, clock.now() - KEPT_FOR, FORGOTTEN_AT_ONCE)
