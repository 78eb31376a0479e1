"""The decision form as it was posted, and the decisions that it makes. Source: pages.md, "One pause".

The field names are a contract with the template: ``call-{i}-id``, ``-arguments_sha256``, ``-decision`` (approve,
edit, deny), ``-arguments``, ``-note``, and for external tools ``-kind`` (content, error) and ``-result``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from suspensions.domain import limits
from suspensions.domain.arguments import normalise_typed
from suspensions.domain.decisions import CallDecision, read_decisions
from suspensions.domain.errors import InvalidRequest
from suspensions.domain.texts import invalid
from suspensions.domain.values import PendingCall, Reason
from suspensions.pages.arguments import edited_text
from suspensions.pages.contexts import KeptText

CHOOSE = "Choose approve, edit or deny."
CHOOSE_KIND = "Choose Result or Error first."
EMPTY = "Empty. Type the result, or choose Error and say what went wrong."


@dataclass(frozen=True, slots=True)
class TypedCall:
    """What was chosen and typed for one call."""

    index: int
    call_id: str = ""
    arguments_sha256: str = ""
    decision: str = ""
    arguments: str = ""
    note: str = ""
    kind: str = ""
    result: str = ""


@dataclass(frozen=True, slots=True)
class TypedForm:
    """The whole form. Texts have the line ends that they would have had through the API."""

    run_revision: int
    calls: tuple[TypedCall, ...]

    def of(self, call_id: str) -> TypedCall | None:
        return next((typed for typed in self.calls if typed.call_id == call_id), None)


@dataclass(frozen=True, slots=True)
class Faults:
    """What must be mended before the form can be sent, by call id."""

    decision: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    result: dict[str, str] = field(default_factory=dict)
    note: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.decision or self.arguments or self.result or self.note)


def read_form(posted: Mapping[str, str]) -> TypedForm:
    """The fields of the form. Raises: InvalidRequest where those that no person types are not what was sent out."""
    revision = posted.get("run_revision", "")
    if not (revision.isascii() and revision.isdigit() and len(revision) < 20):
        raise invalid("/run_revision", "must be a whole number")
    calls = []
    for index in range(limits.MAX_CALLS):
        if f"call-{index}-id" not in posted:
            break
        calls.append(_read_call(posted, index))
    return TypedForm(int(revision), tuple(calls))


def read_kept(kept: Mapping[str, str]) -> TypedForm | None:
    """What was typed before a session ended, where it is such a form."""
    try:
        return read_form({"run_revision": "0", **kept}) if kept else None
    except InvalidRequest:
        return None


def _read_call(posted: Mapping[str, str], index: int) -> TypedCall:
    def text(name: str) -> str:
        return normalise_typed(posted.get(f"call-{index}-{name}", ""))

    return TypedCall(
        index=index,
        call_id=posted[f"call-{index}-id"],
        arguments_sha256=text("arguments_sha256"),
        decision=text("decision"),
        arguments=text("arguments"),
        note=text("note"),
        kind=text("kind"),
        result=text("result"),
    )


def make_decisions(
    form: TypedForm, pending: Sequence[PendingCall], reason: Reason
) -> tuple[tuple[CallDecision, ...], Faults]:
    """The decisions, or what is missing of them. Whether they answer the pause is the store's to say."""
    originals = {call.id: call.arguments for call in pending}
    made: list[CallDecision] = []
    faults = Faults()
    for typed in form.calls:
        member = (
            _approval(typed, originals.get(typed.call_id, ""), faults)
            if reason is Reason.APPROVAL
            else _result(typed, faults)
        )
        if member is None:
            continue
        try:
            made += read_decisions([member])
        except InvalidRequest as refusal:
            _place(refusal, typed.call_id, faults)
    return tuple(made), faults


def _approval(typed: TypedCall, original: str, faults: Faults) -> dict[str, Any] | None:
    if typed.decision not in ("approve", "edit", "deny"):
        faults.decision[typed.call_id] = CHOOSE
        return None
    member = _member(typed) | {"decision": "deny" if typed.decision == "deny" else "approve"}
    edited = edited_text(typed.arguments, original) if typed.decision == "edit" else None
    return member if edited is None else member | {"arguments": edited}


def _result(typed: TypedCall, faults: Faults) -> dict[str, Any] | None:
    if typed.kind not in ("content", "error"):
        faults.result[typed.call_id] = CHOOSE_KIND
        return None
    if not typed.result:
        faults.result[typed.call_id] = EMPTY
        return None
    return _member(typed) | {typed.kind: typed.result}


def _member(typed: TypedCall) -> dict[str, Any]:
    return {
        "call_id": typed.call_id,
        "arguments_sha256": typed.arguments_sha256,
        "note": typed.note or None,
    }


def _place(refusal: InvalidRequest, call_id: str, faults: Faults) -> None:
    """Put a fault at its field. Raises: the refusal, where it is of a field that no person types."""
    for fault in refusal.faults:
        name = fault.pointer.rpartition("/")[2]
        if name == "arguments":
            faults.arguments[call_id] = f"This {fault.detail}".replace("This is not strict JSON", "Not JSON") + "."
        elif name == "note":
            faults.note[call_id] = f"The note {fault.detail}."
        elif name in ("content", "error"):
            faults.result[call_id] = f"The result {fault.detail}."
        else:
            raise refusal


def kept_texts(form: TypedForm | None) -> list[KeptText]:
    """What was typed and not taken, to be copied."""
    kept: list[KeptText] = []
    for typed in () if form is None else form.calls:
        number = typed.index + 1
        if typed.decision == "edit" and typed.arguments:
            kept.append(KeptText(f"Edited arguments of call {number}", typed.arguments))
        if typed.result:
            kept.append(KeptText(f"Result of call {number}", typed.result))
        if typed.note:
            kept.append(KeptText(f"Note for call {number}", typed.note))
    return kept
