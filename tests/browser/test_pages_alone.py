"""The pages by themselves in a real browser: their look, and what their scripts add.

Every page is also drawn into ``screenshots/``, wide and light, narrow and dark, for people to look at.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, Route, expect

from suspensions.pages.arguments import changes
from suspensions.pages.contexts.pause import Change
from tests.support.edits import EDITS, random_edits
from tests.support.page_samples import SAMPLES
from tests.support.pictures import draw
from tests.support.stage import Stage, rendered

PICTURES = Path(settings.BASE_DIR) / "screenshots" / "samples"
LOOKS = {"light-1440": ("light", 1440), "dark-390": ("dark", 390)}
FIRST = "#call-0 input[value={}]"
SECOND = "#call-1 input[value={}]"


@pytest.fixture
def stage(context: BrowserContext) -> Stage:
    return Stage(context)


@pytest.fixture(scope="module", params=LOOKS)
def looking(
    request: pytest.FixtureRequest, browser: Browser, browser_context_args: dict[str, Any]
) -> Iterator[tuple[str, Stage]]:
    theme, width = LOOKS[request.param]
    viewport = {"width": width, "height": 900}
    context = browser.new_context(**browser_context_args | {"viewport": viewport, "color_scheme": theme})
    yield request.param, Stage(context)
    context.close()


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_page_fits_its_width_and_keeps_to_the_policy(looking: tuple[str, Stage], name: str) -> None:
    look, stage = looking
    stage.complaints.clear()
    page = stage.open(name)
    draw(page, PICTURES / f"{name}-{look}.png")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert stage.complaints == []


def test_the_narrowest_phone_needs_no_sideways_scroll(stage: Stage) -> None:
    stage.page.set_viewport_size({"width": 320, "height": 640})
    for name in SAMPLES:
        page = stage.open(name)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), name


def test_on_a_phone_the_first_decision_is_within_the_first_screen(stage: Stage) -> None:
    stage.page.set_viewport_size({"width": 390, "height": 844})
    page = stage.open("pause")
    choice = page.locator("#call-0-decision").bounding_box()
    dock = page.locator(".dock").bounding_box()
    assert choice is not None
    assert dock is not None
    assert choice["y"] + choice["height"] < dock["y"]


@pytest.mark.parametrize("name", ["run", "run-short"])
def test_on_a_phone_the_drawing_of_a_run_starts_where_it_is_newest_and_names_its_lanes(stage: Stage, name: str) -> None:
    stage.page.set_viewport_size({"width": 390, "height": 844})
    page = stage.open(name)
    band = page.locator(".band").bounding_box()
    newest = page.locator(".band :is([class^=bar-run], [class^=bar-pause], .now)").last.bounding_box()
    lane = page.locator(".lanes span").first.bounding_box()
    assert band is not None and newest is not None and lane is not None
    assert band["x"] < newest["x"] + newest["width"] < band["x"] + band["width"]
    assert band["x"] <= lane["x"] < band["x"] + 40
    # It goes back by the keys that scroll any box.
    page.focus(".band")
    before = page.evaluate("document.querySelector('.band').scrollLeft")
    page.evaluate("document.querySelector('.band').scrollBy(-200, 0)")
    assert page.evaluate("document.querySelector('.band').scrollLeft") == before - 200
    again = page.locator(".lanes span").first.bounding_box()
    assert again is not None
    assert again["x"] == lane["x"]


def test_what_is_below_a_calls_arguments_is_one_line_on_a_phone(stage: Stage) -> None:
    stage.page.set_viewport_size({"width": 390, "height": 844})
    page = stage.open("pause")
    for line in page.locator(".call .facts-line").all():
        box = line.bounding_box()
        assert box is not None
        assert box["height"] < 32
    expect(page.locator("#call-0 [data-copy]")).to_have_accessible_name("Copy verbatim")


def test_a_button_that_copies_says_so_and_then_reads_as_before(stage: Stage) -> None:
    page = stage.open("pause")
    button = page.locator("#call-0 [data-copy]")
    for _ in range(2):
        button.click()
        expect(button).to_have_text(re.compile("Copied|Not allowed by the browser"))
    page.clock.run_for(2_500)
    expect(button).to_have_text("Copy verbatim")


def test_the_first_load_of_the_queue_leaves_nothing_in_the_browsers_storage(stage: Stage) -> None:
    page = stage.open("queue")
    assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]


def test_the_button_says_what_will_be_sent_after_the_first_choice(stage: Stage) -> None:
    page = stage.open("pause")
    send = page.locator("[data-send] [data-label]")
    expect(send).to_have_text("Send both decisions")
    page.check(FIRST.format("approve"))
    tools = page.locator("[data-call] h2").all_inner_texts()
    said = page.locator("[data-sentence]")
    expect(said).to_have_text(f"{tools[0]} approve as asked · {tools[1]} is not decided yet.")
    onward = page.locator("button[name=then]")
    expect(onward).to_have_text("Decide and open next")
    page.check(SECOND.format("deny"))
    expect(said).to_have_text(f"{tools[0]} approve as asked · {tools[1]} deny.")
    expect(send).to_have_text("Approve 1, deny 1")
    expect(onward).to_have_text("Approve 1, deny 1, open next")


@pytest.mark.parametrize("width", [390, 1440])
def test_a_chosen_deny_looks_unlike_a_chosen_approve(stage: Stage, width: int) -> None:
    stage.page.set_viewport_size({"width": width, "height": 844})
    page = stage.open("pause")
    looks = []
    for place, decision in ((FIRST, "approve"), (SECOND, "deny")):
        page.check(place.format(decision))
        label = page.locator(f"{place.format(decision)} + span")
        looks.append(label.evaluate("one => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor]"))
    assert looks[0][0] != looks[1][0]
    assert looks[0][1] != looks[1][1]
    expect(page.locator(f"{SECOND.format('deny')} + span > svg")).to_be_visible()


@pytest.mark.parametrize(("width", "height"), [(390, 664), (1440, 700)])
def test_whoever_denies_sees_where_the_reason_goes(stage: Stage, width: int, height: int) -> None:
    stage.page.set_viewport_size({"width": width, "height": height})
    page = stage.open("pause")
    gap = (
        "document.querySelector('.dock').getBoundingClientRect().top"
        " - document.getElementById('call-0-note').getBoundingClientRect().%s"
    )
    # The note begins above the bar and ends under it.
    page.evaluate(f"scrollBy(0, 8 - ({gap % 'top'}))")
    page.check(FIRST.format("approve"))
    assert page.evaluate(gap % "bottom") < 0
    page.check(FIRST.format("deny"))
    assert page.evaluate(gap % "bottom") >= 0


def test_a_note_says_how_much_is_left_before_it_is_too_long(stage: Stage) -> None:
    page = stage.open("pause")
    note, left = page.locator("#call-0-note"), page.locator("#call-0-note-left")
    note.fill("x" * 8_999)
    expect(left).to_have_count(0)
    note.fill("x" * 9_000)
    expect(left).to_have_text("9,000 of 10,000 characters")
    # One sign, however many units it is written in.
    note.fill("\N{OK HAND SIGN}" * 10_002)
    expect(left).to_have_text("2 characters too many: a note has at most 10,000")
    note.fill("Not in this fare.")
    expect(left).to_have_count(0)


def test_denying_everything_is_the_safe_press_and_looks_plain(stage: Stage) -> None:
    page = stage.open("pause")
    page.check(FIRST.format("deny"))
    page.check(SECOND.format("deny"))
    expect(page.locator("[data-send]")).not_to_have_class("primary")


def test_a_choice_that_is_missing_is_pointed_at_and_nothing_is_sent(stage: Stage) -> None:
    page = stage.open("pause")
    page.check(FIRST.format("approve"))
    page.click("[data-send]")
    expect(page.locator(SECOND.format("approve"))).to_be_focused()
    assert stage.posts == []


def test_an_edit_shows_its_difference_and_keeps_every_digit(stage: Stage) -> None:
    page = stage.open("pause")
    page.check(FIRST.format("edit"))
    editor = page.locator("#call-0-arguments")
    before = editor.input_value()
    editor.fill(before.replace("business", "economy"))
    expect(page.locator("#call-0 [data-diff] li")).to_have_text('/cabin "business" "economy"')
    expect(page.locator("#call-0 [data-diff] .aside")).to_have_count(0)
    expect(page.locator("#call-0-check")).to_contain_text("1 value changed")
    editor.fill(before.replace("9007199254740993", "9007199254740992"))
    expect(page.locator("#call-0 [data-diff] li")).to_contain_text("9007199254740992")
    editor.fill(before.replace("9007199254740993", '"9007199254740993"'))
    expect(page.locator("#call-0 [data-diff] .aside")).to_have_text("a text instead of a number")
    editor.fill(f" {before}")
    expect(page.locator("#call-0-check")).to_contain_text("no value changed, only how it is written")
    expect(page.locator("#call-0 [data-diff] li")).to_have_text("whole text white space or escapes only")
    page.click("#call-0 [data-restore]")
    expect(editor).to_have_value(before)
    expect(page.locator("#call-0 [data-diff]")).to_be_hidden()


def test_before_sending_an_edit_reads_as_its_receipt_will(stage: Stage) -> None:
    page = stage.open("pause")
    pairs = [*EDITS, *random_edits(seed=1, count=1000)]
    shown = page.evaluate("(pairs) => pairs.map(([was, now]) => window.cortexJson.changes(was, now))", pairs)
    for (original, edited), beforehand in zip(pairs, shown, strict=True):
        told = [Change(change["pointer"], change.get("was"), change.get("now"), change.get("aside") or "",
                       change.get("recast", False)) for change in beforehand]  # fmt: skip
        assert told == changes(original, edited), (original, edited)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": economy}', "at character 7 a value is expected"),
        ('{"a": 1, "a": 2}', "stands twice"),
        ('{"a": 01}', "at character 7"),
        ('{"a": NaN}', "at character 7 a value is expected"),
        ('{"a": 60,00}', "at character 10 a fraction is written with a point, as in 60.00"),
        ('{"a": 60, b: 1}', "at character 11 a name in quotes is expected"),
        ('{"a": 1} x', "more text follows"),
        ("", "a value is expected"),
        ("[1,]", "a value is expected"),
        ('{"a": "\t"}', "must be escaped"),
    ],
)
def test_an_edit_that_is_no_json_is_stopped_at_its_field(stage: Stage, text: str, words: str) -> None:
    page = stage.open("pause")
    page.check(FIRST.format("edit"))
    page.check(SECOND.format("deny"))
    page.locator("#call-0-arguments").fill(text)
    expect(page.locator("#call-0-check")).to_contain_text(words)
    page.click("[data-send]")
    expect(page.locator("#call-0-arguments")).to_be_focused()
    assert stage.posts == []


def test_keys_choose_and_walk_but_send_nothing(stage: Stage) -> None:
    page = stage.open("pause")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("d")
    expect(page.locator(SECOND.format("deny"))).to_be_checked()
    page.keyboard.press("k")
    page.keyboard.press("a")
    expect(page.locator(FIRST.format("approve"))).to_be_checked()
    expect(page.locator("[data-label]")).to_have_text("Approve 1, deny 1")
    assert stage.posts == []


def test_after_a_choice_by_key_the_next_call_without_one_is_under_the_keyboard(stage: Stage) -> None:
    page = stage.open("pause-forty")
    page.check("#call-1 input[value=deny]")
    page.focus("#call-0")
    for key in "aad":
        page.keyboard.press(key)
    expect(page.locator("#call-0 input[value=approve]")).to_be_checked()
    expect(page.locator("#call-1 input[value=deny]")).to_be_checked()
    expect(page.locator("#call-2 input[value=approve]")).to_be_checked()
    expect(page.locator("#call-3 input[value=deny]")).to_be_checked()
    expect(page.locator("#call-4")).to_be_focused()
    expect(page.locator("[data-sentence]")).to_have_text("2 approve as asked · 2 deny · 36 not decided yet.")
    page.focus("#call-39")
    for _ in range(36):
        page.keyboard.press("a")
    expect(page.locator("[data-label]")).to_have_text("Approve 38, deny 2")
    expect(page.locator("#call-38")).to_be_focused()
    page.keyboard.press("m")
    expect(page.locator("#call-38-note")).to_be_focused()
    assert stage.posts == []


def test_a_key_that_is_held_down_decides_one_call(stage: Stage) -> None:
    page = stage.open("pause-forty")
    for _ in range(3):
        page.keyboard.down("a")
    expect(page.locator("[data-sentence]")).to_have_text("1 approve as asked · 39 not decided yet.")


def test_enter_on_a_choice_sends_nothing(stage: Stage) -> None:
    """A browser would press the form's first button, which goes on to the next pause besides."""
    page = stage.open("pause")
    page.check(FIRST.format("approve"))
    page.check(SECOND.format("deny"))
    for choice in (FIRST.format("approve"), SECOND.format("deny")):
        page.focus(choice)
        page.keyboard.press("Enter")
    page.focus("[data-send]")
    assert stage.posts == []
    page.keyboard.press("Enter")
    expect(page.locator("[data-send]")).to_be_visible()
    assert len(stage.posts) == 1


