"""What somebody typed is kept wherever it was not taken, and never shown as what was done."""

import re
from collections.abc import Mapping
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session

from suspensions.domain.scopes import Scope
from suspensions.domain.values import Suspension
from tests.pages.test_serving import decide, fields, text
from tests.support import builders as b
from tests.support.people import PASSWORD, Person, make_person

EDITED = '{"reservation_id": "EDITED"}'


@pytest.fixture
def dana(scope: str) -> Person:
    return make_person(scope, display="Dana Whitlock", password=PASSWORD)


@pytest.fixture
def pause(scope: str) -> Suspension:
    return b.make_pause(Scope.parse(scope), expires_at=b.now() + timedelta(minutes=5))


def _at_sign_in_again(dana: Person, address: str, posted: Mapping[str, object]) -> str:
    """Send a form after the session ended, sign in, and see where that leads."""
    Session.objects.get(session_key=dana.client.session.session_key).delete()
    path = address.partition("?")[0]
    dana.client.post(f"{path}/decision", posted, headers={"Referer": f"http://testserver{address}"})
    back = dana.client.post("/sign-in/", {"username": dana.name, "password": PASSWORD, "next": address}, follow=True)
    return text(back)


def test_an_edit_that_came_too_late_is_not_shown_as_what_was_changed(dana: Person, pause: Suspension) -> None:
    posted = fields(dana.client.get(f"/suspensions/{pause.id}")) | {
        "call-0-decision": "edit",
        "call-0-arguments": EDITED,
        "call-0-note": "Only this one.",
    }
    with b.at(b.now() + timedelta(minutes=6)):
        answer = dana.client.post(f"/suspensions/{pause.id}/decision", posted)
    assert answer.status_code == 409
    page = text(answer)
    assert "What was changed" not in page
    for kept in (EDITED, "Only this one."):
        assert f">\n{kept}</textarea>" in page


def test_an_edit_is_kept_where_another_choice_was_made_and_something_else_is_at_fault(
    dana: Person, pause: Suspension
) -> None:
    answer = decide(dana, pause, "approve", **{"call-0-arguments": EDITED, "call-0-note": "x" * 100_000})
    assert answer.status_code == 422
    assert f">\n{EDITED}</textarea>" in text(answer)
    assert "/reservation_id" not in text(answer)


def test_what_was_typed_before_the_session_ended_is_there_when_somebody_else_decided_meanwhile(
    dana: Person, scope: str, pause: Suspension
) -> None:
    address = f"/suspensions/{pause.id}"
    posted = fields(dana.client.get(address)) | {"call-0-decision": "deny", "call-0-note": "Not in this fare."}
    assert decide(make_person(scope, display="Priya Raman"), pause, "approve").status_code == 303
    back = _at_sign_in_again(dana, address, posted)
    assert "Priya Raman" in back
    assert ">\nNot in this fare.</textarea>" in back


def test_what_was_left_out_of_several_stays_left_out_after_signing_in_again(dana: Person, scope: str) -> None:
    pauses = [b.make_pause(Scope.parse(scope)) for _ in range(3)]
    address = "/together?" + "&".join(f"id={pause.id}" for pause in pauses)
    posted = fields(dana.client.get(address))
    taken = [pauses[0].id, pauses[2].id]
    page = _at_sign_in_again(dana, address, posted | {"id": taken, "note": "Two of them.", "decision": "deny"})
    assert ">\nTwo of them.</textarea>" in page
    ticks = re.findall(r'name="id"\s+value="([^"]+)"\s+(checked)?', page)
    assert ticks == [(pause.id, "checked" if pause.id in taken else "") for pause in pauses]


def test_the_chosen_scope_goes_along_to_several_together(dana: Person, scope: str, pause: Suspension) -> None:
    page = text(dana.client.get("/", {"scope": scope}))
    form = page[page.index('id="bulk"') :]
    assert 'action="/together"' in form[: form.index(">")]
    assert f'<input type="hidden" name="scope" value="{scope}">' in form
    assert 'name="scope"' not in text(dana.client.get("/")).partition('id="bulk"')[2].partition("</form>")[0]


@pytest.mark.parametrize(
    ("known", "title", "words"),
    [
        (1, "1 of 2 approved.", "The other was refused; nothing was half done."),
        (0, "None was approved.", "It was refused; nothing was half done."),
    ],
)
def test_one_of_several_that_is_out_of_reach_is_told(
    dana: Person, pause: Suspension, known: int, title: str, words: str
) -> None:
    elsewhere = b.make_pause(b.fresh_scope())
    chosen = [pause.id, elsewhere.id][1 - known :]
    posted = fields(dana.client.get("/together", {"id": [pause.id]})) | {"id": chosen, "decision": "approve"}
    answer = text(dana.client.post("/together/decision", posted))
    assert title in answer
    assert words in answer
    assert "it is not there, or in a scope that you have no grant for" in answer


@pytest.mark.parametrize(
    "address",
    ["/?q=%00", "/?tool=a%00b", "/?scope=%00", "/together?id=%00", "/suspensions/%00", "/runs/%00", "/receipts/?q=%00"],
)
def test_an_address_with_a_nul_is_refused_before_the_store_is_asked(dana: Person, address: str) -> None:
    assert dana.client.get(address).status_code == 400


def test_a_nul_among_several_that_are_decided_is_told_like_any_other(dana: Person, pause: Suspension) -> None:
    posted = fields(dana.client.get("/together", {"id": [pause.id]})) | {"id": [pause.id, "\0"], "decision": "approve"}
    answer = dana.client.post("/together/decision", posted)
    assert answer.status_code == 200
    assert "1 of 2 approved." in text(answer)
