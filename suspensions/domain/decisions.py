"""A human's answer to every pending call of one pinned pause. Source: store.md section 7.

Answers are keyed by call id, never by position. The result is the admission's input: canonical JSON without
time or person, so that two people who decide alike get the same receipt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from suspensions.domain import limits
from suspensions.domain.arguments import check_edit
from suspensions.domain.digests import SCHEMA_VERSION, same_digest
from suspensions.domain.errors import (
    ArgumentsChanged,
    MalformedJson,
    NotAgentReplyResumable,
    RequiresApproval,
    ResultsMismatch,
    SelfApproval,
)
from suspensions.domain.pending import require_members
from suspensions.domain.policy import Role, same_principal
from suspensions.domain.strict_json import canonical
from suspensions.domain.texts import invalid, require_identifier, require_text
from suspensions.domain.values import Outcome, PendingCall, Reason

_MEMBERS = frozenset({"call_id", "decision", "arguments", "content", "error", "note", "arguments_sha256"})
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class CallDecision:
    """One call's answer. For approval `decision` is approve or deny, for an external tool it is None."""

    call_id: str
    arguments_sha256: str
    decision: str | None = None
    arguments: str | None = None
    content: Any = None
    error: str | None = None
    note: str | None = None


def read_decisions(value: object, pointer: str = "/decisions") -> tuple[CallDecision, ...]:
    """The body's answers, each of one of the two forms. Raises: InvalidRequest with a pointer."""
    if not isinstance(value, list) or not 1 <= len(value) <= limits.MAX_CALLS:
        raise invalid(pointer, f"must be a list of 1 to {limits.MAX_CALLS} decisions")
    return tuple(_read_decision(item, f"{pointer}/{index}") for index, item in enumerate(value))


def _read_decision(value: object, pointer: str) -> CallDecision:
    members = {name: member for name, member in require_members(value, pointer, _MEMBERS).items() if member is not None}
    call_id = require_identifier(members.get("call_id"), f"{pointer}/call_id")
    seen = members.get("arguments_sha256")
    if not isinstance(seen, str) or not _SHA256.fullmatch(seen):
        raise invalid(
            f"{pointer}/arguments_sha256", "must be the SHA-256 of the arguments seen, 64 lower-case hex digits"
        )
    note = members.get("note")
    if note is not None:
        note = require_text(note, f"{pointer}/note", longest=limits.MAX_NOTE) or None
    if "decision" in members:
        return _read_approval(members, pointer, call_id, seen, note)
    if ("content" in members) == ("error" in members):
        raise invalid(pointer, "must have a decision, or exactly one of content and error")
    if "arguments" in members:
        raise invalid(f"{pointer}/arguments", "goes with an approval only")
    error = members.get("error")
    if error is not None and not isinstance(error, str):
        raise invalid(f"{pointer}/error", "must be a text")
    _require_canonical(members.get("content"), f"{pointer}/content")
    return CallDecision(call_id, seen, content=members.get("content"), error=error, note=note)


def _read_approval(members: Mapping[str, Any], pointer: str, call_id: str, seen: str, note: str | None) -> CallDecision:
    decision, arguments = members["decision"], members.get("arguments")
    if decision not in ("approve", "deny"):
        raise invalid(f"{pointer}/decision", "must be approve or deny")
    if "content" in members or "error" in members:
        raise invalid(pointer, "has a decision and a result")
    if arguments is not None:
        if decision == "deny":
            raise invalid(f"{pointer}/arguments", "goes with an approval only")
        if not isinstance(arguments, str):
            raise invalid(f"{pointer}/arguments", "must be the arguments' text")
        try:
            check_edit(arguments)
        except MalformedJson as fault:
            raise invalid(f"{pointer}/arguments", f"is not strict JSON: {fault.detail}") from None
    return CallDecision(call_id, seen, decision=decision, arguments=arguments, note=note)


def _require_canonical(content: object, pointer: str) -> None:
    if content is None or isinstance(content, str):
        return
    try:
        canonical(content)
    except ValueError:
        raise invalid(pointer, "holds a number that canonical JSON cannot carry; send it as a text") from None


def require_answerer(reason: Reason, roles: frozenset[Role]) -> None:
    """Who may answer by a decision. Raises: RequiresApproval, NotAgentReplyResumable."""
    if reason is Reason.AGENT_REPLY:
        raise NotAgentReplyResumable
    if reason is Reason.APPROVAL and Role.APPROVER not in roles:
        raise RequiresApproval