def test_by_keyboard_a_filter_waits_for_its_button(stage: Stage) -> None:
    page = stage.open("queue")
    before = page.url
    page.focus("select[name=reason]")
    page.keyboard.press("ArrowDown")
    button = page.locator(".find-button")
    expect(button).to_be_visible()
    assert page.url == before
    chosen = page.locator("select[name=reason]").input_value()
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**reason={chosen}*")


def test_a_refused_edit_says_why_until_it_is_another_text(stage: Stage) -> None:
    page = stage.open("pause-faults")
    editor, fault = page.locator("#call-0-arguments"), page.locator("#call-0-arguments-fault")
    expect(fault).to_be_visible()
    expect(editor).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#call-0-check")).not_to_contain_text("Valid JSON")
    editor.fill("{}")
    expect(fault).to_have_count(0)
    expect(editor).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator("#call-0-check")).to_contain_text("Valid JSON")


def test_what_comes_back_has_the_focus_and_a_place_for_problems(stage: Stage) -> None:
    page = stage.open("pause")
    again = page.locator("#decision").evaluate("form => form.outerHTML")
    stage.post_reply = lambda request: (422, again)
    page.check(FIRST.format("approve"))
    page.check(SECOND.format("deny"))
    page.click("[data-send]")
    expect(page.locator("form#decision")).to_be_focused()
    expect(page.locator("#problem")).to_have_count(1)
    expect(stage.open("pause-decided").locator("#problem")).to_have_count(1)


