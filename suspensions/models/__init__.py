"""Tables, constraints and indexes. No workflow: that is the store's."""

from suspensions.models.access import Grant, Looking, Principal, ProofIssuer, Token
from suspensions.models.beats import Beat
from suspensions.models.interactions import Interaction
from suspensions.models.receipts import Admission, Closure, Event, StartOrExpiry
from suspensions.models.retention import Checkpoint, CheckpointHead, PurgeRecord, PurgeRecordHead, PurgeWindow
from suspensions.models.runs import Progress, Run, RunContent, RunResult
from suspensions.models.suspensions import Suspension, SuspensionContinuation
from suspensions.models.webhooks import Webhook, WebhookDelivery, WebhookPosition

__all__ = [
    "Admission",
    "Beat",
    "Checkpoint",
    "CheckpointHead",
    "Closure",
    "Event",
    "Grant",
    "Interaction",
    "Looking",
    "Principal",
    "Progress",
    "ProofIssuer",
    "PurgeRecord",
    "PurgeRecordHead",
    "PurgeWindow",
    "Run",
    "RunContent",
    "RunResult",
    "StartOrExpiry",
    "Suspension",
    "SuspensionContinuation",
    "Token",
    "Webhook",
    "WebhookDelivery",
    "WebhookPosition",
]
