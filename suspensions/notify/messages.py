"""What a webhook's receiver gets: a few ids, an address to look at, and a signature. Source: ADR 51."""

from __future__ import annotations

import json
from datetime import datetime

from django.conf import settings
from django.urls import reverse
from django.utils.http import urlencode
from standardwebhooks.webhooks import Webhook

from suspensions.domain.instants import format_instant
from suspensions.domain.webhooks import PING, Claimed, Told


def body_of(claimed: Claimed) -> str:
    """The same for each attempt. No arguments, no contents: whoever may see those follows the address."""
    told = claimed.told
    return json.dumps(
        {
            "type": told.type,
            "id": told.event_id,
            "at": format_instant(told.at),
            "scope": told.scope.text,
            "run_id": told.run_id,
            "suspension_id": told.suspension_id,
            "url": f"{settings.PUBLIC_URL or ''}{_path(told, claimed.webhook_id)}",
        }
    )


def headers_of(claimed: Claimed, body: str, now: datetime) -> dict[str, str]:
    """The three headers of Standard Webhooks; the event's id lets a receiver know a repeat."""
    return {
        "webhook-id": claimed.told.event_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(claimed.secret).sign(claimed.told.event_id, now, body),
    }


def _path(told: Told, webhook_id: str) -> str:
    """The page about it, without a host where the site was not told its own address."""
    if told.type == PING:
        return reverse("pages:webhook", args=[webhook_id])
    if told.suspension_id:
        return reverse("pages:pause", args=[told.suspension_id])
    if told.run_id:
        return reverse("pages:run", args=[told.run_id])
    return f"{reverse('pages:interactions')}?{urlencode({'scope': told.scope.text})}"
