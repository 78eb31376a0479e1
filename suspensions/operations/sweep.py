"""Sweeping: what time has decided, written down. Source: store.md section 8."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from suspensions.domain import clock
from suspensions.domain.errors import (
    CortexError,
    InvalidState,
    NotSuspended,
    ProgressNotFound,
    ResumeAlreadyStarted,
    ResumeNotExpired,
    RunConflict,
    RunLeaseLive,
    RunNotFound,
)
from suspensions.domain.values import SYSTEM
from suspensions.operations.transactions import in_transaction
from suspensions.store import expiries, runs, suspensions
from suspensions.store import sweep as store
from suspensions.store.sweep import Due, Position

BATCH = 100
FIRST_REST = timedelta(seconds=30)
LONGEST_REST = timedelta(minutes=15)

# What a row answers that somebody else took, or moved, since it was found.
_TAKEN = (
    NotSuspended,
    RunNotFound,
    RunConflict,
    RunLeaseLive,
    InvalidState,
    ProgressNotFound,
    ResumeAlreadyStarted,
    ResumeNotExpired,
)

log = structlog.stdlib.get_logger("cortex.sweeper")


@dataclass(slots=True)
class SweepReport:
    """What one sweep did."""

    expired_pauses: int = 0
    expired_resumes: int = 0
    finished_endings: int = 0
    skipped: int = 0
    """Taken by somebody else meanwhile, or held by them right now."""
    failed: int = 0
    """Rows that could not be handled; each was logged."""

    @property
    def did(self) -> int:
        return self.expired_pauses + self.expired_resumes + self.finished_endings


@dataclass(slots=True)
class _Kind:
    """One kind of work: how to find it, how to do one row in a transaction, and where its count stands."""

    count: str
    find: Callable[[datetime, Position | None, int], tuple[tuple[Due, ...], Position | None]]
    act: Callable[[Due, datetime], bool]


@dataclass(slots=True)
class _Rest:
    """A row that could not be handled: it is left alone for a while, a longer one each time."""

    until: datetime
    length: timedelta


def never() -> bool:
    return False


@dataclass(slots=True)
class Sweeper:
    """Sweeps, and remembers between sweeps which rows could not be handled, so that the log does not fill with them."""

    limit: int = BATCH
    asked_to_stop: Callable[[], bool] = never
    _resting: dict[str, _Rest] = field(default_factory=dict)

    def sweep(self) -> SweepReport:
        """Handle all that was due at this instant, by turns one batch of each kind.

        Every batch begins after the last one's end, whatever became of its rows: one that cannot be handled stops
        neither its batch nor those behind it. Between two rows it stops where that was asked.
        """
        now = clock.now()
        report = SweepReport()
        open_kinds: list[tuple[_Kind, Position | None]] = [(kind, None) for kind in _KINDS]
        while open_kinds and not self.asked_to_stop():
            further: list[tuple[_Kind, Position | None]] = []
            for kind, after in open_kinds:
                found, last = kind.find(now, after, self.limit)
                for due in found:
                    if self.asked_to_stop():
                        return report
                    self._handle(kind, due, now, report)
                if last is not None:
                    further.append((kind, last))
            open_kinds = further
        return report

    def _handle(self, kind: _Kind, due: Due, now: datetime, report: SweepReport) -> None:
        rest = self._resting.get(due.run_id)
        if rest is not None and rest.until > now:
            report.skipped += 1
            return
        try:
            done = in_transaction(kind.act, due, now)
        except _TAKEN:
            report.skipped += 1
        except Exception as error:  # one row's trouble, whatever it is, is not the others'
            report.failed += 1
            self._set_aside(due, now, error)
        else:
            self._resting.pop(due.run_id, None)
            if done:
                setattr(report, kind.count, getattr(report, kind.count) + 1)
            else:
                report.skipped += 1

    def _set_aside(self, due: Due, now: datetime, error: Exception) -> None:
        before = self._resting.get(due.run_id)
        length = FIRST_REST if before is None else min(before.length * 2, LONGEST_REST)
        self._resting[due.run_id] = _Rest(now + length, length)
        log.error(
            "a row could not be swept",
            run_id=due.run_id,
            suspension_id=due.suspension_id,
            reason=error.code if isinstance(error, CortexError) else type(error).__name__,
            again_in_seconds=int(length.total_seconds()),
            exc_info=error,
        )


def sweep_once(limit: int = BATCH) -> SweepReport:
    """One sweep, in batches of `limit` rows."""
    return Sweeper(limit).sweep()


# -- one row, in its own transaction -------------------------------------------------------------------


def _expire_pause(due: Due, now: datetime) -> bool:
    """Claim an expired pause under its own scope, as of the sweep's instant, and fail its run in the same commit."""
    if not store.try_lock(due):
        return False
    claimed, row = suspensions.claim(due.scope, due.run_id, SYSTEM, expired_by=now)
    assert claimed.claimed_at is not None
    runs.fail_expired_run(row, runs.DEADLINE_PASSED, SYSTEM, claimed.claimed_at)
    return True


def _expire_resume(due: Due, now: datetime) -> bool:
    if not store.try_lock(due):
        return False
    assert due.suspension_id is not None
    expiry = expiries.expire_resume_admission(due.scope, due.run_id, due.suspension_id, due.request_digest, SYSTEM)
    return expiry.fresh


def _finish_ending(due: Due, now: datetime) -> bool:
    if not store.try_lock(due):
        return False
    store.finish_ending(due.scope, due.run_id, SYSTEM)
    return True


_KINDS = (
    _Kind("expired_pauses", store.expired_pauses, _expire_pause),
    _Kind("expired_resumes", store.overdue_resumes, _expire_resume),
    _Kind("finished_endings", store.abandoned_endings, _finish_ending),
)