def test_polls_say_nothing_twice(stage: Stage) -> None:
    page = stage.open("pause")
    page.check(FIRST.format("approve"))
    page.evaluate(
        """() => {
          window.spoken = 0;
          const sentence = document.querySelector("[data-sentence]");
          new MutationObserver(() => { window.spoken += 1; }).observe(sentence, { childList: true });
        }"""
    )
    stage.poll_reply = lambda request: (200, '<div id="pause-news" role="status">Nothing new</div>')
    page.evaluate("htmx.trigger('#pause-news', 'cortex:poll')")
    expect(page.locator("#pause-news")).to_have_text("Nothing new")
    assert page.evaluate("window.spoken") == 0


def test_keys_are_letters_while_somebody_types(stage: Stage) -> None:
    page = stage.open("pause")
    page.click("#call-0-note")
    page.keyboard.type("jaded, n? /")
    expect(page.locator("#call-0-note")).to_have_value("jaded, n? /")
    assert page.locator("#decision input:checked:not([form])").count() == 0
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    expect(page.locator(FIRST.format("deny"))).to_be_checked()


def test_the_queues_keys_open_the_pause_with_the_choice_made(stage: Stage) -> None:
    page = stage.open("queue")
    page.keyboard.press("j")
    page.keyboard.press("d")
    page.wait_for_url("**/suspensions/*#deny")
    opened = stage.open("pause", "#deny")
    expect(opened.locator(FIRST.format("deny"))).to_be_checked()
    assert "#" not in opened.url
    assert stage.posts == []


