"""The pages over HTTP, without a browser: who sees what, what a GET may do, and what a page costs."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Reason, Suspension
from suspensions.operations import resumes, suspensions
from tests.support import builders as b
from tests.support.people import PASSWORD, Person, make_person

MISSING = "sus_01kkgxfm7dfgpt9g8j27szz10y"
MISSING_RUN = "arun_01kkgx23b0f8n9p4nkypsgrn7m"


def text(response: Any) -> str:
    content: bytes = response.content
    return html.unescape(content.decode())


def fields(response: Any) -> dict[str, str]:
    """What the decision form of a page would send along without a choice."""
    found = re.findall(r'<input type="hidden"\s+name="([^"]+)"\s+value="([^"]*)"', text(response))
    return {name: value for name, value in found if name != "csrfmiddlewaretoken"}


def decide(person: Person, pause: Suspension, decision: str = "approve", **more: str) -> Any:
    """Open the pause's page, choose the same for every call, and send."""
    posted = fields(person.client.get(f"/suspensions/{pause.id}"))
    choices = {f"call-{index}-decision": decision for index in range(len(pause.pending))}
    return person.client.post(f"/suspensions/{pause.id}/decision", posted | choices | more)


def streamed(response: Any) -> bytes:
    return b"".join(response.streaming_content)


@pytest.fixture
def dana(scope: str) -> Person:
    return make_person(scope, display="Dana Whitlock")


@pytest.fixture
def pause(scope: str) -> Suspension:
    return b.make_pause(Scope.parse(scope))


# -- who sees what -------------------------------------------------------------------------------------------

PLACES: list[tuple[str, str]] = [
    ("GET", "/suspensions/{pause}"),
    ("GET", "/suspensions/{pause}?part=news"),
    ("GET", "/suspensions/{pause}?part=standing"),
    ("GET", "/suspensions/{pause}?conversation=all"),
    ("POST", "/suspensions/{pause}/decision"),
    ("GET", "/runs/{run}"),
    ("POST", "/runs/{run}/cancel"),
    ("GET", "/receipts/admission/{run}/{pause}"),
    ("GET", "/receipts/admission/{run}/{pause}/json"),
    ("POST", "/receipts/admission/{run}/{pause}/verify"),
]


