"""What goes wrong between people, tabs and sessions, each in a real browser.

The questions are those of bug reports about other products: a double click, an old tab, a session that ended, a poll
that comes late, a first choice that does not count, text that is not what it looks like.
"""

import json
import re
from base64 import b64decode
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.support.walk import Agent, Visitor, sign_in

CALL = {"id": "c1", "name": "cancel_reservation", "arguments": '{"reservation_id": "R4TZ8M"}'}
APPROVE, DENY = "#call-0 input[value=approve]", "#call-0 input[value=deny]"


def open_pause(visitor: Visitor, pause: dict[str, Any]) -> Page:
    """The pause's page of a person who signs in for it."""
    visitor.page.goto(f"/suspensions/{pause['id']}")
    sign_in(visitor.page, visitor.name)
    expect(visitor.page.locator("#decision")).to_be_visible()
    return visitor.page


def decided(agent: Agent, pause: dict[str, Any]) -> str | None:
    """What was decided of the first call; None where nothing was."""
    admission = agent.admission_of(pause)
    return None if admission is None else json.loads(b64decode(admission["input"]))["decisions"][0]["outcome"]


def admissions(agent: Agent, pause: dict[str, Any]) -> int:
    events = agent.get(f"/runs/{pause['run_id']}/events")["items"]
    return [event["type"] for event in events].count("resume.admitted")


# -- double clicks, old tabs, two people -------------------------------------------------------------------


def test_a_double_click_decides_once_and_shows_the_first_ones_result(agent: Agent, dana: Visitor) -> None:
    pause = agent.pause(CALL)
    page = open_pause(dana, pause)
    page.check(APPROVE)
    page.dblclick("[data-send]")
    expect(page.locator("#decision")).to_contain_text("Decided: 1 approved.")
    assert admissions(agent, pause) == 1


def test_the_second_of_two_people_reads_who_won_and_keeps_what_was_typed(
    agent: Agent, dana: Visitor, visit: Callable[..., Visitor]
) -> None:
    pause = agent.pause(CALL)
    page = open_pause(dana, pause)
    page.check(APPROVE)
    page.fill("#call-0-note", "Refund it, she is ill.")
    priya = open_pause(visit("Priya Raman"), pause)
    priya.check(DENY)
    priya.click("[data-send]")
    expect(priya.locator("#decision")).to_contain_text("Decided: 1 denied.")

    page.click("[data-send]")
    expect(page.locator("[role=alert]")).to_contain_text(re.compile(r"Priya Raman denied this .* ago\."))
    expect(page.locator("[role=alert]")).to_contain_text("Your decision was not taken.")
    expect(page.locator(".kept textarea")).to_have_value("Refund it, she is ill.")
    assert (decided(agent, pause), admissions(agent, pause)) == ("denied", 1)


def test_an_old_tab_of_ones_own_cannot_decide_otherwise(agent: Agent, dana: Visitor) -> None:
    pause = agent.pause(CALL)
    page = open_pause(dana, pause)
    other = dana.context.new_page()
    other.goto(f"/suspensions/{pause['id']}")
    other.check(DENY)
    other.click("[data-send]")
    expect(other.locator("#decision")).to_contain_text("Decided: 1 denied.")
    page.check(APPROVE)
    page.click("[data-send]")
    expect(page.locator("[role=alert]")).to_contain_text("This other decision was not taken.")
    assert decided(agent, pause) == "denied"


def test_going_back_shows_a_whole_page_with_what_stands(agent: Agent, dana: Visitor) -> None:
    first, second = agent.pause(CALL), agent.pause(CALL)
    page = open_pause(dana, first)
    page.check(DENY)
    page.click("button[name=then]")
    page.wait_for_url(f"**/suspensions/{second['id']}")
    page.go_back()
    page.wait_for_url(f"**/suspensions/{first['id']}")
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator("header.topbar")).to_be_visible()
    expect(page.locator("#decision")).to_contain_text("Decided: 1 denied.")
    expect(page.locator("[data-send]")).to_have_count(0)
    assert admissions(agent, first) == 1


