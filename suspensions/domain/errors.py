"""What the store refuses, one class per code.

Each class states a fact and carries what a caller needs to act on it; none knows of HTTP.
One table (`suspensions.problems`) maps codes to statuses.

Source: store.md sections 1 to 7, api.md "Answers".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault in a body: an RFC 6901 pointer and a sentence."""

    pointer: str
    detail: str


class CortexError(Exception):
    """A refusal: `code` names it, `detail` says it in a sentence, `members` tell a loser what it lost to."""

    code: ClassVar[str] = "internal_error"
    default_detail: ClassVar[str] = "The request was refused."
    counted = False
    """Whether it stands in the counts of refusals already."""

    def __init__(self, detail: str = "", *, faults: tuple[Fault, ...] = ()) -> None:
        self.detail = detail or self.default_detail
        self.faults = faults
        super().__init__(self.detail)

    def members(self) -> dict[str, object]:
        """Members of the refusal beside its detail, as plain values."""
        return {}


# -- malformed input -------------------------------------------------------------------------------


class MalformedJson(CortexError):
    """A body or text that is not strict JSON in UTF-8; pointer or offset where one is known."""

    code = "malformed_json"
    default_detail = "The body is not strict JSON in UTF-8."

    def __init__(self, detail: str = "", *, pointer: str | None = None, offset: int | None = None) -> None:
        self.pointer = pointer
        self.offset = offset
        super().__init__(detail, faults=() if pointer is None else (Fault(pointer, detail),))

    def members(self) -> dict[str, object]:
        return {} if self.offset is None else {"offset": self.offset}


class NoScope(CortexError):
    code = "no_scope"
    default_detail = "No scope was given."


class InvalidScope(CortexError):
    code = "invalid_scope"
    default_detail = "A scope is 1 to 3 levels of key=value, joined by a slash."


class InvalidId(CortexError):
    code = "invalid_id"
    default_detail = "The id is not of the expected form."


class InvalidCursor(CortexError):
    code = "invalid_cursor"
    default_detail = "The cursor does not belong to this list."


class InvalidLimit(CortexError):
    code = "invalid_limit"
    default_detail = "A limit is a whole number from 1 to 256."


class InvalidRequest(CortexError):
    code = "invalid_request"
    default_detail = "The request is not of the expected shape."


class InvalidContinuation(CortexError):
    code = "invalid_continuation"
    default_detail = "The continuation is not of the expected shape."


class InputTooLarge(CortexError):
    code = "input_too_large"
    default_detail = "The input is larger than 8,388,608 bytes."


class BodyTooLarge(CortexError):
    code = "body_too_large"
    default_detail = "The request body is larger than 32 MiB."


# -- authority -------------------------------------------------------------------------------------


class Unauthenticated(CortexError):
    code = "unauthenticated"
    default_detail = "Credentials are missing or not valid."


class Forbidden(CortexError):
    """The scope is granted, the role is not."""

    code = "forbidden"

    def __init__(self, roles: tuple[str, ...]) -> None:
        self.roles = roles
        super().__init__(f"This needs the role {' or '.join(roles)} in this scope.")

    def members(self) -> dict[str, object]:
        return {"roles": list(self.roles)}


class NotFound(CortexError):
    code = "not_found"
    default_detail = "There is nothing here."


class RequiresApproval(CortexError):
    code = "requires_approval"
    default_detail = "This pause waits for a decision by a principal with the role approver."


class NotAgentReplyResumable(CortexError):
    code = "not_agent_reply_resumable"
    default_detail = "This pause cannot be answered this way: a peer's reply comes through the bus alone."


class SelfApproval(CortexError):
    code = "self_approval"
    default_detail = "The principal that created this pause cannot approve any of it."


class ClosureDenied(CortexError):
    """The authorizer or the fence refused. `reason` is for the log and the operator's page only.

    `about` names the member of the request that it is about, where it is about one.
    """

    code = "closure_denied"
    default_detail = "The closure was refused."

    def __init__(self, reason: str = "", *, about: str = "") -> None:
        self.reason = reason
        self.about = about
        super().__init__()


class ClosureTimeout(CortexError):
    code = "closure_timeout"
    default_detail = "The closure took longer than 30 seconds; nothing was written."


# -- missing ---------------------------------------------------------------------------------------


class RunNotFound(CortexError):
    code = "run_not_found"
    default_detail = "There is no such run."


class SuspensionNotFound(CortexError):
    code = "suspension_not_found"
    default_detail = "There is no such suspension."


class ResumeAdmissionNotFound(CortexError):
    code = "resume_admission_not_found"
    default_detail = "There is no such resume admission."


class ResumeStartNotFound(CortexError):
    code = "resume_start_not_found"
    default_detail = "There is no such resume start."


class ResumeExpiryNotFound(CortexError):
    code = "resume_expiry_not_found"
    default_detail = "There is no such resume expiry."


class ResumeClosureNotFound(CortexError):
    code = "resume_closure_not_found"
    default_detail = "There is no such resume closure."


class ProgressNotFound(CortexError):
    code = "progress_not_found"
    default_detail = "There is no progress snapshot for this run."


class InteractionNotFound(CortexError):
    code = "interaction_not_found"
    default_detail = "There is no such interaction."


# -- conflicts -------------------------------------------------------------------------------------