def test_the_keys_are_listed_by_a_key_and_by_a_button(stage: Stage) -> None:
    page = stage.open("queue")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    page.click("text=all keys")
    expect(page.locator("#keys")).to_be_visible()


def test_two_presses_send_once(stage: Stage) -> None:
    stage.post_reply = lambda request: (
        200,
        '<section class="standing" id="decision" tabindex="-1">It stands</section>',
    )
    page = stage.open("pause")
    page.check(FIRST.format("approve"))
    page.check(SECOND.format("deny"))
    page.dblclick("[data-send]")
    expect(page.locator("#decision")).to_have_text("It stands")
    expect(page.locator("#decision")).to_be_focused()
    assert len(stage.posts) == 1
    assert "csrfmiddlewaretoken=a-token" in stage.posts[0]


def _send(stage: Stage, status: int, body: str, headers: dict[str, str] | None = None) -> None:
    stage.post_reply = lambda request: (status, body, headers or {})
    page = stage.open("pause")
    page.check(FIRST.format("approve"))
    page.check(SECOND.format("deny"))
    page.fill("#call-0-note", "typed by hand")
    page.click("[data-send]")


def test_a_refusal_in_words_leaves_the_typed_text_alone(stage: Stage) -> None:
    _send(stage, 403, '<div id="problem" role="alert">The token is older than your sign-in.</div>')
    expect(stage.page.locator("#problem")).to_have_text("The token is older than your sign-in.")
    expect(stage.page.locator("#call-0-note")).to_have_value("typed by hand")


