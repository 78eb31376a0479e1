"""Every page with everything on it, in both themes, wide and narrow: drawn for people, checked by axe."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.conf import settings
from playwright.sync_api import Browser, Page, expect

from suspensions.closing.proof import sign_proof
from suspensions.domain.instants import format_instant
from tests.support.axe import faults
from tests.support.builders import fresh_scope
from tests.support.pictures import draw
from tests.support.scenery import Scenery, build
from tests.support.walk import Visitor, sign_in, visitor

PICTURES = Path(settings.BASE_DIR) / "screenshots"
LOOKS = {
    "light-1440": ("light", 1440),
    "dark-1440": ("dark", 1440),
    "light-390": ("light", 390),
    "dark-390": ("dark", 390),
}


@dataclass(frozen=True)
class Screen:
    """A page by its address, and what is pressed on it before it is looked at."""

    address: Callable[[Scenery], str]
    press: Callable[[Page], None] = lambda page: None


def _pause(name: str) -> Callable[[Scenery], str]:
    return lambda made: f"/suspensions/{made.pauses[name].id}"


def _run(name: str) -> Callable[[Scenery], str]:
    return lambda made: f"/runs/{made.pauses[name].run_id}"


def _receipt(kind: str, name: str) -> Callable[[Scenery], str]:
    return lambda made: f"/receipts/{kind}/{made.pauses[name].run_id}/{made.pauses[name].id}"


def _webhook(name: str) -> Callable[[Scenery], str]:
    return lambda made: f"/access/webhooks/{made.webhooks[name]}"


def _renew(page: Page) -> None:
    page.get_by_role("button", name="Renew the secret").click()
    page.wait_for_selector("#the-secret")


def _at(address: str) -> Callable[[Scenery], str]:
    return lambda made: address


def _edit_and_deny(page: Page) -> None:
    page.check("#call-0 input[value=edit]")
    editor = page.locator("#call-0-arguments")
    editor.fill(editor.input_value().replace("business", "economy").replace("gift_card_8516878", "credit_card_3563913"))
    page.fill("#call-0-note", "Economy only: business on HAL417 is held for crew.")
    page.check("#call-1 input[value=deny]")
    page.fill("#call-1-note", "The user id holds a Cyrillic letter, so it is not the customer's account.")


def _select(page: Page) -> None:
    for tick in page.locator("[data-pick=cancel_reservation]").all()[:3]:
        tick.check()


def _together(*names: str) -> Callable[[Scenery], str]:
    return lambda made: "/together?" + "&".join(f"id={made.pauses[name].id}" for name in names)


def _deny_all(page: Page) -> None:
    if page.locator("button[value=deny]").count():
        page.fill("#bulk-note", "Not in this fare.")
        page.click("button[value=deny]")


def _send_faulty(page: Page) -> None:
    page.evaluate("document.querySelectorAll('[required]').forEach(one => one.removeAttribute('required'))")
    page.check("#call-1 input[value=approve]")
    page.click("[data-send]")
    page.locator("[role=alert]").first.wait_for()


def _verify(page: Page) -> None:
    page.click("#verify button")
    expect(page.locator("#verify h2")).to_have_text(re.compile("Verified"))


def _ask_to_revoke(page: Page) -> None:
    page.locator("#grants tr", has_text="admin").locator("summary").click()
    expect(page.locator("#grants .sure[open]")).to_contain_text("You will not be able to manage access in")


def _refuse_token(page: Page) -> None:
    page.fill("#token-principal", "nobody-of-this-name")
    page.fill("#token-token_name", "worker")
    page.get_by_role("button", name="Make a token").click()
    page.locator("[role=alert]").first.wait_for()


def _closing(name: str) -> Callable[[Scenery], str]:
    return lambda made: f"/uncertain/{made.pauses[name].run_id}/close"


def _prove(page: Page, *workers: str, minutes: int = 60) -> None:
    """Fill the closing form with a proof of this run's, as its issuer would sign it but for the key."""
    pins = ("admission_digest", "start_digest", "suspension_id")
    pinned: dict[str, Any] = {name: page.locator(f"#closing [name={name}]").input_value() for name in pins}
    now = datetime.now(UTC).replace(microsecond=0)
    claims = pinned | {
        "issuer": page.input_value("#closing-issuer"),
        "issuer_revision": page.input_value("#closing-issuer_revision"),
        "run_id": page.url.split("/")[-2],
        "run_revision": int(page.locator("#closing [name=run_revision]").input_value()),
        "observed_at": format_instant(now - timedelta(minutes=8)),
        "expires_at": format_instant(now + timedelta(minutes=minutes)),
        "workers": [{"owner": owner, "permanent": True} for owner in workers],
    }
    page.fill("#closing-proof_ref", "OPS-4471")
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    page.fill("#closing-proof", sign_proof(claims, pem, f"{claims['issuer']}/{claims['issuer_revision']}"))
    expect(page.locator("#closing-expires_at")).not_to_have_value("")
    expect(page.locator("#frozen-digest")).to_be_visible()


