"""What somebody typed is kept wherever it was not taken, and never shown as what was done."""

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
    Session.objects.get(session_key=dana.client.session.session_key).delete()
    dana.client.post(f"{address}/decision", posted, headers={"Referer": f"http://testserver{address}"})
    assert decide(make_person(scope, display="Priya Raman"), pause, "approve").status_code == 303
    back = dana.client.post("/sign-in/", {"username": dana.name, "password": PASSWORD, "next": address}, follow=True)
    assert "Priya Raman" in text(back)
    assert ">\nNot in this fare.</textarea>" in text(back)
