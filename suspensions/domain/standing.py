"""Where a pause stands for whoever looks at it: whether it can be answered, and if not, what became of it.

The store decides by itself when an answer comes; this only says beforehand, and afterwards in one word.
Source: store.md sections 1 and 3; pages.md, "One pause".
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from suspensions.domain.policy import Role
from suspensions.domain.states import ResumeState, RunState
from suspensions.domain.values import Admission, Closure, Expiry, Reason, Run, Start, Suspension


class Stand(StrEnum):
    OPEN = "open"
    LATE = "late"  # the deadline has passed and the sweep has not been here yet
    ADMITTED = "admitted"
    STARTED = "started"
    LAPSED = "lapsed"  # admitted, and no worker started it in time
    CLOSED = "closed"
    TAKEN = "taken"  # claimed without an answer: the agent reports the result itself, or the sweep is at it
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    GONE = "gone"  # retired in another way


def stand_of(
    pause: Suspension,
    state: RunState,
    now: datetime,
    admission: Admission | None = None,
    outcome: Start | Expiry | None = None,
    closure: Closure | None = None,
) -> Stand:
    """Where the pause stands."""
    if admission is not None:
        return _answered(pause, state, outcome, closure)
    if pause.retired_at is not None:
        return _retired(pause, state)
    if pause.claimed_at is not None or state is not RunState.PAUSED:
        return Stand.TAKEN
    return Stand.LATE if pause.expires_at is not None and pause.expires_at <= now else Stand.OPEN


def _answered(pause: Suspension, state: RunState, outcome: Start | Expiry | None, closure: Closure | None) -> Stand:
    if closure is not None:
        return Stand.CLOSED
    if outcome is not None:
        return Stand.LAPSED if isinstance(outcome, Expiry) else Stand.STARTED
    return Stand.CANCELLED if pause.retired_at and state is RunState.CANCELLED else Stand.ADMITTED


def _retired(pause: Suspension, state: RunState) -> Stand:
    if state is RunState.CANCELLED:
        return Stand.CANCELLED
    late = pause.expires_at is not None and pause.claimed_at is not None and pause.expires_at <= pause.claimed_at
    return Stand.TIMED_OUT if state is RunState.FAILED and late else Stand.GONE


def is_uncertain(run: Run, now: datetime, silent_for: timedelta, start: Start | None = None) -> bool:
    """Whether its resume was started and nothing more is heard.

    The lease lapsed, or the one that `start` gave was given up; without any, nobody was heard of for so long.
    """
    if run.state is not RunState.RUNNING or run.resume is not ResumeState.STARTED:
        return False
    if run.lease is not None:
        return run.lease.lapsed(now)
    return bool(start is not None and start.lease_owner) or run.updated_at <= now - silent_for


class Closing(StrEnum):
    """Whether a run's last resume can be closed as incomplete, for whoever thinks of doing it."""

    OPEN = "open"
    HELD = "held"  # a worker's lease is live: it works, or will lapse
    NO_START = "no_start"  # nothing was started, so nothing is uncertain
    CLOSED = "closed"
    OVER = "over"  # the run went on or ended by itself


def closing_of(run: Run, now: datetime, start: Start | Expiry | None, closure: Closure | None) -> Closing:
    """Where closing stands; `start` and `closure` are those of the run's latest admission. The store decides anew."""
    if closure is not None:
        return Closing.CLOSED
    if not isinstance(start, Start):
        return Closing.NO_START
    if run.state is not RunState.RUNNING:
        return Closing.OVER
    return Closing.HELD if run.lease is not None and not run.lease.lapsed(now) else Closing.OPEN


def answering_roles(reason: Reason) -> frozenset[Role]:
    """The roles of which one is needed to answer such a pause by a decision; none where nobody may."""
    return {
        Reason.APPROVAL: frozenset({Role.APPROVER}),
        Reason.EXTERNAL_TOOL: frozenset({Role.APPROVER, Role.AGENT}),
        Reason.AGENT_REPLY: frozenset[Role](),
    }[reason]
