"""Whether a run's row and its pauses are what the run's events say of them.

Receipts and events cannot be changed unseen; what decides stands in rows that must change: who holds a run, which
admission waits, who made a pause and so cannot approve it. Each of those columns follows from the events, and is held
against them here. Pure; it names each row that fails. Source: store.md sections 1, 4 and 10.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from suspensions.domain.digests import same_digest, sha256_hex
from suspensions.domain.states import ResumeState
from suspensions.domain.strict_json import dumps
from suspensions.domain.values import Actor, Event, EventType, Suspension, suspension_digest

Fault = tuple[str, str, str]
"""The kind of a row that fails, its id, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class RunColumns:
    """What follows from a run's events, as its row says it now; each by the name of its column."""

    scope: str
    agent_name: str | None
    created_by: Actor | None
    created_at: datetime | None
    lease_owner: str | None
    lease_epoch: int
    admission_id: str | None
    resume: str | None
    admitted_at: datetime | None
    start_by: datetime | None
    last_suspension_id: str | None
    open_interactions: int
    kept_sha256: str
    """Over what the run was made with: see `kept_sha256`."""
    result_sha256: str
    """Over what it ended with: see `result_sha256`."""


def kept_sha256(agent_id: str | None, session_id: str | None, persona_ref: str, metadata: bytes, content: bytes) -> str:
    """A digest over what a run keeps as it was made with it, which the run's first event binds."""
    members = [agent_id, session_id, persona_ref, sha256_hex(metadata), sha256_hex(content)]
    return sha256_hex(dumps(members))


def result_sha256(output: bytes, error: bytes) -> str:
    """A digest over what a run ended with, which the event of its end binds."""
    return sha256_hex(dumps([sha256_hex(output), sha256_hex(error)]))


NO_RESULT = result_sha256(b"", b"")


@dataclass(frozen=True, slots=True)
class PauseRow:
    """A pause as it is stored now: its value, the very bytes of its calls, and a digest over what lists show of it."""

    pause: Suspension
    pending: bytes
    shown_sha256: str

    def compute_digest(self) -> str:
        """The pause's digest over what is stored now."""
        pause = self.pause
        hashes = sha256_hex(self.pending), sha256_hex(pause.continuation)
        return suspension_digest(pause.id, pause.run_id, pause.scope, pause.reason, *hashes, pause.expires_at)


def verify_history(
    run_id: str,
    events: Sequence[Event],
    run: RunColumns,
    pauses: Mapping[str, PauseRow],
    start_bys: Mapping[str, datetime | None],
    unreadable: frozenset[str] = frozenset(),
) -> Iterator[Fault]:
    """What is not as the events say. *Requires*: a chain that is whole, in order.

    `start_bys` are the admissions'; of the pauses in `unreadable` it was said already that they do not read.
    """
    try:
        faults = [*_verify_run(run_id, events, run, start_bys), *_verify_pauses(events, pauses)]
    except (TypeError, ValueError, KeyError, AttributeError):
        faults = [("run", run_id, "has events that do not say what such events say")]
    yield from (fault for fault in faults if fault[1] not in unreadable)


# -- the run -----------------------------------------------------------------------------------------

_UNHELD: dict[str, Any] = {"lease_owner": None}
_NO_RESUME: dict[str, Any] = {"admission_id": None, "resume": None, "admitted_at": None, "start_by": None}
_ENDS = {
    EventType.RUN_FINISHED,
    EventType.RUN_CANCELLED,
    EventType.RUN_EXPIRED,
    EventType.RESUME_EXPIRED,
    EventType.RESUME_CLOSED,
}


def _verify_run(
    run_id: str, events: Iterable[Event], run: RunColumns, start_bys: Mapping[str, datetime | None]
) -> Iterator[Fault]:
    said: dict[str, Any] = {column.name: None for column in fields(RunColumns)}
    said |= {"lease_epoch": 0, "open_interactions": 0, "result_sha256": NO_RESULT}
    for event in events:
        said |= _changes(event, said["open_interactions"], start_bys)
        if event.scope.text != run.scope:
            yield "run", run_id, f"stands in the scope {run.scope}, its events in {event.scope}"
            return
    wrong = [name for name, value in said.items() if name != "scope" and getattr(run, name) != value]
    if wrong:
        yield "run", run_id, f"has other columns than its events say: {', '.join(wrong)}"