def _prove_whole(page: Page) -> None:
    _prove(page, "osl-2/17", "osl-4/31")
    page.fill("#closing-confirm", page.inner_text(".six-of"))


def _prove_badly(page: Page) -> None:
    _prove(page, "osl-2/17", minutes=-2)
    expect(page.locator("#note-proof.fault")).to_be_visible()


def _close_refused(page: Page) -> None:
    _prove_whole(page)
    page.click("button[value=close]")
    page.locator("[role=alert]").first.wait_for()


def _close_faulty(page: Page) -> None:
    page.fill("#closing-observed_at", "this morning")
    page.click("button[value=close]")
    page.locator("[role=alert]").first.wait_for()


SCREENS = {
    "queue": Screen(_at("/")),
    "queue-all": Screen(_at("/?tab=all")),
    "queue-decided": Screen(_at("/?tab=decided")),
    "queue-expired": Screen(_at("/?tab=expired")),
    "queue-found": Screen(_at("/?tab=all&q=reservation&reason=approval")),
    "queue-not-found": Screen(_at("/?q=nothing-of-the-kind")),
    "queue-selected": Screen(_at("/"), _select),
    "together": Screen(_together("bulk-1", "bulk-2", "three")),
    "together-decided": Screen(_together("bulk-3", "bulk-4"), _deny_all),
    "together-again": Screen(_together("decided", "done")),
    "pause": Screen(_pause("two")),
    "pause-typed": Screen(_pause("two"), _edit_and_deny),
    "pause-faulty": Screen(_pause("three"), _send_faulty),
    "pause-urgent": Screen(_pause("urgent")),
    "pause-hostile": Screen(_pause("hostile")),
    "pause-long": Screen(_pause("long")),
    "pause-forty": Screen(_pause("forty")),
    "pause-external": Screen(_pause("external")),
    "pause-peer": Screen(_pause("peer")),
    "pause-own": Screen(_pause("own")),
    "pause-decided": Screen(_pause("decided")),
    "pause-done": Screen(_pause("done")),
    "pause-cancelled": Screen(_pause("cancelled")),
    "pause-late": Screen(_pause("late")),
    "runs": Screen(_at("/runs/")),
    "run-paused": Screen(_run("two")),
    "run-done": Screen(_run("done")),
    "run-lost": Screen(_run("lost")),
    "run-cancelled": Screen(_run("cancelled")),
    "receipts": Screen(_at("/receipts/")),
    "receipts-starts": Screen(_at("/receipts/?kind=start")),
    "receipts-expiries": Screen(_at("/receipts/?kind=expiry")),
    "receipts-found": Screen(_at("/receipts/?q=upgrade")),
    "receipts-closures": Screen(_at("/receipts/?kind=closure")),
    "receipt-admission": Screen(_receipt("admission", "done")),
    "receipt-verified": Screen(_receipt("admission", "done"), _verify),
    "receipt-start": Screen(_receipt("start", "done")),
    "uncertain": Screen(_at("/uncertain/")),
    "closing": Screen(_closing("lost")),
    "closing-checked": Screen(_closing("lost"), _prove_whole),
    "closing-doubtful": Screen(_closing("lost"), _prove_badly),
    "closing-faulty": Screen(_closing("lost"), _close_faulty),
    "closing-refused": Screen(_closing("lost"), _close_refused),
    "closing-closed": Screen(_closing("closed")),
    "closing-nothing": Screen(_closing("two")),
    "receipt-closure": Screen(_receipt("closure", "closed")),
    "interactions": Screen(_at("/interactions/")),
    "interactions-answered": Screen(_at("/interactions/?part=answered")),
    "interactions-resolved": Screen(_at("/interactions/?part=resolved")),
    "access": Screen(_at("/access/")),
    "access-asked": Screen(_at("/access/?account=care-nights"), _ask_to_revoke),
    "access-refused": Screen(_at("/access/"), _refuse_token),
    "webhook": Screen(_webhook("pager")),
    "webhook-gone": Screen(_webhook("gone")),
    "webhook-new": Screen(_webhook("new"), _renew),
    "health": Screen(_at("/health/")),
    "profile": Screen(_at("/profile/")),
    "not-found": Screen(_at("/suspensions/sus_01kkgxfm7dfgpt9g8j27szz10y")),
    "bad-request": Screen(_at("/?tab=none")),
}


