"""Webhooks on the access page, and the page of one with its deliveries."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.webhooks import Answer
from suspensions.operations.deliveries import Lookout, claim_due, keep_answer
from tests.store.rows import execute, rows
from tests.support import builders as b
from tests.support import markup
from tests.support.markup import Markup
from tests.support.people import Person, make_person
from tests.support.receivers import add_webhook, forget_webhooks

SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]{44}")
URL = "https://receiver.example/hook?key=k"


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    forget_webhooks()
    yield
    forget_webhooks()


@pytest.fixture
def admin(scope: str) -> Person:
    return make_person(scope, Role.ADMIN)


def text(response: Any) -> str:
    content: bytes = response.content
    return html.unescape(content.decode())


def add(person: Person, at: str, **posted: Any) -> Any:
    return person.client.post("/access/change", {"do": "webhook", "url": URL, "scope": at, **posted})


def page(person: Person, webhook_id: str) -> str:
    response = person.client.get(f"/access/webhooks/{webhook_id}")
    assert response.status_code == 200
    return text(response)


def press(person: Person, webhook_id: str, do: str, **posted: str) -> Any:
    return person.client.post(f"/access/webhooks/{webhook_id}/change", {"do": do, **posted})


def test_a_webhook_is_made_and_its_secret_shown_once(admin: Person, scope: str) -> None:
    made = add(admin, scope, description="Pager", types=["run.paused", "run.expired"])
    assert (made.status_code, "no-store" in made.headers["Cache-Control"]) == (200, True)
    [secret] = SECRET.findall(text(made))
    [row] = rows("SELECT id, url, secret, types, scope FROM webhook")
    assert row == {"id": row["id"], "url": URL, "secret": secret, "types": "run.paused run.expired", "scope": scope}
    listed = text(admin.client.get("/access/"))
    assert f'href="/access/webhooks/{row["id"]}">Pager</a>' in listed
    assert "receiver.example" in listed
    assert "key=k" not in listed
    shown = page(admin, row["id"])
    assert URL in shown
    assert "Nothing was sent yet" in shown
    assert secret not in listed + shown


def test_a_renewed_secret_is_shown_once(admin: Person, scope: str) -> None:
    webhook_id, old = add_webhook(Scope.parse(scope), URL)
    [new] = SECRET.findall(text(press(admin, webhook_id, "renew")))
    assert new != old
    assert new not in page(admin, webhook_id)


@pytest.mark.parametrize(
    ("posted", "words"),
    [
        ({"url": "http://receiver.example/"}, "Must begin with https://"),
        ({"url": "https://10.0.0.7/"}, "Leads into a private network"),
        ({"url": "https://user:pw@receiver.example/"}, "Must not name a user or password"),
        ({"description": "x" * 201}, "Must have 0 to 200 characters"),
        ({"scope": "nonsense"}, "A scope is 1 to 3 levels"),
        ({"scope": "w=elsewhere"}, "No admin grant of yours covers this scope"),
        ({"types": ["run.exploded"]}, "Names a type of event that there is not"),
    ],
)
def test_a_refusal_keeps_what_was_typed(admin: Person, scope: str, posted: dict[str, Any], words: str) -> None:
    typed = {"url": "https://receiver.example/kept", "description": "kept words", "types": ["run.paused"], **posted}
    refused = add(admin, scope, **typed)
    assert refused.status_code == 422
    shown = text(refused)
    assert words in shown
    assert f'value="{typed["url"]}"' in shown
    assert re.findall(r'name="types" value="([\w.]+)" checked', shown) == [
        kind for kind in typed["types"] if kind != "run.exploded"
    ]
    assert rows("SELECT id FROM webhook") == []


def test_deliveries_stand_with_state_answer_and_next_try(admin: Person, scope: str) -> None:
    webhook_id, _ = add_webhook(Scope.parse(scope), URL)
    pause = b.make_pause(Scope.parse(scope))
    assert press(admin, webhook_id, "ping").status_code == 303
    Lookout().look()
    for claimed in claim_due():
        answer = {"run.created": Answer(204), "run.paused": Answer(None, "no connection")}
        keep_answer(claimed, answer.get(claimed.told.type, Answer(503)))
    execute("UPDATE webhook_delivery SET state = 'failed', next_at = NULL WHERE type = 'webhook.ping'")
    shown = page(admin, webhook_id)
    for words in ("delivered", "status 204", "waiting</span>, next try", "no connection", "given up", "status 503"):
        assert words in shown, words
    assert f"/suspensions/{pause.id}" in shown
    assert shown.count('value="retry"') == 1
    [key] = re.findall(r'name="delivery" value="(\d+)"', shown)
    assert press(admin, webhook_id, "retry", delivery=key).status_code == 303
    assert len(claim_due()) == 1
    again = press(admin, webhook_id, "retry", delivery=key)
    assert (again.status_code, "Nothing was changed." in text(again)) == (409, True)


def test_the_list_goes_on_to_older_ones(admin: Person, scope: str) -> None:
    webhook_id, _ = add_webhook(Scope.parse(scope), URL)
    for _ in range(51):
        press(admin, webhook_id, "ping")
    first = page(admin, webhook_id)
    [older] = re.findall(r'href="([^"]+)">Show older', first)
    second = text(admin.client.get(older))
    rows_of = re.compile(r'<th scope="row"><span class="data">webhook.ping')
    assert (len(rows_of.findall(first)), len(rows_of.findall(second))) == (50, 1)
    assert "Show older" not in second
    assert admin.client.get(f"/access/webhooks/{webhook_id}?after=nonsense").status_code == 400


def test_disabling_and_enabling(admin: Person, scope: str) -> None:
    webhook_id, _ = add_webhook(Scope.parse(scope), URL)
    press(admin, webhook_id, "ping")
    assert press(admin, webhook_id, "disable").status_code == 303
    shown = page(admin, webhook_id)
    assert "the webhook was disabled" in shown
    assert 'value="ping"' not in shown
    assert 'value="retry"' not in shown
    assert "disabled" in text(admin.client.get("/access/"))
    assert press(admin, webhook_id, "ping").status_code == 409
    assert press(admin, webhook_id, "enable").status_code == 303
    assert 'value="ping"' in page(admin, webhook_id)


@pytest.mark.parametrize("do", ["renew", "disable", "enable", "ping", "retry"])
def test_only_an_admin_of_its_scope_sees_or_changes_it(scope: str, do: str) -> None:
    webhook_id, secret = add_webhook(Scope.parse(scope), URL)
    victor = make_person(scope, Role.VIEWER, Role.APPROVER, Role.OPERATOR)
    stranger = make_person(b.fresh_scope(), Role.ADMIN)
    below = make_person(f"{scope}/p=a", Role.ADMIN)
    for person, status in ((victor, 403), (stranger, 404), (below, 404)):
        assert person.client.get(f"/access/webhooks/{webhook_id}").status_code == status
        assert press(person, webhook_id, do, delivery="1").status_code == status
        assert "receiver.example" not in text(person.client.get("/access/"))
    assert add(victor, scope).status_code == 403
    [row] = rows("SELECT secret, disabled_at FROM webhook")
    assert row == {"secret": secret, "disabled_at": None}


@pytest.mark.parametrize("webhook_id", ["nonsense", "whk_01kb9x6q3hf5trm0c8zv2w4yej"])
def test_one_that_there_is_not(admin: Person, webhook_id: str) -> None:
    assert admin.client.get(f"/access/webhooks/{webhook_id}").status_code in (400, 404)
    assert press(admin, webhook_id, "ping").status_code in (400, 404)


@pytest.mark.parametrize(("do", "status"), [("nonsense", 422), ("", 422), ("retry", 404)])
def test_what_no_button_sends_changes_nothing(admin: Person, scope: str, do: str, status: int) -> None:
    webhook_id, _ = add_webhook(Scope.parse(scope), URL)
    assert press(admin, webhook_id, do, delivery="9" * 30).status_code == status


def test_the_pages_need_no_more_than_the_policy_allows(admin: Person, scope: str) -> None:
    made = add(admin, scope, description="</script>[go](javascript:p)")
    webhook_id = rows("SELECT id FROM webhook")[0]["id"]
    press(admin, webhook_id, "ping")
    for shown in (made, admin.client.get("/access/"), admin.client.get(f"/access/webhooks/{webhook_id}")):
        found = Markup(shown.content.decode())
        assert markup.beyond_the_policy(found) == []
        assert markup.forms_without_a_token(found) == 0
        assert markup.loose_ends(found) == []
        assert markup.headings(found) == 1


# -- health ----------------------------------------------------------------------------------------------------


def health(person: Person) -> str:
    """What stands on Health of webhooks; nothing where nothing does."""
    found = re.search(
        r"<strong>Webhooks</strong><span>(.*?)</span></li>", text(person.client.get("/health/")), re.DOTALL
    )
    return "" if found is None else re.sub(r"<[^>]+>", "", found[1])


def test_health_says_nothing_of_webhooks_where_there_are_none(admin: Person) -> None:
    assert health(admin) == ""


def test_health_tells_what_is_on_its_way_what_is_refused_and_what_was_given_up(admin: Person, scope: str) -> None:
    webhook_id, _ = add_webhook(Scope.parse(scope), URL)
    assert health(admin) == "Everything was told, to 1 receiver"
    press(admin, webhook_id, "ping")
    assert health(admin) == "1 on their way, to 1 receiver"
    with b.at(b.now() + timedelta(minutes=2)):
        assert health(admin).startswith("receiver.example: nobody sends; 1 waits, the oldest since ")
    [claimed] = claim_due()
    keep_answer(claimed, Answer(503))
    assert health(admin).startswith("receiver.example: the receiver does not take what it is told; 1 waits, the oldest")
    execute("UPDATE webhook_delivery SET state = 'failed', next_at = NULL")
    assert health(admin) == "receiver.example: the last delivery was given up. Open its deliveries"
    press(admin, webhook_id, "ping")
    [claimed] = claim_due()
    keep_answer(claimed, Answer(204))
    assert health(admin) == "Everything was told, to 1 receiver"


def test_health_names_a_receiver_to_its_admins_alone(admin: Person, scope: str) -> None:
    for _ in range(2):
        webhook_id, _ = add_webhook(Scope.parse(scope), URL)
        press(admin, webhook_id, "ping")
    execute("UPDATE webhook_delivery SET last_error = 'no connection', attempts = 1")
    assert health(admin).endswith(". Open the list")
    shown = health(make_person(scope, Role.VIEWER))
    assert shown.startswith("2 of 2: the receivers do not take what they are told; 2 wait, the oldest since ")
    assert "Open" not in shown
    assert health(make_person(f"{scope}/p=a", Role.ADMIN)) == ""
    press(admin, webhook_id, "disable")
    assert health(make_person(scope, Role.VIEWER)).startswith("The receiver does not take ")