def require_bus(reason: Reason) -> None:
    """What a bus may answer. Raises: RequiresApproval, NotAgentReplyResumable."""
    if reason is Reason.APPROVAL:
        raise RequiresApproval
    if reason is not Reason.AGENT_REPLY:
        raise NotAgentReplyResumable


def require_plain_claim(reason: Reason) -> None:
    """What a plain claim may take. Raises: RequiresApproval, NotAgentReplyResumable."""
    if reason is Reason.APPROVAL:
        raise RequiresApproval
    if reason is Reason.AGENT_REPLY:
        raise NotAgentReplyResumable


def require_other_person(
    decisions: tuple[CallDecision, ...], reason: Reason, principal: str, created_by: str | None
) -> None:
    """The principal that made the pause approves none of it; a missing one fails closed. Raises: SelfApproval."""
    if reason is not Reason.APPROVAL or not any(decision.decision == "approve" for decision in decisions):
        return
    if not created_by or same_principal(principal, created_by):
        raise SelfApproval


def require_every_call_once(
    decisions: tuple[CallDecision, ...], pending: tuple[PendingCall, ...], reason: Reason
) -> dict[str, CallDecision]:
    """The decisions by call id. Raises: ResultsMismatch for an extra, missing or doubled id, or the wrong form."""
    by_id = {decision.call_id: decision for decision in decisions}
    asked = [call.id for call in pending]
    missing = [call_id for call_id in asked if call_id not in by_id]
    extra = [call_id for call_id in by_id if call_id not in set(asked)]
    if missing or extra or len(by_id) != len(decisions):
        said = [
            *(f"{call_id!r} is not answered" for call_id in missing[:8]),
            *(f"{call_id!r} is not a pending call" for call_id in extra[:8]),
            *(["one call is answered twice"] if len(by_id) != len(decisions) else []),
        ]
        raise ResultsMismatch(f"A decision answers every pending call exactly once: {'; '.join(said)}.")
    if any((decision.decision is not None) != (reason is Reason.APPROVAL) for decision in decisions):
        form = "approve or deny" if reason is Reason.APPROVAL else "content or error"
        raise ResultsMismatch(f"Each call of this pause is answered with {form}.")
    return by_id


def require_arguments_seen(by_id: Mapping[str, CallDecision], pending: tuple[PendingCall, ...]) -> None:
    """Raises: ArgumentsChanged where the stored text is not the one that was seen."""
    for call in pending:
        if not same_digest(by_id[call.id].arguments_sha256, call.arguments_sha256):
            raise ArgumentsChanged(f"The arguments of {call.id!r} are not the ones that were seen.")


def decision_input(reason: Reason, by_id: Mapping[str, CallDecision], pending: tuple[PendingCall, ...]) -> bytes:
    """The admission's input: outcomes in pending order, in canonical JSON."""
    decisions = [_outcome(by_id[call.id], call) for call in pending]
    return canonical({"schema_version": SCHEMA_VERSION, "reason": str(reason), "decisions": decisions})


def _outcome(decision: CallDecision, call: PendingCall) -> dict[str, Any]:
    answer: dict[str, Any] = {"call_id": call.id}
    if decision.decision is not None:
        answer["outcome"] = str(Outcome.APPROVED if decision.decision == "approve" else Outcome.DENIED)
        # An edit that changes nothing is no edit: who approves alike must get the same receipt.
        if decision.arguments is not None and decision.arguments != call.arguments:
            answer["arguments"] = decision.arguments
    elif decision.error is not None:
        answer |= {"outcome": str(Outcome.FAILED), "error": decision.error}
    else:
        answer |= {"outcome": str(Outcome.COMPLETED), "content": decision.content}
    if decision.note is not None:
        answer["note"] = decision.note
    return answer


@dataclass(frozen=True, slots=True)
class DecisionAnswer:
    """A person's decisions, with who makes them: what the admission core asks of any answer."""

    decisions: tuple[CallDecision, ...]
    principal: str
    roles: frozenset[Role]

    def build_input(self, reason: Reason, pending: tuple[PendingCall, ...]) -> bytes:
        """Raises: ResultsMismatch where the decisions do not answer these calls."""
        return decision_input(reason, require_every_call_once(self.decisions, pending, reason), pending)

    def check(self, reason: Reason, pending: tuple[PendingCall, ...], created_by: str) -> None:
        """The refusals that follow the pinned claim's, in their order.

        Raises: RequiresApproval, NotAgentReplyResumable, SelfApproval, ResultsMismatch, ArgumentsChanged.
        """
        require_answerer(reason, self.roles)
        require_other_person(self.decisions, reason, self.principal, created_by)
        by_id = require_every_call_once(self.decisions, pending, reason)
        require_arguments_seen(by_id, pending)