@pytest.mark.parametrize("body", ["<html><h1>Bad gateway</h1></html>", "", "<form>login</form>"])
def test_an_error_page_of_somebody_else_never_gets_into_the_page(stage: Stage, body: str) -> None:
    _send(stage, 502, body)
    expect(stage.page.locator("#toasts")).to_contain_text("did not answer as expected")
    expect(stage.page.locator("#call-0-note")).to_have_value("typed by hand")
    assert "gateway" not in stage.page.content()


def test_a_conflict_swaps_the_form_for_what_stands(stage: Stage) -> None:
    _send(stage, 409, '<section class="standing" id="decision" tabindex="-1">Dana denied this</section>')
    expect(stage.page.locator("#decision")).to_have_text("Dana denied this")


def test_a_press_after_the_session_ended_moves_the_whole_page(stage: Stage) -> None:
    _send(stage, 401, "<form id=login></form>", {"HX-Redirect": "/sign-in/?next=/x"})
    stage.page.wait_for_url("**/sign-in/?next=/x")


FOLD = "#call-{} > .call-fold"


def test_a_pause_of_forty_calls_is_a_few_screens_of_a_phone_and_one_of_two_is_whole(stage: Stage) -> None:
    stage.page.set_viewport_size({"width": 390, "height": 844})
    page = stage.open("pause-forty")
    assert page.locator(".call-fold[open]").count() == 3
    line = page.locator(FOLD.format(7)).locator("> summary")
    expect(line).to_have_accessible_name("8 of 40 cancel_reservation reservation_id 00007 not decided")
    form = page.locator("#decision").bounding_box()
    assert form is not None
    assert form["height"] < 6 * 844
    expect(stage.open("pause").locator(".call-fold")).to_have_count(0)


def test_the_call_that_keys_reach_is_open_and_folds_again_behind_them(stage: Stage) -> None:
    page = stage.open("pause-forty")
    page.focus("#call-2")
    page.keyboard.press("j")
    expect(page.locator(FOLD.format(3))).to_have_attribute("open", "")
    expect(page.locator("#call-3-decision")).to_be_in_viewport()
    page.keyboard.press("j")
    expect(page.locator(FOLD.format(3))).not_to_have_attribute("open", "")
    page.keyboard.press("d")
    expect(page.locator(FOLD.format(4))).not_to_have_attribute("open", "")
    expect(page.locator(FOLD.format(4)).locator(".chosen")).to_have_text("deny", use_inner_text=True)
    expect(page.locator(FOLD.format(0))).to_have_attribute("open", "")
    # An edit is not folded away, and neither is what somebody opened by hand.
    page.focus("#call-9")
    page.keyboard.press("e")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator(FOLD.format(9))).to_have_attribute("open", "")
    page.click("#call-20 summary")
    page.keyboard.press("j")
    expect(page.locator(FOLD.format(20))).to_have_attribute("open", "")


def test_what_is_folded_on_the_screen_is_on_the_paper(stage: Stage) -> None:
    page = stage.open("pause-forty")
    folded = page.locator("#call-20 .tree").first
    assert folded.evaluate("element => element.checkVisibility()") is False
    page.emulate_media(media="print")
    assert folded.evaluate("element => element.checkVisibility()") is True


def test_no_key_decides_a_call_that_is_only_a_line(stage: Stage) -> None:
    page = stage.open("pause-forty")
    page.locator("#call-7 summary").first.focus()
    page.keyboard.press("a")
    expect(page.locator(FOLD.format(7))).to_have_attribute("open", "")
    expect(page.locator("#call-7 input[value=approve]")).not_to_be_checked()
    page.keyboard.press("a")
    expect(page.locator("#call-7 input[value=approve]")).to_be_checked()


