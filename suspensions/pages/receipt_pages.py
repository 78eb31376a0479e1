"""Makes the page of one receipt: its members, the object its digest is made of, its chain, what Verify found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from suspensions.domain import verification
from suspensions.domain.errors import MalformedJson
from suspensions.domain.receipt_objects import Receipt, hashed_object, kind_of
from suspensions.domain.strict_json import canonical, dumps, loads
from suspensions.domain.values import Admission, Closure, Expiry, Reason, Start
from suspensions.pages.arguments import changes
from suspensions.pages.contexts import (
    ChainNode,
    Check,
    DecidedCall,
    Fact,
    Link,
    Member,
    ReceiptPage,
    Verification,
    VerifyBox,
)
from suspensions.pages.folding import TEXT_LIMIT, fold
from suspensions.pages.formats import short_id
from suspensions.pages.lives import actor_words
from suspensions.pages.standings import outcome_words, outcomes_of, summary
from suspensions.pages.visits import Visit
from suspensions.queries.pause_page import PauseRead

_DIGEST_TITLES = {
    "admission": "Request digest",
    "start": "Start digest",
    "expiry": "Expiry digest",
    "closure": "Request digest",
}
_LISTS = {"admission": "Admissions", "start": "Starts", "expiry": "Expiries", "closure": "Closures"}
_CHECKS = {
    "input_sha256": "Input",
    "request_digest": "Request digest",
    "suspension_digest": "Pause digest",
    "admission": "Names the admission",
    "start_digest": "Names the start",
    "proof_digest": "Proof",
    "record_sha256": "Every stored member",
    "event": "Event in the run's chain",
    "event_hash": "Hash of the event",
    "chain": "Chain of the run",
    "readable": "Stored receipt",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One receipt of a pause, with the names of those who stand in it."""

    kind: str
    read: PauseRead
    receipt: Receipt
    names: Mapping[str, str]


def receipt_of(kind: str, read: PauseRead) -> Receipt | None:
    """The pause's receipt of this kind."""
    found = {"admission": read.admission, "closure": read.closure}.get(kind, read.outcome)
    return found if found is not None and kind_of(found) == kind else None


def at_and_actor(receipt: Receipt) -> tuple[datetime, Any]:
    match receipt:
        case Admission():
            return receipt.admitted_at, receipt.admitted_by
        case Start():
            return receipt.started_at, receipt.started_by
        case Expiry():
            return receipt.expired_at, receipt.expired_by
        case Closure():
            return receipt.closed_at, receipt.closed_by


def receipt_page(visit: Visit, shown: Shown, verified: Sequence[verification.Check] | None = None) -> ReceiptPage:
    read, receipt, kind = shown.read, shown.receipt, shown.kind
    pause = read.pause
    domain, members = hashed_object(receipt)
    admission = receipt if isinstance(receipt, Admission) else None
    return ReceiptPage(
        chrome=visit.chrome("Receipts"),
        kind=kind,
        title=f"{kind.capitalize()} receipt",
        lede=_lede(shown),
        chain=_chain(visit, shown),
        digest_title=_DIGEST_TITLES[kind],
        digest=receipt.digest,
        domain=domain,
        members=list(_flat(members)),
        canonical=canonical(members).decode(),
        facts=_facts(visit, shown),
        verify=verify_box(visit, shown, verified),
        crumbs=[
            Link("Receipts", visit.href("receipts")),
            Link(_LISTS[kind], visit.href("receipts", kind="" if kind == "admission" else kind)),
            Link(short_id(pause.id), ""),
        ],
        download_href=visit.href("receipt_json", kind, pause.run_id, pause.id),
        input_outcomes=_outcomes(read) if admission else (),
        input_text=fold(_text(admission.input), TEXT_LIMIT) if admission and admission.input else None,
        input_size=admission.input_bytes if admission else 0,
        schema_version=receipt.request.schema_version if isinstance(receipt, Closure) else receipt.schema_version,
    )


def _text(content: bytes) -> str:
    return content.decode("utf-8", errors="backslashreplace")


def _flat(members: Mapping[str, Any], prefix: str = "") -> list[Member]:
    """Members by dotted names, values as JSON writes them, texts without their quotes."""
    flat: list[Member] = []
    for name, value in members.items():
        if isinstance(value, Mapping):
            flat += _flat(value, f"{prefix}{name}.")
        else:
            flat.append(Member(f"{prefix}{name}", value if isinstance(value, str) else dumps(value).decode()))
    return flat


def _lede(shown: Shown) -> str:
    read = shown.read
    agent = read.run.agent_name or "an unnamed agent"
    _, actor = at_and_actor(shown.receipt)
    who = actor_words(actor, shown.names)
    match shown.receipt:
        case Admission():
            if read.pause.reason is Reason.AGENT_REPLY:
                return f"{who} answered {agent} through the bus."
            return f"{who} answered {agent}: {_answer(read)}. Only this answer counts."
        case Start():
            owner = shown.receipt.lease_owner
            return f"Execution was granted to {owner or who}, once. Nobody is granted it again."
        case Expiry():
            return "The answer was admitted, and no worker started it in time. The run failed, and nothing was run."
        case Closure():
            request = shown.receipt.request
            return (
                f"{who} ended the run as incomplete, on the word of {request.issuer}/{request.issuer_revision} that "
                "every worker is quiet for good. No output was accepted, and nothing is run again."
            )


_NAMED_CALLS = 3


def _answer(read: PauseRead) -> str:
    """What was decided, by the calls' names where they are few."""
    decided = outcomes_of(read)
    if len(read.pause.pending) > _NAMED_CALLS:
        return summary(decided)
    return ", ".join(
        f"{call.name} {outcome_words(decided[call.id])}" for call in read.pause.pending if call.id in decided
    )


