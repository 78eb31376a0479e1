"""Who contends for what, and what must come of it: each contest once, for threads, processes, and the missing guard.

A contest's check is the whole claim: its answers *and* what stands in the database afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from suspensions.domain import clock, ids
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Reason
from tests.concurrency import requests
from tests.concurrency.consistency import Ground, require_consistent
from tests.concurrency.outcomes import At, Call, Outcome, codes, fresh, others, summary, the_fresh
from tests.support.builders import caller, fresh_scope, holder_of, make_pause, make_run, take

T = TypeVar("T")
Check = Callable[[Sequence[Outcome], Ground], None]


@dataclass(frozen=True)
class Contest:
    """Calls that are let go at once, and what must hold of their outcomes and of what they left behind."""

    scope: Scope
    calls: tuple[Call, ...]
    judge: Check
    alone: bool = True
    """Whether all contend for one row that is there already, so that its lock lets in one at a time."""

    def check(self, outcomes: Sequence[Outcome]) -> None:
        """Raises: AssertionError."""
        self.judge(outcomes, require_consistent(self.scope))


Builder = Callable[[int], Contest]
CONTESTS: dict[str, Builder] = {}


def contest(builder: Builder) -> Builder:
    CONTESTS[builder.__name__.replace("_", " ")] = builder
    return builder


def _one_and(refusal: str) -> Check:
    """One fresh answer; everybody else hears this refusal."""

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        the_fresh(outcomes)
        assert codes(others(outcomes)) == {refusal}, summary(outcomes)

    return judge


def _one_and_its_record(outcomes: Sequence[Outcome], ground: Ground) -> None:
    """One fresh answer; everybody else gets the same record."""
    winner = the_fresh(outcomes)
    assert all(outcome.answered and outcome.value == winner for outcome in outcomes), summary(outcomes)


# -- runs and pauses -----------------------------------------------------------------------------------


@contest
def the_same_run_made_by_all(parties: int) -> Contest:
    scope = fresh_scope()
    by, run_id = caller(scope), ids.new_id(ids.RUN)
    calls = tuple(requests.create_run(scope, by, run_id) for _ in range(parties))
    return Contest(scope, calls, _one_and_its_record, alone=False)


@contest
def one_run_id_with_other_content_each(parties: int) -> Contest:
    scope = fresh_scope()
    by, run_id = caller(scope), ids.new_id(ids.RUN)
    calls = tuple(requests.create_run(scope, by, run_id, agent=f"agent-{number}") for number in range(parties))
    return Contest(scope, calls, _one_and("already_exists"), alone=False)


@contest
def one_run_paused_by_all(parties: int) -> Contest:
    scope = fresh_scope()
    by, run = caller(scope), make_run(scope)

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        winner = the_fresh(outcomes)
        assert codes(others(outcomes)) == {"already_exists"}, summary(outcomes)
        assert {outcome.members["suspension_id"] for outcome in others(outcomes)} == {winner.id}
        assert len(ground.rows["suspensions"]) == 1

    return Contest(scope, tuple(requests.pause(scope, by, run.id) for _ in range(parties)), judge)


@contest
def the_same_pause_made_by_all(parties: int) -> Contest:
    scope = fresh_scope()
    by, run, suspension_id = caller(scope), make_run(scope), ids.new_id(ids.SUSPENSION)
    calls = tuple(requests.pause(scope, by, run.id, suspension_id=suspension_id) for _ in range(parties))
    return Contest(scope, calls, _one_and_its_record)


@contest
def the_same_run_and_pause_made_by_all(parties: int) -> Contest:
    scope = fresh_scope()
    by, run_id, suspension_id = caller(scope), ids.new_id(ids.RUN), ids.new_id(ids.SUSPENSION)
    calls = tuple(requests.pause_of_new_run(scope, by, run_id, suspension_id) for _ in range(parties))
    return Contest(scope, calls, _one_and_its_record, alone=False)


@contest
def one_pause_claimed_by_all(parties: int) -> Contest:
    scope = fresh_scope()
    pause = make_pause(scope, Reason.EXTERNAL_TOOL)
    calls = tuple(requests.claim(pause, caller(scope), f"worker-{number}") for number in range(parties))

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        winner = the_fresh(outcomes)
        assert codes(others(outcomes)) == {"not_suspended"}, summary(outcomes)
        assert ground.rows["runs"][0]["lease_owner"] == winner.claimed_run.lease.owner

    return Contest(scope, calls, judge)


@contest
def claim_against_sweep(parties: int) -> Contest:
    """The deadline splits them: whoever came before it by its own clock may claim, whoever came at it may sweep."""
    scope = fresh_scope()
    deadline = clock.now() - timedelta(seconds=1)
    pause = _past(2, lambda: make_pause(scope, Reason.EXTERNAL_TOOL, expires_at=deadline))
    early = deadline - timedelta(microseconds=1)
    claims = [At(early, requests.claim(pause, caller(scope))) for _ in range(parties // 2)]
    sweeps = [
        At(deadline, requests.claim(pause, caller(scope), expired_by=deadline)) for _ in range(parties - len(claims))
    ]

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        the_fresh(outcomes)
        assert codes(others(outcomes)) == {"not_suspended"}, summary(outcomes)
        claimed = [event for event in ground.rows["events"] if event["type"] == "run.claimed"]
        assert len(claimed) == 1

    return Contest(scope, (*claims, *sweeps), judge)


@contest
def one_incomplete_run_continued_by_all(parties: int) -> Contest:
    scope = fresh_scope()
    run = requests.incomplete_run(scope)
    calls = tuple(requests.claim_continuation(run, caller(scope), f"worker-{number}") for number in range(parties))
    return Contest(scope, calls, _one_and("invalid_state"))


# -- answers -------------------------------------------------------------------------------------------


def _one_admission_and_who_lost_to_it(outcomes: Sequence[Outcome], ground: Ground) -> None:
    winner = the_fresh(outcomes)
    losers = others(outcomes)
    assert codes(losers) == {"resume_admission_conflict"}, summary(outcomes)
    for loser in losers:
        told = loser.members["admission"]
        assert (told["request_digest"], told["admitted_at"], told["admitted_by"]) == (
            winner.request_digest,
            winner.admitted_at,
            winner.admitted_by.to_json(),
        )
    assert len(ground.rows["admissions"]) == 1


@contest
def other_inputs_admitted_at_once(parties: int) -> Contest:
    scope = fresh_scope()
    pause = make_pause(scope, Reason.AGENT_REPLY)
    calls = tuple(requests.admit(pause, caller(scope), b'{"reply":%d}' % number) for number in range(parties))
    return Contest(scope, calls, _one_admission_and_who_lost_to_it)


@contest
def the_same_input_admitted_at_once(parties: int) -> Contest:
    scope = fresh_scope()
    pause = make_pause(scope, Reason.AGENT_REPLY)
    calls = tuple(requests.admit(pause, caller(scope), b'{"reply":"yes"}') for _ in range(parties))
    return Contest(scope, calls, _one_and_its_record)


@contest
def approvals_against_denials(parties: int) -> Contest:
    """Those who decide as the first did get the receipt; those who decide otherwise learn whom they lost to."""
    scope = fresh_scope()
    pause = make_pause(scope)
    calls = tuple(
        requests.decide(pause, caller(scope), "approve" if number % 2 else "deny") for number in range(parties)
    )

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        winner = the_fresh(outcomes)
        first = next(index for index, outcome in enumerate(outcomes) if outcome.fresh)
        for index, outcome in enumerate(outcomes):
            if index % 2 == first % 2:
                assert outcome.answered and outcome.value == winner, summary(outcomes)
            else:
                assert outcome.code == "resume_admission_conflict", summary(outcomes)
        assert len(ground.rows["admissions"]) == 1

    return Contest(scope, calls, judge)


@contest
def cancel_against_decision(parties: int) -> Contest:
    """A cancel always ends the run; a decision counts where it came first, and is refused where it came second."""
    scope = fresh_scope()
    pause = make_pause(scope)
    decisions = [requests.decide(pause, caller(scope)) for _ in range(parties - 1)]

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        cancelled, decided = outcomes[0], outcomes[1:]
        assert cancelled.fresh, summary(outcomes)
        assert ground.rows["runs"][0]["state"] == "cancelled"
        assert not [row for row in ground.rows["suspensions"] if row["retired_at"] is None]
        if len(ground.rows["admissions"]) == 1:
            assert len(fresh(decided)) == 1 and codes(decided) == {None}, summary(outcomes)
        else:
            assert codes(decided) == {"not_suspended"}, summary(outcomes)

    return Contest(scope, (requests.cancel(scope, pause.run_id, caller(scope)), *decisions), judge)


# -- starts --------------------------------------------------------------------------------------------


@contest
def one_resume_started_by_all(parties: int) -> Contest:
    scope = fresh_scope()
    admission = requests.admitted(scope)
    calls = tuple(requests.start(admission, caller(scope), f"worker-{number}") for number in range(parties))

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        winner = the_fresh(outcomes)
        assert winner.suspension is not None and winner.input == b'{"reply":"yes"}'
        for loser in others(outcomes):
            assert loser.value == winner, summary(outcomes)
            # The record grants nothing: neither the work nor a lease.
            assert (loser.value.suspension, loser.value.input, loser.value.claimed_run) == (None, None, None)
        run = ground.rows["runs"][0]
        assert (run["lease_owner"], run["lease_epoch"]) == (winner.lease_owner, winner.lease_epoch)

    return Contest(scope, calls, judge)


@contest
def the_next_of_five_taken_by_all(parties: int) -> Contest:
    """Five admitted resumes, or one fewer than there are workers: each is handed out once."""
    scope = fresh_scope()
    waiting = [requests.admitted(scope) for _ in range(min(5, parties - 1))]
    calls = tuple(requests.start_next(scope, caller(scope), f"worker-{number}") for number in range(parties))

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        assert codes(outcomes) == {None}, summary(outcomes)
        handed_out = [outcome.value.version.run_id for outcome in fresh(outcomes)]
        assert sorted(handed_out) == sorted(admission.version.run_id for admission in waiting), summary(outcomes)
        assert all(outcome.value is None for outcome in others(outcomes)), summary(outcomes)

    return Contest(scope, calls, judge, alone=False)


@contest
def one_request_for_the_next_sent_by_all(parties: int) -> Contest:
    """One worker's request, sent again and again over a bad wire, takes one resume, and always the same."""
    scope = fresh_scope()
    for _ in range(min(5, parties)):
        requests.admitted(scope)
    call = requests.start_next(scope, caller(scope), "worker-1", request_id="request-1")

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        winner = the_fresh(outcomes)
        assert all(outcome.value == winner for outcome in outcomes), summary(outcomes)
        assert all(outcome.value.suspension == winner.suspension for outcome in outcomes)
        assert len(ground.rows["starts"]) == 1

    return Contest(scope, (call,) * parties, judge)


