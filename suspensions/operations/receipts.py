"""Verifying one receipt: everything about it recomputed from what is stored. Source: api.md `POST /receipts/verify`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suspensions.domain.errors import StoredRecordBroken
from suspensions.domain.policy import Caller
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Admission, Closure, Expiry, Start
from suspensions.domain.verification import (
    Check,
    Finding,
    Receipt,
    Stored,
    check_admission,
    check_closure,
    check_expiry,
    check_start,
    require_recomputable,
    verify_chain,
)
from suspensions.operations import closures, resumes
from suspensions.operations.transactions import in_transaction
from suspensions.store import evidence

_GET: dict[str, Callable[[Caller, Scope, str, str], Receipt]] = {
    "admission": resumes.get_admission,
    "start": resumes.get_start,
    "expiry": resumes.get_expiry,
    "closure": closures.get_closure,
}
KINDS = tuple(_GET)


def verify_receipt(caller: Caller, scope: Scope, kind: str, run_id: str, suspension_id: str) -> tuple[Check, ...]:
    """What was compared, one check each; the receipt is whole where all hold. It grants nothing.

    Raises: ResumeAdmissionNotFound, ResumeStartNotFound, ResumeExpiryNotFound, ResumeClosureNotFound.
    """
    caller.require(scope)
    try:
        receipt = _GET[kind](caller, scope, run_id, suspension_id)
        require_recomputable(receipt)
    except (StoredRecordBroken, ValueError, TypeError, KeyError):
        return (Check("readable", False, "The stored receipt cannot be read any more."),)
    stored = in_transaction(evidence.stored_run, run_id)
    return (*_checks(receipt, stored, suspension_id), _chain(stored, suspension_id))


def _checks(receipt: Receipt, stored: Stored, suspension_id: str) -> list[Check]:
    event = next((event for event in stored.events if event.id == receipt.event_id), None)
    admission = _of(stored.admissions, suspension_id)
    match receipt:
        case Admission():
            return check_admission(receipt, event, stored.pauses.get(suspension_id))
        case Start():
            return check_start(receipt, event, admission)
        case Expiry():
            return check_expiry(receipt, event, admission)
        case Closure():
            start, proof = _of(stored.starts, suspension_id), stored.proofs.get(suspension_id, b"")
            return check_closure(receipt, event, admission, start, proof)


def _is(finding: Finding, kind: str, row_id: str) -> bool:
    return (finding.kind, finding.id) == (kind, row_id)


def _of(receipts: Any, suspension_id: str) -> Any:
    return next((each for each in receipts if each.version.suspension_id == suspension_id), None)


def _chain(stored: Stored, suspension_id: str) -> Check:
    """Whether each event of the run names the one before, up to the head that the run keeps, and the run and the
    pause are what the events say."""
    findings = verify_chain(stored)
    broken = [found for found in findings if found.kind in ("event", "run") or _is(found, "suspension", suspension_id)]
    if not broken:
        return Check("chain", True, "Every event of the run links to the one before.")
    return Check("chain", False, f"{broken[0].kind} {broken[0].id}: {broken[0].detail}.")
