"""The rules of runs, pauses and resumes, in plain Python: what the store must answer to any sequence of operations.

Written from store.md, sections 1 and 3, and from nothing else: it shares no code with the store. Operations give
whether they were fresh, or raise `Refused` with the code that is due.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NoReturn

ENDED = ("completed", "failed", "cancelled", "incomplete")


class Refused(Exception):
    """The operation is refused with this code, and nothing changes."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


def refuse(code: str) -> NoReturn:
    raise Refused(code)


@dataclass(frozen=True)
class Holder:
    owner: str
    epoch: int


@dataclass(frozen=True)
class Take:
    """A lease to take; `until` is None for half a lease."""

    owner: str
    until: datetime | None


@dataclass(frozen=True)
class Lease:
    owner: str
    until: datetime
    epoch: int


@dataclass
class Admission:
    answer: object
    revision: int  # the run's, as pinned by the request
    admitted_at: datetime
    start_by: datetime | None
    started: Holder | None = None  # epoch 0 and no owner where no lease was taken
    start_request: tuple[str, str] | None = None  # principal and request_id
    expired: bool = False
    closed_by: object = None  # the closure's request

    @property
    def claimed_revision(self) -> int:
        return self.revision + 1

    @property
    def waits(self) -> bool:
        return self.started is None and not self.expired and self.closed_by is None


@dataclass
class Pause:
    id: str
    reason: str
    made_by: str
    expires_at: datetime | None
    revision: int
    claimed: bool = False
    retired: bool = False
    admission: Admission | None = None


@dataclass
class Run:
    id: str
    state: str = "running"
    revision: int = 1
    lease: Lease | None = None
    epoch: int = 0
    pauses: list[Pause] = field(default_factory=list)
    end: object = None
    closed: bool = False
    progress: Holder | None = None
    progress_of: int = 0  # the revision at which the snapshot's stint began
    saved: set[int] = field(default_factory=set)  # the epochs under which a snapshot was ever saved

    @property
    def live(self) -> Pause | None:
        return next((pause for pause in self.pauses if not pause.retired), None)

    @property
    def held(self) -> bool:
        """Whether an admission waits for its start, so that the run is nobody's to touch."""
        live = self.live
        return self.state == "running" and live is not None and live.admission is not None and live.admission.waits


# -- pieces of the rules ---------------------------------------------------------------------------


def _require_whole(take: Take | None, first: Holder | None) -> None:
    """A lease is whole, and a first snapshot is its taker's."""
    if first is not None and (take is None or first.owner != take.owner):
        refuse("run_lease_lost")
    if take is not None and (not take.owner or take.until is None):
        refuse("run_lease_lost")


def _take(run: Run, take: Take | None, first: Holder | None) -> None:
    if take is None:
        return
    assert take.until is not None
    run.epoch += 1
    run.lease = Lease(take.owner, take.until, run.epoch)
    if first is not None:
        _save(run, Holder(take.owner, run.epoch), run.revision)


def _save(run: Run, holder: Holder, revision: int) -> None:
    run.progress, run.progress_of = holder, revision
    run.saved.add(holder.epoch)


def _holds(run: Run, holder: Holder | None) -> bool:
    return (
        holder is not None
        and run.lease is not None
        and bool(holder.owner)
        and (holder.owner, holder.epoch) == (run.lease.owner, run.lease.epoch)
    )


def _require_holder(run: Run, holder: Holder | None) -> None:
    if holder is None and run.lease is None:
        return
    if not _holds(run, holder):
        refuse("run_lease_lost")


def _is_live(lease: Lease | None, now: datetime) -> bool:
    return lease is not None and lease.until > now


def _passed(deadline: datetime | None, now: datetime) -> bool:
    return deadline is not None and deadline <= now


def _require_pinned(run: Run, pause_id: str, revision: int) -> Pause:
    live = run.live
    if run.state != "paused" or live is None:
        refuse("not_suspended")
    if live.id != pause_id or run.revision != revision:
        refuse("run_conflict")
    return live


def _end(run: Run, state: str, content: object) -> None:
    run.state, run.revision, run.lease, run.end = state, run.revision + 1, None, content
    if run.live is not None:
        run.live.retired = True


def take_lease(run: Run, take: Take | None) -> None:
    """The lease that a new run is made with."""
    _require_whole(take, None)
    _take(run, take, None)


# -- pauses ----------------------------------------------------------------------------------------


def pause(run: Run, new: Pause, holder: Holder | None) -> bool:
    live = run.live
    if live is not None and not live.claimed:
        refuse("already_exists")
    if run.state != "running" or run.held:
        refuse("invalid_state")
    _require_holder(run, holder)
    if live is not None:
        live.retired = True
    run.state, run.revision, run.lease = "paused", run.revision + 1, None
    new.revision = run.revision
    run.pauses.append(new)
    return True


