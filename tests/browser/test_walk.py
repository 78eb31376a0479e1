"""The whole walk through the real layers: pause over REST, decide in the browser, start, finish, receipts."""

import json
import re
from base64 import b64decode

from playwright.sync_api import expect

from tests.support.walk import Agent, Visitor, sign_in

FLIGHTS = {
    "id": "call_1",
    "name": "update_reservation_flights",
    "arguments": '{"reservation_id": "HX5M2T", "cabin": "business", "quote_id": 9007199254740993, "price": 1.50}',
    "note": "The customer agreed to Saturday.",
}
CERTIFICATE = {
    "id": "call_2",
    "name": "send_certificate",
    "arguments": '{"user_id": "mateo_fuentes_4471", "amount": 250}',
    "note": "For the night at the gate.",
}


def test_a_pause_is_decided_in_the_browser_and_taken_by_its_worker(agent: Agent, dana: Visitor) -> None:
    run = agent.run(input="Rebook HX5M2T.")
    pause = agent.pause(FLIGHTS, CERTIFICATE, run_id=run["id"])
    page = dana.page

    page.goto("/")
    sign_in(page, dana.name)
    expect(page.locator("h1")).to_have_text("Queue")
    row = page.locator(f"#row-{pause['id']}")
    expect(row).to_contain_text("update_reservation_flights")
    expect(row).to_contain_text("send_certificate")

    row.locator("a.cover").click()
    expect(page.locator("h1")).to_have_text("care-desk asks to make 2 calls")
    expect(page.locator("#call-0 .tree")).to_contain_text("9007199254740993")
    page.check("#call-0 input[value=approve]")
    page.check("#call-1 input[value=deny]")
    page.fill("#call-1-note", "Too much. Offer 100.")
    page.click("[data-send]")

    expect(page.locator("#decision")).to_contain_text("Decided: 1 approved, 1 denied.")
    expect(page.locator("#decision")).to_contain_text("No worker has picked it up yet. Decided by you at")
    expect(page.locator("#decision a.receipt")).to_have_text("Receipt of the decision")
    assert page.url.endswith(f"/suspensions/{pause['id']}")

    taken = agent.take()
    assert taken["suspension"]["id"] == pause["id"]
    assert taken["suspension"]["continuation"]["messages"][0]["role"] == "user"
    assert json.loads(b64decode(taken["input"])) == {
        "schema_version": 1,
        "reason": "approval",
        "decisions": [
            {"call_id": "call_1", "outcome": "approved"},
            {"call_id": "call_2", "outcome": "denied", "note": "Too much. Offer 100."},
        ],
    }
    agent.finish(run["id"], taken["lease"])

    page.goto(f"/runs/{run['id']}")
    life = page.locator("#timeline li h3")
    expect(life).to_have_text(
        ["Created, running", "Paused for approval", "Answered by Dana Whitlock", "Started by worker-1", "Completed"]
    )
    expect(page.locator("#drawing svg text", has_text="Admission")).to_be_visible()
    page.click("#timeline a.receipt:has-text('Admission')")
    expect(page.locator("h1")).to_have_text("Admission receipt")
    page.click("#verify button")
    expect(page.locator("#verify h2")).to_have_text(re.compile(r"^Verified: \d+ of \d+ matched$"))
    page.click("#chain a.receipt:has-text('Start')")
    expect(page.locator("h1")).to_have_text("Start receipt")
    assert dana.complaints == []


def test_an_edit_changes_only_what_was_edited(agent: Agent, dana: Visitor) -> None:
    arguments = '{"count":5,"id":7300000000000000019,"dry":false,"note":null,"tags":["a",["b"]],"price":1.50}'
    pause = agent.pause({"id": "c", "name": "order", "arguments": arguments})
    page = dana.page
    page.goto(f"/suspensions/{pause['id']}")
    sign_in(page, dana.name)
    page.check("#call-0 input[value=edit]")
    page.fill("#call-0-arguments", arguments.replace('"count":5', '"count":6'))
    page.click("[data-send]")
    expect(page.locator("#decision")).to_contain_text("Decided: 1 approved with other arguments.")
    expect(page.locator("[data-diff] li")).to_have_text(re.compile(r"/count\s+5\s+6"))
    [decision] = json.loads(b64decode(agent.take()["input"]))["decisions"]
    assert decision["arguments"] == arguments.replace('"count":5', '"count":6')


