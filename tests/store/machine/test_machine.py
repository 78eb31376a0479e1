"""Random sequences of operations, against a model of the rules: the same answer, the same run, after every step.

The sequences are the same in every run of the suite. `CORTEX_MACHINE=deep` looks for new ones, longer and many more.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.test import override_settings
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from suspensions.domain.clock import use_clock
from suspensions.domain.decisions import CallDecision
from suspensions.domain.errors import CortexError
from suspensions.domain.policy import Caller, Role
from suspensions.domain.states import RunState
from suspensions.domain.values import (
    Admission,
    AdmissionRequest,
    ClaimVersion,
    ClosureRequest,
    Holder,
    LeaseTake,
    Reason,
    Snapshot,
    Start,
    Suspension,
)
from suspensions.models.fields import from_database
from suspensions.operations import closures, leases, progress, resumes, runs, suspensions
from tests.store.machine import model
from tests.store.rows import event_json, hashed, rows
from tests.store.support import Clock
from tests.support import builders, closing

DEEP = os.environ.get("CORTEX_MACHINE") == "deep"
# Several short searches go further than a long one, which soon varies what it has.
SEEDS = [secrets.randbelow(1 << 32) for _ in range(40)] if DEEP else [3, 11, 17, 53]
PROFILE = settings(
    max_examples=100 if DEEP else 20,
    stateful_step_count=80 if DEEP else 50,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)

GRACE = timedelta(seconds=20)
OWNERS = ("worker", "stalled")
PRINCIPALS = ("ana", "ben")

Outcome = tuple[str, Any]
REACHED: Counter[tuple[str, str]] = Counter()
"""What the sequences came across: operation and answer."""


def attempt(act: Callable[[], Any]) -> Outcome:
    """What an operation of the store answered: a value, or the code of its refusal."""
    try:
        return "ok", act()
    except CortexError as refusal:
        return refusal.code, None


def expect(act: Callable[[], Any]) -> Outcome:
    """What the model answers, in the same form."""
    try:
        return "ok", act()
    except model.Refused as refusal:
        return refusal.code, None


@dataclass
class Made:
    """A pause of the store and of the model, with the receipts that were given for it."""

    run: model.Run
    pause: model.Pause
    suspension: Suspension
    admission: Admission | None = None
    start: Start | None = None
    closure: ClosureRequest | None = None
    answered: Callable[[], None] | None = None


# What a rule may choose. What is right stands more often, or most sequences would be refusals.
holders = st.sampled_from(["right", "right", "right", "right", "none", "stale", "stranger", "nameless"])
owners = st.sampled_from(OWNERS)
takes = st.sampled_from(["none"] * 4 + ["short"] * 4 + ["long"] * 2 + ["half", "nameless"])
whole_takes = st.sampled_from(["short", "short", "long"])
firsts = st.sampled_from(["none"] * 6 + ["own"] * 3 + ["other's"])
pins = st.sampled_from(["right"] * 5 + ["earlier", "later", "other pause"])
digests = st.sampled_from([True] * 6 + [False])
which = st.integers(0, 5)
says = st.sampled_from(["yes", "yes", "no"])
reasons = st.sampled_from([*Reason, Reason.AGENT_REPLY])
principals = st.sampled_from(PRINCIPALS)


class StoreMachine(RuleBasedStateMachine):
    """The store beside its model."""

    @initialize()
    def begin(self) -> None:
        self.scope = builders.fresh_scope()
        self.clock = Clock()
        self.runs: list[model.Run] = []
        self.made: list[Made] = []
        self.last: Callable[[], None] | None = None
        self.asked: list[Callable[[], None]] = []
        self.heads: dict[str, tuple[int, str | None]] = {}
        self.around = ExitStack()
        self.around.enter_context(use_clock(self.clock))
        self.around.enter_context(
            override_settings(
                CLOSURE_AUTHORIZER=closing.PERMISSIVE_AUTHORIZER,
                CLOSURE_FENCE=closing.PERMISSIVE_FENCE,
                RESUME_START_GRACE=GRACE,
                RESUME_START_MAX=None,
                DEFAULT_DEADLINE=None,
                MAX_DEADLINE=None,
            )
        )

    def teardown(self) -> None:
        self.around.close()

    # -- choosing ----------------------------------------------------------------------------------

    def by(self, principal: str = "ana", *roles: Role) -> Caller:
        return builders.caller(self.scope, *roles, principal=principal)

    def do(self, operation: Callable[..., None], *arguments: Any) -> None:
        """Do it, and remember how to do it again."""
        self.last = partial(operation, *arguments)
        self.last()

    def any_run(self, index: int) -> model.Run:
        """Mostly one that has not ended."""
        going = [run for run in self.runs if run.state not in model.ENDED]
        among = going if going and index < 5 else self.runs
        return among[index % len(among)]

    def any_made(self, index: int) -> Made:
        """Mostly the present pause of a run that has not ended."""
        live = [made for made in self.made if not made.pause.retired]
        among = live if live and index < 4 else self.made
        return among[-1 - index % len(among)]

    def any_answered(self, index: int) -> Made:
        """Mostly a pause that was answered."""
        answered = [made for made in self.made if made.admission is not None]
        return answered[-1 - index % len(answered)] if answered and index < 5 else self.any_made(index)

    def may_be_started(self, made: Made) -> bool:
        """Whether nothing but its turn keeps a resume from being handed out."""
        lease, admission = made.run.lease, made.pause.admission
        assert admission is not None
        open_still = admission.start_by is None or admission.start_by > self.clock.now
        return open_still and (lease is None or lease.until <= self.clock.now)

    def free(self) -> list[model.Run]:
        """Runs that may be paused."""
        return [run for run in self.runs if run.state == "running" and not run.held]

    def waiting(self) -> list[Made]:
        """Pauses that wait for an answer."""
        return [made for made in self.made if made.run.state == "paused" and not made.pause.retired]

    def admitted(self) -> list[Made]:
        """Pauses whose resume waits for its start."""
        return [made for made in self.made if made.run.held and not made.pause.retired]

    def seasoned(self, index: int) -> model.Run:
        """Mostly a run that has seen something: ends come too early else."""
        among = [run for run in self.runs if run.revision > 2]
        return self.any_run(index) if not among or index == 5 else among[index % len(among)]

    def holder(self, run: model.Run, kind: str) -> model.Holder | None:
        owner = run.lease.owner if run.lease is not None else OWNERS[0]
        return {
            "right": None if run.lease is None else model.Holder(owner, run.lease.epoch),
            "none": None,
            "stale": model.Holder(owner, max(run.epoch - 1, 1)),
            "stranger": model.Holder("stranger", max(run.epoch, 1)),
            "nameless": model.Holder("", max(run.epoch, 1)),
        }[kind]

    def named_holder(self, run: model.Run, kind: str) -> model.Holder:
        return self.holder(run, kind) or model.Holder(OWNERS[0], max(run.epoch, 1))

    def lease(self, kind: str, owner: str) -> tuple[model.Take | None, LeaseTake | None]:
        """A lease to take, for the model and for the store."""
        if kind == "none":
            return None, None
        if kind == "half":
            return model.Take(owner, None), LeaseTake(owner)
        seconds = 40 if kind == "long" else 10
        name = "" if kind == "nameless" else owner
        return model.Take(name, self.clock.ahead(seconds)), LeaseTake(name, seconds=seconds)

    def first(
        self, run: model.Run, kind: str, owner: str, *, leased: bool
    ) -> tuple[model.Holder | None, Snapshot | None]:
        if kind == "none" or (kind == "own" and not leased):
            return None, None
        name = owner if kind == "own" else "somebody else"
        return model.Holder(name, 0), builders.snapshot(run.id, name)

    def pin(self, made: Made, kind: str) -> ClaimVersion:
        right = ClaimVersion(made.run.id, made.pause.id, made.pause.revision)
        if kind == "other pause":
            return replace(right, suspension_id=self.made[0].pause.id)
        return replace(right, run_revision=right.run_revision + {"right": 0, "earlier": -1, "later": 1}[kind])

    def same(self, operation: str, theirs: Outcome, ours: Outcome) -> Any:
        """Both answered alike. Gives the store's value, None where it refused."""
        assert theirs[0] == ours[0], f"{operation}: the store says {theirs[0]}, the rules say {ours[0]}"
        REACHED[operation, theirs[0]] += 1
        return theirs[1]

    def fresh(self, operation: str, theirs: Outcome, ours: Outcome) -> Any:
        """The same, for an operation that says whether its answer is fresh."""
        value = self.same(operation, theirs, ours)
        if value is not None:
            assert value.fresh is ours[1], f"{operation}: fresh is {value.fresh}, the rules say {ours[1]}"
            REACHED[operation, "fresh" if value.fresh else "there already"] += 1
        return value

    # -- runs --------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.runs) < 8 and sum(run.state not in model.ENDED for run in self.runs) < 4)
    @rule(kind=st.sampled_from(["none", "short", "long"]), owner=owners)
    def create_run(self, kind: str, owner: str) -> None:
        self.create_run_with(kind, owner)

    def create_run_with(self, kind: str, owner: str) -> None:
        take, lease = self.lease(kind, owner)
        run = runs.create_run(self.by(), builders.new_run(self.scope, lease=lease))
        mine = model.Run(run.id)
        model.take_lease(mine, take)
        self.runs.append(mine)

    @precondition(lambda self: self.runs)
    @rule(
        index=which,
        outcome=st.sampled_from(["completed", "failed", "cancelled", "incomplete", "incomplete", "cancel", "cancel"]),
        word=st.sampled_from(["", "done"]),
        kind=holders,
    )
    def end(self, index: int, outcome: str, word: str, kind: str) -> None:
        run = self.seasoned(index)
        if outcome == "cancel":
            self.do(self.do_cancel, run, word, "none" if index % 2 else kind)
        else:
            self.do(self.do_finish, run, outcome, word, kind)

    def do_finish(self, run: model.Run, outcome: str, output: str, kind: str) -> None:
        holder = self.holder(run, kind)
        self.fresh(
            "finish",
            attempt(
                lambda: runs.finish_run(
                    self.by(), self.scope, run.id, RunState(outcome), output=output, holder=as_holder(holder)
                )
            ),
            expect(lambda: model.finish(run, outcome, output, holder)),
        )

    def do_cancel(self, run: model.Run, reason: str, kind: str) -> None:
        holder = self.holder(run, kind)
        self.fresh(
            "cancel",
            attempt(lambda: runs.cancel_run(self.by(), self.scope, run.id, reason, holder=as_holder(holder))),
            expect(lambda: model.cancel(run, reason, holder, self.clock.now)),
        )

    # -- pauses ------------------------------------------------------------------------------------

    @precondition(lambda self: self.runs)
    @rule(
        index=which,
        reason=reasons,
        seconds=st.sampled_from([None, None, -5, 0, 10, 30]),
        kind=holders,
        principal=principals,
    )
    def pause(self, index: int, reason: Reason, seconds: int | None, kind: str, principal: str) -> None:
        self.do(self.do_pause, self.any_run(index), reason, seconds, kind, principal)

    @precondition(lambda self: self.free())
    @rule(reason=reasons, seconds=st.sampled_from([None, 10, 30]), principal=principals)
    def pause_rightly(self, reason: Reason, seconds: int | None, principal: str) -> None:
        self.do(self.do_pause, self.free()[0], reason, seconds, "right", principal)

    def do_pause(self, run: model.Run, reason: Reason, seconds: int | None, kind: str, principal: str) -> None:
        holder = self.holder(run, kind)
        expires_at = None if seconds is None else self.clock.ahead(seconds)
        new = builders.new_suspension(self.scope, run.id, reason, expires_at=expires_at, holder=as_holder(holder))
        pause = model.Pause("", str(reason), principal, expires_at, 0)
        made = self.fresh(
            "pause",
            attempt(lambda: suspensions.create_suspension(self.by(principal), new)),
            expect(lambda: model.pause(run, pause, holder)),
        )
        if made is not None:
            pause.id = made.id
            self.made.append(Made(run, pause, made))

    @precondition(lambda self: self.runs)
    @rule(
        index=which,
        pinned=st.sampled_from(["not", "not", "right", "right", "earlier", "later", "other pause"]),
        seconds=st.sampled_from([None, None, 0, -7]),
        kind=takes,
        owner=owners,
        first=firsts,
    )
    def claim(self, index: int, pinned: str, seconds: int | None, kind: str, owner: str, first: str) -> None:
        waiting = self.waiting()
        run = waiting[index % len(waiting)].run if waiting and index < 5 else self.any_run(index)
        self.do(self.do_claim, run, pinned, seconds, kind, owner, first)

    @precondition(lambda self: self.claimable())
    @rule(pinned=st.sampled_from(["not", "right"]), kind=takes, owner=owners)
    def claim_rightly(self, pinned: str, kind: str, owner: str) -> None:
        self.do(self.do_claim, self.claimable()[0].run, pinned, None, kind, owner, "own")

    def claimable(self) -> list[Made]:
        """Pauses that wait for a caller to execute their calls."""
        return [made for made in self.waiting() if made.pause.reason == "external_tool"]

    def do_claim(self, run: model.Run, pinned: str, seconds: int | None, kind: str, owner: str, first: str) -> None:
        made = next((each for each in reversed(self.made) if each.run is run), None)
        version = None if pinned == "not" or made is None else self.pin(made, pinned)
        expired_by = None if seconds is None else self.clock.ahead(seconds)
        take, lease = self.lease(kind, owner)
        mine, theirs = self.first(run, first, owner, leased=lease is not None)
        claimed = self.same(
            "claim" if expired_by is None else "claim by the deadline",
            attempt(
                lambda: suspensions.claim_suspension(
                    self.by(),
                    self.scope,
                    run.id,
                    version=version,
                    expired_by=expired_by,
                    lease=lease,
                    first=theirs,
                )
            ),
            expect(
                lambda: model.claim(
                    run,
                    None if version is None else (version.suspension_id, version.run_revision),
                    expired_by,
                    take,
                    mine,
                    self.clock.now,
                )
            ),
        )
        if claimed is not None:
            assert claimed.claimed_run.revision == run.revision
            assert run.live is not None and claimed.id == run.live.id

    @precondition(lambda self: self.handled())
    @rule(index=which, by_id=st.booleans())
    def delete(self, index: int, by_id: bool) -> None:
        self.do(self.do_delete, self.handled()[0] if index < 4 else self.any_made(index), by_id)

    def handled(self) -> list[Made]:
        """Live pauses of runs that go on."""
        return [made for made in self.made if not made.pause.retired and made.run in self.free()]

    def do_delete(self, made: Made, by_id: bool) -> None:
        pause_id = made.pause.id if by_id else None
        self.same(
            "delete",
            attempt(lambda: suspensions.delete_suspension(self.by(), self.scope, made.run.id, pause_id)),
            expect(lambda: model.delete(made.run, pause_id)),
        )

    @precondition(lambda self: self.made)
    @rule()
    def list_expired(self) -> None:
        found = suspensions.list_expired(self.by(), self.scope, self.clock.now, 256)
        assert [item.id for item in found] == model.expired(self.runs, self.clock.now)

    # -- answers -----------------------------------------------------------------------------------

    @precondition(lambda self: self.made)
    @rule(
        index=which,
        pinned=pins,
        word=says,
        fault=st.sampled_from(["", "", "", "addresses"]),
        kind=takes,
        owner=owners,
        first=firsts,
    )
    def admit(self, index: int, pinned: str, word: str, fault: str, kind: str, owner: str, first: str) -> None:
        self.do(self.do_admit, self.any_made(index), pinned, word, fault, kind, owner, first)

    @precondition(lambda self: self.waiting())
    @rule(index=which, word=says, kind=st.sampled_from(["none", "short", "short"]), owner=owners, principal=principals)
    def answer_rightly(self, index: int, word: str, kind: str, owner: str, principal: str) -> None:
        waiting = self.waiting()
        made = waiting[index % len(waiting)]
        if made.pause.reason == "agent_reply":
            self.do(self.do_admit, made, "right", word, "", kind, owner, "none" if kind == "none" else "own")
        else:
            self.do(self.do_decide, made, "right", word, "", principal)

    def do_admit(self, made: Made, pinned: str, word: str, fault: str, kind: str, owner: str, first: str) -> None:
        version = self.pin(made, pinned)
        target = self.target(made.run, version)
        take, lease = self.lease(kind, owner)
        mine, theirs = self.first(made.run, first, owner, leased=lease is not None)
        answer = model.Answer("bus", word, fault)
        addresses = frozenset({"reply-1" if not fault else "elsewhere"})
        request = AdmissionRequest(self.scope, version, word.encode())
        admission = self.fresh(
            "admit",
            attempt(lambda: resumes.admit_resume(self.by(), request, addresses, lease=lease, first=theirs)),
            expect(
                lambda: model.admit(made.run, target, version.run_revision, answer, take, mine, self.clock.now, GRACE)
            ),
        )
        self.keep(admission)
        if admission is not None and admission.fresh:
            made.answered = partial(self.do_admit, made, pinned, word, fault, kind, owner, first)

    @precondition(lambda self: any(made.answered for made in self.made))
    @rule(index=which)
    def answer_again(self, index: int) -> None:
        """The very answer that was admitted, at any later time."""
        answers = [made.answered for made in self.made if made.answered is not None]
        answers[-1 - index % len(answers)]()

    @precondition(lambda self: self.made)
    @rule(
        index=which,
        pinned=pins,
        word=says,
        fault=st.sampled_from(["", "", "", "missing", "unseen"]),
        principal=principals,
    )
    def decide(self, index: int, pinned: str, word: str, fault: str, principal: str) -> None:
        self.do(self.do_decide, self.any_made(index), pinned, word, fault, principal)

    def do_decide(self, made: Made, pinned: str, word: str, fault: str, principal: str) -> None:
        version = self.pin(made, "right" if pinned == "other pause" else pinned)
        [call] = made.suspension.pending
        seen = "0" * 64 if fault == "unseen" else call.arguments_sha256
        approval = made.pause.reason == "approval"
        if approval:
            decision = CallDecision(call.id, seen, decision="approve" if word == "yes" else "deny")
        else:
            decision = CallDecision(call.id, seen, content=word)
        if fault == "missing":
            decision = replace(decision, call_id="another")
        answer = model.Answer(principal, word, fault, approves=approval and word == "yes")
        admission = self.fresh(
            "decide",
            attempt(
                lambda: resumes.decide(self.by(principal), self.scope, made.pause.id, version.run_revision, (decision,))
            ),
            expect(
                lambda: model.admit(
                    made.run, made.pause, version.run_revision, answer, None, None, self.clock.now, GRACE
                )
            ),
        )
        self.keep(admission)
        if admission is not None and admission.fresh:
            made.answered = partial(self.do_decide, made, pinned, word, fault, principal)

    def target(self, run: model.Run, version: ClaimVersion) -> model.Pause:
        """The pause that a version names, where it is the run's; else one that nobody has."""
        for each in run.pauses:
            if each.id == version.suspension_id:
                return each
        return model.Pause(version.suspension_id, "", "", None, 0)

    def keep(self, admission: Admission | None) -> None:
        for made in self.made:
            if admission is None or made.pause.id != admission.version.suspension_id:
                continue
            stored = made.pause.admission
            assert stored is not None
            assert admission.claimed_revision == stored.claimed_revision
            assert admission.start_by == stored.start_by
            assert made.admission in (None, admission), "a repeat gave another receipt"
            made.admission = admission

    # -- starts, expiries and closures -------------------------------------------------------------

    def digest(self, made: Made, right: bool) -> str:
        return made.admission.request_digest if made.admission is not None and right else "0" * 64

    @precondition(lambda self: self.made)
    @rule(index=which, right=digests, kind=takes, owner=owners, first=firsts)
    def start(self, index: int, right: bool, kind: str, owner: str, first: str) -> None:
        self.do(self.do_start, self.any_answered(index), right, kind, owner, first)

    @precondition(lambda self: self.admitted())
    @rule(index=which, kind=st.sampled_from(["none", "short"]), owner=owners)
    def start_rightly(self, index: int, kind: str, owner: str) -> None:
        admitted = self.admitted()
        self.do(self.do_start, admitted[index % len(admitted)], True, kind, owner, "none")

    def do_start(self, made: Made, right: bool, kind: str, owner: str, first: str) -> None:
        take, lease = self.lease(kind, owner)
        mine, theirs = self.first(made.run, first, owner, leased=lease is not None)
        started = self.fresh(
            "start",
            attempt(
                lambda: resumes.start_resume(
                    self.by(),
                    self.scope,
                    made.run.id,
                    made.pause.id,
                    self.digest(made, right),
                    lease=lease,
                    first=theirs,
                )
            ),
            expect(lambda: model.start(made.run, made.pause, right, take, mine, self.clock.now)),
        )
        if started is not None:
            self.keep_start(made, started, with_work=started.fresh)

    @precondition(lambda self: self.admitted() or any(made.start for made in self.made))
    @rule(
        kind=whole_takes,
        owner=st.sampled_from(["worker", "worker", "stalled"]),
        principal=st.sampled_from(["ana", "ana", "ben"]),
        request_id=st.sampled_from(["r-1", "r-1", "r-2", None]),
        twice=st.booleans(),
    )
    def start_next(self, kind: str, owner: str, principal: str, request_id: str | None, twice: bool) -> None:
        self.do(self.do_start_next, kind, owner, principal, request_id)
        if twice:
            self.do(self.do_start_next, kind, owner, principal, request_id)

    @precondition(lambda self: len(self.runs) < 7)
    @rule(first_is_answered_first=st.booleans(), principal=principals)
    def two_wait_and_one_is_asked_for(self, first_is_answered_first: bool, principal: str) -> None:
        """Two resumes that nobody holds: it is the time of the answer that counts, not that of the pause."""
        waiting: list[Made] = []
        for _ in range(2):
            self.create_run_with("none", "worker")
            self.do_pause(self.runs[-1], Reason.AGENT_REPLY, None, "right", "ana")
            waiting.append(self.made[-1])
        for made in waiting if first_is_answered_first else waiting[::-1]:
            self.clock.tick(1)
            self.do_admit(made, "right", "yes", "", "none", "worker", "none")
        self.do(self.do_start_next, "short", "worker", principal, None)

    def do_start_next(self, kind: str, owner: str, principal: str, request_id: str | None) -> None:
        take, lease = self.lease(kind, owner)
        assert take is not None and lease is not None
        theirs = attempt(lambda: resumes.start_next(self.by(principal), self.scope, lease, request_id=request_id))
        choice = sum(self.may_be_started(made) for made in self.admitted())
        ours = expect(lambda: model.start_next(self.runs, take, principal, request_id, self.clock.now))
        started = self.same("start next", theirs, ours)
        if ours[1] is None:
            assert started is None
            if ours[0] == "ok" and self.admitted():
                REACHED["start next", "left to its admitter"] += 1
            return
        _, pause, fresh = ours[1]
        assert started is not None and started.version.suspension_id == pause.id
        assert started.fresh is fresh
        REACHED["start next", "fresh" if fresh else "there already"] += 1
        if fresh and choice > 1:
            REACHED["start next", "the oldest of several"] += 1
        made = next(each for each in self.made if each.pause is pause)
        self.keep_start(made, started, with_work=True)
        if fresh and request_id is not None:
            self.asked.append(partial(self.do_start_next, kind, owner, principal, request_id))

    @precondition(lambda self: self.asked)
    @rule(index=which)
    def ask_again(self, index: int) -> None:
        """The same request for work, at any later time."""
        self.asked[-1 - index % len(self.asked)]()

    def keep_start(self, made: Made, started: Start, *, with_work: bool) -> None:
        assert made.start in (None, started), "a repeat gave another receipt"
        assert made.admission is not None
        if with_work:
            assert started.suspension is not None and started.suspension.pending == made.suspension.pending
            assert started.suspension.continuation == made.suspension.continuation
            assert started.input == made.admission.input
        else:
            assert (started.suspension, started.input, started.claimed_run) == (None, None, None)
        made.start = started

    @precondition(lambda self: self.made)
    @rule(index=which, right=digests)
    def expire(self, index: int, right: bool) -> None:
        self.do(self.do_expire, self.any_answered(index), right)

    @precondition(lambda self: self.windows())
    @rule(before=st.booleans(), starts=st.booleans())
    def at_the_end_of_a_window(self, before: bool, starts: bool) -> None:
        """Start and expiry split the window at one instant: try one of them at it, or at the last one before."""
        end, made = self.windows()[0]
        self.clock.now = end - timedelta(microseconds=int(before))
        if starts:
            self.do(self.do_start, made, True, "none", "worker", "none")
        else:
            self.do(self.do_expire, made, True)

    def windows(self) -> list[tuple[datetime, Made]]:
        """The ends of start windows that are still open, the next one first."""
        found = [
            (made.pause.admission.start_by, made)
            for made in self.admitted()
            if made.pause.admission is not None and made.pause.admission.start_by is not None
        ]
        return sorted([each for each in found if each[0] > self.clock.now], key=lambda each: each[0])

    def do_expire(self, made: Made, right: bool) -> None:
        self.fresh(
            "expire",
            attempt(
                lambda: resumes.expire_resume(
                    self.by(), self.scope, made.run.id, made.pause.id, self.digest(made, right)
                )
            ),
            expect(lambda: model.expire(made.run, made.pause, right, self.clock.now)),
        )

    @precondition(lambda self: any(each.admission is not None for each in self.made))
    @rule(index=which, again=st.booleans(), behind=st.sampled_from([0, 0, 0, 1]))
    def close(self, index: int, again: bool, behind: int) -> None:
        answered = [each for each in self.made if each.admission is not None]
        started = [
            each
            for each in answered
            if each.start is not None and each.run.state == "running" and each.run.revision == each.pause.revision + 1
        ]
        among = started if started and index < 4 else answered
        made = among[-1 - index % len(among)]
        request = made.closure if again and made.closure is not None else self.closure_request(made, behind)
        self.do(self.do_close, made, request)

    def do_close(self, made: Made, request: ClosureRequest) -> None:
        closure = self.fresh(
            "close",
            attempt(lambda: closures.close_resume(self.by(), request, closing.PROOF)),
            expect(lambda: model.close(made.run, made.pause, request.run_revision, request.digest(), self.clock.now)),
        )
        if closure is not None:
            made.closure = request

    def closure_request(self, made: Made, behind: int) -> ClosureRequest:
        assert made.admission is not None
        started = made.start or next((each.start for each in self.made if each.start is not None), None)
        digest = "0" * 64 if started is None else started.digest
        return ClosureRequest(
            schema_version=1,
            scope=self.scope,
            version=made.admission.version,
            admission_digest=made.admission.request_digest,
            start_digest=digest,
            run_revision=made.admission.claimed_revision - behind,
            actor="ana",
            issuer="i",
            issuer_revision="1",
            proof_ref=f"{made.pause.id}",
            proof_digest="0" * 64,
            observed_at=self.clock.now,
            expires_at=self.clock.ahead(60),
        )

    # -- leases and progress -----------------------------------------------------------------------

    @precondition(lambda self: self.runs)
    @rule(
        index=which,
        operation=st.sampled_from(["renew", "release", "reclaim", "reclaim", "save", "save", "delete", "continue"]),
        holder=holders,
        kind=takes,
        owner=owners,
        first=firsts,
    )
    def hold(self, index: int, operation: str, holder: str, kind: str, owner: str, first: str) -> None:
        """Everything that is about who holds a run, and what it saved."""
        run = self.any_run(index)
        if operation == "continue":
            incomplete = [each for each in self.runs if each.state == "incomplete"]
            self.do(self.do_continue, incomplete[index % len(incomplete)] if incomplete else run, kind, owner, first)
        elif operation == "reclaim":
            self.do(self.do_reclaim, run, kind, owner)
        else:
            act = {
                "renew": self.do_renew,
                "release": self.do_release,
                "save": self.do_save_progress,
                "delete": self.do_delete_progress,
            }[operation]
            self.do(act, run, holder)

    @precondition(lambda self: any(run.state == "incomplete" and not run.closed for run in self.runs))
    @rule(kind=whole_takes, owner=owners)
    def continue_rightly(self, kind: str, owner: str) -> None:
        run = next(run for run in self.runs if run.state == "incomplete" and not run.closed)
        self.do(self.do_continue, run, kind, owner, "own")

    def do_continue(self, run: model.Run, kind: str, owner: str, first: str) -> None:
        take, lease = self.lease("short" if kind == "none" else kind, owner)
        assert take is not None and lease is not None
        mine, theirs = self.first(run, first, owner, leased=lease is not None)
        self.same(
            "claim continuation",
            attempt(lambda: leases.claim_continuation(self.by(), self.scope, run.id, lease, theirs)),
            expect(lambda: model.claim_continuation(run, take, mine)),
        )

    def do_renew(self, run: model.Run, kind: str) -> None:
        seconds = 15
        holder = self.named_holder(run, kind)
        lease = LeaseTake(holder.owner or "worker", seconds=seconds)
        self.same(
            "renew",
            attempt(lambda: leases.renew_lease(self.by(), self.scope, run.id, as_holder(holder), lease)),
            expect(lambda: model.renew(run, holder, self.clock.ahead(seconds))),
        )

    def do_release(self, run: model.Run, kind: str) -> None:
        holder = self.named_holder(run, kind)
        self.fresh(
            "release",
            attempt(lambda: leases.release_lease(self.by(), self.scope, run.id, as_holder(holder))),
            expect(lambda: model.release(run, holder)),
        )

    def do_reclaim(self, run: model.Run, kind: str, owner: str) -> None:
        take, lease = self.lease("long" if kind == "long" else "short", owner)
        assert take is not None and lease is not None
        taken = self.same(
            "reclaim",
            attempt(lambda: leases.reclaim_lease(self.by(), self.scope, run.id, lease)),
            expect(lambda: model.reclaim(run, take, self.clock.now)),
        )
        if taken is not None:
            _, snapshot = taken
            present = run.progress is not None and run.progress_of == run.revision
            assert (snapshot is not None) == present

    def do_save_progress(self, run: model.Run, kind: str) -> None:
        holder = self.named_holder(run, kind)
        snapshot = builders.snapshot(run.id, holder.owner)
        self.same(
            "save progress",
            attempt(lambda: progress.save_progress(self.by(), self.scope, snapshot, as_holder(holder))),
            expect(lambda: model.save_progress(run, holder)),
        )

    def do_delete_progress(self, run: model.Run, kind: str) -> None:
        holder = self.holder(run, kind)
        self.same(
            "delete progress",
            attempt(lambda: progress.delete_progress(self.by(), self.scope, run.id, as_holder(holder))),
            expect(lambda: model.delete_progress(run, holder, self.clock.now)),
        )

    @rule(seconds=st.sampled_from([0.000001, 1, 5, 5, 10, 20, 40]))
    def wait(self, seconds: float) -> None:
        self.clock.tick(seconds)

    @precondition(lambda self: self.instants())
    @rule(index=which, before=st.sampled_from([False, False, True]))
    def wait_until(self, index: int, before: bool) -> None:
        """To the very instant at which something passes, or to the last one before it."""
        instants = self.instants()
        instant = instants[index % len(instants)] - timedelta(microseconds=int(before))
        self.clock.now = max(self.clock.now, instant)

    def instants(self) -> list[datetime]:
        """When deadlines, start windows and leases will have passed, the next one first."""
        found = [run.lease.until for run in self.runs if run.lease is not None]
        found += [made.pause.expires_at for made in self.waiting() if made.pause.expires_at is not None]
        found += [end for end, _ in self.windows()]
        return sorted(instant for instant in found if instant > self.clock.now)

    @precondition(lambda self: self.last is not None)
    @rule()
    def again(self) -> None:
        """The operation that was done last, with the very same arguments."""
        assert self.last is not None
        self.last()

    # -- what holds after every step ---------------------------------------------------------------

    @precondition(lambda self: self.runs)
    @invariant()
    def the_runs_stand_where_the_rules_say_and_their_chains_are_whole(self) -> None:
        """Each row as the model has it; events without a gap, each hash over the one before, up to the run's head."""
        self.read_events()
        stored = {row["id"]: row for row in rows(_RUNS, [self.scope.text])}
        assert len(stored) == len(self.runs)
        for run in self.runs:
            row = stored[run.id]
            assert (row["state"], row["revision"], row["lease_epoch"]) == (run.state, run.revision, run.epoch)
            lease = None if run.lease is None else (run.lease.owner, run.lease.until)
            held = None if row["lease_owner"] is None else (row["lease_owner"], from_database(row["lease_expires_at"]))
            assert held == lease
            kept = None if row["progress_owner"] is None else (row["progress_owner"], row["kept_epoch"])
            assert kept == (None if run.progress is None else (run.progress.owner, run.progress.epoch))
            assert (row["completed_at"] is not None) == (run.state in model.ENDED)
            assert (row["event_position"], row["event_hash"]) == self.heads[run.id]

    def read_events(self) -> None:
        seen = min(self.heads.get(run.id, (0, None))[0] for run in self.runs)
        for event in rows(_EVENTS, [self.scope.text, seen]):
            position, head = self.heads.get(event["chain"], (0, None))
            if event["position"] <= position:
                continue
            assert (event["position"], event["previous"]) == (position + 1, head)
            assert event["hash"] == hashed("cortex/event/v1", event_json(event))
            self.heads[event["chain"]] = (event["position"], event["hash"])

    @precondition(lambda self: self.made)
    @invariant()
    def the_pauses_and_receipts_are_those_of_the_rules(self) -> None:
        stored = {row["id"]: row for row in rows(_PAUSES, [self.scope.text])}
        assert len(stored) == len(self.made)
        for made in self.made:
            pause, row = made.pause, stored[made.pause.id]
            assert (row["retired_at"] is not None, row["claimed_at"] is not None) == (pause.retired, pause.claimed)
            admission = pause.admission
            assert (row["request_digest"] is not None) == (admission is not None)
            started = admission is not None and admission.started is not None
            expired = admission is not None and admission.expired
            assert row["kind"] == ("start" if started else "expiry" if expired else None)
            assert (row["closed_at"] is not None) == (admission is not None and admission.closed_by is not None)
        live = Counter(row["run_id"] for row in stored.values() if row["retired_at"] is None)
        assert all(count == 1 for count in live.values())