@pytest.fixture(scope="module")
def made() -> Scenery:
    return build(fresh_scope())


@pytest.fixture(scope="module", params=LOOKS)
def ines(
    request: pytest.FixtureRequest,
    made: Scenery,
    browser: Browser,
    browser_context_args: dict[str, Any],
    base_url: str,
) -> Iterator[tuple[str, Visitor]]:
    theme, width = LOOKS[request.param]
    look = {"color_scheme": theme, "viewport": {"width": width, "height": 900}, "base_url": base_url}
    with visitor(browser, browser_context_args, made.people["ines"].name, **look) as found:
        found.page.goto("/sign-in/?ended=1")
        draw(found.page, PICTURES / f"sign-in-{request.param}.png")
        assert faults(found.page) == []
        found.page.goto("/runs/")
        draw(found.page, PICTURES / f"sign-in-first-{request.param}.png")
        sign_in(found.page, found.name)
        found.page.wait_for_url("**/runs/")
        yield request.param, found


def _fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


@pytest.mark.parametrize("name", SCREENS)
def test_a_page_fits_its_width_keeps_to_the_policy_and_axe_finds_nothing(
    ines: tuple[str, Visitor], made: Scenery, name: str
) -> None:
    look, visit = ines
    visit.complaints.clear()
    page, screen = visit.page, SCREENS[name]
    page.goto(screen.address(made))
    screen.press(page)
    draw(page, PICTURES / f"{name}-{look}.png")
    assert _fits(page)
    # What the server refused on purpose the browser notes by itself.
    expected = re.compile(r"Failed to load resource: the server responded with a status of 4\d\d")
    assert [said for said in visit.complaints if not expected.match(said)] == []
    # Colours differ by theme, what stands where by width: these two looks have all of both.
    if look in ("light-1440", "dark-390"):
        assert faults(page) == []


@pytest.mark.parametrize("width", [360, 720], ids=["a small phone", "a laptop at 200 %"])
def test_nothing_scrolls_sideways(
    made: Scenery, browser: Browser, browser_context_args: dict[str, Any], base_url: str, width: int
) -> None:
    look = {"viewport": {"width": width, "height": 740}, "base_url": base_url}
    with visitor(browser, browser_context_args, made.people["ines"].name, **look) as ines:
        ines.page.goto("/sign-in/")
        assert _fits(ines.page)
        sign_in(ines.page, ines.name)
        ines.page.wait_for_url("**/")
        for name, screen in SCREENS.items():
            ines.page.goto(screen.address(made))
            assert _fits(ines.page), name


def test_the_first_load_of_the_queue_is_small_and_leaves_nothing_behind(
    made: Scenery, browser: Browser, browser_context_args: dict[str, Any], base_url: str
) -> None:
    look = {"base_url": base_url}
    with visitor(browser, browser_context_args, made.people["ines"].name, **look) as ines:
        ines.page.goto("/sign-in/")
        sign_in(ines.page, ines.name)
        ines.page.wait_for_url("**/")
        ines.context.new_cdp_session(ines.page).send("Network.clearBrowserCache")
        ines.page.reload()
        sent = "['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind))"
        size = ines.page.evaluate(f"{sent}.reduce((sum, one) => sum + one.transferSize, 0)")
        assert 0 < size < 150_000
        assert ines.page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]
