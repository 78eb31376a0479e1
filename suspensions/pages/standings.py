"""What stands of a pause, in words: who decided what and when, what came of it, and what a loser's answer met.

Source: pages.md, "One pause": a plain explanation, what was typed kept, the present state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from suspensions.domain.errors import CortexError, MalformedJson
from suspensions.domain.standing import Stand
from suspensions.domain.strict_json import loads
from suspensions.domain.values import Admission, Expiry, Outcome, Reason, Start
from suspensions.pages.arguments import changes
from suspensions.pages.contexts import Banner, CallOutcome, CallView, Link, ReceiptLink, Standing
from suspensions.pages.formats import duration
from suspensions.queries.pause_page import PauseRead

_VERBS = {"approved": "approved", "denied": "denied", "completed": "answered", "failed": "answered"}


@dataclass(frozen=True, slots=True)
class Reader:
    """For whom the words are made: a principal, the instant, names of people, and addresses."""

    principal: str
    now: datetime
    names: Mapping[str, str]
    receipt_href: Mapping[str, str]
    """The address of the pause's receipt of each kind."""
    next_link: Link

    def name(self, principal: str) -> str:
        return "You" if principal == self.principal else self.names.get(principal, principal)


def outcomes_of(read: PauseRead) -> dict[str, dict[str, Any]]:
    """What was decided of each call, by its id; empty where the answer is no decision."""
    if read.admission is None or read.admission.input is None or read.pause.reason is Reason.AGENT_REPLY:
        return {}
    return decisions_in(read.admission.input)


def decisions_in(answer: bytes) -> dict[str, dict[str, Any]]:
    """What an admitted answer decided of each call, by its id; empty where it is no decision."""
    try:
        return {each["call_id"]: each for each in loads(answer)["decisions"]}
    except (MalformedJson, TypeError, KeyError):
        return {}


def decided_calls(calls: Sequence[CallView], decided: Mapping[str, Mapping[str, Any]]) -> list[CallView]:
    """The calls with what was decided of each."""
    shown = []
    for call in calls:
        made = decided.get(call.id)
        if made is None:
            shown.append(call)
            continue
        edited = made.get("arguments")
        shown.append(
            replace(
                call,
                outcome=made["outcome"],
                outcome_note=made.get("note", ""),
                changes=changes(call.arguments, edited) if edited is not None else (),
                result=_result(made),
            )
        )
    return shown


def _result(made: Mapping[str, Any]) -> str:
    said = made.get("error") if made.get("error") is not None else made.get("content")
    return "" if said is None else said if isinstance(said, str) else str(said)


def summary(decided: Mapping[str, Mapping[str, Any]]) -> str:
    """ "1 approved, 1 approved with other arguments, 1 denied"."""
    counts = Counter(outcome_words(made) for made in decided.values())
    order = [f"{outcome.value}{more}" for outcome in Outcome for more in ("", _EDITED)]
    return ", ".join(f"{counts[words]} {words}" for words in order if words in counts)


_EDITED = " with other arguments"


def outcome_words(made: Mapping[str, Any]) -> str:
    """What was decided of one call, and whether on the arguments that were asked for."""
    outcome: str = made["outcome"]
    return outcome if made.get("arguments") is None else f"{outcome}{_EDITED}"


def standing(
    read: PauseRead, calls: Sequence[CallView], reader: Reader, refusal: CortexError | None = None
) -> Standing:
    """What stands; with a `refusal`, told to whoever has just met it."""
    stand = read.stand(reader.now)
    decided = outcomes_of(read)
    shown = decided_calls(calls, decided)
    banner = _lost(read, stand, decided, shown, reader) if refusal is not None else _plain(read, stand, decided, reader)
    receipts = [
        ReceiptLink(kind, reader.receipt_href[kind], f"Receipt of the {_receipt_of(kind, read.pause.reason)}")
        for kind, there in (
            ("admission", read.admission),
            ("start" if isinstance(read.outcome, Start) else "expiry", read.outcome),
            ("closure", read.closure),
        )
        if there is not None
    ]
    return Standing(
        banner=banner,
        calls=shown,
        now=reader.now,
        receipts=receipts,
        next_link=reader.next_link,
        digest=read.admission.digest if read.admission else "",
    )


def _receipt_of(kind: str, reason: Reason) -> str:
    return kind if kind != "admission" else "decision" if reason is Reason.APPROVAL else "answer"


