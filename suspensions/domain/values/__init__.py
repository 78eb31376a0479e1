"""Frozen values: what callers give to the store and get from it. Rows never leave the store.

Times are aware UTC datetimes, ids are TypeIDs as text, sizes are bytes.
Source: store.md sections 1 to 3.
"""

from __future__ import annotations

from suspensions.domain.values.common import SYSTEM, Actor, Json, Page, complete
from suspensions.domain.values.events import Event, EventType
from suspensions.domain.values.interactions import Interaction, NewInteraction
from suspensions.domain.values.leases import Holder, Lease, LeaseTake
from suspensions.domain.values.pauses import (
    ClaimVersion,
    Continuation,
    Ending,
    NewSuspension,
    Outcome,
    PendingCall,
    Progress,
    Reason,
    Snapshot,
    Suspension,
    SuspensionItem,
    suspension_digest,
)
from suspensions.domain.values.resumes import (
    Admission,
    AdmissionRequest,
    Closure,
    ClosureRequest,
    Expiry,
    Start,
    admission_request_digest,
)
from suspensions.domain.values.runs import NewRun, Run

__all__ = [
    "SYSTEM",
    "Actor",
    "Admission",
    "AdmissionRequest",
    "ClaimVersion",
    "Closure",
    "ClosureRequest",
    "Continuation",
    "Ending",
    "Event",
    "EventType",
    "Expiry",
    "Holder",
    "Interaction",
    "Json",
    "Lease",
    "LeaseTake",
    "NewInteraction",
    "NewRun",
    "NewSuspension",
    "Outcome",
    "Page",
    "PendingCall",
    "Progress",
    "Reason",
    "Run",
    "Snapshot",
    "Start",
    "Suspension",
    "SuspensionItem",
    "admission_request_digest",
    "complete",
    "suspension_digest",
]