_RUNS = (
    "SELECT run.*, progress.owner AS progress_owner, progress.epoch AS kept_epoch"
    " FROM run LEFT JOIN progress ON progress.run_id = run.id WHERE run.scope = %s"
)
_PAUSES = (
    "SELECT suspension.id, suspension.run_id, suspension.claimed_at, suspension.retired_at,"
    " resume_admission.request_digest, resume_start_or_expiry.kind, resume_closure.closed_at FROM suspension"
    " LEFT JOIN resume_admission ON resume_admission.suspension_id = suspension.id"
    " LEFT JOIN resume_start_or_expiry ON resume_start_or_expiry.suspension_id = suspension.id"
    " LEFT JOIN resume_closure ON resume_closure.suspension_id = suspension.id"
    " WHERE suspension.scope = %s"
)
_EVENTS = "SELECT * FROM event WHERE scope = %s AND position > %s ORDER BY chain, position"


def as_holder(holder: model.Holder | None) -> Any:
    return None if holder is None else Holder(holder.owner, holder.epoch)


MUST_MEET = {
    ("pause", "fresh"),
    ("pause", "already_exists"),
    ("pause", "invalid_state"),
    ("pause", "run_lease_lost"),
    ("claim", "ok"),
    ("claim", "run_conflict"),
    ("claim", "requires_approval"),
    ("claim by the deadline", "ok"),
    ("admit", "fresh"),
    ("admit", "there already"),
    ("admit", "resume_admission_conflict"),
    ("decide", "fresh"),
    ("decide", "there already"),
    ("decide", "self_approval"),
    ("start", "fresh"),
    ("start", "there already"),
    ("start", "suspension_expired"),
    ("start next", "fresh"),
    ("start next", "there already"),
    ("start next", "resume_already_started"),
    ("start next", "left to its admitter"),
    ("start next", "the oldest of several"),
    ("expire", "fresh"),
    ("expire", "resume_already_started"),
    ("expire", "resume_not_expired"),
    ("close", "fresh"),
    ("close", "run_lease_live"),
    ("finish", "fresh"),
    ("finish", "there already"),
    ("cancel", "fresh"),
    ("claim continuation", "ok"),
    ("reclaim", "ok"),
    ("save progress", "ok"),
    ("save progress", "invalid_state"),
    ("delete", "ok"),
}


@pytest.mark.timeout(0 if DEEP else 300)
def test_no_sequence_of_operations_leaves_the_rules() -> None:
    REACHED.clear()
    for chosen in SEEDS:
        try:
            run_state_machine_as_test(seed(chosen)(StoreMachine), settings=PROFILE)
        except Exception as error:
            error.add_note(f"found with the seed {chosen}")
            raise
    assert set(REACHED) >= MUST_MEET, f"never met: {sorted(MUST_MEET - set(REACHED))}"