def test_the_result_of_an_external_tool_is_typed_in(agent: Agent, dana: Visitor) -> None:
    pause = agent.pause({"id": "c", "name": "transfer_to_human_agents"}, reason="external_tool")
    page = dana.page
    page.goto(f"/suspensions/{pause['id']}")
    sign_in(page, dana.name)
    page.check("#call-0 input[value=content]")
    page.fill("#call-0-result", "  line 1\nline 2  ")
    page.click("[data-send]")
    expect(page.locator("#decision")).to_contain_text("Sent: 1 completed.")
    [decision] = json.loads(b64decode(agent.take()["input"]))["decisions"]
    assert decision["content"] == "  line 1\nline 2  "


def test_decide_and_open_next_goes_on_to_what_needs_this_person(agent: Agent, dana: Visitor) -> None:
    first = agent.pause({"id": "c", "name": "cancel_reservation"})
    second = agent.pause({"id": "c", "name": "book_reservation"})
    page = dana.page
    page.goto(f"/suspensions/{first['id']}")
    sign_in(page, dana.name)
    page.check("#call-0 input[value=deny]")
    page.click("button[name=then]")
    page.wait_for_url(f"**/suspensions/{second['id']}")
    expect(page.locator("body")).to_contain_text("1 denied. Receipt")
    page.check("#call-0 input[value=approve]")
    page.click("button[name=then]")
    expect(page.locator("h2").first).to_have_text("Nothing needs you")


def test_what_was_true_of_an_open_pause_goes_with_the_form(agent: Agent, dana: Visitor) -> None:
    pause = agent.pause({"id": "c", "name": "cancel_reservation"})
    page = dana.page
    page.goto(f"/suspensions/{pause['id']}")
    sign_in(page, dana.name)
    while_open = [page.locator(".ask .clock"), page.get_by_role("heading", name="Who may decide")]
    for shown in while_open:
        expect(shown).to_be_visible()
    page.check("#call-0 input[value=approve]")
    page.click("[data-send]")
    expect(page.locator("#decision")).to_contain_text("1 approved")
    for gone in while_open:
        expect(gone).to_be_hidden()
    # Nothing stays of its place either: no rule, no gap.
    bound = page.locator(".rail section", has_text="Bound to")
    assert bound.evaluate("one => [getComputedStyle(one).borderTopWidth, getComputedStyle(one).paddingTop]") == [
        "0px",
        "0px",
    ]
    expect(page.locator("h1")).to_have_text("care-desk asked to make 1 call")
    expect(page).to_have_title("cancel_reservation: care-desk asked to make 1 call · Cortex")


def test_next_in_queue_goes_round_and_says_where_it_is(agent: Agent, dana: Visitor) -> None:
    pauses = [agent.pause({"id": "c", "name": name}) for name in ("cancel", "book", "refund")]
    page = dana.page
    page.goto(f"/suspensions/{pauses[0]['id']}")
    sign_in(page, dana.name)
    for place in (1, 2, 3, 1):
        page.wait_for_url(f"**/suspensions/{pauses[place - 1]['id']}")
        expect(page.locator(".crumbs")).to_contain_text(f"{place} of 3")
        page.goto(f"/next?from={pauses[place - 1]['id']}")


def test_an_operator_cancels_a_paused_run(agent: Agent, dana: Visitor) -> None:
    pause = agent.pause({"id": "c", "name": "cancel_reservation"})
    page = dana.page
    page.goto(f"/runs/{pause['run_id']}")
    sign_in(page, dana.name)
    page.fill("#cancel-reason", "The customer called it off.")
    page.click("#cancel button")
    expect(page.locator(".page-head .state")).to_have_text("cancelled")
    expect(page.locator("#timeline")).to_contain_text("“The customer called it off.”")
    page.goto(f"/suspensions/{pause['id']}")
    expect(page.locator("#decision")).to_contain_text("Cancelled before anybody answered.")
