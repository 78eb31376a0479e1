"""A run's life in words: one line for each event, with who did it and what it led to. Source: pages.md, "One run"."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from suspensions.domain.instants import parse_instant
from suspensions.domain.values import SYSTEM, Actor, Event, EventType, Run
from suspensions.pages.contexts import LifeEvent, Link, ReceiptLink
from suspensions.pages.formats import duration

Href = Callable[..., str]
_PAUSED_FOR = {"approval": "approval", "external_tool": "an external tool", "agent_reply": "an agent's reply"}
_ENDED = {"completed": ("circle-check", "good"), "failed": ("circle-x", "stop"), "cancelled": ("ban", "")}


def actor_words(actor: Actor, names: Mapping[str, str], system: str = "The sweep") -> str:
    """Who it was, and by which token where it was no person at a page; `system` is who acts for nobody."""
    if actor == SYSTEM:
        return system
    name = names.get(actor.principal, actor.principal)
    kind, _, token = actor.via.partition(":")
    return f"{name}, token {token}" if kind == "token" else name


def lapse(run: Run, now: datetime) -> list[LifeEvent]:
    """A lease that has lapsed and that nobody took over: no event of the store, and the last thing that happened."""
    if run.lease is None or not run.lease.lapsed(now):
        return []
    left = f"Nobody has held the run for {duration(now - run.lease.expires_at)}."
    return [_lapsed(run.lease.owner, run.lease.expires_at, left, f"r{run.revision}")]


def _lapsed(owner: str, at: datetime, left: str, revision: str) -> LifeEvent:
    return LifeEvent(at, "timer-off", "Lease lapsed", f"{owner} did not renew. {left}", "stop", revision)


class LifeWords:
    """Tells events in order; `href` makes the addresses of pauses and receipts."""

    def __init__(self, names: Mapping[str, str], href: Href) -> None:
        self._names = names
        self._href = href
        self._paused_at: datetime | None = None
        self._revision: int | None = None

    def tell(self, events: Sequence[Event]) -> list[LifeEvent]:
        """One line for each event, and before it one for a lease that lapsed and ended with it."""
        return [line for event in events for line in (*self._lapse(event), self._one(event))]

    def _lapse(self, event: Event) -> list[LifeEvent]:
        lease = event.data.get("lapsed")
        if not lease:
            return []
        at = parse_instant(lease["expires_at"])
        left = f"Nobody held the run for {duration(event.at - at)}."
        return [_lapsed(lease["owner"], at, left, "" if self._revision is None else f"r{self._revision}")]

    def _one(self, event: Event) -> LifeEvent:
        told = _TELL.get(event.type, LifeWords._other)(self, event)
        if event.type is EventType.RUN_PAUSED:
            self._paused_at = event.at
        was, self._revision = self._revision, event.revision
        moved = was is not None and event.revision is not None and was != event.revision
        revision = "" if event.revision is None else f"r{was} → r{event.revision}" if moved else f"r{event.revision}"
        return replace(told, revision=revision)

    def _who(self, event: Event) -> str:
        return actor_words(event.actor, self._names)

    def _receipt(self, event: Event, kind: str) -> ReceiptLink:
        return ReceiptLink(kind, self._href("receipt", kind, event.run_id or "", event.suspension_id or ""))

    def _lease(self, event: Event) -> str:
        lease = event.data.get("lease")
        return f"Lease to {lease['owner']}, epoch {lease['epoch']}." if lease else "No lease."

    # -- each kind -------------------------------------------------------------------------------------

    def _created(self, event: Event) -> LifeEvent:
        return LifeEvent(event.at, "circle-play", "Created, running", f"{self._who(event)}. {self._lease(event)}")

    def _paused(self, event: Event) -> LifeEvent:
        calls, reason = event.data.get("calls", 0), event.data.get("reason", "")
        text = f"{calls} call{'s' if calls != 1 else ''}. "
        expires_at = event.data.get("expires_at")
        if expires_at:
            at = parse_instant(expires_at)
            text += f"To be answered within {duration(at - event.at)}."
        else:
            text += "No deadline."
        link = Link("Open the pause", self._href("pause", event.suspension_id or ""))
        title = f"Paused for {_PAUSED_FOR.get(reason, reason)}"
        return LifeEvent(event.at, "circle-pause", title, text, "soon", line="gap", link=link)

    def _admitted(self, event: Event) -> LifeEvent:
        text = f"{duration(event.at - self._paused_at)} after the pause." if self._paused_at else ""
        bus = event.data.get("reason") == "agent_reply"
        title = f"Answered by {self._who(event)}{', through the bus' if bus else ''}"
        return LifeEvent(event.at, "ticket-check", title, text, receipt=self._receipt(event, "admission"))

    def _started(self, event: Event) -> LifeEvent:
        lease = event.data.get("lease")
        owner = lease["owner"] if lease else self._who(event)
        text = f"{self._who(event)}. {self._lease(event)}"
        return LifeEvent(event.at, "play", f"Started by {owner}", text, receipt=self._receipt(event, "start"))

    def _claimed(self, event: Event) -> LifeEvent:
        data = event.data
        if data.get("to") == "cancel":
            return LifeEvent(event.at, "ban", "Claimed to be cancelled", f"{self._who(event)}.")
        if data.get("expired_by"):
            return LifeEvent(event.at, "timer-off", "Time ran out", "Nobody had answered by the deadline.", "stop")
        if data.get("continuation"):
            return LifeEvent(event.at, "rotate-cw", "Taken up again", f"{self._who(event)}. {self._lease(event)}")
        text = f"Without an answer from a person. {self._lease(event)}"
        return LifeEvent(event.at, "circle-play", f"Claimed by {self._who(event)}", text)

    def _lease_taken(self, event: Event) -> LifeEvent:
        lease, former = event.data.get("lease") or {}, event.data.get("from")
        lost = f"{former} did not renew in time; its writes are refused from here on." if former else ""
        text = f"Lease epoch {lease.get('epoch')}. {lost}".strip()
        return LifeEvent(event.at, "rotate-cw", f"Taken over by {lease.get('owner')}", text)

    def _lease_released(self, event: Event) -> LifeEvent:
        title = f"Lease given up by {event.data.get('owner')}"
        return LifeEvent(event.at, "undo-2", title, "Nobody holds the run from here on.", line="lost")

    def _finished(self, event: Event) -> LifeEvent:
        outcome = str(event.data.get("outcome"))
        sign, tone = _ENDED.get(outcome, ("contrast", "stop"))
        return LifeEvent(event.at, sign, outcome.capitalize(), f"{self._who(event)}.", tone)

    def _cancelled(self, event: Event) -> LifeEvent:
        reason = event.data.get("reason")
        return LifeEvent(event.at, "ban", f"Cancelled by {self._who(event)}", f"“{reason}”" if reason else "")

    def _expired(self, event: Event) -> LifeEvent:
        return LifeEvent(event.at, "circle-x", "Failed", str(event.data.get("reason", "")), "stop")

    def _resume_expired(self, event: Event) -> LifeEvent:
        title, text = "Expired: no worker started it in time", "The run failed, and nothing was run."
        return LifeEvent(event.at, "timer-off", title, text, "stop", receipt=self._receipt(event, "expiry"))

    def _closed(self, event: Event) -> LifeEvent:
        text = f"{self._who(event)}, with proof {event.data.get('proof_ref')} of {event.data.get('issuer')}."
        receipt = self._receipt(event, "closure")
        return LifeEvent(event.at, "lock", "Closed as incomplete", text, "stop", receipt=receipt)

    def _interaction(self, event: Event) -> LifeEvent:
        word = event.type.value.partition(".")[2]
        name = str(event.data.get("interaction_id", ""))
        return LifeEvent(event.at, "message-square", f"Question {word}", f"{name}, {self._who(event)}.")

    def _other(self, event: Event) -> LifeEvent:
        return LifeEvent(event.at, "circle-dashed", event.type.value, f"{self._who(event)}.")


_TELL: dict[EventType, Callable[[LifeWords, Event], LifeEvent]] = {
    EventType.RUN_CREATED: LifeWords._created,
    EventType.RUN_PAUSED: LifeWords._paused,
    EventType.RUN_CLAIMED: LifeWords._claimed,
    EventType.RUN_LEASE_TAKEN: LifeWords._lease_taken,
    EventType.RUN_LEASE_RELEASED: LifeWords._lease_released,
    EventType.RUN_FINISHED: LifeWords._finished,
    EventType.RUN_CANCELLED: LifeWords._cancelled,
    EventType.RUN_EXPIRED: LifeWords._expired,
    EventType.RESUME_ADMITTED: LifeWords._admitted,
    EventType.RESUME_STARTED: LifeWords._started,
    EventType.RESUME_EXPIRED: LifeWords._resume_expired,
    EventType.RESUME_CLOSED: LifeWords._closed,
    EventType.INTERACTION_SAVED: LifeWords._interaction,
    EventType.INTERACTION_ANSWERED: LifeWords._interaction,
    EventType.INTERACTION_RESOLVED: LifeWords._interaction,
}