def test_a_choice_that_is_missing_behind_a_line_is_opened_and_pointed_at(stage: Stage) -> None:
    page = stage.open("pause-forty")
    page.click("[data-choose-all=approve]")
    page.evaluate("document.querySelector('#call-30 input[value=approve]').checked = false")
    page.click("[data-send]")
    expect(page.locator(FOLD.format(30))).to_have_attribute("open", "")
    expect(page.locator("#call-30 input[value=approve]")).to_be_focused()
    assert page.locator(".call-fold[open]").count() == 4
    page.check("#call-30 input[value=edit]")
    page.fill("#call-30-arguments", "{")
    page.locator("#call-30 summary").first.click()
    page.click("[data-send]")
    expect(page.locator("#call-30-arguments")).to_be_focused()
    assert stage.posts == []
    assert stage.complaints == []


def test_one_choice_for_forty_calls_sends_nothing_and_can_be_changed(stage: Stage) -> None:
    page = stage.open("pause-forty")
    page.click("[data-choose-all=deny]")
    expect(page.locator("[data-label]")).to_have_text("Deny 40")
    page.click("[data-choose-all=approve]")
    # Most of them were never more than a line, and who sends that is told so.
    expect(page.locator("[data-sentence]")).to_have_text("40 approve as asked, 37 of them unopened.")
    expect(page.locator("#call-7 .chosen")).to_have_text("approve", use_inner_text=True)
    page.click("#call-7 summary")
    page.check("#call-7 input[value=deny]")
    expect(page.locator("[data-label]")).to_have_text("Approve 39, deny 1")
    assert stage.posts == []


def test_many_calls_are_opened_by_one_press(stage: Stage) -> None:
    page = stage.open("pause-forty")
    page.click("[data-open-all]")
    expect(page.locator(".call-fold[open]")).to_have_count(40)
    page.click("[data-choose-all=approve]")
    expect(page.locator("[data-sentence]")).to_have_text("40 approve as asked.")
    expect(stage.open("pause").locator("[data-open-all]")).to_have_count(0)


def test_a_form_on_its_way_says_so_and_keeps_its_place(stage: Stage) -> None:
    page = stage.open("pause")
    held: list[Route] = []
    page.context.route(re.compile("/decision$"), lambda route: held.append(route))  # noqa: PLW0108  # takes no builtin
    form = page.locator("form#decision")
    before = form.bounding_box()
    page.check(FIRST.format("approve"))
    page.check(SECOND.format("deny"))
    page.click("[data-send]")
    expect(form).to_have_attribute("aria-busy", "true")
    after = form.bounding_box()
    assert before is not None and after is not None
    assert (after["width"], after["height"]) == (before["width"], before["height"])
    held[0].fulfill(status=403, body='<div id="problem" role="alert">No.</div>', content_type="text/html")
    expect(form).not_to_have_attribute("aria-busy", "true")


GONE = "sus_01kkh398sjf4ta6reh0vzb0cvn"


def _news(gone: str = "") -> str:
    span = f'<span hidden data-gone="{gone}">Approved by Dana</span>' if gone else ""
    return (
        '<div id="queue-news" role="status" data-poll hx-get="/?part=news" hx-trigger="cortex:poll" '
        f'hx-swap="outerHTML">{span}</div>'
    )


def test_a_poll_says_which_rows_are_in_sight_and_takes_a_decided_one_away(stage: Stage) -> None:
    stage.poll_reply = lambda request: (200, _news(GONE))
    page = stage.open("queue")
    page.fill("[data-search]", "half a wo")
    page.clock.run_for(6_000)
    expect(page.locator(f"#row-{GONE} [data-situation]")).to_have_text("Approved by Dana")
    assert GONE in next(path for path in stage.asked if "part=news" in path)
    page.clock.run_for(5_000)
    expect(page.locator(f"#row-{GONE}")).to_have_count(0)
    expect(page.locator("[data-search]")).to_have_value("half a wo")
    expect(page.locator("[data-search]")).to_be_focused()


def test_a_row_that_somebody_stands_on_stays_until_they_leave_it(stage: Stage) -> None:
    stage.poll_reply = lambda request: (200, _news("sus_01kkh398sjf4ta6reh0vs3ksv3"))
    page = stage.open("queue")
    row = page.locator("#row-sus_01kkh398sjf4ta6reh0vs3ksv3")
    page.keyboard.press("j")
    page.clock.run_for(6_000)
    expect(row).to_contain_class("row-gone")
    page.clock.run_for(6_000)
    expect(row).to_be_visible()
    page.keyboard.press("j")
    page.clock.run_for(1_000)
    expect(row).to_have_count(0)


