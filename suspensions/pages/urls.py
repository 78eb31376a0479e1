"""URLs of the pages. Source: pages.md, "Addresses"."""

from __future__ import annotations

from django.urls import path

from suspensions.pages.views import (
    access,
    account,
    bulk,
    health,
    interactions,
    pause,
    queue,
    receipts,
    runs,
    uncertain,
    webhooks,
)

app_name = "pages"

_RECEIPT = "receipts/<str:kind>/<str:run_id>/<str:suspension_id>"

urlpatterns = [
    path("", queue.show, name="queue"),
    path("together", bulk.show, name="bulk"),
    path("together/decision", bulk.decide_all, name="bulk_decide"),
    path("next", queue.next_in_queue, name="next"),
    path("suspensions/<str:suspension_id>", pause.show, name="pause"),
    path("suspensions/<str:suspension_id>/decision", pause.decision, name="decision"),
    path("runs/", runs.index, name="runs"),
    path("runs/<str:run_id>", runs.show, name="run"),
    path("runs/<str:run_id>/cancel", runs.cancel, name="cancel"),
    path("receipts/", receipts.index, name="receipts"),
    path(f"{_RECEIPT}/json", receipts.download, name="receipt_json"),
    path(f"{_RECEIPT}/verify", receipts.verify, name="verify"),
    path(_RECEIPT, receipts.show, name="receipt"),
    path("uncertain/", uncertain.index, name="uncertain"),
    path("uncertain/<str:run_id>/close", uncertain.close, name="close"),
    path("interactions/", interactions.index, name="interactions"),
    path("interactions/answer", interactions.answer, name="answer"),
    path("access/", access.index, name="access"),
    path("access/change", access.change, name="access_change"),
    path("access/webhooks/<str:webhook_id>", webhooks.show, name="webhook"),
    path("access/webhooks/<str:webhook_id>/change", webhooks.change, name="webhook_change"),
    path("health/", health.index, name="health"),
    path("sign-in/", account.sign_in, name="sign_in"),
    path("sign-out/", account.sign_out, name="sign_out"),
    path("profile/", account.profile, name="profile"),
    path("profile/password", account.password, name="password"),
]
