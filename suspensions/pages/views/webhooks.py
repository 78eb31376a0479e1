"""Webhooks: the list on the access page, and one with its deliveries. An admin's alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_POST, require_safe

from suspensions.domain.cursors import cursor_number
from suspensions.domain.errors import CortexError, InvalidRequest, InvalidState, NotFound
from suspensions.domain.scopes import Scope
from suspensions.domain.webhooks import EVENT_TYPES, Delivery, DeliveryState, Webhook
from suspensions.operations import webhooks
from suspensions.pages.contexts import (
    Banner,
    DeliveryRow,
    Empty,
    Fact,
    Link,
    Option,
    Typed,
    WebhookPage,
    WebhookRow,
)
from suspensions.pages.formats import short_id
from suspensions.pages.lives import actor_words
from suspensions.pages.rendering import render_page
from suspensions.pages.visits import Visit, signed_in
from suspensions.queries.people import display_names
from suspensions.queries.webhooks import count_pending

LIMIT = 50


# -- in the list of the access page ------------------------------------------------------------------------


def webhook_rows(visit: Visit) -> list[WebhookRow]:
    """Those of the scopes where the reader is an admin."""
    found = webhooks.list_webhooks(visit.caller)
    names, pending = _names(found), count_pending([one.id for one in found])
    return [
        WebhookRow(
            href=visit.href("webhook", one.id),
            name=webhook_name(one),
            host=_host(one),
            scope=one.scope.text,
            events=_events(one),
            at=one.created_at,
            by=actor_words(one.created_by, names),
            pending=pending.get(one.id, 0),
            disabled_at=one.disabled_at,
            disabled_by=_disabled_by(one, names),
        )
        for one in found
    ]


def type_options(typed: Typed | None) -> list[Option]:
    """All types of events; chosen are those that a refused form had chosen."""
    kept = typed.values if typed is not None and typed.form == "webhook" else None
    chosen = (kept or {}).get("types", "").split()
    return [Option(kind, kind, kind in chosen) for kind in EVENT_TYPES]


def add(visit: Visit, scope: Scope, posted: Mapping[str, str]) -> HttpResponse:
    """Make a webhook; its page, which shows the secret this once. Raises: as the operation."""
    url, description = posted.get("url", "").strip(), posted.get("description", "").strip()
    made, secret = webhooks.add_webhook(visit.caller, scope, url, description, posted.get("types", "").split())
    return _render(visit, made.id, secret=secret)


# -- one of them -------------------------------------------------------------------------------------------


@require_safe
@signed_in
def show(visit: Visit, webhook_id: str) -> HttpResponse:
    """A webhook and what became of its deliveries."""
    return _render(visit, webhook_id)


@require_POST
@signed_in
def change(visit: Visit, webhook_id: str) -> HttpResponse:
    """Do what one of the page's buttons asks."""
    caller, posted = visit.caller, visit.request.POST
    try:
        match posted.get("do"):
            case "renew":
                # Shown by this very answer and never again, so there is no page to go on to.
                return _render(visit, webhook_id, secret=webhooks.renew_secret(caller, webhook_id))
            case "disable":
                webhooks.disable_webhook(caller, webhook_id)
                words = "The webhook is told nothing any more."
            case "enable":
                webhooks.enable_webhook(caller, webhook_id)
                words = "The webhook is told of what happens from now on."
            case "ping":
                webhooks.ping_webhook(caller, webhook_id)
                words = "A test is on its way. Load the page again to see whether it was taken."
            case "retry":
                webhooks.retry_delivery(caller, webhook_id, _key(posted.get("delivery", "")))
                words = "The delivery is sent once more."
            case _:
                raise InvalidRequest("The form is none of this page's.")
    except (InvalidState, InvalidRequest) as refusal:
        banner = Banner("stop", "Nothing was changed.", refusal.detail, alert=True)
        return _render(visit, webhook_id, banner=banner, status=409 if isinstance(refusal, InvalidState) else 422)
    messages.success(visit.request, words)
    return HttpResponseRedirect(visit.href("webhook", webhook_id), status=303)


