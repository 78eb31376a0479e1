"""Without the rules of leases: who holds a run, and what taking over does."""

from __future__ import annotations

from tests.mutants.mutant import without

_GUARDS = "suspensions/store/guards.py"
_LEASES = "suspensions/store/leases.py"
_PROGRESS = "suspensions/store/progress.py"
_VALUES = "suspensions/domain/values/leases.py"

_FENCING = "tests/concurrency/test_fencing.py"
_RECLAIM = "tests/store/test_reclaim_lease.py"
_RENEW = "tests/store/test_renew_lease.py"
_RELEASE = "tests/store/test_release_lease.py"
_PROGRESS_TEST = "tests/store/test_progress.py"
_CANCEL = "tests/store/test_cancel_run.py"

MUTANTS = (
    without("the epoch check", _GUARDS, " or row.lease_epoch != holder.epoch:", ":", _FENCING),
    without(
        "the owner check",
        _GUARDS,
        "if not holder.owner or row.lease_owner != holder.owner or row",
        "if row",
        _PROGRESS_TEST,
        _RENEW,
    ),
    without(
        "the need of a holder where there is a lease",
        _GUARDS,
        "        if row.lease_owner is not None:\n            raise RunLeaseLost\n",
        "",
        "tests/store/test_finish_run.py",
    ),
    without("the growth of the epoch", _GUARDS, "row.lease_epoch + 1)", "max(row.lease_epoch, 1))", _FENCING, _RECLAIM),
    without(
        "the end of the lease with a pause",
        "suspensions/store/suspensions.py",
        '"last_suspension_id": suspension_id,\n        **UNLEASED,',
        '"last_suspension_id": suspension_id,',
        "tests/store/test_create_suspension.py",
    ),
    without(
        "the very instant at which a lease lapses",
        _VALUES,
        "return self.expires_at <= now",
        "return self.expires_at < now",
        _RECLAIM,
    ),
    without(
        "the refusal to reclaim a live lease",
        _LEASES,
        " or (lease is not None and not lease.lapsed(now)):",
        ":",
        _RECLAIM,
    ),
    without(
        "the refusal to reclaim what was never leased",
        _LEASES,
        " or row.lease_epoch == 0 or",
        " or",
        _RECLAIM,
    ),
    without(
        "the refusal to reclaim what does not run",
        _LEASES,
        "if row.state != RunState.RUNNING or row.lease_epoch == 0",
        "if row.lease_epoch == 0",
        _RECLAIM,
    ),
    without("the later instant of a renewal", _LEASES, "if until <= lease.expires_at:", "if False:", _RENEW),
    without(
        "the holder of a renewal",
        _LEASES,
        "    guards.require_exact_holder(row, holder)\n    now = clock.now()\n    until",
        "    now = clock.now()\n    until",
        _RENEW,
        _FENCING,
    ),
    without(
        "the holder of a release",
        _LEASES,
        "    guards.require_exact_holder(row, holder)\n    told",
        "    told",
        _RELEASE,
        _FENCING,
    ),
    without(
        "the bounds of a lease",
        _VALUES,
        "if not limits.MIN_LEASE <= until - now <= limits.MAX_LEASE:",
        "if False:",
        "tests/store/test_create_run.py",
    ),
    without(
        "the refusal of half a lease",
        _VALUES,
        "if not self.owner or (self.expires_at is None and self.seconds is None):",
        "if self.expires_at is None and self.seconds is None:",
        "tests/store/test_claim_suspension_leased.py",
    ),
    without(
        "the refusal of another owner's first snapshot",
        _GUARDS,
        "first.owner != lease.owner or first.run_id != run_id",
        "first.run_id != run_id",
        "tests/store/test_claim_suspension_leased.py",
    ),
    without(
        "the refusal of another run's first snapshot",
        _GUARDS,
        "first.owner != lease.owner or first.run_id != run_id",
        "first.owner != lease.owner",
        "tests/store/test_claim_suspension_leased.py",
    ),
    without(
        "the holder of a snapshot",
        _PROGRESS,
        "    guards.require_exact_holder(row, holder)\n    now",
        "    now",
        _PROGRESS_TEST,
        _FENCING,
    ),
    without(
        "the owner within a snapshot",
        _PROGRESS,
        " or snapshot.owner != holder.owner:",
        ":",
        _PROGRESS_TEST,
    ),
    without(
        "the refusal of a snapshot for a run that does not run",
        _PROGRESS,
        "if row.state != RunState.RUNNING or snapshot",
        "if snapshot",
        _PROGRESS_TEST,
    ),
    without(
        "the end of a snapshot with the stint that it tells of",
        _PROGRESS,
        "if row.progress_revision == row.revision else None",
        "if True else None",
        _RECLAIM,
    ),
    without(
        "the holder of a deleted snapshot",
        _PROGRESS,
        "        guards.require_holder(row, holder)\n",
        "        pass\n",
        _PROGRESS_TEST,
    ),
    without(
        "the lease that keeps others from cancelling",
        "suspensions/store/runs.py",
        "    elif lease is not None and not lease.lapsed(now):",
        "    elif False:",
        _CANCEL,
    ),
)
