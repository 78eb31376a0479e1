"""Without what keeps a webhook's address, its secret and its deliveries to whom they belong."""

from __future__ import annotations

from tests.mutants.mutant import BOTH, POSTGRESQL, Mutant, without

_ADDRESSES = "suspensions/notify/addresses.py"
_SENDING = "suspensions/notify/sending.py"
_DOMAIN = "suspensions/domain/webhooks.py"
_OUTBOX = "suspensions/store/deliveries.py"
_STORE = "suspensions/store/webhooks.py"
_DELIVERIES = "suspensions/operations/deliveries.py"
_OPERATIONS = "suspensions/operations/webhooks.py"

_SENT = "tests/webhooks/test_sending.py"
_FOUND = "tests/webhooks/test_outbox.py"
_TURN = "tests/webhooks/test_deliverer.py"
_FORM = "tests/domain/test_webhooks.py"
_PAGES = "tests/pages/test_webhooks.py"

MUTANTS: tuple[Mutant, ...] = (
    # -- where it is sent to
    without("the refusal of private addresses", _ADDRESSES, "if not allow_private and not all(", "if not all(", _SENT),
    without(
        "every address of a webhook's host, not any",
        _ADDRESSES,
        "and not all(is_public",
        "and not any(is_public",
        _SENT,
    ),
    without(
        "the very address that was looked at", _SENDING, "url.copy_with(host=address), timeout)", "url, timeout)", _SENT
    ),
    without(
        "the name that the certificate must hold", _SENDING, "url.raw_host.decode()}", "there.raw_host.decode()}", _SENT
    ),
    without("the refusal to follow a redirect", _SENDING, "follow_redirects=False", "follow_redirects=True", _SENT),
    without(
        "the whole time of one delivery", _SENDING, "asyncio.timeout(self._within)", "asyncio.timeout(None)", _SENT
    ),
    without(
        "the IPv4 address inside an IPv6 one", _DOMAIN, "        if inner is not None:\n", "        if False:\n", _SENT
    ),
    without(
        "plain http for this machine alone",
        _DOMAIN,
        'if parts.scheme == "http" and not is_loopback_host(host):',
        "if False:",
        _FORM,
    ),
    without(
        "the refusal of private numbers in the form",
        _DOMAIN,
        "if not private and (is_loopback_host(host) or _is_refused_literal(host)):",
        "if False:",
        _FORM,
    ),
    # -- what it is told
    without("the scope of a webhook", _DOMAIN, " and self.scope.covers(told.scope)", "", _FOUND),
    without("what happened before it listened", _DOMAIN, "chosen and told.at >= self.since and", "chosen and", _FOUND),
    without("the types that a webhook chose", _DOMAIN, "return chosen and told.at", "return told.at", _FOUND),
    without("the look back for a commit that came late", _DELIVERIES, "or oldest) - FAR\n", "or oldest)\n", _FOUND),
    without(
        "the later of two positions",
        _OUTBOX,
        '" WHERE webhook_position.looked_to < excluded.looked_to",',
        '"",',
        _FOUND,
    ),
    # -- once
    without(
        "the claim's time", _OUTBOX, "(sql.instant(until), *keys)", "(sql.instant(now), *keys)", _FOUND, engines=BOTH
    ),
    without(
        "one claimer for each delivery",
        _OUTBOX,
        '" FOR UPDATE SKIP LOCKED" if sql.is_postgresql() else ""',
        '""',
        _FOUND,
        engines=(POSTGRESQL,),
    ),
    without(
        "whose attempt it was that failed",
        _OUTBOX,
        'ours = {"id": claimed.id, "attempts": claimed.attempt, "state"',
        'ours = {"id": claimed.id, "state"',
        _FOUND,
    ),
    without(
        "whose attempt it was that was taken",
        _OUTBOX,
        '{"id": claimed.id, "attempts": claimed.attempt, "delivered_at": None}',
        '{"id": claimed.id, "delivered_at": None}',
        _FOUND,
    ),
    without(
        "a disabled webhook gets nothing", _OUTBOX, "WHERE id = %s AND disabled_at IS NULL", "WHERE id = %s", _FOUND
    ),
    without(
        "what a disabled webhook was not told",
        _STORE,
        '{"id": webhook_id, "disabled_at": None}))\n    _give_up(webhook_id)\n',
        '{"id": webhook_id, "disabled_at": None}))\n',
        _FOUND,
    ),
    without("the end of trying", _DOMAIN, " if attempt <= len(BACKOFF) else None", "", _FOUND),
    without(
        "a receiver that says it is gone", _DELIVERIES, "if ours and answer.status == GONE:", "if False:", _FOUND, _TURN
    ),
    without(
        "only what was given up is tried again by hand",
        _OUTBOX,
        "if row[0] != DeliveryState.FAILED:",
        "if False:",
        _FOUND,
    ),
    # -- whose it is
    without(
        "the role admin before a webhook", _OPERATIONS, "    caller.require(found.scope, Role.ADMIN)\n", "", _PAGES
    ),
    without("the role admin before a new webhook", _OPERATIONS, "    caller.require(scope, Role.ADMIN)\n", "", _PAGES),
)