def _chain(visit: Visit, shown: Shown) -> list[ChainNode]:
    read = shown.read
    expired = isinstance(read.outcome, Expiry)
    nodes = [
        _node(visit, shown, "admission", read.admission, ""),
        _node(visit, shown, "expiry", read.outcome, "")
        if expired
        else _node(visit, shown, "start", read.outcome, "Not started yet"),
    ]
    if not expired:
        nodes.append(_node(visit, shown, "closure", read.closure, "Not closed"))
    return nodes


def _node(visit: Visit, shown: Shown, kind: str, receipt: Receipt | None, missing: str) -> ChainNode:
    if receipt is None:
        return ChainNode(kind, "", missing=missing)
    at, actor = at_and_actor(receipt)
    owner = receipt.lease_owner if isinstance(receipt, Start) else None
    pause = shown.read.pause
    return ChainNode(
        kind,
        visit.href("receipt", kind, pause.run_id, pause.id),
        at,
        f"worker {owner}" if owner else actor_words(actor, shown.names),
        receipt.digest,
        here=kind == shown.kind,
    )


def _facts(visit: Visit, shown: Shown) -> list[Fact]:
    pause, receipt = shown.read.pause, shown.receipt
    at, actor = at_and_actor(receipt)
    facts = [
        Fact("Run", pause.run_id, "data", visit.href("run", pause.run_id)),
        Fact("Pause", pause.id, "data", visit.href("pause", pause.id)),
        Fact("Scope", pause.scope.text, "scope"),
    ]
    word = {"admission": "Admitted", "start": "Started", "expiry": "Expired", "closure": "Closed"}[shown.kind]
    facts += [
        Fact(f"{word} at", kind="utc", at=at),
        Fact(f"{word} by", actor_words(actor, shown.names), aside=actor.via if actor.via == "session" else ""),
    ]
    facts += _more_facts(receipt)
    return [
        *facts,
        Fact("Event", receipt.event_id, "data"),
        Fact("Record", receipt.record_sha256, "digest"),
    ]


def _more_facts(receipt: Receipt) -> list[Fact]:
    match receipt:
        case Admission():
            start_by = receipt.start_by
            return [
                Fact("Reason", receipt.reason.value.replace("_", " ")),
                Fact("Pinned revision", str(receipt.version.run_revision), aside="of the paused run that was answered"),
                Fact("Claimed revision", str(receipt.claimed_revision), aside="of the run since the answer was taken"),
                Fact("Start by", kind="utc", at=start_by) if start_by else Fact("Start by", "No deadline"),
                Fact("Pause digest", receipt.suspension_digest, "digest"),
                *_lease_facts(receipt.lease_owner, receipt.lease_epoch),
            ]
        case Start():
            return [
                *_lease_facts(receipt.lease_owner, receipt.lease_epoch),
                *([Fact("Request id", receipt.request_id, "data")] if receipt.request_id else []),
                Fact("Admission", receipt.request_digest, "digest"),
            ]
        case Expiry():
            return [
                Fact("Run revision", str(receipt.run_revision)),
                Fact("Admission", receipt.request_digest, "digest"),
            ]
        case Closure():
            request = receipt.request
            return [
                Fact("Issuer", f"{request.issuer}/{request.issuer_revision}", "data"),
                Fact("Proof", request.proof_ref, "data"),
                Fact("Observed at", kind="utc", at=request.observed_at),
                Fact("Proof expires", kind="utc", at=request.expires_at),
                Fact("Run revision", str(receipt.run_revision)),
            ]


def _lease_facts(owner: str | None, epoch: int | None) -> list[Fact]:
    return [Fact("Lease", owner, "data", aside=f"epoch {epoch}")] if owner else [Fact("Lease", "none taken")]


def _outcomes(read: PauseRead) -> list[DecidedCall]:
    decided = outcomes_of(read)
    outcomes = []
    for number, call in enumerate(read.pause.pending, start=1):
        made = decided.get(call.id)
        if made is not None:
            edited = made.get("arguments")
            note = f", note “{made['note']}”" if made.get("note") else ""
            changed = changes(call.arguments, edited) if edited is not None else ()
            outcomes.append(DecidedCall(number, call.name, f"{outcome_words(made)}{note}", changed))
    return outcomes


def verify_box(visit: Visit, shown: Shown, verified: Sequence[verification.Check] | None) -> VerifyBox:
    pause = shown.read.pause
    action = visit.href("verify", shown.kind, pause.run_id, pause.id)
    if verified is None:
        return VerifyBox(action, None, visit.now)
    return VerifyBox(action, Verification(visit.now, [_check(check) for check in verified]), visit.now)


def _check(check: verification.Check) -> Check:
    word = ("equal" if check.computed else "linked") if check.ok else "differs" if check.computed else "broken"
    return Check(_CHECKS.get(check.name, check.name), check.ok, word, check.stored, check.computed, check.detail)


def document(shown: Shown) -> bytes:
    """The receipt as a JSON file, with everything that is needed to recompute it."""
    receipt = shown.receipt
    domain, members = hashed_object(receipt)
    content = receipt.input if isinstance(receipt, Admission) else None
    whole: dict[str, Any] = {
        "kind": shown.kind,
        "digest": receipt.digest,
        "digest_domain": domain,
        "digest_object": members,
        "record_sha256": receipt.record_sha256,
        "record_domain": "cortex/record/v1",
        "record": receipt.record(),
    }
    if content is not None:
        whole["input"] = _input(content)
    return dumps(whole)


def _input(content: bytes) -> Any:
    """A decision as the JSON that it is; a peer's reply may be any bytes."""
    try:
        return loads(content)
    except MalformedJson:
        return _text(content)
