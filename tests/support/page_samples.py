"""Sample contexts of every page, for looking at the templates and for testing them without a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from suspensions.pages import contexts as c
from suspensions.pages.arguments import changes, read_arguments
from suspensions.pages.drawing import Mark, Span, draw
from suspensions.pages.folding import TEXT_LIMIT, fold, fold_calls

NOW = datetime(2026, 3, 12, 13, 32, 8, tzinfo=UTC)
ZONE = "Europe/Oslo"


@dataclass(frozen=True, slots=True)
class Sample:
    """A template and the page that it is rendered with; `page` is None where it needs none."""

    template: str
    page: object | None


def ago(**parts: float) -> datetime:
    return NOW - timedelta(**parts)


def ahead(**parts: float) -> datetime:
    return NOW + timedelta(**parts)


def chrome(section: str = "Queue") -> c.Chrome:
    names = (
        ("Queue", "/", "8"),
        ("Runs", "/runs/", ""),
        ("Receipts", "/receipts/", ""),
        ("Uncertain", "/uncertain/", "2"),
        ("Interactions", "/interactions/", "3"),
        ("People and access", "/access/", ""),
        ("Health", "/health/", ""),
    )
    nav = [
        c.NavItem(label, href, current=label == section, count=count, alert=label == "Uncertain")
        for label, href, count in names
    ]
    return c.Chrome(
        now=NOW,
        person="Ines Baptista",
        scope="workspace=halden",
        nav=nav,
        zone="Oslo",
        sign_out_href="/sign-out/",
    )


# -- the queue -------------------------------------------------------------------------------------


def _line(tool: str, parts: str, more: int = 0) -> c.CallLine:
    words = [word.split("=", 1) for word in parts.split("|") if word]
    return c.CallLine(tool, [c.PreviewPart(name, value) for name, value in words], more)


def _row(
    end: str,
    calls: list[c.CallLine],
    note: str,
    *,
    agent: str = "care-desk",
    project: str = "care",
    waited: timedelta,
    left: timedelta | None,
    situation: str = "Waiting for you",
    icon: str = "",
    reason: str = "approval",
    decidable: bool = True,
    more_calls: int = 0,
    deadline: c.Deadline | None = None,
) -> c.QueueRow:
    return c.QueueRow(
        id=f"sus_01kkh398sjf4ta6reh0v{end}",
        href=f"/suspensions/sus_01kkh398sjf4ta6reh0v{end}",
        calls=calls,
        reason=reason,
        agent=agent,
        run_id=f"arun_01kkh398sjf4ta6reh0v{end}",
        scope=f"workspace=halden/project={project}",
        since=NOW - waited,
        situation=situation,
        situation_icon=icon,
        note=note,
        more_calls=more_calls,
        deadline=deadline or (c.Deadline(NOW + left, "fails at") if left is not None else None),
        decidable=decidable,
    )


def _min(minutes: float) -> timedelta:
    return timedelta(minutes=minutes)


def queue_page() -> c.QueuePage:
    mine = [
        _row(
            "s3ksv3",
            [_line("cancel_reservation", "reservation_id=R4TZ8M")],
            "Basic economy, bought 31 h ago, no insurance. Customer cites illness.",
            waited=_min(28),
            left=timedelta(seconds=86),
        ),
        _row(
            "bnd8dx",
            [
                _line("update_reservation_flights", "reservation_id=HX5M2T|cabin=business|flights=[2]", 2),
                _line("send_certificate", "user_id=m\u0430teo_fuentes_4471|amount=250", 1),
            ],
            "Connection cancelled by us; customer agreed to Saturday, asks for amends.",
            waited=_min(11),
            left=timedelta(seconds=712),
            situation="Priya Raman is looking",
            icon="eye",
        ),
        _row(
            "0q3vm8",
            [_line("cancel_reservation", f"reservation_id={x}") for x in ("9KD3VA", "P2LX7C", "W8HM4E")],
            "Same customer, three tickets. Two legs of W8HM4E are already flown.",
            agent="refund-desk",
            project="refunds",
            waited=_min(26),
            left=_min(34),
        ),
        _row(
            "zb0cvn",
            [_line("cancel_reservation", "reservation_id=K7QPL2")],
            "Business fare, change of plans. Refund to the original card within 7 days.",
            agent="refund-desk",
            project="refunds",
            waited=_min(40),
            left=_min(52),
        ),
        _row(
            "w5b0g9",
            [_line("transfer_to_human_agents", "summary=“Elif Demir asks to change the dates of basic…”")],
            "Call the customer, then type what was agreed.",
            waited=_min(19),
            left=_min(100),
            situation="Waiting for a result",
            reason="external_tool",
        ),
        _row(
            "zg13rb",
            [_line("book_reservation", "user_id=anouk_visser_3668|origin=OSL|destination=SEA", 8)],
            "Four passengers, paid with one certificate and one card: 2,184 in all.",
            agent="group-desk",
            project="groups",
            waited=_min(48),
            left=_min(192),
        ),
        _row(
            "xx13rb",
            [_line("send_certificate", "user_id=<img src=x onerror=p()>|amount=40")],
            "</script>[go](javascript:p()) and a note that goes on and on, " * 4,
            agent="an-agent-with-a-very-long-name-that-does-not-fit",
            project="groups",
            waited=_min(125),
            left=None,
            more_calls=36,
        ),
    ]
    others = [
        _row(
            "arpbbv",
            [_line("ask_agent", "agent=loyalty-desk|question=“Tier and lounge rights of ravi_pillai_9847?”")],
            "Only the peer can answer; a person answering would forge its message.",
            agent="disruption-care",
            project="disruption",
            waited=_min(4),
            left=_min(26),
            situation="Waiting for loyalty-desk",
            reason="agent_reply",
            decidable=False,
        ),
        _row(
            "wrsrvh",
            [_line("update_reservation_passengers", "reservation_id=3RK2T9|passengers=[2]")],
            "Passport name differs from the booking by one letter.",
            waited=_min(14),
            left=_min(46),
            situation="Not you: your token made this pause",
            icon="ban",
            decidable=False,
        ),
    ]
    decided = [
        _row(
            "jdnzvk",
            [_line("update_reservation_baggages", "reservation_id=YAX4DR|total_baggages=2|nonfree_baggages=0")],
            "Second bag is free for silver members.",
            waited=_min(7),
            left=_min(22),
            deadline=c.Deadline(ahead(minutes=22), "must start by", "to start"),
            situation="Answered by Tomasz Zielinski 6 min ago",
            icon="hourglass",
            decidable=False,
        ),
    ]
    return c.QueuePage(
        chrome=chrome(),
        tabs=[
            c.Tab("Needs me", "/", "8"),
            c.Tab("All waiting", "/?tab=all", "12", current=True),
            c.Tab("Decided, not picked up", "/?tab=decided", "1"),
            c.Tab("Uncertain", "/uncertain/", "2", alert=True),
            c.Tab("Expired today", "/?tab=expired", "3"),
        ],
        search=c.Search(
            action="/",
            label="Search the queue",
            kept=[("tab", "all")],
            filters=[
                c.Filter("reason", "Reason", [c.Option("", "any"), c.Option("approval", "approval")]),
                c.Filter("tool", "Tool", [c.Option("", "any"), c.Option("cancel_reservation", "cancel_reservation")]),
                c.Filter("agent", "Agent", [c.Option("", "any"), c.Option("care-desk", "care-desk")]),
                c.Filter(
                    "scope", "Scope", [c.Option("", "all"), c.Option("workspace=halden", "workspace=halden", True)]
                ),
                c.Filter("age", "Age", [c.Option("", "any"), c.Option("1h", "over 1 h")]),
                c.Filter("deadline", "Deadline", [c.Option("", "any"), c.Option("15m", "within 15 min")]),
            ],
        ),
        groups=[
            c.QueueGroup("mine", "Yours to decide", "8, nearest deadline first", mine),
            c.QueueGroup("others", "Waiting for somebody else", "2", others),
            c.QueueGroup("decided", "Decided, not picked up", "1", decided),
        ],
        news=c.QueueNews("/?tab=all&part=news", "/?tab=all", ago(seconds=28), new_count=3),
        older_href="/?tab=all&after=x",
    )


def queue_empty() -> c.QueuePage:
    page = queue_page()
    empty = c.Empty(
        "Nothing needs you",
        "4 pauses wait for others. New ones appear here by themselves.",
        c.Link("See all waiting", "/?tab=all"),
    )
    return replace(page, groups=[], empty=empty, older_href="", news=replace(page.news, new_count=0))


# -- one pause -------------------------------------------------------------------------------------

FLIGHTS = (
    '{"reservation_id": "HX5M2T", "cabin": "business", "flights": [{"flight_number": "HAL417", "date": "2026-03-14"}, '
    '{"flight_number": "HAL022", "date": "2026-03-14"}], "payment_id": "gift_card_8516878", '
    '"quote_id": 9007199254740993}'
)
EDITED = FLIGHTS.replace("business", "economy").replace("gift_card_8516878", "credit_card_3563913")
CERTIFICATE = (
    '{"user_id": "m\u0430teo_fuentes_4471", "amount": 250, "message": "Dear Mateo, we are sorry that your connection '
    "from Oslo on 11 March was cancelled and that you spent the night at the airport. "
    + "As you travel with us often, we "
    "would like to make this right. " * 3 + "The certificate is valid for twelve months and can be used for any Halden "
    'Air fare.\u200b"}'
)
HOSTILE = (
    '{"<img src=x onerror=p()>": "</script>[go](javascript:p())", '
    '"cmd": "rm -rf ~/\u202etxt.eton\u200b", "a": 1, "a": 1.50, "n": null, "empty": {}, "none": []}'
)


def call(index: int, tool: str, arguments: str, **more: object) -> c.CallView:
    read = read_arguments(arguments)
    view = c.CallView(
        index=index,
        id=f"call_{index}b7Qe",
        tool=tool,
        arguments=arguments,
        arguments_sha256=sha256(arguments.encode()).hexdigest(),
        size=len(arguments.encode()),
        verbatim=fold(arguments, TEXT_LIMIT),
        steps=read.steps,
        cut=read.cut,
        is_json=read.is_json,
        warnings=read.warnings,
    )
    return replace(view, **more)  # type: ignore[arg-type]


def _conversation() -> c.Conversation:
    said = (
        ("user", "Thanks. One more thing, I fly again from Oslo on the 11th, same booking."),
        ("assistant", "Noted. Have a good trip, Mateo."),
        (
            "user",
            "My connection was cancelled last night and I slept at the gate. I need to be in Seattle by Saturday, "
            "and I think you owe me something.",
        ),
        ("assistant", ""),
        ("tool", '{"reservation_id": "HX5M2T", "user_id": "mateo_fuentes_4471", "cabin": "economy", ' * 40),
        (
            "user",
            "Saturday the 14th is fine, HAL417 and HAL022. Business, if there is one. <b>Please hurry</b>. שלום 👩‍👩‍👧",
        ),
        ("assistant", "I will move you to Saturday and send you a certificate for the night at the airport."),
    )
    messages = [
        c.Message(
            number=index,
            role=role,
            parts=[fold(text, 600)] if text else [],
            calls=[c.MessageCall("get_reservation_details", fold('{"reservation_id": "HX5M2T"}'))] if not text else [],
            loaded=index < 9,
            boundary=index == 9,
            aside="2 calls, shown above. The run paused here." if index == 13 else "",
        )
        for index, (role, text) in enumerate(said, start=7)
    ]
    prompt = fold("You are care-desk, an assistant of Halden Air. " * 130, TEXT_LIMIT)
    return c.Conversation(messages, 13, 8, prompt, earlier=6, earlier_href="/suspensions/x?all=1")


def _form(calls: list[c.CallView], kind: str = "approval", **more: object) -> c.DecisionForm:
    form = c.DecisionForm(
        action="/suspensions/sus_01kkh398sjf4ta6reh0vgq2q87/decision",
        kind=kind,
        scope="workspace=halden/project=care",
        run_revision=6,
        calls=calls,
        now=NOW,
        deadline=c.Deadline(ahead(seconds=712)),
    )
    return replace(form, **more)  # type: ignore[arg-type]


def pause_page(form: c.DecisionForm | None, **more: object) -> c.PausePage:
    page = c.PausePage(
        chrome=chrome(),
        id="sus_01kkh398sjf4ta6reh0vgq2q87",
        title="care-desk asks to make 2 calls",
        since=ago(minutes=12),
        crumbs=[c.Link("Queue", "/"), c.Link("2 of 8", "")],
        form=form,
        shared_note="Connection OSL-SEA was cancelled by us on 11 March. The customer agreed to Saturday, asked for "
        "business if there is a seat, and asked for something in return for the night at the gate.",
        deadline=c.Deadline(ahead(seconds=712)),
        news=c.PauseNews(
            "/suspensions/x?part=news", NOW, [c.Deciding("Priya Raman", "approver", timedelta(seconds=40))]
        ),
        people=[
            c.Deciding("You", "approver"),
            c.Deciding("Dana Whitlock", "approver"),
            c.Deciding("Priya Raman", "approver", timedelta(seconds=40)),
            c.Deciding("Token care-prod", "made this pause", muted=True),
        ],
        bound_to=[
            c.Fact("Run", "arun_01kkh398sjf4ta6reh0vbnd8dx", "id", "/runs/arun_01kkh398sjf4ta6reh0vbnd8dx"),
            c.Fact("Revision", "6"),
            c.Fact("Scope", "workspace=halden/project=care", "scope"),
            c.Fact("Reason", "approval"),
            c.Fact("Checkpoint", "acp_01kkh398sjf4ta6reh0v33305n", "id"),
        ],
        configuration=[
            c.Fact("Model", "atlas-4-large"),
            c.Fact("Temperature", "not set", aside="(null, not 0)"),
            c.Fact("Steps", "9 of 24"),
            c.Fact("Tokens", "41,286 of 120,000"),
            c.Fact("Max per step", "4,096"),
            c.Fact("Tools", "restricted to 2", aside="book_reservation, cancel_reservation"),
        ],
        conversation=_conversation(),
        next_href="/next",
    )
    return replace(page, **more)  # type: ignore[arg-type]


def pause_fresh() -> c.PausePage:
    return pause_page(_form([call(0, "update_reservation_flights", FLIGHTS), call(1, "send_certificate", CERTIFICATE)]))


def pause_typed() -> c.PausePage:
    first = call(
        0,
        "update_reservation_flights",
        FLIGHTS,
        decision="edit",
        edited=EDITED,
        typed_note="Economy only: business on HAL417 is held for crew.",
        changes=changes(FLIGHTS, EDITED),
    )
    second = call(
        1,
        "send_certificate",
        CERTIFICATE,
        decision="deny",
        typed_note="The user id holds a Cyrillic letter, "
        "so it is not the customer's account. Take the id from the profile and ask again.",
    )
    return pause_page(_form([first, second]))


def pause_faults() -> c.PausePage:
    first = call(
        0,
        "update_reservation_flights",
        FLIGHTS,
        decision="edit",
        edited='{"cabin": economy}',
        arguments_fault="Not JSON: at character 11 a value is expected.",
        note="Per call note <b>bold</b>",
    )
    second = call(1, "rm", HOSTILE, decision_fault="Choose approve, edit or deny.")
    banner = c.Banner(
        "soon",
        "The arguments changed since you opened this page.",
        "Nothing was admitted. Look at them again, and decide again.",
        icon="history",
        alert=True,
    )
    return pause_page(_form([first, second], banner=banner), shared_note="")


def pause_lost() -> c.PausePage:
    calls = [
        call(0, "update_reservation_flights", FLIGHTS, outcome="denied", outcome_note="Not in this fare."),
        call(1, "send_certificate", CERTIFICATE, outcome="denied"),
    ]
    banner = c.Banner(
        "stop",
        "Dana Whitlock denied this 40 s ago. Your decision was not taken.",
        alert=True,
        aside="Your note is below and can be copied. It was not sent.",
        calls=[
            c.CallOutcome(1, "update_reservation_flights", "denied"),
            c.CallOutcome(2, "send_certificate", "denied"),
        ],
        links=[c.Link("Open the receipt", "/receipts/x"), c.Link("Next in queue", "/next", primary=True, key="n")],
    )
    standing = c.Standing(banner, calls, NOW, kept=[c.KeptText("Note for call 1", "Economy only: held for crew.")])
    return pause_page(None, standing=standing, deadline=None, news=None)


def pause_decided() -> c.PausePage:
    calls = [
        call(
            0,
            "update_reservation_flights",
            FLIGHTS,
            outcome="approved",
            changes=changes(FLIGHTS, EDITED),
            outcome_note="Economy only.",
        ),
        call(1, "send_certificate", CERTIFICATE, outcome="denied"),
    ]
    banner = c.Banner(
        "good", "Decided: 1 approved, 1 denied.", "No worker has picked it up yet. Decided by you at", at=ago(seconds=5)
    )
    standing = c.Standing(
        banner,
        calls,
        NOW,
        receipts=[c.ReceiptLink("admission", "/receipts/x", "Receipt of the decision")],
        next_link=c.Link("Next in queue", "/next"),
        digest="6ff79f69" * 8,
    )
    return pause_page(
        None, standing=standing, deadline=None, news=None, start_by=c.Deadline(ahead(minutes=15), "fails", "to start")
    )


def pause_external() -> c.PausePage:
    form = _form(
        [
            call(
                0,
                "transfer_to_human_agents",
                '{"summary": "Elif Demir asks to change the dates"}',
                kind="content",
                result_fault="Empty. Type the result, or choose Error and say what went wrong.",
            )
        ],
        "external_tool",
        deadline=None,
    )
    return pause_page(form, title="care-desk waits for the result of 1 call", deadline=None, news=None)


def pause_peer() -> c.PausePage:
    banner = c.Banner(
        "info",
        "Waiting for loyalty-desk to reply.",
        "Only the peer agent can answer, through the bus. A person answering would forge its message.",
        icon="bot",
    )
    calls = [call(0, "ask_agent", "Tier of ravi_pillai? {not json")]
    return pause_page(
        None,
        title="disruption-care asks another agent",
        news=None,
        people=[],
        read_only=c.ReadOnlyCalls(banner, calls, "agent_reply"),
    )


def pause_forty() -> c.PausePage:
    calls = [call(i, "cancel_reservation", f'{{"reservation_id": "{i:05}"}}') for i in range(40)]
    return pause_page(_form(fold_calls(calls)), title="refund-desk asks to make 40 calls")


# -- runs and receipts ---------------------------------------------------------------------------------


def _events() -> list[c.LifeEvent]:
    at = datetime(2026, 3, 12, 13, 2, 11, tzinfo=UTC)

    def later(minutes: float) -> datetime:
        return at + timedelta(minutes=minutes)

    return [
        c.LifeEvent(at, "circle-play", "Created, running", "Token care-prod. Lease to osl-1/42.", revision="r1"),
        c.LifeEvent(
            later(2.4),
            "circle-pause",
            "Paused for approval",
            "1 call, cancel_reservation.",
            "soon",
            "r1 → r2",
            "gap",
            link=c.Link("Open the pause", "/suspensions/x"),
        ),
        c.LifeEvent(
            later(6.8),
            "ticket-check",
            "Approved by Dana Whitlock",
            "Decided 4 min 25 s after the pause.",
            revision="r2 → r3",
            receipt=c.ReceiptLink("admission", "/receipts/x"),
        ),
        c.LifeEvent(
            later(6.9),
            "play",
            "Started by osl-2/17",
            "Lease epoch 2.",
            revision="r3",
            receipt=c.ReceiptLink("start", "/receipts/y"),
        ),
        c.LifeEvent(
            later(24.7),
            "timer-off",
            "Lease lapsed",
            "osl-2/17 did not renew. Nobody held the run for 14 s.",
            "stop",
            "r3",
            "lost",
        ),
        c.LifeEvent(
            later(25),
            "rotate-cw",
            "Reclaimed by osl-3/05",
            "Lease epoch 3. Writes of epoch 2 are refused from here on.",
            revision="r3",
        ),
    ]


def run_page() -> c.RunPage:
    events = _events()
    t = [event.at for event in events]
    drawing = draw(
        "Running, paused for approval, running until now. Three leases; one lapsed for 14 seconds.",
        [
            Span("run", t[0], t[1], "running"),
            Span("pause", t[1], t[2], "paused, approval"),
            Span("run", t[2], None, "running"),
        ],
        [
            Span("lease", t[0], t[1], "osl-1/42"),
            Span("lease", t[3], t[4], "osl-2/17, renewed 2 times"),
            Span("gap", t[4], t[5]),
            Span("lease", t[5], NOW, "osl-3/05"),
            Span("ahead", NOW, ahead(minutes=3)),
        ],
        [Mark("Admission", t[2]), Mark("Start", t[3])],
        NOW,
    )
    return c.RunPage(
        chrome=chrome("Runs"),
        id="arun_01kkh27v1rfc8vyj6hzmb4qkec",
        title="Run of disruption-care",
        state="running",
        revision=5,
        since=t[3],
        events=events,
        crumbs=[c.Link("Runs", "/runs/")],
        facts=[
            c.Fact("Scope", "workspace=halden/project=disruption", "scope"),
            c.Fact("Agent", "disruption-care", aside="agt_…55xzhq"),
            c.Fact("Steps", "11"),
            c.Fact("Tokens", "38,904"),
        ],
        drawing=drawing,
        lease=c.LeaseView("osl-3/05", ahead(seconds=213), 4),
        progress_at=ago(seconds=87),
        progress=[
            c.WorkItem("get_reservation_details", "completed"),
            c.WorkItem("cancel_reservation", "denied"),
            c.WorkItem("send_certificate", "handed out"),
        ],
        cancel=c.CancelView(
            "It ends the run as cancelled for good. Calls already handed out are not undone.",
            why_not="A worker holds the lease, so only osl-3/05 can end this run now.",
            possible_from=ahead(seconds=213),
        ),
    )


def run_short() -> c.RunPage:
    page = run_page()
    start = ago(seconds=30)
    drawing = draw("Running, then failed.", [Span("run", start, ago(seconds=9), "running")], [], [], NOW, ended=True)
    cancel = c.CancelView("It ends the run as cancelled for good.", action="/runs/x/cancel", scope="w=a")
    return replace(
        page,
        state="failed",
        drawing=drawing,
        events=page.events[:1],
        lease=None,
        progress_at=None,
        cancel=cancel,
        texts=[c.NamedText("Error", fold("deadline passed"), 15)],
    )


def runs_page() -> c.RunsPage:
    states = ("running", "paused", "completed", "failed", "cancelled", "incomplete", "created")
    rows = [
        c.RunRow(
            f"arun_01kkh27v1rfc8vyj6hzmb4qk{i:02}",
            "/runs/x",
            "care-desk",
            state,
            i + 1,
            "workspace=halden/project=care",
            ago(hours=9 * i),
            ago(minutes=3 * i),
            "paused for approval, 1 call" if state == "paused" else "",
        )
        for i, state in enumerate(states)
    ]
    return c.RunsPage(chrome("Runs"), c.Search("/runs/", label="Search runs"), rows, older_href="/runs/?after=x")


def receipts_page() -> c.ReceiptsPage:
    rows = [
        c.ReceiptRow(
            kind,
            "/receipts/x",
            ago(hours=i * 7),
            "Dana Whitlock",
            "arun_01kkh27v1rfc8vyj6hzmb4qkec",
            "sus_01kkh398sjf4ta6reh0vgq2q87",
            "6ff79f69" * 8,
            "workspace=halden/project=care",
            "1 approved, 1 denied",
        )
        for i, kind in enumerate(("admission", "start", "expiry", "closure"))
    ]
    tabs = [c.Tab("Admissions", "/receipts/", "48", current=True), c.Tab("Starts", "/receipts/?kind=start", "1,000+")]
    return c.ReceiptsPage(
        chrome("Receipts"), tabs, c.Search("/receipts/", placeholder="Run, suspension, person or digest"), rows
    )


def receipt_page(ok: bool | None = True) -> c.ReceiptPage:
    digest = "6ff79f693be5d1daf45cfc3277479f801adb498f39e71f3bf4871b91dfb83cde"
    checks = [
        c.Check("Request digest", True, "equal", digest, digest),
        c.Check(
            "Input, 99 bytes",
            bool(ok),
            "equal" if ok else "differs",
            "8a0b4395" * 8,
            "8a0b4395" * 8 if ok else "1e00e624" * 8,
        ),
        c.Check("Start names this admission", True, "linked", digest, digest),
    ]
    return c.ReceiptPage(
        chrome=chrome("Receipts"),
        kind="admission",
        title="Admission receipt",
        lede="Dana Whitlock approved 1 call of group-desk on 12 March. The run was started once.",
        chain=[
            c.ChainNode("admission", "", ago(hours=2), "Dana Whitlock", digest, here=True),
            c.ChainNode("start", "/receipts/y", ago(hours=1), "worker osl-2/17", "5e15d85a" * 8),
            c.ChainNode("closure", "", missing="Not closed, and no need to"),
        ],
        digest_title="Request digest",
        digest=digest,
        domain="cortex/resume-request/v1",
        members=[
            c.Member("schema_version", "1"),
            c.Member("scope", "workspace=halden/project=groups"),
            c.Member("version.run_id", "arun_01kkgx23b0f8n9p4nkypsgrn7m"),
            c.Member("version.suspension_id", "sus_01kkgxfm7dfgpt9g8j27szz10y"),
            c.Member("version.run_revision", "4"),
            c.Member("input_sha256", "8a0b4395" * 8),
            c.Member("input_bytes", "99"),
        ],
        canonical='{"input_bytes":99,"schema_version":1}',
        facts=[
            c.Fact("Run", "arun_01kkgx23b0f8n9p4nkypsgrn7m", "data", "/runs/x"),
            c.Fact("Scope", "workspace=halden/project=groups", "scope"),
            c.Fact("Reason", "approval"),
            c.Fact("Admitted at", kind="utc", at=ago(hours=2)),
            c.Fact("Admitted by", "Dana Whitlock", aside="session, approver"),
            c.Fact("Suspension digest", "023f1485" * 8, "digest"),
        ],
        verify=c.VerifyBox("/receipts/x/verify", None if ok is None else c.Verification(NOW, checks)),
        crumbs=[c.Link("Receipts", "/receipts/"), c.Link("Admissions", "/receipts/"), c.Link("sus_…szz10y", "")],
        download_href="/receipts/x.json",
        input_outcomes=[c.DecidedCall(1, "book_reservation", "approved, unchanged")],
        input_text=fold('{"decisions":[{"call_id":"call_b7Qe","outcome":"approved"}]}', TEXT_LIMIT),
        input_size=99,
    )


# -- signing in, refusals --------------------------------------------------------------------------------


def sign_in() -> c.SignInPage:
    return c.SignInPage(c.Chrome(NOW), "/sign-in/", "/")


def sign_in_again() -> c.SignInPage:
    return c.SignInPage(
        c.Chrome(NOW),
        "/sign-in/",
        "/suspensions/x",
        "ines.baptista",
        "Name or password is wrong.",
        ended=True,
        typed_kept=True,
    )


def problem() -> c.ProblemPage:
    return c.ProblemPage(
        chrome(""),
        c.Problem(
            "This page was older than your sign-in",
            "Nothing was decided. You signed in again in another tab, so this form can no longer be trusted. Open the "
            "pause again and send once more.",
            403,
            "csrf_failed",
            links=[c.Link("Open the pause again", "/suspensions/x", primary=True)],
            kept=[c.KeptText("Note for call 1", "Economy only: held for crew.")],
            request_id="4f1f0c9e",
        ),
    )


SAMPLES: dict[str, Callable[[], Sample]] = {
    "queue": lambda: Sample("suspensions/queue.html", queue_page()),
    "queue-empty": lambda: Sample("suspensions/queue.html", queue_empty()),
    "pause": lambda: Sample("suspensions/pause.html", pause_fresh()),
    "pause-typed": lambda: Sample("suspensions/pause.html", pause_typed()),
    "pause-faults": lambda: Sample("suspensions/pause.html", pause_faults()),
    "pause-lost": lambda: Sample("suspensions/pause.html", pause_lost()),
    "pause-decided": lambda: Sample("suspensions/pause.html", pause_decided()),
    "pause-external": lambda: Sample("suspensions/pause.html", pause_external()),
    "pause-peer": lambda: Sample("suspensions/pause.html", pause_peer()),
    "pause-forty": lambda: Sample("suspensions/pause.html", pause_forty()),
    "run": lambda: Sample("suspensions/run.html", run_page()),
    "run-short": lambda: Sample("suspensions/run.html", run_short()),
    "runs": lambda: Sample("suspensions/runs.html", runs_page()),
    "receipts": lambda: Sample("suspensions/receipts.html", receipts_page()),
    "receipt": lambda: Sample("suspensions/receipt.html", receipt_page()),
    "receipt-unverified": lambda: Sample("suspensions/receipt.html", receipt_page(None)),
    "receipt-wrong": lambda: Sample("suspensions/receipt.html", receipt_page(False)),
    "sign-in": lambda: Sample("registration/sign_in.html", sign_in()),
    "sign-in-again": lambda: Sample("registration/sign_in.html", sign_in_again()),
    "problem": lambda: Sample("problem.html", problem()),
    "problem-kind": lambda: Sample(
        "problem_kind.html",
        c.ProblemKindPage(chrome(""), "run_conflict", "The run moved on", 409, ["Somebody else was faster."]),
    ),
    "403": lambda: Sample("403.html", None),
    "500": lambda: Sample("500.html", None),
}