def _plain(read: PauseRead, stand: Stand, decided: Mapping[str, Mapping[str, Any]], reader: Reader) -> Banner:
    """For whoever opens the page."""
    admission = read.admission
    if admission is None:
        return _unanswered(read, stand)
    who = reader.name(admission.admitted_by.principal)
    what = summary(decided)
    if read.pause.reason is Reason.AGENT_REPLY:
        title = f"Answered by {who}, through the bus."
    elif who == "You":
        title = f"Decided: {what}." if read.pause.reason is Reason.APPROVAL else f"Sent: {what}."
    else:
        title = f"{who} answered this: {what}."
    tone, text = _afterwards(read, stand)
    verb = "Decided" if read.pause.reason is Reason.APPROVAL else "Answered"
    return Banner(tone, title, f"{text} {verb} by {'you' if who == 'You' else who} at", at=admission.admitted_at)


def _afterwards(read: PauseRead, stand: Stand) -> tuple[str, str]:
    """What came of an admitted answer: a tone and a sentence."""
    outcome = read.outcome
    if stand is Stand.STARTED and isinstance(outcome, Start):
        return (
            "good",
            f"{outcome.lease_owner or outcome.started_by.principal} picked it up. The run is {read.run.state}.",
        )
    if stand is Stand.CLOSED:
        return "stop", "It was started, nothing more was heard, and it was closed as incomplete."
    if isinstance(outcome, Expiry):
        return "stop", "No worker started it in time, so the run failed and nothing was run."
    if stand is Stand.CANCELLED:
        return "stop", "The run was cancelled before a worker picked it up, so nothing was run."
    return "good", "No worker has picked it up yet."


def _unanswered(read: PauseRead, stand: Stand) -> Banner:
    """For a pause that is over without an answer."""
    pause = read.pause
    if stand is Stand.LATE:
        return Banner(
            "stop",
            "Time is up.",
            "No answer is taken any more; the sweep fails the run. Nothing was run. The deadline was",
            at=pause.expires_at,
            icon="timer-off",
        )
    if stand is Stand.TIMED_OUT:
        return Banner(
            "stop",
            "Nobody answered in time.",
            "The run failed and no call ran. The deadline was",
            at=pause.expires_at,
            icon="timer-off",
        )
    if stand is Stand.CANCELLED:
        words = "The run was cancelled, so no call of it runs. It was retired at"
        return Banner("stop", "Cancelled before anybody answered.", words, at=pause.retired_at, icon="ban")
    if stand is Stand.TAKEN:
        words = "The agent has taken this pause up again without an answer from here, at"
        return Banner("info", "Taken up again.", words, at=pause.claimed_at, icon="play")
    words = "This pause was retired; it takes no answer. Retired at"
    return Banner("info", "Over.", words, at=pause.retired_at, icon="history")


_KEPT = "What you typed is below and can be copied. It was not sent."


def _lost(
    read: PauseRead,
    stand: Stand,
    decided: Mapping[str, Mapping[str, Any]],
    calls: Sequence[CallView],
    reader: Reader,
) -> Banner:
    """For whoever answered too late: who won and when, what stands, and that the typed text is kept."""
    pause = read.pause
    banner = Banner(
        "stop",
        "The run has moved on. Your decision was not taken.",
        f"It is {read.run.state} at revision {read.run.revision}.",
        alert=True,
        aside=_KEPT,
        icon="history",
        links=[reader.next_link],
    )
    if read.admission is not None:
        return _lost_to(read.admission, decided, calls, reader)
    if stand in (Stand.LATE, Stand.TIMED_OUT) and pause.expires_at is not None:
        late = duration(reader.now - pause.expires_at)
        text = f"The run fails and no call runs. Your decision came {late} too late and was not taken. The deadline was"
        return replace(banner, title="Time ran out.", text=text, at=pause.expires_at, icon="timer-off")
    if stand is Stand.CANCELLED:
        title, text = "The run was cancelled. Your decision was not taken.", "No call of it runs. Cancelled at"
        return replace(banner, title=title, text=text, at=pause.retired_at, icon="ban")
    return banner


def answered_words(admission: Admission, decided: Mapping[str, Mapping[str, Any]], who: str, now: datetime) -> str:
    """Who decided what, and how long ago: "You approved this 2 s ago", as a sentence."""
    verbs = {_VERBS.get(made["outcome"], "decided") for made in decided.values()} or {"answered"}
    verb = verbs.pop() if len(verbs) == 1 else "decided"
    return f"{who} {verb} this {duration(now - admission.admitted_at)} ago."


def _lost_to(
    admission: Admission, decided: Mapping[str, Mapping[str, Any]], calls: Sequence[CallView], reader: Reader
) -> Banner:
    """For whoever lost to another answer, maybe to one of their own."""
    who = reader.name(admission.admitted_by.principal)
    mine = "This other decision" if who == "You" else "Your decision"
    return Banner(
        "stop",
        f"{answered_words(admission, decided, who, reader.now)} {mine} was not taken.",
        alert=True,
        aside=_KEPT,
        calls=[CallOutcome(call.number, call.tool, call.outcome) for call in calls if call.outcome],
        links=[Link("Open the receipt", reader.receipt_href["admission"]), reader.next_link],
    )