def _changes(event: Event, opened: int, start_bys: Mapping[str, datetime | None]) -> dict[str, Any]:
    """The columns that an event's transition or receipt leaves behind."""
    if event.type is EventType.RESUME_CLOSED:
        return {**_UNHELD, **_NO_RESUME}
    if event.type in _ENDS:
        return {**_UNHELD, **_NO_RESUME, "result_sha256": event.data["result_sha256"]}
    changes: dict[str, Any] = {}
    match event.type:
        case EventType.RUN_CREATED:
            agent_name = event.data["agent_name"]
            changes = {"agent_name": agent_name, "created_by": event.actor, "created_at": event.at}
            changes["kept_sha256"] = event.data["kept_sha256"]
        case EventType.RUN_PAUSED:
            changes = {"last_suspension_id": event.suspension_id, **_UNHELD, **_NO_RESUME}
        case EventType.RUN_LEASE_RELEASED:
            changes = _UNHELD
        case EventType.RESUME_ADMITTED:
            start_by = start_bys[event.suspension_id or ""]
            changes = {"admission_id": event.suspension_id, "admitted_at": event.at, "start_by": start_by}
            changes["resume"] = ResumeState.ADMITTED.value
        case EventType.RESUME_STARTED:
            changes = {"resume": ResumeState.STARTED.value}
        case EventType.INTERACTION_SAVED:
            changes = {"open_interactions": opened + 1}
        case EventType.INTERACTION_RESOLVED:
            changes = {"open_interactions": opened - 1}
    return {**changes, **_lease(event)}


def _lease(event: Event) -> dict[str, Any]:
    """The lease that was taken with it, if any; its end is not told, since renewals make no event."""
    lease = event.data.get("lease")
    return {} if lease is None else {"lease_owner": lease["owner"], "lease_epoch": lease["epoch"]}


# -- its pauses --------------------------------------------------------------------------------------


def _verify_pauses(events: Sequence[Event], pauses: Mapping[str, PauseRow]) -> Iterator[Fault]:
    made = {event.suspension_id: event for event in events if event.type is EventType.RUN_PAUSED}
    claimed = _first_of(events, EventType.RUN_CLAIMED, EventType.RESUME_ADMITTED)
    started = _first_of(events, EventType.RESUME_STARTED)
    last = max((event.position for event in events if event.type in (EventType.RUN_PAUSED, *_ENDS)), default=0)
    for suspension_id, event in made.items():
        row = pauses.get(suspension_id or "")
        if row is None:
            yield "suspension", str(suspension_id), "was removed"
            continue
        claim = claimed.get(suspension_id)
        # A waiting answer needs its pause; after the start, or a claim without an answer, an agent may retire it.
        needed = claim is None or (claim.type is EventType.RESUME_ADMITTED and suspension_id not in started)
        wrong = [*_content_faults(row, event), *_mark_faults(row.pause, claim, needed, over=event.position < last)]
        if wrong:
            yield "suspension", row.pause.id, "; ".join(wrong)
    for suspension_id in pauses:
        if suspension_id not in made:
            yield "suspension", suspension_id, "was never told of: no event of the run made it"


def _first_of(events: Iterable[Event], *types: EventType) -> dict[str | None, Event]:
    found: dict[str | None, Event] = {}
    for event in events:
        if event.type in types:
            found.setdefault(event.suspension_id, event)
    return found


def _content_faults(row: PauseRow, event: Event) -> Iterator[str]:
    """What was written once, with the pause, and bound by its event."""
    pause = row.pause
    digest, hashes = row.compute_digest(), (sha256_hex(row.pending), sha256_hex(pause.continuation))
    if not same_digest(digest, event.data["digest"]):
        yield "is not the one that was paused with: its calls, continuation, reason or deadline were changed"
    if (pause.digest, pause.pending_sha256, pause.continuation_sha256) != (digest, *hashes):
        yield "carries digests that are not its content's"
    if (pause.created_by, pause.created_at) != (event.actor, event.at):
        yield "names another maker or time than its event"
    if pause.checkpoint_id != event.data["checkpoint_id"]:
        yield "names another checkpoint than its event"
    if not same_digest(row.shown_sha256, event.data["shown_sha256"]):
        yield "is shown in lists as something else than it was made"


def _mark_faults(pause: Suspension, claim: Event | None, needed: bool, *, over: bool) -> Iterator[str]:
    """What says whether it still waits: a pause that is hidden, or that comes back, was no transition."""
    if pause.claimed_at != (None if claim is None else claim.at):
        yield "is not marked as claimed when its events say"
    if over and pause.retired_at is None:
        yield "is live although the run went on without it"
    if not over and pause.retired_at is not None and needed:
        yield "is retired although it is still needed"