def claim(
    run: Run,
    version: tuple[str, int] | None,
    expired_by: datetime | None,
    take: Take | None,
    first: Holder | None,
    now: datetime,
) -> bool:
    _require_whole(take, first)
    if version is not None:
        live = _require_pinned(run, *version)
    else:
        if run.state != "paused" or run.live is None:
            refuse("not_suspended")
        live = run.live
    if expired_by is not None:
        if not _passed(live.expires_at, expired_by):
            refuse("not_suspended")
    else:
        if _passed(live.expires_at, now):
            refuse("suspension_expired")
        # At the door a plain claim takes pauses for an external tool alone.
        if live.reason == "approval":
            refuse("requires_approval")
        if live.reason == "agent_reply":
            refuse("not_agent_reply_resumable")
    run.state, run.revision, live.claimed = "running", run.revision + 1, True
    _take(run, take, first)
    return True


def delete(run: Run, pause_id: str | None) -> None:
    live = run.live
    if live is None or pause_id not in (None, live.id):
        refuse("not_suspended")
    if run.state == "paused" or run.held:
        refuse("invalid_state")
    live.retired = True


def expired(runs: list[Run], now: datetime) -> list[str]:
    found = [
        (run.live.expires_at, run.live.id)
        for run in runs
        if run.state == "paused" and run.live is not None and _passed(run.live.expires_at, now)
    ]
    return [pause_id for _, pause_id in sorted(found, key=lambda pair: (pair[0] or now, pair[1]))]


# -- answers ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """An answer by the bus, or a decision: who gives it, what it says, and what is wrong with it."""

    by: str  # "bus", or a principal that decides
    says: str
    fault: str = ""  # addresses | missing | unseen
    approves: bool = False

    @property
    def content(self) -> tuple[str, str]:
        return ("bus" if self.by == "bus" else "decision", self.says)


def admit(
    run: Run,
    target: Pause,
    revision: int,
    answer: Answer,
    take: Take | None,
    first: Holder | None,
    now: datetime,
    grace: timedelta,
) -> bool:
    if target.admission is not None:
        same = answer.fault != "missing" and target.admission.answer == answer.content
        if not same or target.admission.revision != revision:
            refuse("resume_admission_conflict")
        return False
    _require_whole(take, first)
    live = _require_pinned(run, target.id, revision)
    if _passed(live.expires_at, now):
        refuse("suspension_expired")
    if answer.by == "bus":
        if live.reason == "approval":
            refuse("requires_approval")
        if live.reason != "agent_reply" or answer.fault == "addresses":
            refuse("not_agent_reply_resumable")
    else:
        if live.reason == "agent_reply":
            refuse("not_agent_reply_resumable")
        if live.reason == "approval" and answer.approves and answer.by == live.made_by:
            refuse("self_approval")
        if answer.fault == "missing":
            refuse("results_mismatch")
        if answer.fault == "unseen":
            refuse("arguments_changed")
    start_by = None if live.expires_at is None else max(live.expires_at, now + grace)
    live.admission = Admission(answer.content, revision, now, start_by)
    run.state, run.revision, live.claimed = "running", run.revision + 1, True
    _take(run, take, first)
    return True


# -- starts, expiries and closures -----------------------------------------------------------------


def _require_admission(target: Pause, digest_is_right: bool) -> Admission:
    if target.admission is None:
        refuse("resume_admission_not_found")
    if not digest_is_right:
        refuse("resume_admission_conflict")
    return target.admission


def start(
    run: Run, target: Pause, digest_is_right: bool, take: Take | None, first: Holder | None, now: datetime
) -> bool:
    admission = _require_admission(target, digest_is_right)
    if admission.started is not None:
        return False
    _require_whole(take, first)
    if admission.expired or _passed(admission.start_by, now):
        refuse("suspension_expired")
    if admission.closed_by is not None or run.state != "running" or run.revision != admission.claimed_revision:
        refuse("run_conflict")
    if target.retired:
        refuse("resume_admission_conflict")
    _take(run, take, first)
    admission.started = Holder("", 0) if take is None else Holder(take.owner, run.epoch)
    return True


def start_next(
    runs: list[Run], take: Take, principal: str, request_id: str | None, now: datetime
) -> tuple[Run, Pause, bool] | None:
    """The run and pause that were started, and whether freshly; None where nothing waits."""
    if request_id is not None:
        for run in runs:
            for each in run.pauses:
                if each.admission is not None and each.admission.start_request == (principal, request_id):
                    return _repeat(run, each, take, now)
    waiting = [
        (run.live.admission.admitted_at, run.live.id, run)
        for run in runs
        if run.held and run.live is not None and run.live.admission is not None
    ]
    for _, _, run in sorted(waiting, key=lambda item: item[:2]):
        live = run.live
        assert live is not None and live.admission is not None
        if _passed(live.admission.start_by, now) or _is_live(run.lease, now):
            continue
        start(run, live, True, take, None, now)
        if request_id is not None:
            live.admission.start_request = (principal, request_id)
        return run, live, True
    return None


