"""Tables, constraints and indexes. No workflow: that is the store's."""

from suspensions.models.access import Grant, Principal, ProofIssuer, Token
from suspensions.models.interactions import Interaction
from suspensions.models.receipts import Admission, Closure, Event, PurgeWindow, StartOrExpiry
from suspensions.models.runs import Progress, Run, RunContent, RunResult
from suspensions.models.suspensions import Suspension, SuspensionContinuation

__all__ = [
    "Admission",
    "Closure",
    "Event",
    "Grant",
    "Interaction",
    "Principal",
    "Progress",
    "ProofIssuer",
    "PurgeWindow",
    "Run",
    "RunContent",
    "RunResult",
    "StartOrExpiry",
    "Suspension",
    "SuspensionContinuation",
    "Token",
]
