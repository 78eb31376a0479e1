"""Every page as it is served, with everything on it: what holds for all markup."""

import pytest

from tests.support import markup
from tests.support.builders import fresh_scope
from tests.support.markup import Markup
from tests.support.people import Person
from tests.support.scenery import Scenery, build

PLACES = [
    "/",
    "/?tab=all",
    "/?tab=decided",
    "/?tab=expired",
    "/?q=nothing-of-the-kind",
    "/together?id={two}&id={bulk-1}&id={bulk-2}",
    "/runs/",
    "/receipts/",
    "/receipts/?kind=closure",
    "/uncertain/",
    "/interactions/",
    "/interactions/?part=answered",
    "/access/",
    "/health/",
    "/profile/",
    "/nowhere",
]
NAMES = ["two", "three", "hostile", "long", "forty", "external", "peer", "own", "decided", "done", "cancelled", "late"]


@pytest.fixture(scope="module")
def made(database: None) -> Scenery:
    return build(fresh_scope())


@pytest.fixture(scope="module")
def ines(made: Scenery) -> Person:
    return made.people["ines"]


def _check(page: Markup) -> None:
    assert markup.beyond_the_policy(page) == []
    assert markup.without_a_way_for_browsers(page) == []
    assert markup.forms_without_a_token(page) == 0
    assert markup.loose_ends(page) == []
    assert markup.headings(page) == 1


@pytest.mark.parametrize("place", PLACES)
def test_a_page(made: Scenery, ines: Person, place: str) -> None:
    ids = {name: pause.id for name, pause in made.pauses.items()}
    _check(Markup(ines.client.get(place.format(**ids)).content.decode()))


@pytest.mark.parametrize("name", NAMES)
def test_a_pause_and_its_run(made: Scenery, ines: Person, name: str) -> None:
    pause = made.pauses[name]
    for address in (f"/suspensions/{pause.id}", f"/runs/{pause.run_id}"):
        _check(Markup(ines.client.get(address).content.decode()))


@pytest.mark.parametrize("name", ["lost", "closed", "two"])
def test_closing_what_can_be_and_what_cannot(made: Scenery, ines: Person, name: str) -> None:
    address = f"/uncertain/{made.pauses[name].run_id}/close"
    _check(Markup(ines.client.get(address).content.decode()))


@pytest.mark.parametrize("kind", ["admission", "start"])
def test_a_receipt_before_and_after_verifying(made: Scenery, ines: Person, kind: str) -> None:
    pause = made.pauses["done"]
    address = f"/receipts/{kind}/{pause.run_id}/{pause.id}"
    _check(Markup(ines.client.get(address).content.decode()))
    verified = ines.client.post(f"{address}/verify").content.decode()
    _check(Markup(verified))
    assert "Verified:" in verified