def test_a_run_that_was_cancelled_meanwhile_takes_no_decision(
    agent: Agent, dana: Visitor, visit: Callable[..., Visitor]
) -> None:
    pause = agent.pause(CALL)
    page = open_pause(dana, pause)
    olaf = visit("Olaf Berg")
    operator = olaf.page
    operator.goto(f"/runs/{pause['run_id']}")
    sign_in(operator, olaf.name)
    operator.fill("#cancel-reason", "Called off.")
    operator.click("#cancel button")
    expect(operator.locator(".page-head .state")).to_have_text("cancelled")
    page.check(APPROVE)
    page.click("[data-send]")
    expect(page.locator("[role=alert]")).to_contain_text("The run was cancelled. Your decision was not taken.")
    assert decided(agent, pause) is None


# -- sessions and tokens -----------------------------------------------------------------------------------


def test_a_press_after_the_session_ended_leads_to_a_whole_sign_in_and_back(agent: Agent, dana: Visitor) -> None:
    pause = agent.pause(CALL)
    page = open_pause(dana, pause)
    page.check(DENY)
    page.fill("#call-0-note", "Not in this fare.")
    dana.context.clear_cookies(name="cortex_session")
    page.click("[data-send]")
    expect(page.locator("h1")).to_have_text("Sign in again")
    expect(page.locator("#sign-in")).to_contain_text("what you typed is kept")
    assert decided(agent, pause) is None

    sign_in(page, dana.name)
    page.wait_for_url(f"**/suspensions/{pause['id']}")
    expect(page.locator(DENY)).to_be_checked()
    expect(page.locator("#call-0-note")).to_have_value("Not in this fare.")
    page.click("[data-send]")
    expect(page.locator("#decision")).to_contain_text("Decided: 1 denied.")


def test_a_poll_after_the_session_ended_brings_no_form_and_stops(agent: Agent, visit: Callable[..., Visitor]) -> None:
    agent.pause(CALL)
    dana = visit()
    page = dana.page
    page.clock.install()
    page.goto("/")
    sign_in(page, dana.name)
    expect(page.locator("h1")).to_have_text("Queue")
    polls: list[str] = []
    page.on("request", lambda request: polls.append(request.url) if "part=news" in request.url else None)
    dana.context.clear_cookies(name="cortex_session")
    with page.expect_response(lambda response: "part=news" in response.url) as got:
        page.clock.run_for(6_000)
    assert got.value.status == 401
    expect(page.locator("#toasts")).to_contain_text("Your session ended")
    expect(page.locator("#toasts a")).to_have_attribute("href", "/sign-in/?next=%2F&ended=1")
    assert page.locator("input[type=password]").count() == 0
    asked = len(polls)
    page.clock.run_for(60_000)
    assert len(polls) == asked
    page.click("#toasts a")
    expect(page.locator("h1")).to_have_text("Sign in again")


def test_what_stands_tells_by_itself_that_a_worker_picked_it_up(agent: Agent, visit: Callable[..., Visitor]) -> None:
    pause = agent.pause(CALL)
    dana = visit()
    page = dana.page
    page.clock.install()
    page.goto(f"/suspensions/{pause['id']}")
    sign_in(page, dana.name)
    page.check(DENY)
    page.click("[data-send]")
    stands = page.locator("#standing-now")
    expect(stands).to_contain_text("No worker has picked it up yet.")
    # What stands takes the focus once, a moment after it is there.
    expect(page.locator("#decision")).to_be_focused()
    page.locator("#next-link").focus()
    with page.expect_response(lambda response: "part=standing" in response.url) as got:
        page.clock.run_for(6_000)
    assert got.value.status == 204
    assert agent.take()["suspension"]["id"] == pause["id"]
    page.clock.run_for(6_000)
    expect(stands).to_contain_text("worker-1 picked it up.")
    expect(stands.locator("a.receipt")).to_have_count(2)
    # It takes the focus from nobody, and asks no more.
    expect(page.locator("#next-link")).to_be_focused()
    assert page.locator("[data-poll]").count() == 0
    assert dana.complaints == []