def _key(text: str) -> int:
    try:
        return cursor_number(text)
    except CortexError:
        raise NotFound from None


def _render(
    visit: Visit, webhook_id: str, *, secret: str = "", banner: Banner | None = None, status: int = 200
) -> HttpResponse:
    webhook = webhooks.find_webhook(visit.caller, webhook_id)
    found = webhooks.list_deliveries(visit.caller, webhook_id, visit.request.GET.get("after") or None, LIMIT)
    page = WebhookPage(
        chrome=visit.chrome("People and access"),
        crumbs=[Link("People and access", visit.href("access")), Link("Webhooks", f"{visit.href('access')}#webhooks")],
        id=webhook.id,
        name=webhook_name(webhook),
        facts=_facts(webhook),
        enabled=webhook.disabled_at is None,
        action=visit.href("webhook_change", webhook.id),
        deliveries=[_delivery_row(visit, one, webhook.disabled_at is None) for one in found.items],
        empty=None if found.items else _empty(webhook),
        older_href=visit.href("webhook", webhook.id, after=found.next) if found.next else "",
        banner=banner,
        shown_secret=secret,
    )
    return render_page(visit.request, "suspensions/webhook.html", page, status=status)


def _empty(webhook: Webhook) -> Empty:
    if webhook.disabled_at is not None:
        return Empty("Nothing was sent", "The webhook is disabled, and is told nothing.")
    return Empty(
        "Nothing was sent yet", "The next event of its scope will stand here. A test shows whether it arrives."
    )


def _facts(webhook: Webhook) -> list[Fact]:
    names = _names([webhook])
    made = Fact("Made", kind="instant", at=webhook.created_at, aside=f"by {actor_words(webhook.created_by, names)}")
    facts = [
        Fact("Address", webhook.url, kind="data"),
        Fact("Scope", webhook.scope.text, kind="scope", aside="and below"),
        Fact("Events", _events(webhook)),
        made,
    ]
    if webhook.disabled_at is not None:
        by = f"by {_disabled_by(webhook, names)}"
        facts.append(Fact("Disabled", kind="instant", at=webhook.disabled_at, aside=by))
    return facts


def _delivery_row(visit: Visit, delivery: Delivery, enabled: bool) -> DeliveryRow:
    told = delivery.told
    href, about = "", ""
    if told.suspension_id:
        href, about = visit.href("pause", told.suspension_id), short_id(told.suspension_id)
    elif told.run_id:
        href, about = visit.href("run", told.run_id), short_id(told.run_id)
    words = [f"status {delivery.last_status}"] if delivery.last_status is not None else []
    words += [delivery.last_error] if delivery.last_error else []
    return DeliveryRow(
        type=told.type,
        event_id=told.event_id,
        at=told.at,
        href=href,
        about=about,
        state=delivery.state.value,
        attempts=delivery.attempts,
        answer=", ".join(words),
        delivered_at=delivery.delivered_at,
        next_at=delivery.next_at,
        retry=str(delivery.id) if enabled and delivery.state is DeliveryState.FAILED else "",
    )


# -- words -------------------------------------------------------------------------------------------------


def webhook_name(webhook: Webhook) -> str:
    """What people call it; its host where nobody described it, since the whole address may hold a secret."""
    return webhook.description or _host(webhook)


def _host(webhook: Webhook) -> str:
    return urlsplit(webhook.url).netloc


def _events(webhook: Webhook) -> str:
    return ", ".join(webhook.types) or "all"


def _names(found: Sequence[Webhook]) -> dict[str, str]:
    actors = [one.created_by for one in found] + [one.disabled_by for one in found if one.disabled_by]
    return display_names(actor.principal for actor in actors)


def _disabled_by(webhook: Webhook, names: Mapping[str, str]) -> str:
    if webhook.disabled_by is None:
        return ""
    return actor_words(webhook.disabled_by, names, "its receiver, which answered that it is gone")
