"""Whether a run's receipts and events are whole: every digest recomputed, every link followed.

Pure: it takes what was stored and names each row that fails. It grants nothing. Source: store.md sections 4 and 10.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from suspensions.domain.digests import RECORD, digest, same_digest, sha256_hex
from suspensions.domain.question_history import QuestionRow, verify_questions
from suspensions.domain.run_history import PauseRow, RunColumns, verify_history
from suspensions.domain.states import RunState
from suspensions.domain.values import (
    Admission,
    Closure,
    Event,
    EventType,
    Expiry,
    Start,
    Suspension,
    admission_request_digest,
    suspension_digest,
)

Receipt = Admission | Start | Expiry | Closure


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was recomputed: a name, whether it holds, and a sentence; both digests where it is of digests."""

    name: str
    ok: bool
    detail: str
    stored: str = ""
    computed: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One row that fails: its kind, its id, the chain it belongs to, and what is wrong."""

    kind: str
    id: str
    chain: str
    detail: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A stored row that no longer reads as what it claims to be."""

    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class Head:
    """What the run (or the interaction) keeps of its chain; `state` and `revision` are a run's."""

    position: int
    hash: str | None
    state: str | None = None
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """Everything stored of one chain. Contents are the bytes that lie in the database now."""

    chain: str
    head: Head | None
    events: Sequence[Event]
    admissions: Sequence[Admission] = ()
    starts: Sequence[Start] = ()
    expiries: Sequence[Expiry] = ()
    closures: Sequence[Closure] = ()
    run: RunColumns | None = None
    pauses: Mapping[str, PauseRow] = field(default_factory=dict)
    questions: Mapping[str, QuestionRow] = field(default_factory=dict)
    proofs: Mapping[str, bytes] = field(default_factory=dict)
    unreadable: Sequence[Unreadable] = ()
    misfiled: Sequence[Finding] = ()


def require_recomputable(row: Event | Receipt | Suspension) -> None:
    """Raises: ValueError, TypeError where a digest over the row cannot be recomputed at all.

    Such a row parses, and yet holds a number that no canonical JSON carries, or an instant without a zone.
    """
    match row:
        case Event():
            row.compute_hash()
        case Suspension():
            suspension_digest(row.id, row.run_id, row.scope, row.reason, "", "", row.expires_at)
        case Closure():
            digest(RECORD, row.record())
            row.request.digest()
        case _:
            digest(RECORD, row.record())
            same_digest(row.digest, "")


# -- one receipt -------------------------------------------------------------------------------------


def check_admission(admission: Admission, event: Event | None, row: PauseRow | None) -> list[Check]:
    """`admission.input` holds the stored bytes; `row` is what is stored of its pause now, None where that is gone."""
    content = admission.input or b""
    request = admission_request_digest(admission.scope, admission.version, sha256_hex(content), len(content))
    checks = [
        _same("input_sha256", sha256_hex(content), admission.input_sha256, "The stored input has its digest."),
        _same("request_digest", request, admission.request_digest, "Input, pause and revision are the ones admitted."),
        *_common(admission, event, EventType.RESUME_ADMITTED),
    ]
    if row is not None:
        stored = row.compute_digest()
        checks.append(
            _same("suspension_digest", stored, admission.suspension_digest, "The pause is still the one admitted.")
        )
    return checks


def check_start(start: Start, event: Event | None, admission: Admission | None) -> list[Check]:
    return [*_names_admission(start.request_digest, admission), *_common(start, event, EventType.RESUME_STARTED)]


def check_expiry(expiry: Expiry, event: Event | None, admission: Admission | None) -> list[Check]:
    return [*_names_admission(expiry.request_digest, admission), *_common(expiry, event, EventType.RESUME_EXPIRED)]


def check_closure(
    closure: Closure, event: Event | None, admission: Admission | None, start: Start | None, proof: bytes
) -> list[Check]:
    request = closure.request
    return [
        _same("request_digest", request.digest(), closure.request_digest, "The thirteen members have their digest."),
        *_names_admission(request.admission_digest, admission),
        _same(
            "start_digest",
            "" if start is None else start.digest,
            request.start_digest,
            "It closes the start that is stored.",
        ),
        _same("proof_digest", sha256_hex(proof), request.proof_digest, "The retained proof has its digest."),
        *_common(closure, event, EventType.RESUME_CLOSED),
    ]


def _names_admission(request_digest: str, admission: Admission | None) -> list[Check]:
    stored = "" if admission is None else admission.request_digest
    return [_same("admission", stored, request_digest, "It names the admission that is stored.")]


def _common(receipt: Receipt, event: Event | None, kind: EventType) -> list[Check]:
    record = digest(RECORD, receipt.record())
    linked = event is not None and event.type is kind and event.record_sha256 == receipt.record_sha256
    hashed = event is not None and same_digest(event.compute_hash(), event.hash)
    return [
        _same("record_sha256", record, receipt.record_sha256, "Every stored member is as it was written."),
        Check("event", linked, "The run's chain holds its event." if linked else "The run's chain lacks its event."),
        Check("event_hash", hashed, "The event has its hash." if hashed else "The event does not have its hash."),
    ]


def _same(name: str, recomputed: str, stored: str, holds: str) -> Check:
    ok = same_digest(recomputed, stored)
    said = holds if ok else f"Recomputed {recomputed or 'nothing'}, stored {stored}."
    return Check(name, ok, said, stored, recomputed)


# -- a whole chain -----------------------------------------------------------------------------------