class NotSuspended(CortexError):
    """The run is not paused, is gone, or lost the claim to somebody else."""

    code = "not_suspended"
    default_detail = "The run is not suspended."

    def __init__(self, state: str | None = None) -> None:
        self.state = state
        super().__init__("" if state is None else f"The run is not suspended: it is {state}.")

    def members(self) -> dict[str, object]:
        return {} if self.state is None else {"state": self.state}


class SuspensionExpired(CortexError):
    """The deadline has passed; `start_by` too where a start was refused."""

    code = "suspension_expired"

    def __init__(self, expires_at: datetime | None, start_by: datetime | None = None) -> None:
        self.expires_at = expires_at
        self.start_by = start_by
        super().__init__(
            "The pause's deadline has passed." if start_by is None else "The time to start this resume has passed."
        )

    def members(self) -> dict[str, object]:
        members: dict[str, object] = {"expires_at": self.expires_at}
        if self.start_by is not None:
            members["start_by"] = self.start_by
        return members


class RunConflict(CortexError):
    """The run moved on since the caller read it."""

    code = "run_conflict"

    def __init__(self, state: str, revision: int) -> None:
        self.state = state
        self.revision = revision
        super().__init__(f"The run is {state} at revision {revision}; the request names another moment of it.")

    def members(self) -> dict[str, object]:
        return {"run": {"state": self.state, "revision": self.revision}}


class RunLeaseLost(CortexError):
    code = "run_lease_lost"
    default_detail = "The run's lease is not held by this owner and epoch."


class RunLeaseLive(CortexError):
    code = "run_lease_live"
    default_detail = "The run's lease has not lapsed."


class AlreadyExists(CortexError):
    """Another record stands here: `existing_id` names it where the caller may know it."""

    code = "already_exists"
    default_detail = "A record with this id exists already, with other content."

    def __init__(self, detail: str = "", *, existing_id: str | None = None) -> None:
        self.existing_id = existing_id
        super().__init__(detail)

    def members(self) -> dict[str, object]:
        return {} if self.existing_id is None else {"suspension_id": self.existing_id}


class LastAdmin(CortexError):
    """Without this grant no person could manage access in the scope any more."""

    code = "invalid_state"

    def __init__(self, principal: str, scope: str) -> None:
        super().__init__(
            f"{principal} is the last admin of {scope}: nobody could manage access there any more. Make another person "
            f"admin there first. At the machine, manage.py revoke takes it all the same, and manage.py grant NAME "
            f"admin --scope {scope} gives it back."
        )


class InvalidState(CortexError):
    """The run's state does not allow this."""

    code = "invalid_state"

    def __init__(self, state: str, detail: str = "") -> None:
        self.state = state
        super().__init__(detail or f"The run is {state}; this is not possible now.")

    def members(self) -> dict[str, object]:
        return {"state": self.state}


class ScopeMismatch(CortexError):
    code = "scope_mismatch"
    default_detail = "The body names another scope than the request."


@dataclass(frozen=True, slots=True)
class WinningAdmission:
    """Who was admitted instead, and when."""

    request_digest: str
    admitted_at: datetime
    admitted_by: Mapping[str, str]


class ResumeAdmissionConflict(CortexError):
    """Another admission stands; `admission` names who was admitted and when."""

    code = "resume_admission_conflict"
    default_detail = "This pause was admitted with another answer."

    def __init__(self, admission: WinningAdmission | None = None, detail: str = "") -> None:
        self.admission = admission
        super().__init__(detail)

    def members(self) -> dict[str, object]:
        if self.admission is None:
            return {}
        return {
            "admission": {
                "request_digest": self.admission.request_digest,
                "admitted_at": self.admission.admitted_at,
                "admitted_by": dict(self.admission.admitted_by),
            }
        }


class ResumeAlreadyStarted(CortexError):
    code = "resume_already_started"
    default_detail = "The resume was started; its execution may have begun."


class ResumeNotExpired(CortexError):
    code = "resume_not_expired"
    default_detail = "The resume may still be started."


class ResumeClosureConflict(CortexError):
    code = "resume_closure_conflict"
    default_detail = "The closure does not match the run's latest admission and start, or another closure stands."


class ProofExpired(CortexError):
    code = "proof_expired"
    default_detail = "The proof is not valid at this time."


class ArgumentsChanged(CortexError):
    code = "arguments_changed"
    default_detail = "The arguments that were seen are not the stored ones."


class InteractionConflict(CortexError):
    code = "interaction_conflict"
    default_detail = "The interaction holds other content."


class InteractionResolved(CortexError):
    code = "interaction_resolved"
    default_detail = "The interaction is resolved."


class ResultsMismatch(CortexError):
    code = "results_mismatch"
    default_detail = "A decision answers every pending call exactly once."


class NotSingletonSuspension(CortexError):
    code = "not_singleton_suspension"

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(
            "The suspending tool use must be the only one of its assistant message and carry tool_use_id; "
            f"there were {count}."
        )

    def members(self) -> dict[str, object]:
        return {"count": self.count}


class ToolResultMismatch(CortexError):
    code = "tool_result_mismatch"
    default_detail = "The result must be a tool_result block for exactly this tool use."


# -- the engine ------------------------------------------------------------------------------------


class StoreBusy(CortexError):
    code = "store_busy"
    default_detail = "The store is busy; nothing was written. Try again."


class CommitUnknown(CortexError):
    code = "commit_unknown"
    default_detail = "The connection was lost while committing; repeat the identical request to find the record."


class StoredRecordBroken(CortexError):
    """A stored record no longer decodes: an error when read, never a half-restored run."""

    code = "internal_error"
    default_detail = "A stored record could not be read."