@contest
def start_against_expiry(parties: int) -> Contest:
    """`start_by` splits them as the deadline splits claim and sweep."""
    scope = fresh_scope()
    deadline = clock.now() - timedelta(minutes=30)
    admission = _past(60, lambda: requests.admitted(scope, deadline=deadline))
    start_by = admission.start_by
    assert start_by is not None
    early = start_by - timedelta(microseconds=1)
    starts = [At(early, requests.start(admission, caller(scope))) for _ in range(parties // 2)]
    expiries = [At(start_by, requests.expire(admission, caller(scope))) for _ in range(parties - len(starts))]

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        the_fresh(outcomes)
        started = len(ground.rows["starts"]) == 1
        assert len(ground.rows["starts"]) + len(ground.rows["expiries"]) == 1
        begun, expired = outcomes[: len(starts)], outcomes[len(starts) :]
        assert codes(begun) == {None if started else "suspension_expired"}, summary(outcomes)
        assert codes(expired) == {"resume_already_started" if started else None}, summary(outcomes)

    return Contest(scope, (*starts, *expiries), judge)


@contest
def close_against_a_late_finish(parties: int) -> Contest:
    """Either the worker was alive after all, or the operator's proof ends the run: never both."""
    scope = fresh_scope()
    admission, begun = requests.lapsed_start(scope)
    run = begun.claimed_run
    assert run is not None
    finishes = [requests.finish(run, caller(scope), holder=holder_of(run)) for _ in range(parties // 2)]
    closer = caller(scope)
    closes = [requests.close(admission, begun, closer) for _ in range(parties - len(finishes))]

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        the_fresh(outcomes)
        finished, closed = outcomes[: len(finishes)], outcomes[len(finishes) :]
        if ground.rows["closures"]:
            assert ground.rows["runs"][0]["state"] == "incomplete"
            assert codes(finished) == {"invalid_state"}, summary(outcomes)
            assert codes(others(closed)) <= {"resume_closure_conflict"}, summary(outcomes)
        else:
            assert ground.rows["runs"][0]["state"] == "completed"
            assert codes(finished) == {None} and codes(closed) == {"run_conflict"}, summary(outcomes)

    return Contest(scope, (*finishes, *closes), judge)


# -- leases and ends -----------------------------------------------------------------------------------


@contest
def one_lapsed_run_reclaimed_by_all(parties: int) -> Contest:
    scope = fresh_scope()
    run = requests.lapsed_run(scope)
    calls = tuple(requests.reclaim(run, caller(scope), f"worker-{number}") for number in range(parties))
    return Contest(scope, calls, _one_and("run_lease_lost"))


@contest
def renewal_against_reclaim(parties: int) -> Contest:
    """A lease that lapsed may still be renewed, until somebody took over: one of the two holds the run afterwards."""
    scope = fresh_scope()
    run = requests.lapsed_run(scope)
    reclaims = [requests.reclaim(run, caller(scope), "worker-1") for _ in range(parties - 1)]

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        the_fresh(outcomes)
        assert codes(others(outcomes)) == {"run_lease_lost"}, summary(outcomes)
        assert ground.rows["runs"][0]["lease_epoch"] == (1 if outcomes[0].fresh else 2)

    return Contest(scope, (requests.renew(run, caller(scope)), *reclaims), judge)


@contest
def release_against_reclaim(parties: int) -> Contest:
    scope = fresh_scope()
    run = requests.lapsed_run(scope)
    reclaims = [requests.reclaim(run, caller(scope), f"worker-{number}") for number in range(2, parties + 1)]

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        assert len(fresh(outcomes[1:])) == 1, summary(outcomes)
        assert codes(others(outcomes)) == {"run_lease_lost"}, summary(outcomes)
        assert ground.rows["runs"][0]["lease_epoch"] == 2

    return Contest(scope, (requests.release(run, caller(scope)), *reclaims), judge)


@contest
def progress_against_reclaim(parties: int) -> Contest:
    """A stalled holder's snapshot is kept where it came first, and fenced where somebody had taken over."""
    scope = fresh_scope()
    run = requests.lapsed_run(scope)
    reclaims = [requests.reclaim(run, caller(scope), "worker-1") for _ in range(parties - 1)]

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        _, snapshot = the_fresh(outcomes[1:])
        assert codes(others(outcomes[1:])) == {"run_lease_lost"}, summary(outcomes)
        assert outcomes[0].code in (None, "run_lease_lost"), summary(outcomes)
        assert len(ground.rows["progress"]) == (1 if outcomes[0].answered else 0)
        # Whoever takes the run over gets what was saved before, and nothing is saved behind its back.
        assert (snapshot is not None) == outcomes[0].answered

    return Contest(scope, (requests.save_progress(run, caller(scope)), *reclaims), judge)


@contest
def one_run_finished_alike_by_all(parties: int) -> Contest:
    scope = fresh_scope()
    run = make_run(scope)
    calls = tuple(requests.finish(run, caller(scope)) for _ in range(parties))
    return Contest(scope, calls, _one_and_its_record)


@contest
def one_run_finished_otherwise_by_each(parties: int) -> Contest:
    scope = fresh_scope()
    run = make_run(scope)
    ends = (RunState.COMPLETED, RunState.FAILED, RunState.INCOMPLETE)
    calls = tuple(requests.finish(run, caller(scope), ends[number % 3]) for number in range(parties))

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        winner = the_fresh(outcomes)
        for loser in others(outcomes):
            assert loser.code == "invalid_state" or loser.value == winner, summary(outcomes)
        assert len([event for event in ground.rows["events"] if event["type"] == "run.finished"]) == 1

    return Contest(scope, calls, judge)


@contest
def finish_against_pause(parties: int) -> Contest:
    scope = fresh_scope()
    run = make_run(scope, lease=take())
    holder = holder_of(run)
    pauses = [requests.pause(scope, caller(scope), run.id, holder=holder) for _ in range(parties - 1)]

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        the_fresh(outcomes)
        if outcomes[0].fresh:
            assert codes(outcomes[1:]) == {"invalid_state"}, summary(outcomes)
        else:
            assert outcomes[0].code == "invalid_state", summary(outcomes)
            assert codes(others(outcomes[1:])) <= {"already_exists"}, summary(outcomes)

    return Contest(scope, (requests.finish(run, caller(scope), holder=holder), *pauses), judge)


# -- interactions --------------------------------------------------------------------------------------


@contest
def the_same_question_saved_by_all(parties: int) -> Contest:
    scope = fresh_scope()
    by = caller(scope)
    calls = tuple(requests.save_interaction(scope, "question-1", by) for _ in range(parties))
    return Contest(scope, calls, _one_and_its_record, alone=False)


@contest
def other_questions_saved_under_one_id(parties: int) -> Contest:
    scope = fresh_scope()
    by, run = caller(scope), make_run(scope)
    calls = tuple(
        requests.save_interaction(scope, "question-1", by, words=f"Which {number}?", run_id=run.id)
        for number in range(parties)
    )
    return Contest(scope, calls, _one_and("interaction_conflict"))


@contest
def one_question_answered_otherwise_by_each(parties: int) -> Contest:
    scope = fresh_scope()
    question = requests.open_interaction(scope)
    calls = tuple(
        requests.answer_interaction(question, caller(scope), words=f"number {number}") for number in range(parties)
    )
    return Contest(scope, calls, _one_and("interaction_conflict"))


@contest
def one_question_resolved_by_all(parties: int) -> Contest:
    scope = fresh_scope()
    question = requests.open_interaction(scope)
    calls = tuple(requests.resolve_interaction(question, caller(scope)) for _ in range(parties))

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        assert len([outcome for outcome in outcomes if outcome.answered]) == 1, summary(outcomes)
        refused = [outcome for outcome in outcomes if not outcome.answered]
        assert codes(refused) == {"interaction_resolved"}, summary(outcomes)

    return Contest(scope, calls, judge)


@contest
def question_of_a_run_against_its_end(parties: int) -> Contest:
    """Whoever comes first: afterwards no open question of an ended run is left."""
    scope = fresh_scope()
    run = make_run(scope)
    questions = [requests.save_interaction(scope, f"question-{number}", run_id=run.id) for number in range(parties - 1)]

    def judge(outcomes: Sequence[Outcome], ground: Ground) -> None:
        assert outcomes[0].fresh, summary(outcomes)
        assert codes(outcomes[1:]) <= {None, "invalid_state"}, summary(outcomes)
        assert not [row for row in ground.rows["interactions"] if row["resolved_at"] is None]
        assert len(ground.rows["interactions"]) == len(fresh(outcomes[1:]))

    return Contest(scope, (requests.finish(run, caller(scope)), *questions), judge)


def _past(minutes: int, make: Callable[[], T]) -> T:
    """What is made as if it were so many minutes ago."""
    result: T = At(clock.now() - timedelta(minutes=minutes), make)()
    return result
