"""Closing an uncertain resume in a real browser, with scripts and without: fill, compare, close, and again."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.test import Client
from playwright.sync_api import Page, Route, expect

from suspensions.domain.digests import sha256_hex
from suspensions.domain.instants import format_instant
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import ClosureRequest
from suspensions.operations import closures, leases
from suspensions.queries.runs import get_run
from tests.support import builders as b
from tests.support.axe import faults
from tests.support.people import Person, make_person
from tests.support.uncertain import WORKER, Uncertain, make_uncertain
from tests.support.walk import Visitor, sign_in


@dataclass(frozen=True)
class Desk:
    """An operator before the page that closes one."""

    uncertain: Uncertain
    visitor: Visitor
    scripts: bool

    @property
    def page(self) -> Page:
        return self.visitor.page

    def whole(self, *workers: str) -> tuple[ClosureRequest, str]:
        return self.uncertain.whole(*workers, actor=self.visitor.name)

    def fill(self, request: ClosureRequest, proof: str) -> None:
        page = self.page
        page.fill("#closing-issuer", request.issuer)
        page.fill("#closing-issuer_revision", request.issuer_revision)
        page.fill("#closing-proof_ref", request.proof_ref)
        page.fill("#closing-proof", proof)
        page.fill("#closing-observed_at", format_instant(request.observed_at))
        page.fill("#closing-expires_at", format_instant(request.expires_at))

    def check(self) -> None:
        """By itself as one types; by the button where there is no script."""
        if not self.scripts:
            self.page.click("button[value=check]")

    def close(self) -> None:
        self.page.fill("#closing-confirm", self.uncertain.run_id[-6:])
        self.page.click("button[value=close]")

    @property
    def digest(self) -> str:
        return (self.page.locator("#frozen-digest").text_content() or "").strip()

    def is_open(self) -> bool:
        return get_run(self.uncertain.scope, self.uncertain.run_id).state == "running"


def _desk(visit: Callable[..., Visitor], scope: str, *, scripts: bool, **look: object) -> Desk:
    visitor = visit("Ines Baptista", Role.OPERATOR, java_script_enabled=scripts, **look)
    who = Person(visitor.name, Client())
    desk = Desk(make_uncertain(Scope.parse(scope), operator=who), visitor, scripts)
    desk.page.goto("/uncertain/")
    sign_in(desk.page, visitor.name)
    desk.page.click("text=Close with proof")
    expect(desk.page.locator("h1")).to_have_text("Close this resume as incomplete")
    return desk


@pytest.fixture(params=[True, False], ids=["with scripts", "without scripts"])
def desk(request: pytest.FixtureRequest, visit: Callable[..., Visitor], scope: str) -> Desk:
    return _desk(visit, scope, scripts=request.param)


@pytest.fixture
def scripted(visit: Callable[..., Visitor], scope: str) -> Desk:
    return _desk(visit, scope, scripts=True)


def test_an_operator_closes_with_proof_and_a_repeat_shows_the_original_receipt(desk: Desk) -> None:
    page = desk.page
    request, proof = desk.whole()
    desk.fill(request, proof)
    desk.check()
    expect(page.locator("#frozen-digest")).to_be_visible()
    expect(page.locator("#frozen .members")).to_contain_text(sha256_hex(proof.encode()))
    expect(page.locator("#frozen-digest")).to_have_text(request.digest())
    _, frozen = closures.freeze_closure(b.caller(request.scope, principal=desk.visitor.name), request)
    assert desk.digest == frozen
    expect(page.locator("[data-proof-sha256]")).to_have_text(sha256_hex(proof.encode()))
    expect(page.locator("#proof-box")).to_contain_text("quiet for good")
    assert desk.is_open()

    desk.close()
    page.wait_for_url(f"**{desk.uncertain.receipt}")
    expect(page.locator("h1")).to_have_text("Closure receipt")
    expect(page.locator("#the-digest")).to_have_text(frozen)
    expect(page.locator("[role=status]").first).to_contain_text("Closed as incomplete.")
    assert not desk.is_open()

    page.goto(desk.uncertain.address)
    expect(page.locator(".banner")).to_contain_text("You closed this")
    page.click("text=Open the receipt")
    expect(page.locator("#the-digest")).to_have_text(frozen)
    assert desk.visitor.complaints == []


def test_the_same_form_sent_again_comes_to_the_original_receipt(desk: Desk) -> None:
    request, proof = desk.whole()
    desk.fill(request, proof)
    other = desk.visitor.context.new_page()
    other.goto(desk.uncertain.address)
    twin = Desk(desk.uncertain, Visitor(desk.visitor.name, other, desk.visitor.context, []), desk.scripts)
    twin.fill(request, proof)
    for each in (desk, twin):
        each.close()
        each.page.wait_for_url(f"**{desk.uncertain.receipt}")
        expect(each.page.locator("#the-digest")).to_have_text(request.digest())
    expect(other.locator("[role=status]").first).to_contain_text("Here is the original receipt.")


def test_faults_stand_at_their_fields_and_what_was_typed_stays(desk: Desk) -> None:
    page = desk.page
    request, proof = desk.whole()
    desk.fill(request, proof)
    page.fill("#closing-observed_at", "this morning")
    page.fill("#closing-proof_ref", "")
    page.fill("#closing-confirm", "abcdef")
    page.click("button[value=close]")
    expect(page.locator("[role=alert]")).to_contain_text("3 things to mend before this can be closed")
    for field in ("observed_at", "proof_ref", "confirm"):
        expect(page.locator(f"#closing-{field}")).to_have_attribute("aria-invalid", "true")
        expect(page.locator(f"#note-{field}.fault")).to_be_visible()
    expect(page.locator("#closing-proof")).to_have_value(proof)
    page.click("[role=alert] a >> text=Observed at")
    expect(page.locator("#closing-observed_at")).to_have_value("this morning")
    assert desk.is_open()


def test_a_denial_shows_its_reason_and_the_mended_form_closes(desk: Desk) -> None:
    page = desk.page
    request, proof = desk.whole("somebody-else")
    desk.fill(request, proof)
    desk.close()
    expect(page.locator("[role=alert]").first).to_contain_text("The proof or your authority was refused.")
    expect(page.locator("#note-proof.fault")).to_contain_text("leaves out 1 worker")
    expect(page.locator("#proof-box td.stop")).to_contain_text("not listed")
    request, proof = desk.whole()
    desk.fill(request, proof)
    desk.close()
    page.wait_for_url(f"**{desk.uncertain.receipt}")


def test_the_enter_key_checks_and_never_closes(desk: Desk) -> None:
    request, proof = desk.whole()
    desk.fill(request, proof)
    desk.page.fill("#closing-confirm", desk.uncertain.run_id[-6:])
    desk.page.press("#closing-confirm", "Enter")
    expect(desk.page.locator("#frozen-digest")).to_have_text(request.digest())
    assert desk.is_open()


def test_a_proofs_file_is_enough_and_its_words_fill_what_is_empty(desk: Desk, tmp_path: Path) -> None:
    page = desk.page
    request, proof = desk.whole()
    file = tmp_path / "proof.jws"
    file.write_text(f"{proof}\n")
    page.fill("#closing-issuer", "")
    page.fill("#closing-issuer_revision", "")
    page.fill("#closing-proof_ref", request.proof_ref)
    page.set_input_files("#closing-file", file)
    desk.check()
    expect(page.locator("#closing-proof")).to_have_value(proof)
    expect(page.locator("#closing-issuer")).to_have_value(request.issuer)
    expect(page.locator("#closing-expires_at")).to_have_value(format_instant(request.expires_at))
    expect(page.locator("#frozen-digest")).to_have_text(request.digest())
    desk.close()
    page.wait_for_url(f"**{desk.uncertain.receipt}")


def test_axe_finds_nothing_on_an_empty_a_faulty_and_a_checked_form(visit: Callable[..., Visitor], scope: str) -> None:
    for theme in ("light", "dark"):
        desk = _desk(visit, scope, scripts=True, color_scheme=theme)
        assert faults(desk.page) == []
        desk.page.fill("#closing-observed_at", "this morning")
        desk.page.click("button[value=close]")
        expect(desk.page.locator("[role=alert]")).to_be_visible()
        assert faults(desk.page) == []
        request, proof = desk.whole("somebody-else")
        desk.fill(request, proof)
        expect(desk.page.locator("#note-proof")).to_contain_text("Missing: ")
        assert faults(desk.page) == []
        desk.page.goto(desk.uncertain.address)
        leases.reclaim_lease(b.caller(request.scope), request.scope, desk.uncertain.run_id, b.take("osl-4/31", 60))
        desk.page.reload()
        expect(desk.page.locator(".banner")).to_contain_text("osl-4/31 holds the lease")
        assert faults(desk.page) == []
        leases.release_lease(
            b.caller(request.scope),
            request.scope,
            desk.uncertain.run_id,
            b.holder_of(get_run(request.scope, desk.uncertain.run_id)),
        )


# -- while one types ---------------------------------------------------------------------------------------


def test_an_answer_while_one_types_moves_neither_focus_nor_text(scripted: Desk) -> None:
    page = scripted.page
    request, proof = scripted.whole()
    scripted.fill(request, proof)
    expect(page.locator("#frozen-digest")).to_have_text(request.digest())
    page.fill("#closing-proof_ref", "OPS")
    page.locator("#closing-proof_ref").press_sequentially("-44", delay=20)
    with page.expect_response("**/close"):
        page.locator("#closing-proof_ref").press_sequentially("71")
    expect(page.locator("#frozen .members")).to_contain_text("OPS-4471")
    expect(page.locator("#closing-proof_ref")).to_be_focused()
    page.keyboard.type("x")
    expect(page.locator("#closing-proof_ref")).to_have_value("OPS-4471x")


def test_the_proofs_digest_is_computed_in_the_browser_already(scripted: Desk) -> None:
    page = scripted.page
    page.route("**/close", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    page.fill("#closing-proof", "\n header.claims.signature \r\n")
    expect(page.locator("[data-proof-sha256]")).to_have_text(sha256_hex(b"header.claims.signature"))
    expect(page.locator("[data-proof-facts]")).to_contain_text("23 bytes")


def test_faults_come_and_go_at_their_fields_while_one_types(scripted: Desk) -> None:
    page = scripted.page
    request, proof = scripted.whole()
    scripted.fill(request, proof)
    page.fill("#closing-expires_at", "2020-01-01 12:00")
    expect(page.locator("#note-expires_at.fault")).to_be_visible()
    expect(page.locator("#closing-expires_at")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#frozen .wrong")).to_have_count(1)
    page.fill("#closing-expires_at", format_instant(request.expires_at))
    expect(page.locator("#note-expires_at")).to_have_class("hint")
    expect(page.locator("#closing-expires_at")).not_to_have_attribute("aria-invalid", "true")


def test_an_answer_that_comes_late_does_not_overwrite_a_newer_one(scripted: Desk) -> None:
    page = scripted.page
    request, proof = scripted.whole()
    scripted.fill(request, proof)
    expect(page.locator("#frozen-digest")).to_have_text(request.digest())
    held: list[Route] = []
    page.route("**/close", lambda route: held.append(route) if not held else route.continue_())
    page.fill("#closing-proof_ref", "OLD-1")
    expect(page.locator("button[value=check].htmx-request")).to_have_count(1)
    page.fill("#closing-proof_ref", "NEW-2")
    expect(page.locator("#frozen .members")).to_contain_text("NEW-2")
    held[0].abort()
    expect(page.locator("#frozen .members")).to_contain_text("NEW-2")


def test_a_session_that_ended_takes_nothing_away_while_one_types_and_keeps_it_at_a_press(scripted: Desk) -> None:
    page = scripted.page
    request, proof = scripted.whole()
    scripted.fill(request, proof)
    expect(page.locator("#frozen-digest")).to_have_text(request.digest())
    scripted.visitor.context.clear_cookies(name="cortex_session")
    page.fill("#closing-proof_ref", "OPS-4471")
    expect(page.locator("[data-frozen-state]")).to_contain_text("Your session ended")
    expect(page.locator("#closing-proof_ref")).to_have_value("OPS-4471")
    scripted.close()
    expect(page.locator("h1")).to_have_text("Sign in again")
    assert scripted.is_open()
    sign_in(page, scripted.visitor.name)
    page.wait_for_url(f"**{scripted.uncertain.address}")
    expect(page.locator("#closing-proof")).to_have_value(proof)
    expect(page.locator("#closing-proof_ref")).to_have_value("OPS-4471")
    scripted.close()
    page.wait_for_url(f"**{scripted.uncertain.receipt}")


def test_somebody_elses_closure_is_told_while_one_types(scripted: Desk) -> None:
    page = scripted.page
    request, proof = scripted.whole()
    scripted.fill(request, proof)
    expect(page.locator("#frozen-digest")).to_have_text(request.digest())
    other = make_person(request.scope, Role.OPERATOR, display="Dana Whitlock")
    theirs, proof = scripted.uncertain.whole(actor=other.name)
    closures.close_resume(other.caller, theirs, proof.encode())
    page.fill("#closing-proof_ref", "OPS-4471")
    expect(page.locator("#problem")).to_contain_text("Dana Whitlock closed this")
    expect(page.locator("#closing-proof_ref")).to_have_value("OPS-4471")
    expect(page.locator("#closing-proof_ref")).to_be_focused()
    expect(page.locator("#frozen-digest")).to_be_visible()
    scripted.close()
    expect(page.locator(".banner")).to_contain_text("Your closure was not taken.")
    expect(page.locator(".closing-kept textarea").first).to_have_value(request.issuer)


def test_a_closure_on_its_way_is_not_followed_by_a_check(scripted: Desk) -> None:
    page = scripted.page
    request, proof = scripted.whole()
    page.clock.install()
    scripted.fill(request, proof)
    expect(page.locator("#frozen-digest")).to_have_text(request.digest())
    # Time stands from here on, so no check can come before the press; and the press stays on its way for good.
    page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))
    page.evaluate("document.getElementById('closing').addEventListener('submit', (event) => event.preventDefault())")
    checks: list[str] = []
    page.on("request", lambda asked: checks.append(asked.url))
    page.fill("#closing-proof_ref", "OPS-4471")
    scripted.close()
    page.clock.run_for(1000)
    assert checks == []
    # Somebody who comes back to the form finds it checking again.
    page.evaluate("window.dispatchEvent(new PageTransitionEvent('pageshow'))")
    page.fill("#closing-proof_ref", "OPS-4472")
    page.clock.run_for(1000)
    expect(page.locator("#frozen .members")).to_contain_text("OPS-4472")
    assert len(checks) == 1


def test_by_keyboard_alone_in_the_order_of_the_page(scripted: Desk) -> None:
    page = scripted.page
    page.focus("#closing-issuer")
    order = []
    for _ in range(11):
        order.append(page.evaluate("document.activeElement.name || document.activeElement.textContent.trim()"))
        page.keyboard.press("Tab")
    fields = ["issuer", "issuer_revision", "proof_ref", "proof", "proof_file", "observed_at", "expires_at", "confirm"]
    assert order[:9] == [*fields, "Leave it open"]
    assert re.match("do|Close as incomplete", order[9])
    assert WORKER in (page.text_content(".does") or "")