def _repeat(run: Run, target: Pause, take: Take, now: datetime) -> tuple[Run, Pause, bool]:
    """The same work again, while the granted lease is live and nothing was saved under it."""
    assert target.admission is not None
    granted = target.admission.started
    if (
        granted is None
        or granted.owner != take.owner
        or not _is_live(run.lease, now)
        or not _holds(run, granted)
        or granted.epoch in run.saved
        or target.retired
    ):
        refuse("resume_already_started")
    return run, target, False


def expire(run: Run, target: Pause, digest_is_right: bool, now: datetime) -> bool:
    admission = _require_admission(target, digest_is_right)
    if admission.expired:
        return False
    if admission.started is not None:
        refuse("resume_already_started")
    if run.state != "running" or run.revision != admission.claimed_revision:
        refuse("run_conflict")
    if not _passed(admission.start_by, now):
        refuse("resume_not_expired")
    admission.expired = True
    _end(run, "failed", ("expired", target.id))
    return True


def close(run: Run, target: Pause, revision: int, request: object, now: datetime) -> bool:
    """`request` is what makes two requests the same; digests and the proof's time in it are right."""
    admission = target.admission
    if admission is not None and admission.closed_by is not None:
        if admission.closed_by != request:
            refuse("resume_closure_conflict")
        return False
    if admission is None:
        refuse("resume_admission_not_found")
    latest = [each for each in run.pauses if each.admission is not None][-1]
    if latest is not target:
        refuse("resume_closure_conflict")
    if admission.started is None:
        refuse("resume_start_not_found")
    if run.state != "running" or run.revision != revision:
        refuse("run_conflict")
    if _is_live(run.lease, now):
        refuse("run_lease_live")
    admission.closed_by = request
    _end(run, "incomplete", ("closed", target.id))
    run.closed = True
    return True


# -- runs, leases and progress ---------------------------------------------------------------------


def finish(run: Run, outcome: str, output: str, holder: Holder | None) -> bool:
    content = ("finish", outcome, output)
    if run.state in ENDED and run.end == content:
        return False
    if run.state != "running" or run.held:
        refuse("invalid_state")
    _require_holder(run, holder)
    _end(run, outcome, content)
    return True


def cancel(run: Run, reason: str, holder: Holder | None, now: datetime) -> bool:
    content = ("cancel", reason)
    if run.state in ENDED:
        if run.end == content:
            return False
        refuse("invalid_state")
    if holder is not None and not _holds(run, holder):
        refuse("run_lease_lost")
    if run.state == "paused":
        assert run.live is not None
        run.live.claimed = True
        run.revision += 1
    elif holder is None and _is_live(run.lease, now):
        refuse("run_lease_lost")
    _end(run, "cancelled", content)
    return True


def claim_continuation(run: Run, take: Take, first: Holder | None) -> bool:
    _require_whole(take, first)
    if run.state != "incomplete" or run.closed:
        refuse("invalid_state")
    run.state, run.revision, run.end = "running", run.revision + 1, None
    _take(run, take, first)
    return True


def renew(run: Run, holder: Holder, until: datetime) -> None:
    if run.state != "running" or not _holds(run, holder):
        refuse("run_lease_lost")
    assert run.lease is not None
    if until <= run.lease.until:
        refuse("run_lease_lost")
    run.lease = Lease(holder.owner, until, holder.epoch)


def release(run: Run, holder: Holder) -> bool:
    if run.lease is None and holder.epoch == run.epoch and holder.owner:
        return False
    if not _holds(run, holder):
        refuse("run_lease_lost")
    run.lease = None
    return True


def reclaim(run: Run, take: Take, now: datetime) -> bool:
    """Whether the taker gets a snapshot of the present stint."""
    if run.held:
        refuse("invalid_state")
    if run.state != "running" or run.epoch == 0 or _is_live(run.lease, now):
        refuse("run_lease_lost")
    _take(run, take, None)
    return run.progress is not None and run.progress_of == run.revision


def save_progress(run: Run, holder: Holder) -> None:
    if run.held:
        refuse("invalid_state")
    if run.state != "running" or not _holds(run, holder):
        refuse("run_lease_lost")
    _save(run, holder, run.revision)


def delete_progress(run: Run, holder: Holder | None, now: datetime) -> None:
    if _is_live(run.lease, now) and not _holds(run, holder):
        refuse("run_lease_lost")
    if holder is not None and run.lease is not None and not _holds(run, holder):
        refuse("run_lease_lost")
    run.progress = None
