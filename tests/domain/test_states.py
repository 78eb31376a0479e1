"""The table of states: what each action may find a run in, and where it leaves it. Source: store.md section 1."""

from __future__ import annotations

import pytest

from suspensions.domain.states import ENDED, OUTCOMES, Action, ResumeState, RunState, allows, leads_to

RUNNING, PAUSED, INCOMPLETE = RunState.RUNNING, RunState.PAUSED, RunState.INCOMPLETE

# The contract's drawing, arrow by arrow: (action, from, to).
ARROWS = {
    (Action.PAUSE, RUNNING, PAUSED),
    (Action.PAUSE, PAUSED, PAUSED),  # an imported run that is paused without a live pause just gets the row
    (Action.CLAIM, PAUSED, RUNNING),
    (Action.ADMIT, PAUSED, RUNNING),
    (Action.CLAIM_CONTINUATION, INCOMPLETE, RUNNING),
    (Action.START, RUNNING, RUNNING),
    (Action.EXPIRE, RUNNING, RunState.FAILED),
    (Action.CLOSE, RUNNING, INCOMPLETE),
    (Action.FINISH, RUNNING, RUNNING),  # where to is the caller's to say
    (Action.CANCEL, RUNNING, RunState.CANCELLED),
    (Action.CANCEL, PAUSED, RunState.CANCELLED),
    (Action.SAVE_PROGRESS, RUNNING, RUNNING),
    (Action.RENEW, RUNNING, RUNNING),
    (Action.RECLAIM, RUNNING, RUNNING),
}
HELD_BY_AN_ADMISSION = {Action.FINISH, Action.PAUSE, Action.SAVE_PROGRESS, Action.RECLAIM}

each_pair = pytest.mark.parametrize(
    ("action", "state"), [(action, state) for action in Action for state in RunState], ids=str
)


@each_pair
def test_an_action_is_allowed_where_the_drawing_has_an_arrow(action: Action, state: RunState) -> None:
    arrows = [to for drawn, start, to in ARROWS if (drawn, start) == (action, state)]

    assert allows(action, state) == bool(arrows)
    if arrows:
        assert leads_to(action, state) is arrows[0]


@each_pair
def test_an_admitted_run_that_was_not_started_is_nobodys_to_touch(action: Action, state: RunState) -> None:
    expected = action not in HELD_BY_AN_ADMISSION and allows(action, state)
    assert allows(action, state, ResumeState.ADMITTED) == expected


@each_pair
def test_a_started_resume_holds_back_nobody(action: Action, state: RunState) -> None:
    assert allows(action, state, ResumeState.STARTED) == allows(action, state)


@pytest.mark.parametrize("state", sorted(ENDED))
def test_nothing_leaves_an_ended_run_but_the_claim_of_an_incomplete_one(state: RunState) -> None:
    expected = {Action.CLAIM_CONTINUATION} if state is INCOMPLETE else set()
    assert {action for action in Action if allows(action, state)} == expected


def test_only_claims_move_a_paused_run() -> None:
    # Cancel is among them because it claims first; a pause leaves the run paused.
    moving = {action for action in Action if allows(action, PAUSED) and leads_to(action, PAUSED) is not PAUSED}
    assert moving == {Action.CLAIM, Action.ADMIT, Action.CANCEL}


def test_four_states_end_a_run_and_each_can_be_its_outcome() -> None:
    assert {str(state) for state in ENDED} == {"completed", "failed", "cancelled", "incomplete"}
    assert set(OUTCOMES) == ENDED