def _bare(response: Any) -> str:
    """A page without what differs between any two: the token, the instant and the marks of time."""
    return re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"|data-now="[^"]*"', "", text(response))


@pytest.mark.parametrize(("method", "place"), PLACES)
def test_what_is_foreign_looks_exactly_like_what_is_missing(method: str, place: str, pause: Suspension) -> None:
    resumes.decide(b.caller(pause.scope), pause.scope, pause.id, b.version_of(pause).run_revision, b.approve_all(pause))
    stranger = make_person(b.fresh_scope())
    body = {"scope": pause.scope.text, "run_revision": "2", "reason": "x", "call-0-id": "call-1"}
    answers = []
    for suspension_id, run_id in ((pause.id, pause.run_id), (MISSING, MISSING_RUN)):
        address = place.format(pause=suspension_id, run=run_id)
        answers.append(stranger.client.get(address) if method == "GET" else stranger.client.post(address, body))
    foreign, missing = answers
    assert (foreign.status_code, missing.status_code) == (404, 404)
    assert _bare(foreign) == _bare(missing)
    assert "Nothing is here" in text(foreign)


def test_a_wrong_address_is_the_same_page_too(dana: Person) -> None:
    assert _bare(dana.client.get("/nowhere")) == _bare(dana.client.get(f"/suspensions/{MISSING}"))


def test_lists_and_counts_of_a_stranger_show_nothing(pause: Suspension) -> None:
    stranger = make_person(b.fresh_scope())
    for address in ("/", "/?tab=all", "/?tab=decided", f"/?q={pause.id}", "/runs/", "/receipts/", "/uncertain/"):
        page = text(stranger.client.get(address))
        assert f'data-row="{pause.id}"' not in page
        assert f"/suspensions/{pause.id}" not in page
        assert pause.run_id not in page
        assert not re.findall(r'class="count[^>]*>[^<]', page)


def test_a_scope_that_no_grant_covers_is_not_there(dana: Person) -> None:
    assert dana.client.get("/?scope=w=elsewhere").status_code == 404
    assert dana.client.get("/?scope=nonsense").status_code == 400


def test_a_chosen_scope_narrows_every_list_and_goes_along_with_links(scope: str) -> None:
    dana = make_person(scope)
    inside = b.make_pause(Scope.parse(f"{scope}/p=one"))
    outside = b.make_pause(Scope.parse(f"{scope}/p=two"))
    page = text(dana.client.get(f"/?scope={scope}/p=one"))
    assert inside.id in page
    assert outside.id not in page
    assert f"/suspensions/{inside.id}?scope=" in page


@pytest.mark.parametrize("address", ["/", "/runs/", f"/suspensions/{MISSING}", "/access/", "/health/", "/profile/"])
def test_who_is_not_signed_in_is_led_to_the_sign_in_and_back(address: str) -> None:
    response = Client().get(address)
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/sign-in/")


def test_a_sign_in_leads_to_no_other_site(scope: str) -> None:
    dana = make_person(scope, password=PASSWORD)
    for bad in ("https://evil.example/", "//evil.example/", "javascript:p()"):
        sent = {"username": dana.name, "password": PASSWORD, "next": bad}
        assert Client().post("/sign-in/", sent).headers["Location"] == "/"


def test_failed_sign_ins_are_slowed(scope: str) -> None:
    dana = make_person(scope, password=PASSWORD)
    client = Client()
    for _ in range(8):
        response = client.post("/sign-in/", {"username": dana.name, "password": "wrong"})
    assert response.status_code == 429
    assert "Try again in 15 min" in text(response)
    right = client.post("/sign-in/", {"username": dana.name, "password": PASSWORD})
    assert right.status_code == 429


# -- what a GET may do -------------------------------------------------------------------------------------------


def test_no_link_decides_by_being_opened(dana: Person, pause: Suspension) -> None:
    for address in (f"/suspensions/{pause.id}?decision=approve", f"/suspensions/{pause.id}#approve"):
        assert dana.client.get(address).status_code == 200
    for address in (f"/suspensions/{pause.id}/decision", f"/runs/{pause.run_id}/cancel", "/together/decision"):
        assert dana.client.get(address).status_code == 405
        assert dana.client.head(address).status_code == 405
    prefetch = {"Sec-Purpose": "prefetch", "Purpose": "prefetch"}
    assert dana.client.get(f"/suspensions/{pause.id}", headers=prefetch).status_code == 200
    assert suspensions.get_suspension(b.caller(pause.scope), pause.scope, pause.run_id).claimed_at is None


def test_a_look_by_head_marks_nobody_as_looking(dana: Person, scope: str, pause: Suspension) -> None:
    priya = make_person(scope, display="Priya Raman")
    priya.client.head(f"/suspensions/{pause.id}")
    assert "has been looking" not in text(dana.client.get(f"/suspensions/{pause.id}"))
    priya.client.get(f"/suspensions/{pause.id}")
    assert "Priya Raman has been looking" in text(dana.client.get(f"/suspensions/{pause.id}"))
    assert "Priya Raman is looking" in text(dana.client.get("/"))


# -- deciding ----------------------------------------------------------------------------------------------------


def test_whoever_opens_the_next_is_told_what_the_last_one_was(dana: Person, scope: str) -> None:
    at = Scope.parse(scope)
    calls = (b.call("c1", "issue_refund"), b.call("c2", "issue_refund"), b.call("c3", "tell"), b.call("c4", "cancel"))
    pause = b.make_pause(at, pending=calls)
    assert "<title>issue_refund: " in text(dana.client.get(f"/suspensions/{pause.id}"))
    after = decide(dana, pause, then="next")
    following = text(dana.client.get(after.headers["Location"], follow=True))
    assert "issue_refund, tell and 1 more: 4 approved. Receipt " in following


def test_a_decision_goes_on_by_get_and_the_same_again_shows_the_same(dana: Person, pause: Suspension) -> None:
    posted = fields(dana.client.get(f"/suspensions/{pause.id}")) | {"call-0-decision": "approve"}
    for _ in range(2):
        response = dana.client.post(f"/suspensions/{pause.id}/decision", posted)
        assert (response.status_code, response.headers["Location"]) == (303, f"/suspensions/{pause.id}")
    assert "Decided: 1 approved." in text(dana.client.get(f"/suspensions/{pause.id}"))
    priya = make_person(pause.scope, display="Priya Raman")
    assert "Decided by you at" in text(dana.client.get(f"/suspensions/{pause.id}"))
    assert "Decided by Dana Whitlock at" in text(priya.client.get(f"/suspensions/{pause.id}"))


def test_a_missing_choice_is_told_at_its_call_and_the_rest_is_kept(dana: Person, scope: str) -> None:
    pause = b.make_pause(Scope.parse(scope), pending=[b.call("a"), b.call("b")])
    posted = fields(dana.client.get(f"/suspensions/{pause.id}"))
    response = dana.client.post(
        f"/suspensions/{pause.id}/decision", posted | {"call-0-decision": "deny", "call-0-note": "no"}
    )
    assert response.status_code == 422
    assert "Choose approve, edit or deny." in text(response)
    assert ">\nno</textarea>" in text(response)


def test_of_many_calls_what_is_to_be_mended_is_open_and_the_rest_says_so(dana: Person, scope: str) -> None:
    pause = b.make_pause(Scope.parse(scope), pending=[b.call(f"call-{n}") for n in range(12)])

    def opened(page: str) -> list[int]:
        return [n for n, is_open in enumerate(re.findall(r'class="call-fold"( open)?', page)) if is_open]

    first = dana.client.get(f"/suspensions/{pause.id}")
    assert opened(text(first)) == [0, 1, 2]
    assert "to mend" not in text(first)
    chosen = {f"call-{n}-decision": "deny" for n in range(5)} | {
        "call-11-decision": "edit",
        "call-11-arguments": '{"a": 2}',
    }
    again = dana.client.post(f"/suspensions/{pause.id}/decision", fields(first) | chosen)
    assert again.status_code == 422
    assert opened(text(again)) == [0, 1, 2, 5, 6, 7, 11]
    assert text(again).count("to mend</span>") == 6
    # The list above the form names as many as one can keep in mind.
    assert len(re.findall(r'<a href="#call-\d+-decision">', text(again))) == 5
    assert "and 1 more" in text(again)


@pytest.mark.parametrize("edit", ["{", '{"a": 1, "a": 2}', "", "NaN", "[" * 65 + "]" * 65])
def test_an_edit_that_is_not_strict_json_is_refused_at_its_field(dana: Person, pause: Suspension, edit: str) -> None:
    response = decide(dana, pause, "edit", **{"call-0-arguments": edit})
    assert response.status_code == 422
    assert "Not JSON" in text(response)
    assert suspensions.get_suspension(b.caller(pause.scope), pause.scope, pause.run_id).claimed_at is None


@pytest.mark.parametrize("edit", ["{}", "[]", "0", "false", '""', "null"])
def test_every_json_value_will_do_as_an_edit(dana: Person, scope: str, edit: str) -> None:
    pause = b.make_pause(Scope.parse(scope), pending=[b.call(arguments='{"a": 1}')])
    assert decide(dana, pause, "edit", **{"call-0-arguments": edit}).status_code == 303
    admission = resumes.latest_admission(b.caller(pause.scope), pause.scope, pause.run_id)
    assert json.loads(admission.input or b"")["decisions"][0]["arguments"] == edit


def test_an_edit_chosen_and_not_made_is_no_edit(dana: Person, scope: str) -> None:
    pause = b.make_pause(Scope.parse(scope), pending=[b.call(arguments='{"a":\n 1}')])
    assert decide(dana, pause, "edit", **{"call-0-arguments": '{"a":\r\n 1}'}).status_code == 303
    admission = resumes.latest_admission(b.caller(pause.scope), pause.scope, pause.run_id)
    assert "arguments" not in json.loads(admission.input or b"")["decisions"][0]


def test_ones_own_request_may_be_denied_but_not_approved(scope: str) -> None:
    dana = make_person(scope, Role.APPROVER, Role.AGENT)
    run = b.make_run(Scope.parse(scope))
    new = b.new_suspension(Scope.parse(scope), run.id)
    pause = suspensions.create_suspension(b.caller(scope, principal=dana.name.upper()), new)
    page = text(dana.client.get(f"/suspensions/{pause.id}"))
    assert "You asked for this yourself." in page
    assert 'value="approve"' not in page
    assert f'data-pick="{pause.pending[0].name}"' not in text(dana.client.get("/?tab=all"))
    refused = decide(dana, pause)
    assert refused.status_code == 403
    assert "cannot approve it" in text(refused)
    assert decide(dana, pause, "deny").status_code == 303


def test_a_reader_without_the_role_sees_why_there_is_no_form(scope: str, pause: Suspension) -> None:
    victor = make_person(scope, Role.VIEWER)
    page = text(victor.client.get(f"/suspensions/{pause.id}"))
    assert "You may look at this, not answer it." in page
    assert "data-send" not in page
    posted = {"scope": scope, "run_revision": "2", "call-0-id": "call-1", "call-0-decision": "approve"}
    posted["call-0-arguments_sha256"] = pause.pending[0].arguments_sha256
    assert victor.client.post(f"/suspensions/{pause.id}/decision", posted).status_code == 403


def test_that_nobody_can_decide_is_said(scope: str, pause: Suspension) -> None:
    victor = make_person(scope, Role.OPERATOR)
    assert "nobody can answer this" in text(victor.client.get(f"/suspensions/{pause.id}"))


def test_nobody_answers_for_a_peer(dana: Person, scope: str) -> None:
    pause = b.make_pause(Scope.parse(scope), Reason.AGENT_REPLY)
    page = text(dana.client.get(f"/suspensions/{pause.id}"))
    assert "A person answering would forge its message." in page
    assert "data-send" not in page


def test_a_decision_after_the_deadline_is_told_so_and_keeps_the_note(dana: Person, scope: str) -> None:
    pause = b.make_pause(Scope.parse(scope), expires_at=b.now() + timedelta(seconds=30))
    posted = fields(dana.client.get(f"/suspensions/{pause.id}"))
    with b.at(b.now() + timedelta(minutes=1)):
        response = dana.client.post(
            f"/suspensions/{pause.id}/decision", posted | {"call-0-decision": "approve", "call-0-note": "go"}
        )
    assert response.status_code == 409
    assert "Time ran out." in text(response)
    assert ">\ngo</textarea>" in text(response)


def test_arguments_that_are_not_the_ones_seen_are_shown_again_with_what_was_typed(
    dana: Person, pause: Suspension
) -> None:
    response = decide(dana, pause, **{"call-0-arguments_sha256": "0" * 64, "call-0-note": "go"})
    assert response.status_code == 409
    assert "The arguments changed since you opened this page." in text(response)
    assert ">\ngo</textarea>" in text(response)
    assert pause.pending[0].arguments_sha256 in text(response)


def test_htmx_gets_the_fragment_and_what_it_swaps_varies(dana: Person, pause: Suspension) -> None:
    fragment = dana.client.get(f"/suspensions/{pause.id}", headers={"HX-Request": "true"})
    assert text(fragment).lstrip().startswith("<form")
    for headers in ({}, {"HX-Request": "true", "HX-History-Restore-Request": "true"}):
        assert text(dana.client.get(f"/suspensions/{pause.id}", headers=headers)).lstrip().startswith("<!DOCTYPE")
    assert "HX-Request" in fragment.headers["Vary"]
    assert "no-store" in fragment.headers["Cache-Control"]


def test_a_session_that_ended_answers_htmx_with_no_form(pause: Suspension) -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver/suspensions/{pause.id}"}
    client = Client()
    address = f"/suspensions/{pause.id}"
    for response in (client.get(address, headers=headers), client.post(f"{address}/decision", headers=headers)):
        assert (response.status_code, response.content) == (401, b"")
        assert response.headers["HX-Redirect"] == f"/sign-in/?next=%2Fsuspensions%2F{pause.id}&ended=1"


def test_only_who_was_signed_in_is_told_that_a_session_ended(dana: Person, pause: Suspension) -> None:
    address = f"/suspensions/{pause.id}"
    first = Client().get(address, follow=True)
    assert "Sign in to open the page you were given" in text(first)
    assert "session ended" not in text(first)
    assert f'name="next" value="{address}"' in text(first)
    assert "<h1>Sign in</h1>" in text(Client().get("/", follow=True))
    Session.objects.get(session_key=dana.client.session.session_key).delete()
    again = dana.client.get(address, follow=True)
    assert "Sign in again" in text(again)
    assert "Your session ended." in text(again)
    assert "Sign in again" in text(Client().post(f"{address}/decision", follow=True))


def test_a_bulk_decision_tells_what_was_refused_and_changes_nothing_again(dana: Person, scope: str) -> None:
    at = Scope.parse(scope)
    pauses = [b.make_pause(at) for _ in range(4)]
    late = b.make_pause(at, expires_at=b.now() + timedelta(seconds=30))
    ids = [pause.id for pause in (*pauses, late)]
    page = dana.client.get("/together", {"id": ids})
    posted: dict[str, Any] = fields(page) | {"id": ids, "decision": "approve", "note": "all"}
    rival = make_person(scope, display="Priya Raman")
    assert decide(rival, pauses[0], "deny").status_code == 303
    for _ in range(2):
        with b.at(b.now() + timedelta(minutes=1)):
            answer = text(dana.client.post("/together/decision", posted))
        assert "3 of 5 approved." in answer
        assert "1 denied by Priya Raman" in answer
        assert "its time ran out" in answer


def test_a_bulk_decision_of_nothing_is_refused(dana: Person) -> None:
    answer = dana.client.post("/together/decision", {"decision": "approve"})
    assert answer.status_code == 400
    assert "Nothing was changed." in text(answer)


def test_what_was_decided_together_says_so_when_one_comes_back(dana: Person, scope: str) -> None:
    """Back shows no alarm about what the reader just did: who decided it, when, and where the receipt is."""
    at = Scope.parse(scope)
    pauses = [b.make_pause(at) for _ in range(3)]
    ids = [pause.id for pause in pauses]
    posted: dict[str, Any] = fields(dana.client.get("/together", {"id": ids})) | {"id": ids, "decision": "approve"}
    rival = make_person(scope, display="Priya Raman")
    assert decide(rival, pauses[0], "deny").status_code == 303
    dana.client.post("/together/decision", posted)

    again = dana.client.get("/together", {"id": ids})
    assert again.status_code == 200
    page = text(again)
    assert "3 decided already." in page
    assert len(re.findall(r": You approved this \d+ s ago\.", page)) == 2
    assert re.search(r": Priya Raman denied this \d+ s ago\.", page)
    for pause in pauses:
        assert f'class="receipt" href="/receipts/admission/{pause.run_id}/{pause.id}"' in page
    assert "waits no more" not in page
    assert "banner-soon" not in page
    refused = text(dana.client.post("/together/decision", posted | {"decision": "deny"}))
    assert re.search(r"1 approved by you \d+ s earlier", refused)


@pytest.mark.parametrize(
    ("same", "note", "ticked", "count"), [(True, "Two of them.", 1, 1), (False, "", 2, 2)], ids=["same", "another"]
)
def test_what_was_typed_for_several_goes_to_no_others(
    scope: str, same: bool, note: str, ticked: int, count: int
) -> None:
    """A note that was kept stands over the pauses that it was written for, and over no other selection."""
    dana = make_person(scope)
    pauses = [b.make_pause(Scope.parse(scope)) for _ in range(4)]
    first, second, third, other = (pause.id for pause in pauses)
    address = f"/together?id={first}&id={second}&id={third}"
    posted: dict[str, Any] = fields(dana.client.get(address)) | {"id": [first, third], "note": "Two of them."}
    client = Client(enforce_csrf_checks=True)
    client.cookies = dana.client.cookies
    sent = client.post("/together/decision", posted, headers={"Referer": f"http://testserver{address}"})
    assert sent.status_code == 403
    assert decide(make_person(scope), pauses[0], "deny").status_code == 303
    page = text(dana.client.get(address if same else f"/together?id={second}&id={other}"))
    assert re.search(r'name="note"[^>]*>\n([^<]*)</textarea>', page).group(1) == note  # type: ignore[union-attr]
    assert len(re.findall(r"\bchecked\b", page)) == ticked
    assert re.findall(r"<span data-taken>(\d+)</span>", page) == [str(count)] * 2


# -- what a page costs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 60])
def test_the_queue_takes_at_most_eight_queries_and_reads_no_continuation(scope: str, count: int) -> None:
    at = Scope.parse(scope)
    dana = make_person(scope, Role.APPROVER, Role.OPERATOR)
    for number in range(count):
        b.make_pause(at, Reason.AGENT_REPLY if number % 3 == 2 else Reason.APPROVAL)
    for address in ("/", "/?tab=all", "/?tab=decided", "/?tab=expired", "/?q=cancel&reason=approval"):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert dana.client.get(address).status_code == 200
        assert len(queries) <= 8, [query["sql"] for query in queries]
        for query in queries:
            assert "suspension_continuation" not in query["sql"]
            assert '"suspension"."pending"' not in query["sql"]
            assert " OFFSET " not in query["sql"]


def test_a_long_queue_goes_on_without_a_gap_or_a_repeat(scope: str) -> None:
    at = Scope.parse(scope)
    dana = make_person(scope)
    deadlines = [None, b.now() + timedelta(hours=2), b.now() + timedelta(hours=1)]
    made = [b.make_pause(at, expires_at=deadlines[number % 3]).id for number in range(70)]
    made += [b.make_pause(at, Reason.AGENT_REPLY).id for _ in range(60)]
    seen: list[str] = []
    address = "/?tab=all"
    while address:
        page = text(dana.client.get(address))
        seen += re.findall(r'data-row="(sus_\w+)"', page)
        more = re.search(r'<p class="list-foot"><a href="([^"]+)"', page)
        address = more.group(1) if more else ""
    assert sorted(seen) == sorted(made)
    assert len(seen) == len(set(seen))


# -- what a list says of itself ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "last"), [(70, "the last 20, nearest deadline first"), (51, "the last one")])
def test_a_later_page_says_which_of_them_it_shows(scope: str, count: int, last: str) -> None:
    at = Scope.parse(scope)
    dana = make_person(scope)
    for _ in range(count + 50):
        b.make_pause(at)
    told = []
    address = "/"
    while address:
        page = text(dana.client.get(address))
        told += re.findall(r'<h2 class="group-title"[^>]*>Yours to decide <span class="count">([^<]+)<', page)
        address = _older(page)
    assert told == ["the first 50, nearest deadline first", "the next 50, nearest deadline first", last]


def test_a_list_that_begins_on_a_later_page_counts_from_there(scope: str) -> None:
    at = Scope.parse(scope)
    dana = make_person(scope)
    for _ in range(52):
        b.make_pause(at)
        b.make_pause(at, Reason.AGENT_REPLY)
    first = text(dana.client.get("/?tab=all"))
    second = text(dana.client.get(_older(first)))
    third = text(dana.client.get(_older(second)))
    counts = [re.findall(r'class="count">(the [^<,]+)', page) for page in (first, second, third)]
    assert counts == [["the first 50"], ["the last 2", "the first 50"], ["the last 2"]]


def _older(page: str) -> str:
    more = re.search(r'<p class="list-foot"><a href="([^"]+)"', page)
    return more.group(1) if more else ""


def _told_as_new(person: Person, page: str) -> tuple[int, set[str]]:
    """How many new rows the page's poll tells, and which rows come when they are shown."""
    poll = re.search(r'hx-get="([^"]+)"\s+hx-trigger="cortex:poll"', page)
    assert poll is not None
    shown = set(re.findall(r'data-row="(sus_\w+)"', page))
    with CaptureQueriesContext(connection) as queries:
        answer = text(person.client.get(f"{poll.group(1)}&shown={','.join(sorted(shown))}"))
    assert len(queries) <= 8
    found = re.search(r'<strong>(\d+) new</strong>.*?<a class="button tiny"\s+href="([^"]+)"', answer, re.DOTALL)
    if found is None:
        return 0, set()
    after = text(person.client.get(found.group(2)))
    return int(found.group(1)), set(re.findall(r'data-row="(sus_\w+)"', after)) - shown


HOUR = timedelta(hours=1)


@pytest.mark.parametrize("address", ["/", "/?tab=all", "/?deadline=1d"])
def test_only_new_rows_that_showing_them_brings_are_told(scope: str, address: str) -> None:
    """Where the list goes on, a row due after the first page's last one is on a later page: it is no news."""
    at = Scope.parse(scope)
    dana = make_person(scope)
    due = b.now() + 5 * HOUR
    for number in range(60):
        b.make_pause(at, expires_at=due + timedelta(seconds=number))
    first = text(dana.client.get(address))
    second = text(dana.client.get(_older(first)))
    assert _told_as_new(dana, second) == (0, set())
    for late in (due + HOUR, due + timedelta(seconds=55), None):
        b.make_pause(at, expires_at=late)
    b.make_pause(at, Reason.AGENT_REPLY, expires_at=due - HOUR)
    assert _told_as_new(dana, first) == (0, set())
    assert _told_as_new(dana, second) == (0, set())
    sooner = b.make_pause(at, expires_at=due - HOUR).id
    assert _told_as_new(dana, first) == (1, {sooner})
    many, brought = _told_as_new(dana, second)
    assert many == 1
    assert sooner in brought


def test_before_a_row_without_a_deadline_every_new_one_with_a_deadline_is_told(scope: str) -> None:
    at = Scope.parse(scope)
    dana = make_person(scope)
    for _ in range(60):
        b.make_pause(at)
    first = text(dana.client.get("/"))
    b.make_pause(at)
    assert _told_as_new(dana, first) == (0, set())
    due = b.make_pause(at, expires_at=b.now() + 1000 * HOUR).id
    assert _told_as_new(dana, first) == (1, {due})


def test_where_the_list_is_whole_every_new_row_is_told(scope: str) -> None:
    at = Scope.parse(scope)
    dana = make_person(scope)
    b.make_pause(at, expires_at=b.now() + HOUR)
    page = text(dana.client.get("/"))
    new = {b.make_pause(at).id, b.make_pause(at, expires_at=b.now() + 2 * HOUR).id}
    assert _told_as_new(dana, page) == (2, new)


# -- exports -----------------------------------------------------------------------------------------------------


def test_exports_are_whole_and_no_cell_is_a_formula(scope: str) -> None:
    at = Scope.parse(scope)
    dana = make_person(scope, name=f"=cmd.{scope[-5:]}".replace("=", "+"))
    pause = b.make_pause(at)
    assert decide(dana, pause).status_code == 303
    lines = streamed(dana.client.get("/receipts/?export=csv")).decode().splitlines()
    assert len(lines) == 2
    assert f",'{dana.name}," in lines[1]
    [row] = streamed(dana.client.get("/receipts/?export=jsonl")).splitlines()
    assert json.loads(row)["suspension_id"] == pause.id
    document = json.loads(dana.client.get(f"/receipts/admission/{pause.run_id}/{pause.id}/json").content)
    assert document["digest"] == json.loads(row)["digest"]
    assert document["input"]["decisions"][0]["outcome"] == "approved"


def test_a_search_finds_receipts_by_run_person_and_digest(scope: str) -> None:
    dana = make_person(scope)
    pause = b.make_pause(Scope.parse(scope))
    decide(dana, pause)
    admission = resumes.latest_admission(dana.caller, pause.scope, pause.run_id)
    words: list[str] = [pause.run_id, pause.id, dana.name, dana.name[:6], admission.request_digest]
    find: Callable[[str], str] = lambda word: text(dana.client.get("/receipts/", {"q": word}))  # noqa: E731
    assert all(f'data-row="{pause.id}"' in find(word) for word in words)
    assert f'data-row="{pause.id}"' not in find("nobody")