def test_a_poll_after_the_session_ended_says_so_stops_and_leaves_the_page(stage: Stage) -> None:
    stage.poll_reply = lambda request: (401, "<form>login</form>")
    page = stage.open("queue")
    page.clock.run_for(6_000)
    expect(page.locator("#toasts")).to_contain_text("Your session ended")
    expect(page.locator("#toasts a")).to_have_attribute("href", "/sign-in/?next=%2Fsample%2Fqueue&ended=1")
    polls = len(stage.asked)
    page.clock.run_for(60_000)
    assert len(stage.asked) == polls
    assert page.url.endswith("/sample/queue")


def test_the_time_left_counts_down_without_a_request_and_changes_its_shape(stage: Stage) -> None:
    page = stage.open("queue-empty")
    page.evaluate("html => { document.getElementById('queue-news').outerHTML = html }", rendered("pause"))
    clock = page.locator("[data-shape=clock]").first
    page.clock.run_for(60_000)
    expect(clock).to_have_text(re.compile(r"^10 min \d+ s$"))
    expect(clock).to_contain_class("clock-soon")
    page.clock.run_for(630_000)
    expect(clock).to_have_text(re.compile(r"^\d+ s$"))
    expect(clock).to_contain_class("clock-now")
    page.clock.run_for(60_000)
    expect(clock).to_have_text("Time is up")


def test_a_filter_that_is_chosen_goes_into_the_address_and_empty_ones_stay_out(stage: Stage) -> None:
    page = stage.open("queue")
    page.select_option("select[name=reason]", "approval")
    page.wait_for_url("**/?tab=all&reason=approval&scope=workspace%3Dhalden")


class TestWithoutScripts:
    @pytest.fixture
    def stage(self, browser: Browser, browser_context_args: dict[str, Any]) -> Iterator[Stage]:
        context = browser.new_context(**browser_context_args | {"java_script_enabled": False})
        yield Stage(context)
        context.close()

    def test_a_decision_is_made_edited_and_sent(self, stage: Stage) -> None:
        page = stage.open("pause")
        expect(page.locator("#call-0-arguments")).to_be_hidden()
        page.check(FIRST.format("edit"))
        expect(page.locator("#call-0-arguments")).to_be_visible()
        page.check(SECOND.format("deny"))
        expect(page.locator("[data-restore]").first).to_be_hidden()
        page.click("text=Send both decisions")
        [post] = stage.posts
        for field in ("call-0-decision=edit", "call-1-decision=deny", "run_revision=6", "call-1-id=call_1b7Qe"):
            assert field in post
        assert "view-0" not in post

    def test_the_verbatim_text_and_folded_ends_are_one_press_away(self, stage: Stage) -> None:
        page = stage.open("pause")
        expect(page.locator("#call-1 .as-text")).to_be_hidden()
        page.check("#call-1 .view-text")
        expect(page.locator("#call-1 .as-text")).to_be_visible()
        page.check("#call-1 .view-tree")
        page.click("#call-1 .as-tree summary")
        expect(page.locator("#call-1 .as-tree")).to_contain_text("spent the night at the airport")

    def test_a_call_behind_a_line_is_opened_decided_and_sent_by_keyboard(self, stage: Stage) -> None:
        page = stage.open("pause-forty")
        page.locator("#call-9 summary").first.focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#call-9 input[value=deny]")).to_be_checked()
        page.locator("#call-9 summary").first.click()
        expect(page.locator("#call-9 .chosen-deny")).to_be_visible()
        page.click("text=Send all 40 decisions")
        [post] = stage.posts
        assert "call-9-decision=deny" in post
        assert "call-39-id=call_39b7Qe" in post

    def test_the_menu_and_the_filters_open_on_a_phone(self, stage: Stage) -> None:
        stage.page.set_viewport_size({"width": 390, "height": 844})
        page = stage.open("queue")
        expect(page.locator("#menu")).to_be_hidden()
        page.click(".menu-button")
        expect(page.locator("#menu")).to_be_visible()
        page.keyboard.press("Escape")
        page.click(".picks-button")
        expect(page.locator("select[name=reason]")).to_be_visible()
        expect(page.locator("text=Show what matches")).to_be_visible()