def test_a_token_that_changed_in_another_tab_is_told_and_the_text_is_kept(agent: Agent, dana: Visitor) -> None:
    pause = agent.pause(CALL)
    page = open_pause(dana, pause)
    page.check(DENY)
    page.fill("#call-0-note", "Not in this fare.")
    other = dana.context.new_page()
    other.goto("/profile/")
    other.click("text=Sign out")
    sign_in(other, dana.name)
    expect(other.locator("h1")).to_have_text("Queue")

    page.click("[data-send]")
    expect(page.locator("body")).to_contain_text("This page was older than your sign-in")
    assert decided(agent, pause) is None
    typed = page.locator("#call-0-note, .kept textarea").first
    expect(typed).to_have_value("Not in this fare.")
    page.click("text=Open it again")
    expect(page.locator("#call-0-note")).to_have_value("Not in this fare.")
    expect(page.locator(DENY)).to_be_checked()
    page.click("[data-send]")
    expect(page.locator("#decision")).to_contain_text("Decided: 1 denied.")


# -- live --------------------------------------------------------------------------------------------------


def test_new_rows_announce_themselves_and_move_nothing(agent: Agent, visit: Callable[..., Visitor]) -> None:
    first = agent.pause(CALL)
    dana = visit()
    page = dana.page
    page.clock.install()
    page.goto("/")
    sign_in(page, dana.name)
    expect(page).to_have_title("(1) Queue · Cortex")
    page.fill("[data-search]", "half a wo")
    second = agent.pause(CALL)
    page.clock.run_for(6_000)
    expect(page.locator("#queue-news")).to_contain_text("1 new")
    # Whoever looks at another tab reads it off this one's title.
    expect(page).to_have_title("(2) Queue · Cortex")
    for shown in page.locator('[data-counts="mine"], [data-counts="waiting"]').all():
        expect(shown).to_have_text("2")
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page.locator("[data-search]")).to_have_value("half a wo")
    expect(page.locator("[data-search]")).to_be_focused()
    page.click("text=Show 1 new")
    expect(page.locator(f"#row-{second['id']}")).to_be_visible()
    expect(page.locator(f"#row-{first['id']}")).to_be_visible()
    expect(page.locator("#queue-news")).not_to_contain_text("new")
    # A new one stands where its deadline puts it, so that it says which it is.
    expect(page.locator(".fresh")).to_have_text(["New"])
    expect(page.locator(f"#row-{second['id']} .fresh")).to_be_visible()
    third = agent.pause(CALL)
    page.clock.run_for(6_000)
    page.click("text=Show 1 new")
    expect(page.locator(f"#row-{third['id']} .fresh")).to_be_visible()
    expect(page.locator(".fresh")).to_have_count(1)