def verify_chain(stored: Stored) -> list[Finding]:
    """Every row of a chain that was changed, removed, reordered or invented, by name."""
    by_id = {event.id: event for event in stored.events}
    findings = [Finding(row.kind, row.id, stored.chain, "cannot be read any more") for row in stored.unreadable]
    findings += stored.misfiled
    broken = list(_verify_links(stored))
    findings += broken
    admissions = {admission.version.suspension_id: admission for admission in stored.admissions}
    starts = {start.version.suspension_id: start for start in stored.starts}
    told: set[str] = set()
    for kind, receipt, checks in _receipt_checks(stored, by_id, admissions, starts):
        told.add(receipt.event_id)
        failed = [f"{check.name}: {check.detail}" for check in checks if not check.ok]
        if failed:
            findings.append(Finding(kind, _suspension_id(receipt), stored.chain, "; ".join(failed)))
    unreadable = {row.id for row in stored.unreadable}
    for event in stored.events:
        if event.record_sha256 is not None and event.id not in told and event.suspension_id not in unreadable:
            findings.append(Finding("event", event.id, stored.chain, "its receipt was removed"))
    # A chain that is broken itself is no measure of anything else.
    return findings if broken else [*findings, *_verify_history(stored, frozenset(unreadable))]


def _verify_history(stored: Stored, unreadable: frozenset[str]) -> Iterator[Finding]:
    events = sorted(stored.events, key=lambda event: event.position)
    if stored.run is not None:
        start_bys = {admission.version.suspension_id: admission.start_by for admission in stored.admissions}
        faults = verify_history(stored.chain, events, stored.run, stored.pauses, start_bys, unreadable)
        yield from (Finding(kind, row_id, stored.chain, detail) for kind, row_id, detail in faults)
    if stored.head is not None:
        faulty = verify_questions(events, stored.questions)
        yield from (
            Finding("interaction", row_id, stored.chain, said) for row_id, said in faulty if row_id not in unreadable
        )


def _receipt_checks(
    stored: Stored,
    events: Mapping[str, Event],
    admissions: Mapping[str, Admission],
    starts: Mapping[str, Start],
) -> Iterator[tuple[str, Receipt, list[Check]]]:
    for admission in stored.admissions:
        row = stored.pauses.get(admission.version.suspension_id)
        yield "admission", admission, check_admission(admission, events.get(admission.event_id), row)
    for start in stored.starts:
        admitted = admissions.get(start.version.suspension_id)
        yield "start", start, check_start(start, events.get(start.event_id), admitted)
    for expiry in stored.expiries:
        admitted = admissions.get(expiry.version.suspension_id)
        yield "expiry", expiry, check_expiry(expiry, events.get(expiry.event_id), admitted)
    for closure in stored.closures:
        suspension_id = closure.request.version.suspension_id
        proof = stored.proofs.get(suspension_id, b"")
        event, admitted = events.get(closure.event_id), admissions.get(suspension_id)
        yield "closure", closure, check_closure(closure, event, admitted, starts.get(suspension_id), proof)


def _suspension_id(receipt: Receipt) -> str:
    return receipt.request.version.suspension_id if isinstance(receipt, Closure) else receipt.version.suspension_id


def _verify_links(stored: Stored) -> Iterator[Finding]:
    previous: str | None = None
    expected = 1
    for event in sorted(stored.events, key=lambda event: event.position):
        wrong = []
        if event.position != expected:
            wrong.append(f"stands at {event.position}, where {expected} is expected: a row was removed or added")
        if event.previous != previous:
            wrong.append("does not name the hash of the one before")
        if not same_digest(event.compute_hash(), event.hash):
            wrong.append("does not have its hash")
        if wrong:
            yield Finding("event", event.id, stored.chain, "; ".join(wrong))
        previous, expected = event.hash, event.position + 1
    yield from _verify_head(stored, previous, expected - 1)


def _verify_head(stored: Stored, last_hash: str | None, last_position: int) -> Iterator[Finding]:
    head = stored.head
    if head is None:
        if stored.events:
            yield Finding("run", stored.chain, stored.chain, "was removed; its events are still there")
        return
    if (head.position, head.hash) != (last_position, last_hash):
        yield Finding(
            "run", stored.chain, stored.chain, f"keeps position {head.position}, its events end at {last_position}"
        )
        return
    if head.revision is None or not stored.events:
        return
    last = max(stored.events, key=lambda event: event.position)
    if head.revision != last.revision:
        yield Finding(
            "run", stored.chain, stored.chain, f"is at revision {head.revision}, its last event at {last.revision}"
        )
    if head.state != state_after(stored.events):
        yield Finding(
            "run", stored.chain, stored.chain, f"is {head.state}, its events say {state_after(stored.events)}"
        )


_LEADS_TO = {
    EventType.RUN_CREATED: RunState.RUNNING,
    EventType.RUN_PAUSED: RunState.PAUSED,
    EventType.RUN_CLAIMED: RunState.RUNNING,
    EventType.RESUME_ADMITTED: RunState.RUNNING,
    EventType.RUN_CANCELLED: RunState.CANCELLED,
    EventType.RUN_EXPIRED: RunState.FAILED,
    EventType.RESUME_EXPIRED: RunState.FAILED,
    EventType.RESUME_CLOSED: RunState.INCOMPLETE,
}


def state_after(events: Iterable[Event]) -> str | None:
    """The state that the events lead a run to."""
    state: str | None = None
    for event in sorted(events, key=lambda event: event.position):
        if event.type is EventType.RUN_FINISHED:
            state = str(event.data.get("outcome"))
        elif event.type in _LEADS_TO:
            state = _LEADS_TO[event.type].value
    return state
