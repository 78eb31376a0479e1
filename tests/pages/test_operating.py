"""Pages for those who come rarely: people and access, questions, health, uncertain resumes, profile, runs."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.db import connection
from django.test import Client

from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import content_digest, dumps
from suspensions.domain.values import SYSTEM, NewInteraction
from suspensions.operations import access, interactions, leases, resumes
from suspensions.queries import health_page, receipts
from tests.support import builders as b
from tests.support.people import PASSWORD, Person, make_person


def text(response: Any) -> str:
    content: bytes = response.content
    return html.unescape(content.decode())


@pytest.fixture
def admin(scope: str) -> Person:
    return make_person(scope, Role.ADMIN, Role.APPROVER)


def change(person: Person, **posted: str) -> Any:
    return person.client.post("/access/change", posted)


# -- people and access -----------------------------------------------------------------------------------------


def test_an_admin_makes_an_account_grants_a_role_and_takes_it_again(admin: Person, scope: str) -> None:
    name = f"new-{scope[-6:]}"
    assert change(admin, do="principal", name=name, kind="person", password=PASSWORD).status_code == 303
    assert change(admin, do="grant", principal=name, role="approver", scope=f"{scope}/p=a").status_code == 303
    page = text(admin.client.get("/access/"))
    assert f"{name} is approver in {scope}/p=a." in page
    assert access.caller_for_user(_user(name)).roles_at(Scope.parse(f"{scope}/p=a")) == {Role.APPROVER}
    assert change(admin, do="revoke", principal=name, role="approver", scope=f"{scope}/p=a").status_code == 303
    assert access.caller_for_user(_user(name)).grants == ()


def test_revoking_says_first_what_is_lost_and_never_takes_the_last_admin(admin: Person, scope: str) -> None:
    ben = make_person(scope, Role.VIEWER, display="Ben Ito")
    access.grant_role(ben.name, Role.VIEWER, Scope.parse(f"{scope}/p=a"), SYSTEM)
    page = text(admin.client.get("/access/"))
    assert f"You will not be able to manage access in {scope} any more." in page
    assert f"Ben Ito will not be able to read what is in {scope} any more." in page
    assert f"Nothing changes by it: viewer in {scope} covers this too." in page

    refused = change(admin, do="revoke", principal=admin.name, role="admin", scope=scope)
    assert refused.status_code == 409
    page = text(refused)
    assert "Nothing was changed." in page
    assert f"{admin.name} is the last admin of {scope}" in page
    assert f"manage.py grant NAME admin --scope {scope} gives it back" in page
    assert Role.ADMIN in admin.caller.roles_at(Scope.parse(scope))

    make_person(scope, Role.ADMIN)
    # Who gave up their own last admin grant sees the page as everybody does.
    assert change(admin, do="revoke", principal=admin.name, role="admin", scope=scope).status_code == 303
    assert "Only an admin changes grants" in text(admin.client.get("/access/"))


def _user(name: str) -> Any:
    from django.contrib.auth import get_user_model  # noqa: PLC0415

    return get_user_model().objects.get(username=name)


def test_a_token_is_shown_once_and_ends(admin: Person, scope: str) -> None:
    service = f"svc-{scope[-6:]}"
    change(admin, do="principal", name=service, kind="service")
    change(admin, do="grant", principal=service, role="agent", scope=scope)
    made = change(admin, do="token", principal=service, token_name="worker", days="30")
    [token] = re.findall(r"ctx_[A-Za-z0-9_-]{43}", text(made))
    assert access.caller_for_token(token).principal == service
    assert "no-store" in made.headers["Cache-Control"]
    assert token not in text(admin.client.get("/access/"))
    assert change(admin, do="end-token", principal=service, token_name="worker").status_code == 303
    assert "revoked" in text(admin.client.get("/access/"))


def test_nobody_gets_a_token_that_is_somebody_else(admin: Person, scope: str) -> None:
    dana = make_person(scope, Role.APPROVER)
    refused = change(admin, do="token", principal=dana.name, token_name="theirs")
    assert refused.status_code == 422
    assert "would decide in that person's name" in text(refused)
    assert 'value="theirs"' in text(refused)


@pytest.mark.parametrize(
    "posted",
    [
        {"do": "grant", "role": "approver", "scope": "w=elsewhere"},
        {"do": "revoke", "role": "approver", "scope": "w=elsewhere"},
        {"do": "issuer", "issuer": "watch", "revision": "1", "public_key": "x", "scope": "w=elsewhere"},
    ],
)
def test_an_admins_reach_ends_at_their_scopes(admin: Person, posted: dict[str, str]) -> None:
    response = change(admin, principal=admin.name, **posted)
    assert response.status_code == 422
    assert "No admin grant of yours covers this scope." in text(response)


def test_a_name_that_is_not_there_is_told_at_the_name(admin: Person, scope: str) -> None:
    missing = f"nobody-{scope[-6:]}"
    for posted in ({"do": "grant", "role": "viewer", "scope": scope}, {"do": "token", "token_name": "t"}):
        page = text(change(admin, principal=missing, **posted))
        assert f'id="{posted["do"]}-principal-fault"' in page
        assert f"There is no account {missing}. Make it first, under Make an account." in page
        assert f'href="#{posted["do"]}-principal"' in page
        assert "covers this scope" not in page
    # Who is no admin is not told which accounts there are.
    victor = make_person(scope, Role.VIEWER)
    assert missing not in text(change(victor, do="grant", principal=missing, role="viewer", scope=scope))


@pytest.mark.parametrize(
    ("do", "more"),
    [
        ("grant", {"principal": "a\0b", "role": "viewer"}),
        ("revoke", {"principal": "a\0b", "role": "viewer"}),
        ("token", {"principal": "a\0b", "token_name": "worker"}),
        ("end-token", {"principal": "a\0b", "token_name": "worker"}),
        ("end-token", {"token_name": "a\0b"}),
        ("principal", {"name": "a\0b", "kind": "service"}),
        ("end-issuer", {"name": "a\0b", "issuer": "a\0b", "revision": "1"}),
    ],
)
def test_a_name_with_a_nul_is_nobodys(admin: Person, scope: str, do: str, more: dict[str, str]) -> None:
    assert change(admin, **{"do": do, "principal": admin.name, "scope": scope} | more).status_code == 422


def test_nobody_signs_in_by_a_name_with_a_nul() -> None:
    answer = Client().post("/sign-in/", {"username": "a\0b", "password": "x"})
    assert answer.status_code == 422
    assert "session" not in answer.cookies


@pytest.mark.usefixtures("empty_database")
def test_a_new_account_is_shown_and_goes_on_to_its_role_and_its_token(admin: Person, scope: str) -> None:
    service = f"svc-{scope[-6:]}"
    made = change(admin, do="principal", name=service, kind="service")
    assert made.headers["Location"] == f"/access/?account={service}#h-grant"
    page = text(admin.client.get(made.headers["Location"]))
    assert "It can do nothing yet: grant it a role." in page
    assert re.search(rf'id="grant-principal" name="principal" value="{service}"', page)
    assert re.search(rf"Without a role yet:[^.]*>{service}</a>", page)
    assert page.index("1. Make an account") < page.index("2. Grant a role") < page.index("3. Make a token")

    token = text(change(admin, do="token", principal=service, token_name="early"))
    assert f"This token can do nothing yet: {service} has no role." in token
    change(admin, do="grant", principal=service, role="agent", scope=scope)
    assert "can do nothing yet" not in text(change(admin, do="token", principal=service, token_name="worker"))
    assert not re.search(rf"Without a role yet:[^.]*>{service}</a>", text(admin.client.get("/access/")))


def test_tokens_lead_to_the_api_with_a_request_that_is_ready(scope: str) -> None:
    page = text(make_person(scope, Role.VIEWER).client.get("/access/", headers={"Host": "localhost:8123"}))
    assert '<a href="/api/docs/">' in page
    assert "curl -H 'Authorization: Bearer ctx_\u2026' http://localhost:8123/api/v1/me</pre>" in page


def test_an_account_that_reaches_further_is_not_theirs_to_give_a_token(admin: Person, scope: str) -> None:
    service = f"wide-{scope[-6:]}"
    access.make_principal(service, service=True, by=SYSTEM)
    access.grant_role(service, Role.AGENT, b.fresh_scope(), SYSTEM)
    assert change(admin, do="token", principal=service, token_name="t").status_code == 403


@pytest.mark.parametrize("do", ["principal", "grant", "revoke", "token", "issuer"])
def test_only_an_admin_changes_anything(scope: str, do: str) -> None:
    victor = make_person(scope, Role.VIEWER, Role.APPROVER, Role.OPERATOR)
    posted = {"principal": victor.name, "role": "admin", "scope": scope, "name": "x", "kind": "service"}
    posted |= {"token_name": "t", "issuer": "w", "revision": "1", "public_key": "x"}
    assert change(victor, do=do, **posted).status_code == 403
    page = text(victor.client.get("/access/"))
    assert "Only an admin changes grants" in page
    assert 'name="do"' not in page


def test_an_issuer_is_registered_and_revoked_for_good(admin: Person, scope: str) -> None:
    key = Ed25519PrivateKey.generate().public_key()
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    name = f"watch-{scope[-6:]}"
    posted = {"issuer": name, "revision": "1", "scope": scope}
    assert change(admin, do="issuer", public_key="no key", **posted).status_code == 422
    assert change(admin, do="issuer", public_key=pem, **posted).status_code == 303
    assert change(admin, do="end-issuer", **posted).status_code == 303
    assert re.search(rf"{name}/1</span>\s*<span class=\"stop\">revoked", text(admin.client.get("/access/")))


@pytest.mark.parametrize(
    ("posted", "words"),
    [
        ({"do": "grant", "role": "king"}, "Must be one of the roles."),
        ({"do": "grant", "role": "viewer", "scope": "nonsense"}, "A scope is 1 to 3 levels"),
        ({"do": "token", "days": "-1", "token_name": "t"}, "Must be a whole number of days"),
        ({"do": "principal", "name": "b\u00e4r"}, "Must be 1 to 150 of the characters"),
        ({"do": "principal", "name": "abc", "password": "xq7zk9"}, "Will not do"),
    ],
)
def test_a_fault_stands_at_its_field_and_no_password_comes_back(
    admin: Person, posted: dict[str, str], words: str
) -> None:
    response = change(admin, **{"principal": admin.name, **posted})
    assert response.status_code == 422
    assert words in text(response)
    assert "xq7zk9" not in text(response)


# -- questions -------------------------------------------------------------------------------------------------


def ask(scope: str, interaction_id: str = "turn-1") -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "ask_person", "input": {"question": "May I?"}}
    assistant = dumps({"role": "assistant", "content": [{"type": "text", "text": "One <b>moment</b>."}, block]})
    at = Scope.parse(scope)
    new = NewInteraction(
        at, interaction_id, "toolu_1", assistant, tool_name="ask_person", tool_input=dumps(block["input"])
    )
    interactions.save_interaction(b.caller(at), new, content_digest(assistant))


def test_a_question_is_answered_once(admin: Person, scope: str) -> None:
    ask(scope)
    page = text(admin.client.get("/interactions/"))
    assert "May I?" in page
    assert "One <b>moment</b>." not in admin.client.get("/interactions/").content.decode()
    posted = {"scope": scope, "interaction_id": "turn-1", "answer": "Yes,\r\nyou may. "}
    assert admin.client.post("/interactions/answer", posted).status_code == 303
    assert admin.client.post("/interactions/answer", posted).status_code == 303
    found = interactions.load_interaction(b.caller(scope), Scope.parse(scope), "turn-1")
    assert found.answer is not None
    assert b'"content":"Yes,\\nyou may. "' in found.answer
    assert "you may." in text(admin.client.get("/interactions/?part=answered"))


def test_another_answer_is_refused_and_what_was_typed_is_kept(admin: Person, scope: str) -> None:
    ask(scope)
    first = {"scope": scope, "interaction_id": "turn-1", "answer": "Yes."}
    admin.client.post("/interactions/answer", first)
    dana = make_person(scope, Role.APPROVER)
    refused = dana.client.post("/interactions/answer", first | {"answer": "No.", "is_error": "on"})
    assert refused.status_code == 409
    assert ">\nNo.</textarea>" in text(refused)
    assert "Yes." in text(refused)


def test_an_empty_answer_and_a_viewers_answer_are_not_taken(admin: Person, scope: str) -> None:
    ask(scope)
    posted = {"scope": scope, "interaction_id": "turn-1", "answer": "  "}
    assert admin.client.post("/interactions/answer", posted).status_code == 422
    victor = make_person(scope, Role.VIEWER)
    assert "needs the role approver" in text(victor.client.get("/interactions/"))
    assert victor.client.post("/interactions/answer", posted | {"answer": "Yes."}).status_code == 403
    stranger = make_person(b.fresh_scope(), Role.APPROVER)
    assert stranger.client.post("/interactions/answer", posted | {"answer": "Yes."}).status_code == 404


# -- health, uncertain resumes, runs -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ahead", "says"),
    [
        (timedelta(milliseconds=-900), "This host and the database agree"),
        (timedelta(seconds=4), "This host is 4 s ahead of the database"),
        (timedelta(minutes=-2), "This host is 2 min behind the database"),
    ],
    ids=["near", "ahead", "behind"],
)
def test_health_says_how_far_the_clocks_are_apart(
    scope: str, monkeypatch: pytest.MonkeyPatch, ahead: timedelta, says: str
) -> None:
    found = health_page.DatabaseHealth("PostgreSQL", "15", timedelta(milliseconds=1), ahead)
    monkeypatch.setattr(health_page, "database", lambda: found)
    assert says in text(make_person(scope, Role.OPERATOR).client.get("/health/"))


def test_the_databases_clock_is_asked_where_it_has_one() -> None:
    with b.at(b.now() + timedelta(minutes=3)):
        found = health_page.database()
    if connection.vendor == "postgresql":
        assert found.ahead is not None
        assert abs(found.ahead - timedelta(minutes=3)) < timedelta(seconds=2)
    else:
        assert found.ahead is None


def test_health_says_how_long_the_oldest_has_waited(scope: str) -> None:
    pause = b.make_pause(Scope.parse(scope))
    person = make_person(scope, Role.OPERATOR)
    with b.at(pause.created_at + timedelta(minutes=5, seconds=9)):
        page = text(person.client.get("/health/"))
    assert re.search(r"<dt>Oldest has waited</dt>\s*<dd>5 min</dd>", page)


def test_health_names_what_is_stuck(scope: str) -> None:
    at = Scope.parse(scope)
    olaf = make_person(scope, Role.OPERATOR)
    with b.at(b.now() - timedelta(minutes=30)):
        late = b.make_pause(at, expires_at=b.now() + timedelta(minutes=10))
        silent = b.make_run(at)
    page = text(olaf.client.get("/health/"))
    assert "20 min past its deadline and not swept" in page
    assert silent.id in page
    assert late.run_id not in page


def test_an_uncertain_resume_is_listed_with_what_may_have_happened(scope: str) -> None:
    at = Scope.parse(scope)
    olaf = make_person(scope, Role.OPERATOR)
    with b.at(b.now() - timedelta(minutes=30)):
        pause = b.make_pause(at)
        b.start(b.admit(pause), lease=b.take("osl-1", 60))
    page = text(olaf.client.get("/uncertain/"))
    assert pause.run_id in page
    assert "osl-1" in page
    run = olaf.client.get(f"/runs/{pause.run_id}")
    assert "It is not known what became of this resume." in text(run)
    assert "Lease lapsed" in text(run)
    assert "Cancel without proof" in text(run)
    assert f"/uncertain/{pause.run_id}/close" in run.content.decode()
    assert 'class="state state-uncertain"' in olaf.client.get("/runs/").content.decode()


def test_a_lease_that_lapsed_stays_in_the_run_s_life_once_it_was_cancelled(scope: str) -> None:
    at = Scope.parse(scope)
    olaf = make_person(scope, Role.OPERATOR)
    with b.at(b.now() - timedelta(minutes=30)):
        pause = b.make_pause(at)
        b.start(b.admit(pause), lease=b.take("osl-1", 60))
    ended = olaf.client.post(f"/runs/{pause.run_id}/cancel", {"scope": scope, "reason": "the worker is gone"})
    assert ended.status_code == 303
    page = text(olaf.client.get(f"/runs/{pause.run_id}"))
    assert "osl-1 did not renew. Nobody held the run for 29 min." in page
    assert page.index("Lease lapsed") < page.index("Cancelled by")


def test_a_start_whose_lease_was_given_up_is_uncertain_at_once(scope: str) -> None:
    at = Scope.parse(scope)
    olaf = make_person(scope, Role.OPERATOR)
    start = b.start(b.admit(b.make_pause(at)), lease=b.take("osl-1", 60))
    run = start.claimed_run
    assert run is not None
    assert "It is not known what became" not in text(olaf.client.get(f"/runs/{run.id}"))
    leases.release_lease(b.caller(at), at, run.id, b.holder_of(run))
    assert "It is not known what became of this resume." in text(olaf.client.get(f"/runs/{run.id}"))
    assert "has been silent for" not in text(olaf.client.get(f"/uncertain/{run.id}/close"))


def test_a_start_without_a_lease_is_given_a_while(scope: str) -> None:
    olaf = make_person(scope, Role.OPERATOR)
    pause = b.make_pause(Scope.parse(scope))
    b.start(b.admit(pause))
    assert "It is not known what became" not in text(olaf.client.get(f"/runs/{pause.run_id}"))
    assert "has been silent for" in text(olaf.client.get(f"/uncertain/{pause.run_id}/close"))


def test_a_run_that_a_worker_holds_says_from_when_it_can_be_cancelled(scope: str) -> None:
    at = Scope.parse(scope)
    olaf = make_person(scope, Role.OPERATOR)
    run = b.make_run(at, lease=b.take("osl-1", 600))
    page = text(olaf.client.get(f"/runs/{run.id}"))
    assert "only osl-1 can end this run now" in page
    assert 'id="cancel-reason"' not in page
    refused = olaf.client.post(f"/runs/{run.id}/cancel", {"scope": scope, "reason": "now"})
    assert refused.status_code == 409
    assert olaf.client.post(f"/runs/{run.id}/cancel", {"scope": scope, "reason": " "}).status_code == 400


def test_a_cancelled_run_is_not_drawn_as_running_once_more(scope: str) -> None:
    pause = b.make_pause(Scope.parse(scope))
    olaf = make_person(scope, Role.OPERATOR)
    body = {"scope": scope, "run_revision": b.version_of(pause).run_revision, "reason": "Called off."}
    assert olaf.client.post(f"/runs/{pause.run_id}/cancel", body).status_code == 303
    page = text(olaf.client.get(f"/runs/{pause.run_id}"))
    assert '<title id="band-title">Running, then paused, approval.</title>' in page


def test_runs_are_found_by_state_agent_and_id(scope: str) -> None:
    at = Scope.parse(scope)
    victor = make_person(scope, Role.VIEWER)
    run, other = b.make_run(at, agent_name="care-desk"), b.make_run(at, agent_name="refund-desk")
    for query in (f"q={run.id}", "q=CARE", "agent=care-desk"):
        page = text(victor.client.get(f"/runs/?{query}"))
        assert f"row-{run.id}" in page
        assert f"row-{other.id}" not in page
    assert f"row-{run.id}" not in text(victor.client.get("/runs/?state=failed"))
    assert victor.client.get("/runs/?state=nonsense").status_code == 400


def test_runs_say_what_they_asked_and_what_happened_last(scope: str) -> None:
    at = Scope.parse(scope)
    victor = make_person(scope, Role.VIEWER)
    b.make_pause(at, pending=(b.call("c1", "upgrade_cabin", '{"reservation": "M4XW9B"}'), b.call("c2", "tell")))
    b.make_run(at)
    page = text(victor.client.get("/runs/"))
    for words in ("upgrade_cabin", "M4XW9B", "and 1 more call", "Paused for approval", "Has not paused yet", "Created"):
        assert words in page, words


def test_receipts_say_what_was_asked_and_who_answered(scope: str) -> None:
    at = Scope.parse(scope)
    dana = make_person(scope, Role.APPROVER)
    pause = b.make_pause(at, pending=(b.call("c1", "upgrade_cabin", '{"reservation": "M4XW9B"}'),))
    resumes.decide(dana.caller, at, pause.id, b.version_of(pause).run_revision, b.approve_all(pause))
    other = b.make_pause(at, pending=(b.call("c1", "change_seat"),))
    long = b.approve_all(other, "deny", note="Not in the fare. " * 300)
    resumes.decide(dana.caller, at, other.id, b.version_of(other).run_revision, long)
    page = text(dana.client.get("/receipts/"))
    for words in (dana.caller.display_name or dana.name, "upgrade_cabin", "M4XW9B", "1 approved"):
        assert words in page, words
    # A list reads no long answer, so that it says of this one only that it was given.
    assert "answered, approval" in page
    assert "1 denied" not in page


def test_what_was_approved_with_other_arguments_says_so_everywhere(scope: str) -> None:
    at = Scope.parse(scope)
    dana = make_person(scope, Role.APPROVER)
    calls = (b.call("c1", "issue_refund", '{"amount": 60.00}'), b.call("c2", "tell"))
    pause = b.make_pause(at, pending=calls)
    first, second = b.approve_all(pause)
    edited = (replace(first, arguments='{"amount": 45.00}'), second)
    resumes.decide(dana.caller, at, pause.id, b.version_of(pause).run_revision, edited)
    words = "1 approved, 1 approved with other arguments"
    assert words in text(dana.client.get("/receipts/"))
    assert words in text(dana.client.get(f"/suspensions/{pause.id}"))
    receipt = text(dana.client.get(f"/receipts/admission/{pause.run_id}/{pause.id}"))
    assert "<del>60.00</del> <ins>45.00</ins>" in receipt
    assert "issue_refund approved with other arguments, tell approved" in receipt


def test_a_search_that_finds_nothing_in_the_queue_leads_to_the_receipts(scope: str) -> None:
    dana = make_person(scope, Role.APPROVER)
    page = text(dana.client.get("/?tab=all&q=upgrade"))
    assert "What was decided stands in the receipts." in page
    assert '<a href="/receipts/?q=upgrade">Look through the receipts</a>' in page


def test_what_was_decided_is_not_said_to_wait(scope: str) -> None:
    pause = b.make_pause(Scope.parse(scope))
    dana = make_person(scope)
    assert "<span>Waiting</span>" in text(dana.client.get("/?tab=all"))
    resumes.decide(b.caller(pause.scope), pause.scope, pause.id, b.version_of(pause).run_revision, b.approve_all(pause))
    page = text(dana.client.get("/?tab=decided"))
    assert "<span>Age</span>" in page
    assert 'class="vh">Age </span>' in page
    assert "Waiting" not in page


def test_a_list_without_a_search_says_so_and_where_there_is_one(scope: str) -> None:
    dana = make_person(scope)
    page = text(dana.client.get("/?tab=expired"))
    assert 'name="q"' not in page
    assert "This list has no search." in page
    assert 'href="/runs/?state=failed"' in page
    assert "has no search" not in text(dana.client.get("/?tab=decided"))


def test_receipts_are_found_by_tool_and_by_words_of_what_was_asked(scope: str) -> None:
    at = Scope.parse(scope)
    dana, priya = make_person(scope, Role.APPROVER), make_person(scope, Role.APPROVER)
    upgrade, seat, refund = (
        b.make_pause(at, pending=(b.call("c1", tool, f'{{"reservation": "{code}"}}'),))
        for tool, code in (("upgrade_cabin", "M4XW9B"), ("change_seat", "M4XW9B"), ("refund", "9KD3VA"))
    )
    for pause, who in ((upgrade, dana), (seat, priya), (refund, dana)):
        resumes.decide(who.caller, at, pause.id, b.version_of(pause).run_revision, b.approve_all(pause))

    def found(**query: str) -> list[str]:
        shown = text(dana.client.get("/receipts/", query))
        return re.findall(r'data-row="(\w+)"', shown)

    assert found(q="upgrade_cabin") == [upgrade.id]
    assert found(q="M4XW") == [seat.id, upgrade.id]
    assert found(tool="change_seat") == [seat.id]
    assert found(tool="upgrade_cabin", q=dana.name) == [upgrade.id]
    assert found(tool="upgrade_cabin", q=priya.name) == []
    assert found(kind="closure", tool="change_seat") == []
    shown = text(dana.client.get("/receipts/?q=M4XW&tool=refund"))
    assert "No admission matches “M4XW”" in shown
    assert '<option value="refund" selected>refund</option>' in shown
    exported: Any = dana.client.get("/receipts/?tool=change_seat&export=jsonl")
    assert b"".join(exported.streaming_content).count(b"\n") == 1


def test_receipts_are_found_by_the_day_that_they_were_written(scope: str) -> None:
    at = Scope.parse(scope)
    dana = make_person(scope, Role.APPROVER)
    midnight = b.now().replace(hour=0, minute=0, second=0, microsecond=0)
    pauses = []
    for moment in (midnight, midnight - timedelta(hours=1), midnight - timedelta(days=1, hours=1)):
        # A pause may be much older than its answer.
        with b.at(midnight - timedelta(days=3)):
            pause = b.make_pause(at, pending=(b.call("c1", "upgrade_cabin"),))
        with b.at(moment):
            resumes.decide(dana.caller, at, pause.id, b.version_of(pause).run_revision, b.approve_all(pause))
        pauses.append(pause.id)

    def found(**query: str) -> list[str]:
        return re.findall(r'data-row="(\w+)"', text(dana.client.get("/receipts/", query)))

    assert found(when="today") == pauses[:1]
    assert found(when="yesterday") == pauses[1:2]
    assert sorted(found(when="7d")) == sorted(pauses)
    assert found(when="yesterday", q="upgrade", tool="upgrade_cabin") == pauses[1:2]
    assert found(when="yesterday", kind="closure") == []
    assert "No admission matches “zebra”, yesterday" in text(dana.client.get("/receipts/?when=yesterday&q=zebra"))
    assert dana.client.get("/receipts/?when=tomorrow").status_code == 400
    exported: Any = dana.client.get("/receipts/?when=yesterday&export=csv")
    assert b"".join(exported.streaming_content).count(b"\n") == 2


def test_a_look_through_receipts_stops_and_goes_on(scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "_LOOKED_AT", 2)
    monkeypatch.setattr(receipts, "_LEAST_LOOKED_AT", 2)
    monkeypatch.setattr(receipts, "_CHUNK", 1)
    at = Scope.parse(scope)
    dana = make_person(scope, Role.APPROVER)
    for tool in ("refund", "change_seat", "change_seat", "refund", "change_seat"):
        pause = b.make_pause(at, pending=(b.call("c1", tool),))
        resumes.decide(dana.caller, at, pause.id, b.version_of(pause).run_revision, b.approve_all(pause))
    first = text(dana.client.get("/receipts/?q=refund"))
    assert first.count("data-row=") == 1
    assert "Looked through 2." in first
    [further] = re.findall(r'<a href="([^"]+)">Look further back', first)
    second = text(dana.client.get(further))
    assert "No admission of the newest 2 matches “refund”" in second
    [further] = re.findall(r'<a href="([^"]+)">Look further back', second)
    last = text(dana.client.get(further))
    assert last.count("data-row=") == 1
    assert "further back" not in last


# -- profile -----------------------------------------------------------------------------------------------------


def test_a_person_chooses_zone_theme_and_keys(scope: str) -> None:
    dana = make_person(scope)
    posted = {"time_zone": "Pacific/Auckland", "theme": "dark"}
    assert dana.client.post("/profile/", posted).status_code == 303
    page = text(dana.client.get("/profile/"))
    assert '<html lang="en" data-theme="dark">' in page
    assert 'data-keys="off"' in page
    with b.at(b.now().replace(hour=3, minute=4)):
        pause = b.make_pause(Scope.parse(scope))
    local = pause.created_at.astimezone(ZoneInfo("Pacific/Auckland"))
    assert f"{local:%H:%M}" in text(dana.client.get(f"/suspensions/{pause.id}"))
    assert dana.client.post("/profile/", {"time_zone": "Mars/Base", "theme": "dark"}).status_code == 422


def test_a_new_password_ends_every_other_session(scope: str) -> None:
    dana = make_person(scope, password=PASSWORD)
    other = make_person(scope, name=dana.name).client
    new = "another horse battery staple"
    wrong = {"old_password": "no", "new_password1": new, "new_password2": new}
    assert dana.client.post("/profile/password", wrong).status_code == 422
    assert dana.client.post("/profile/password", wrong | {"old_password": PASSWORD}).status_code == 303
    assert dana.client.get("/profile/").status_code == 200
    assert other.get("/profile/").status_code == 302