def test_a_decided_row_leaves_and_a_late_poll_does_not_bring_it_back(
    agent: Agent, visit: Callable[..., Visitor]
) -> None:
    pause, stays = agent.pause(CALL), agent.pause(CALL)
    dana, priya = visit(), visit("Priya Raman")
    page = dana.page
    page.clock.install()
    page.goto("/")
    sign_in(page, dana.name)
    row = page.locator(f"#row-{pause['id']}")
    expect(row).to_be_visible()

    # The first poll is answered before the decision, and arrives after it.
    held: list[tuple[Route, Any]] = []

    def hold(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    page.route("**/?*part=news*", hold)
    page.clock.run_for(6_000)
    other = open_pause(priya, pause)
    other.check(DENY)
    other.click("[data-send]")
    expect(other.locator("#decision")).to_contain_text("Decided: 1 denied.")
    route, response = held[0]
    route.fulfill(response=response)
    page.clock.run_for(6_000)
    expect(row.locator("[data-situation]")).to_contain_text("Answered by Priya Raman")
    page.clock.run_for(6_000)
    expect(row).to_have_count(0)
    page.clock.run_for(12_000)
    expect(row).to_have_count(0)
    expect(page.locator(f"#row-{stays['id']}")).to_be_visible()


def test_a_slow_answer_is_waited_for_and_a_press_is_not_taken_for_a_poll(
    agent: Agent, visit: Callable[..., Visitor]
) -> None:
    agent.pause(CALL)
    dana = visit()
    page = dana.page
    page.clock.install()
    page.goto("/")
    sign_in(page, dana.name)
    held: list[Route] = []
    asked: list[str] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.on("request", lambda request: asked.append(request.url) if "part=news" in request.url else None)
    page.route("**/?*part=news*", hold)
    with page.expect_request("**/?*part=news*"):
        page.clock.run_for(5_000)
    page.clock.run_for(10_000)
    second = agent.pause(CALL)
    held[0].continue_()
    expect(page.locator("#show-new")).to_be_visible()
    assert len(asked) == 1, "a poll that was under way was begun again"
    page.unroute("**/?*part=news*")

    # The answer to the press takes longer than until the next poll.
    page.route(lambda url: "part=news" not in url and "/static/" not in url, hold)
    with page.expect_request(lambda request: "part=news" not in request.url):
        page.click("#show-new")
    page.clock.run_for(6_000)
    held[1].continue_()
    expect(page.locator(f"#row-{second['id']}")).to_be_visible()


def test_polls_leave_a_half_typed_note_its_caret_and_its_focus(agent: Agent, visit: Callable[..., Visitor]) -> None:
    pause = agent.pause(CALL)
    dana, priya = visit(), visit("Priya Raman")
    dana.page.clock.install()
    page = open_pause(dana, pause)
    page.check(DENY)
    page.click("#call-0-note")
    page.keyboard.type("Not in thare")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    open_pause(priya, pause)
    for _ in range(3):
        with page.expect_response(lambda response: "part=news" in response.url):
            page.clock.run_for(5_500)
    expect(page.locator("#pause-news")).to_contain_text("Priya Raman has been looking")
    page.keyboard.type("is f")
    expect(page.locator("#call-0-note")).to_have_value("Not in this fare")
    expect(page.locator(DENY)).to_be_checked()


def test_an_open_form_is_told_that_somebody_decided(agent: Agent, visit: Callable[..., Visitor]) -> None:
    pause = agent.pause(CALL)
    dana, priya = visit(), visit("Priya Raman")
    dana.page.clock.install()
    page = open_pause(dana, pause)
    page.fill("#call-0-note", "half a no")
    other = open_pause(priya, pause)
    other.check(DENY)
    other.click("[data-send]")
    expect(other.locator("#decision")).to_contain_text("Decided")
    page.clock.run_for(6_000)
    expect(page.locator("#pause-news")).to_contain_text("Priya Raman answered this: 1 denied.")
    # Whoever writes far below reads it beside the button.
    expect(page.locator(".dock")).to_contain_text("Priya Raman answered this: 1 denied.")
    expect(page.locator(".dock")).to_contain_text("What you send now is not taken.")
    # Nothing more can come of it: it is told once.
    expect(page.locator("#pause-news")).not_to_have_attribute("data-poll", "")
    expect(page.locator("#call-0-note")).to_have_value("half a no")


def test_a_hidden_tab_asks_for_nothing(agent: Agent, visit: Callable[..., Visitor]) -> None:
    agent.pause(CALL)
    dana = visit()
    page = dana.page
    page.clock.install()
    page.goto("/")
    sign_in(page, dana.name)
    expect(page.locator("h1")).to_have_text("Queue")
    polls: list[str] = []
    page.on("request", lambda request: polls.append(request.url) if "part=news" in request.url else None)
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    page.clock.run_for(30_000)
    assert polls == []
    page.evaluate("Object.defineProperty(document, 'hidden', {value: false})")
    with page.expect_response(lambda response: "part=news" in response.url):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


# -- choosing ----------------------------------------------------------------------------------------------


def test_the_first_choice_counts_by_mouse(agent: Agent, dana: Visitor) -> None:
    pause = agent.pause(CALL)
    page = open_pause(dana, pause)
    page.click("#call-0 label:has(input[value=approve])")
    page.click("[data-send]")
    expect(page.locator("#decision")).to_contain_text("Decided: 1 approved.")


def test_the_first_choice_counts_by_keyboard(agent: Agent, dana: Visitor) -> None:
    pause = agent.pause(CALL)
    page = open_pause(dana, pause)
    page.locator(APPROVE).focus()
    page.keyboard.press("Space")
    page.locator("[data-send]").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#decision")).to_contain_text("Decided: 1 approved.")


def test_the_way_back_to_the_queue_ends_at_the_row_one_came_from(agent: Agent, visit: Callable[..., Visitor]) -> None:
    pauses = [agent.pause(CALL) for _ in range(3)]
    dana = visit()
    page = dana.page
    page.goto("/")
    sign_in(page, dana.name)
    for _ in range(2):
        page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/suspensions/{pauses[1]['id']}*")
    page.keyboard.press("u")
    expect(page.locator(".row-here")).to_have_id(f"row-{pauses[1]['id']}")
    expect(page).to_have_url(re.compile("/$"))
    page.keyboard.press("j")
    expect(page.locator(".row-here")).to_have_id(f"row-{pauses[2]['id']}")


def test_a_whole_decision_by_single_keys(agent: Agent, visit: Callable[..., Visitor]) -> None:
    pause = agent.pause(CALL)
    dana = visit()
    page = dana.page
    page.goto("/")
    sign_in(page, dana.name)
    expect(page.locator("h1")).to_have_text("Queue")
    page.keyboard.press("j")
    page.keyboard.press("d")
    page.wait_for_url(f"**/suspensions/{pause['id']}*")
    expect(page.locator(DENY)).to_be_checked()
    assert decided(agent, pause) is None
    page.keyboard.press("Control+Enter")
    expect(page.locator("#decision")).to_contain_text("Decided: 1 denied.")


def test_of_many_calls_each_gets_its_decision_and_a_missing_one_is_shown(agent: Agent, dana: Visitor) -> None:
    pause = agent.pause(*(CALL | {"id": f"c{n}"} for n in range(8)))
    page = open_pause(dana, pause)
    for n in range(7):
        fold = page.locator(f"#call-{n} > .call-fold")
        if not fold.evaluate("fold => fold.open"):
            fold.locator("> summary").click()
        page.check(f"#call-{n} input[value={'deny' if n % 2 else 'approve'}]")
    page.fill("#call-6-note", "The last one that was read.")
    page.click("[data-send]")
    # Said by the browser beside the field, or by the server at the call: either way it is opened.
    expect(page.locator("#call-7 > .call-fold")).to_have_attribute("open", "")
    assert decided(agent, pause) is None
    expect(page.locator("#call-6-note")).to_have_value("The last one that was read.")
    page.check("#call-7 input[value=deny]")
    page.click("[data-send]")
    expect(page.locator("#decision")).to_contain_text("Decided: 4 approved, 4 denied.")
    expect(page.locator("#call-7 > .call-fold > summary")).to_contain_text("denied")
    assert [said for said in dana.complaints if "focusable" in said] == []


def test_several_approvals_of_one_tool_are_decided_together(agent: Agent, dana: Visitor) -> None:
    codes = ("K7QPL2", "4HDXWR", "9KD3VA")
    pauses = [agent.pause(CALL | {"arguments": f'{{"reservation_id": "{code}", "refund": true}}'}) for code in codes]
    page = dana.page
    page.goto("/")
    sign_in(page, dana.name)
    for pause in pauses[:2]:
        page.check(f"#row-{pause['id']} [data-pick]")
    page.click("[data-bulk-send]")
    expect(page.locator("h1")).to_have_text("2 calls of cancel_reservation")
    expect(page.locator("#bulk-decision section li").first).to_have_text("refundtrue")
    expect(page.locator(".differs")).to_contain_text("K7QPL2")
    expect(page.locator(".differs")).not_to_contain_text("9KD3VA")
    page.fill("#bulk-note", "Refund both.")
    page.click("text=Approve 2")
    expect(page.locator("h1")).to_have_text("Both approved.")
    assert [decided(agent, pause) for pause in pauses] == ["approved", "approved", None]


def test_one_of_several_is_left_out_where_its_arguments_are_read(agent: Agent, visit: Callable[..., Visitor]) -> None:
    two = agent.pause(CALL | {"id": "one"}, CALL | {"id": "two"})
    alone = agent.pause(CALL)
    dana = visit()
    page = dana.page
    page.goto(f"/together?id={two['id']}&id={alone['id']}")
    sign_in(page, dana.name)
    first, second = page.locator("[data-take]").all()
    send = page.locator("button[value=approve]")
    expect(send).to_have_text("Approve 3")
    first.uncheck()
    first.press("Enter")
    expect(send).to_have_text("Approve 1")
    expect(page.locator("[data-take-words]")).to_contain_text("1 left as it is, and still waiting. Approving")
    second.uncheck()
    expect(page.locator("[data-take-words]")).to_have_text("Nothing is ticked. Tick what you want to decide.")
    for button in page.locator("button[name=decision]").all():
        expect(button).to_be_disabled()
    second.check()
    send.click()
    expect(page.locator("h1")).to_have_text("1 approved.")
    assert [decided(agent, pause) for pause in (two, alone)] == [None, "approved"]


# -- text that is not what it looks like -----------------------------------------------------------------------


@pytest.fixture
def hostile(agent: Agent) -> dict[str, Any]:
    arguments = {
        "<img src=x onerror=p()>": "</script>[go](javascript:p())",
        "cmd": "rm -rf ~/\u202etxt.eton\u200b",
        "host": "p\u0430y.example",
        "sql": "select 1 /*" + "x" * 9_900 + "*/; drop table t",
        "family": "👩\u200d👩\u200d👧",
        "greeting": "שלום",
    }
    pause: dict[str, Any] = agent.pause(
        {
            "id": "c1",
            "name": "run\u200b_it",
            "arguments": json.dumps(arguments, ensure_ascii=False),
            "note": "<b>bold</b> \u202enote",
        }
    )
    return pause


def test_markup_of_a_model_stays_text_and_nothing_leaves_the_host(hostile: dict[str, Any], dana: Visitor) -> None:
    page = dana.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/")
    sign_in(page, dana.name)
    expect(page.locator(f"#row-{hostile['id']}")).to_contain_text("<img src=x onerror=p()>")
    page.goto(f"/suspensions/{hostile['id']}")
    expect(page.locator("#call-0 .as-tree")).to_contain_text("</script>[go](javascript:p())")
    expect(page.locator(".quote").first).to_contain_text("<b>bold</b>")
    page.goto(f"/runs/{hostile['run_id']}")
    assert page.locator("main img, main a[href^=javascript]").count() == 0
    host = re.compile(r"http://127\.0\.0\.1:\d+/(?!x$)")
    assert [url for url in asked if not host.match(url)] == []
    assert dana.complaints == []


def test_hidden_and_lookalike_letters_are_seen_in_place(hostile: dict[str, Any], dana: Visitor) -> None:
    page = dana.page
    page.goto("/")
    sign_in(page, dana.name)
    row = page.locator(f"#row-{hostile['id']}")
    expect(row.locator(".tool .odd")).to_have_text("U+200B")
    page.goto(f"/suspensions/{hostile['id']}")
    expect(page.locator("#call-0 h2 .odd")).to_have_text("U+200B")
    expect(page.locator(".quote .odd").first).to_contain_text("U+202E")
    tree = page.locator("#call-0 .as-tree")
    for point in ("U+202E", "U+200B", "U+0430"):
        expect(tree.locator(".odd", has_text=point).first).to_be_visible()
    expect(page.locator("#call-0 .banner-soon")).to_contain_text("CYRILLIC SMALL LETTER A")
    # Joiners of an emoji, and letters of another script, are how those are written.
    expect(tree).to_contain_text("👩\u200d👩\u200d👧")
    expect(tree).to_contain_text("שלום")


def test_both_ends_of_a_long_value_are_in_sight(hostile: dict[str, Any], dana: Visitor) -> None:
    page = dana.page
    page.goto(f"/suspensions/{hostile['id']}")
    sign_in(page, dana.name)
    value = page.locator("#call-0 .as-tree li", has_text="select 1")
    expect(value).to_contain_text("; drop table t")
    fold = value.locator("summary")
    expect(fold).to_have_text(re.compile(r"^9,\d{3} characters folded, show$"))
    expect(value).to_contain_text("9,927 characters")
    fold.click()
    expect(value.locator("details")).to_have_attribute("open", "")
