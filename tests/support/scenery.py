"""A scope full of everything that the pages show: people, pauses of every kind, runs, receipts, questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from suspensions.domain.decisions import CallDecision
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.strict_json import content_digest, dumps
from suspensions.domain.values import SYSTEM, Admission, Holder, NewInteraction, Reason, Suspension
from suspensions.domain.webhooks import Answer
from suspensions.operations import (
    access,
    closures,
    deliveries,
    interactions,
    leases,
    looking,
    progress,
    resumes,
    runs,
    suspensions,
    sweep,
    webhooks,
)
from suspensions.queries.webhooks import list_deliveries
from tests.support import builders as b
from tests.support.page_samples import CERTIFICATE, FLIGHTS, HOSTILE
from tests.support.people import PASSWORD, Person, make_person
from tests.support.proofs import Issuer, make_issuer, request_for, sign

NOTE = (
    "Connection OSL-SEA was cancelled by us on 11 March. The customer agreed to Saturday, asked for business if there "
    "is a seat, and asked for something in return for the night at the gate."
)
MESSAGES = [
    {"role": "user", "content": "Thanks. One more thing, I fly again from Oslo on the 11th, same booking."},
    {"role": "assistant", "content": "Noted. Have a good trip, Mateo."},
    {
        "role": "user",
        "content": "My connection was cancelled last night and I slept at the gate. I need to be in Seattle by "
        "Saturday, and I think you owe me something.",
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "t1", "name": "get_reservation_details", "arguments": '{"reservation_id": "HX5M2T"}'},
        ],
    },
    {
        "role": "tool",
        "tool_call_id": "t1",
        "content": '{"reservation_id": "HX5M2T", "cabin": "economy", "seats": ' * 30,
    },
    {"role": "user", "content": "Saturday is fine. Business, if there is one. <b>Please hurry</b>. שלום 👩‍👩‍👧 مرحبا"},
    {
        "role": "assistant",
        "content": "I will move you to Saturday and send a certificate for the night at the airport.",
    },
]
CONFIG = {
    "model": "atlas-4-large",
    "temperature": None,
    "max_steps": 24,
    "max_tokens": 4096,
    "tools": ["book_reservation", "cancel_reservation", "get_reservation_details", "send_certificate"],
    "tools_restricted": True,
}
Calls = Sequence[tuple[str, str, str, str | None]]
"""Id, tool, arguments and note of each."""


@dataclass
class Scenery:
    """What is there, by a short name."""

    scope: Scope
    people: dict[str, Person] = field(default_factory=dict)
    pauses: dict[str, Suspension] = field(default_factory=dict)
    admissions: dict[str, Admission] = field(default_factory=dict)
    issuer: Issuer | None = None
    webhooks: dict[str, str] = field(default_factory=dict)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def ago(self, **parts: float) -> datetime:
        return self.now - timedelta(**parts)

    def pause(
        self,
        name: str,
        calls: Calls,
        *,
        agent: str = "care-desk",
        project: str = "care",
        waited: float = 10,
        left: float | None = None,
        reason: Reason = Reason.APPROVAL,
        note: str | None = None,
        by: str = "",
    ) -> Suspension:
        """A pause that has waited so many minutes, and has so many left."""
        scope = Scope.parse(f"{self.scope.text}/project={project}")
        replies = {"reply_with": "reply-1"} if reason is Reason.AGENT_REPLY else {}
        pending = [b.call(call_id, tool, text, note=own or note, **replies) for call_id, tool, text, own in calls]
        body = b.continuation(
            messages=MESSAGES,
            new_messages_from=2,
            system_prompt="You are care-desk, an assistant of Halden Air. " * 60,
            config=CONFIG,
            step_index=9,
            tokens_used=41_286,
            usage={"input_tokens": 39_800, "output_tokens": 1_486},
        )
        with b.at(self.ago(minutes=waited + 2.4)):
            run = runs.create_run(
                b.caller(scope, principal="care-prod"),
                b.new_run(scope, agent_name=agent, input="Rebook HX5M2T.", lease=b.take("osl-1/42", 600)),
            )
        expires_at = None if left is None else self.now + timedelta(minutes=left)
        with b.at(self.ago(minutes=waited)):
            new = b.new_suspension(
                scope, run.id, reason, pending, expires_at=expires_at, continuation=body, holder=b.holder_of(run)
            )
            maker = b.caller(scope, principal=by or "care-prod")
            made = suspensions.create_suspension(maker, new)
        self.pauses[name] = made
        return made

    def answer(self, name: str, who: str, after: float, *decisions: CallDecision) -> Admission:
        """Answered by a person so many minutes after the pause."""
        pause = self.pauses[name]
        made = decisions or b.approve_all(pause)
        person = self.people[who].caller
        with b.at(pause.created_at + timedelta(minutes=after)):
            self.admissions[name] = resumes.decide(
                person, pause.scope, pause.id, b.version_of(pause).run_revision, made
            )
        return self.admissions[name]


def build(scope: Scope) -> Scenery:
    """Everything, in this scope and three projects below it."""
    made = Scenery(scope)
    for name, display, roles in (
        ("ines", "Ines Baptista", (Role.APPROVER, Role.OPERATOR, Role.ADMIN)),
        ("dana", "Dana Whitlock", (Role.APPROVER,)),
        ("priya", "Priya Raman", (Role.APPROVER,)),
        ("victor", "Victor Lund", (Role.VIEWER,)),
    ):
        suffix = scope.text[-6:]
        made.people[name] = make_person(scope, *roles, name=f"{name}.{suffix}", display=display, password=PASSWORD)
    _waiting(made)
    _moving(made)
    _expired(made)
    _questions(made)
    _issuers(made)
    _closed(made)
    _webhooks(made)
    return made


def _waiting(made: Scenery) -> None:
    made.pause(
        "urgent",
        [("c1", "cancel_reservation", '{"reservation_id": "R4TZ8M"}', "Basic economy, bought 31 h ago, no insurance.")],
        waited=28,
        left=1.5,
    )
    made.pause(
        "two", [("c1", "update_reservation_flights", FLIGHTS, None), ("c2", "send_certificate", CERTIFICATE, None)],
        waited=12, left=12, note=NOTE,
    )  # fmt: skip
    reservations = [(f"c{n}", "cancel_reservation", f'{{"reservation_id": "{code}"}}', "Same customer, three tickets.")
                    for n, code in enumerate(("9KD3VA", "P2LX7C", "W8HM4E"))]  # fmt: skip
    made.pause("three", reservations, agent="refund-desk", project="refunds", waited=26, left=34)
    for name, code in (("bulk-1", "K7QPL2"), ("bulk-2", "4HDXWR"), ("bulk-3", "J2WX8A"), ("bulk-4", "B5TT1C")):
        calls: Calls = [
            ("c1", "cancel_reservation", f'{{"reservation_id": "{code}"}}', "Business fare, change of plans.")
        ]
        made.pause(name, calls, agent="refund-desk", project="refunds", waited=40, left=52)
    made.pause(
        "external",
        [("c1", "transfer_to_human_agents", '{"summary": "Elif Demir asks to change the dates of a basic fare"}',
          "Call the customer, then type what was agreed.")],
        reason=Reason.EXTERNAL_TOOL, waited=19, left=100,
    )  # fmt: skip
    made.pause(
        "hostile", [("c1", "<img src=x onerror=p()>", HOSTILE, "</script>[go](javascript:p()) and a note. " * 5)],
        agent="an-agent-with-a-very-long-name-that-does-not-fit", project="groups", waited=125,
    )  # fmt: skip
    long = json.dumps({"sql": "select 1 /*" + "x" * 9_900 + "*/; drop table t", "name": "ليلى", "emoji": "👩‍👩‍👧"})
    made.pause("long", [("c1", "run_sql", long, "A report of last month.")], project="groups", waited=60)
    forty = [(f"c{n}", "cancel_reservation", f'{{"reservation_id": "{n:05}"}}', None) for n in range(40)]
    made.pause("forty", forty, agent="refund-desk", project="refunds", waited=5, left=300, note="The whole flight.")
    made.pause(
        "peer", [("c1", "ask_agent", '{"agent": "loyalty-desk", "question": "Tier and lounge rights?"}', None)],
        reason=Reason.AGENT_REPLY, agent="disruption-care", project="disruption", waited=4, left=26,
    )  # fmt: skip
    made.pause(
        "own", [("c1", "update_passengers", '{"reservation_id": "3RK2T9"}', "Passport name differs by one letter.")],
        waited=14, left=46, by=made.people["ines"].name,
    )  # fmt: skip
    two = made.pauses["two"]
    with b.at(made.ago(seconds=40)):
        looking.mark_looking(made.people["priya"].caller, two.scope, two.id)


def _moving(made: Scenery) -> None:
    bag: Calls = [("c1", "update_reservation_baggages", '{"reservation_id": "YAX4DR", "total_baggages": 2}', "Silver.")]
    made.pause("decided", bag, waited=7, left=22)
    made.answer("decided", "dana", 1)
    both: Calls = [("c1", "update_reservation_flights", FLIGHTS, None), ("c2", "send_certificate", CERTIFICATE, None)]
    made.pause("done", both, waited=48, left=60, note=NOTE)
    first, second = made.pauses["done"].pending
    edited = FLIGHTS.replace("business", "economy")
    made.answer(
        "done", "dana", 4.4,
        CallDecision(first.id, first.arguments_sha256, "approve", edited, note="Economy."),
        CallDecision(second.id, second.arguments_sha256, "deny", note="The user id holds a Cyrillic letter."),
    )  # fmt: skip
    _start(made, "done", 43, 3600)
    made.pause("lost", bag, agent="disruption-care", project="disruption", waited=75, left=90)
    made.answer("lost", "priya", 6)
    _start(made, "lost", 68, 120)
    pause = made.pauses["lost"]
    with b.at(made.ago(minutes=64)):
        leases.reclaim_lease(b.caller(pause.scope), pause.scope, pause.run_id, b.take("osl-4/31", 180))
    made.pause("cancelled", bag, waited=90, left=200)
    with b.at(made.ago(minutes=80)):
        pause = made.pauses["cancelled"]
        runs.cancel_run(made.people["ines"].caller, pause.scope, pause.run_id, "The customer called it off.")
    made.pause("late", bag, waited=90, left=-3)


def _expired(made: Scenery) -> None:
    """One that nobody answered in time, and one that was answered and that no worker started in time."""
    upgrade: Calls = [
        ("c1", "upgrade_cabin", '{"reservation_id": "M4XW9B", "cabin": "business"}', "Gold, two seats left.")
    ]
    made.pause("unanswered", upgrade, waited=55, left=-9)
    made.pause("unstarted", upgrade, agent="disruption-care", project="disruption", waited=65, left=-12)
    made.answer("unstarted", "priya", 2)
    with b.at(made.ago(minutes=5)):
        sweep.sweep_once()


def _start(made: Scenery, name: str, ago: float, lease: int) -> None:
    """A worker starts it, saves progress with one call handed out, and finishes where its lease is long."""
    pause, admission = made.pauses[name], made.admissions[name]
    with b.at(made.ago(minutes=ago)):
        start = b.start(admission, lease=b.take("osl-2/17", lease))
        holder = start.lease_owner, start.lease_epoch
    assert holder[0] is not None and holder[1] is not None
    held = Holder(holder[0], holder[1])
    with b.at(made.ago(minutes=ago - 1)):
        done = dumps([{"call_id": "t1", "content": "found", "outcome": "completed"}])
        snapshot = b.snapshot(pause.run_id, held.owner, started=pause.pending, done=done)
        progress.save_progress(b.caller(pause.scope), pause.scope, snapshot, held)
    if lease > 600:
        with b.at(made.ago(minutes=ago - 2)):
            runs.finish_run(
                b.caller(pause.scope, principal="care-prod"), pause.scope, pause.run_id, RunState.COMPLETED,
                output="Rebooked to Saturday.", holder=held,
            )  # fmt: skip


def _questions(made: Scenery) -> None:
    for number, (tool, asked, answered) in enumerate(
        (
            ("ask_person", {"question": "May I tell the customer that the refund takes 7 days?"}, ""),
            ("choose_hotel", {"city": "Oslo", "options": ["Grand", "Havn"], "budget": 250}, ""),
            ("ask_person", {"question": "Is a phone call enough?"}, "Yes, a call is enough."),
            ("ask_person", {"question": "Do we pay the taxi?"}, "Yes, up to 60."),
        )
    ):
        use_id = f"toolu_{number}"
        block = {"type": "tool_use", "id": use_id, "name": tool, "input": asked}
        said = {"type": "text", "text": "I need a word from a person before I go on."}
        assistant = dumps({"role": "assistant", "content": [said, block]})
        scope = Scope.parse(f"{made.scope.text}/project=care")
        new = NewInteraction(scope, f"turn-{number}", use_id, assistant, tool_name=tool, tool_input=dumps(asked))
        with b.at(made.ago(minutes=9 - number)):
            interactions.save_interaction(b.caller(scope, principal="care-prod"), new, content_digest(assistant))
        if answered:
            result = {"type": "tool_result", "tool_use_id": use_id, "content": answered}
            interactions.answer_interaction(made.people["dana"].caller, scope, f"turn-{number}", result)
    interactions.resolve_interaction(b.caller(scope, principal="care-prod"), scope, "turn-3")


def _issuers(made: Scenery) -> None:
    suffix = made.scope.text[-6:]
    ines = made.people["ines"].caller.actor
    made.issuer = make_issuer(made.scope, f"watchtower-{suffix}", "2026-11")
    service = f"care-prod-{suffix}"
    access.make_principal(service, service=True, by=SYSTEM)
    access.grant_role(service, Role.AGENT, made.scope, ines)
    access.issue_token(service, "worker", timedelta(days=30), ines)
    access.issue_token(service, "old", None, ines)
    access.revoke_token(service, "old", ines)


def _closed(made: Scenery) -> None:
    """One that Ines closed with proof."""
    refund: Calls = [("c1", "refund_payment", '{"reservation_id": "B5TT1C", "amount": "480.00"}', "Cancelled by us.")]
    made.pause("closed", refund, agent="refund-desk", project="refunds", waited=190)
    made.answer("closed", "dana", 5)
    _start(made, "closed", 180, 60)
    assert made.issuer is not None
    admission, ines = made.admissions["closed"], made.people["ines"].caller
    with b.at(made.ago(minutes=120)):
        version = admission.version
        start = resumes.get_start(ines, admission.scope, version.run_id, version.suspension_id)
        closures.close_resume(ines, *sign(request_for(ines, admission, start, made.issuer), made.issuer, "osl-2/17"))


def _webhooks(made: Scenery) -> None:
    """One that took some, is waiting for one, and gave up another; one that is gone; one that was told nothing yet."""
    admin = made.people["ines"].caller
    with b.at(made.ago(hours=11)):
        for name, url, description, types in (
            ("pager", "https://pager.example/hooks/halden?key=0000", "Pager of the night shift", ["run.cancelled"]),
            (
                "gone",
                "https://chat.example/incoming/T024BE7LD/B024BE7LH",
                "Old chat",
                ["run.expired", "resume.expired"],
            ),
            ("new", "https://desk.example/cortex", "", ["resume.closed"]),
        ):
            made.webhooks[name] = webhooks.add_webhook(admin, made.scope, url, description, types)[0].id
    pager, gone = made.webhooks["pager"], made.webhooks["gone"]
    with b.at(made.ago(hours=10)):
        webhooks.ping_webhook(admin, gone)
    _deliver(made.ago(hours=10), Answer(410))
    for hours, answer in ((9, Answer(200)), (8.9, Answer(503)), (3, Answer(None, "no connection"))):
        with b.at(made.ago(hours=hours)):
            webhooks.ping_webhook(admin, pager)
        _deliver(made.ago(hours=hours), answer)
        while (again := _due_at(pager)) is not None and again < made.now:
            _deliver(again, answer)
    with b.at(made.ago(minutes=30)):
        deliveries.Lookout().look()
    _deliver(made.ago(minutes=30), Answer(204))


def _due_at(webhook_id: str) -> datetime | None:
    return list_deliveries(webhook_id, None, 1).items[0].next_at


def _deliver(instant: datetime, answer: Answer) -> None:
    with b.at(instant):
        for claimed in deliveries.claim_due():
            deliveries.keep_answer(claimed, answer)
