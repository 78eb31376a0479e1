"""The states of a run and what each action does in each of them: one pure table.

The store enforces it, the pages take their buttons from it. Source: store.md sections 1 and 3.
"""

from __future__ import annotations

from enum import StrEnum


class RunState(StrEnum):
    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INCOMPLETE = "incomplete"


ENDED = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED, RunState.INCOMPLETE})
OUTCOMES = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED, RunState.INCOMPLETE)


class ResumeState(StrEnum):
    """Where the run's latest admission stands while it decides who may touch the run."""

    ADMITTED = "admitted"
    STARTED = "started"


class Action(StrEnum):
    PAUSE = "pause"
    CLAIM = "claim"
    CLAIM_CONTINUATION = "claim_continuation"
    ADMIT = "admit"
    START = "start"
    EXPIRE = "expire"
    CLOSE = "close"
    FINISH = "finish"
    CANCEL = "cancel"
    SAVE_PROGRESS = "save_progress"
    RENEW = "renew"
    RECLAIM = "reclaim"


# Which states an action may find a run in, and which it leaves it in (None: as it was).
# A pause of a *paused* run is for imported rows alone: a paused run without a live suspension gets the row.
_TABLE: dict[Action, tuple[frozenset[RunState], RunState | None]] = {
    Action.PAUSE: (frozenset({RunState.RUNNING, RunState.PAUSED}), RunState.PAUSED),
    Action.CLAIM: (frozenset({RunState.PAUSED}), RunState.RUNNING),
    Action.CLAIM_CONTINUATION: (frozenset({RunState.INCOMPLETE}), RunState.RUNNING),
    Action.ADMIT: (frozenset({RunState.PAUSED}), RunState.RUNNING),
    Action.START: (frozenset({RunState.RUNNING}), None),
    Action.EXPIRE: (frozenset({RunState.RUNNING}), RunState.FAILED),
    Action.CLOSE: (frozenset({RunState.RUNNING}), RunState.INCOMPLETE),
    Action.FINISH: (frozenset({RunState.RUNNING}), None),
    Action.CANCEL: (frozenset({RunState.RUNNING, RunState.PAUSED}), RunState.CANCELLED),
    Action.SAVE_PROGRESS: (frozenset({RunState.RUNNING}), None),
    Action.RENEW: (frozenset({RunState.RUNNING}), None),
    Action.RECLAIM: (frozenset({RunState.RUNNING}), None),
}

# While an admission has no start, expiry or closure the run is nobody's to touch: a worker could
# otherwise throw a human's answer away, or slip past a denial.
_HELD_BY_ADMISSION = frozenset({Action.FINISH, Action.PAUSE, Action.SAVE_PROGRESS, Action.RECLAIM})


def allows(action: Action, state: RunState, resume: ResumeState | None = None) -> bool:
    """Whether the state alone allows the action (leases and deadlines are asked elsewhere)."""
    if resume is ResumeState.ADMITTED and action in _HELD_BY_ADMISSION:
        return False
    return state in _TABLE[action][0]


def leads_to(action: Action, state: RunState) -> RunState:
    """The state that an allowed action leaves a run in, `state` itself where it does not move it."""
    return _TABLE[action][1] or state
