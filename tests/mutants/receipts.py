"""Without the rules of admissions, starts, expiries, closures, and of the chain that binds them."""

from __future__ import annotations

from tests.mutants.mutant import BOTH, without

_ADMISSIONS = "suspensions/store/admissions.py"
_STARTS = "suspensions/store/starts.py"
_CLOSURES = "suspensions/store/closures.py"
_EXPIRIES = "suspensions/store/expiries.py"
_RESUMES = "suspensions/store/resume_rows.py"
_ROWS = "suspensions/store/run_rows.py"

_ADMIT = "tests/store/test_admit_resume.py"
_START = "tests/store/test_start_resume.py"
_NEXT = "tests/store/test_start_next.py"
_EXPIRE = "tests/store/test_expire_resume_admission.py"
_CLOSE = "tests/store/test_close_resume.py"

MUTANTS = (
    # -- the record first
    without(
        "the record first, in admit",
        _ADMISSIONS,
        "    if stored is not None:\n        return _require_same",
        "    if stored is not None and row.state == RunState.PAUSED:\n        return _require_same",
        _ADMIT,
    ),
    without(
        "the record first, in start",
        _STARTS,
        "    if resume.start is not None:\n        return resume.start\n",
        "",
        _START,
    ),
    without(
        "the record first, in expire",
        _EXPIRIES,
        "    if resume.expiry is not None:\n        return resume.expiry\n",
        "",
        _EXPIRE,
    ),
    without(
        "the record first, in close",
        _CLOSURES,
        "        return stored\n    start = ",
        "    start = ",
        _CLOSE,
    ),
    without(
        "the repeat of a start request",
        _STARTS,
        "        if repeated is not None:\n            return repeated\n",
        "",
        _NEXT,
    ),
    # -- digests
    without(
        "the digest comparison, in admit",
        _ADMISSIONS,
        "if not same_digest(request.digest(), stored.request_digest):",
        "if False:",
        _ADMIT,
    ),
    without(
        "the digest comparison, in start and expire",
        _RESUMES,
        "if not same_digest(admission.request_digest, request_digest):",
        "if False:",
        _START,
        _EXPIRE,
    ),
    without(
        "the digest comparison, in close",
        _CLOSURES,
        "if not same_digest(stored.request_digest, request.digest()):",
        "if False:",
        _CLOSE,
    ),
    without(
        "the admission's digest, in close",
        _CLOSURES,
        "        or not same_digest(admission_digest, request.admission_digest)\n",
        "",
        _CLOSE,
    ),
    without(
        "the start's digest, in close",
        _CLOSURES,
        "if not same_digest(start.digest, request.start_digest):",
        "if False:",
        _CLOSE,
    ),
    without(
        "the digest of the stored pause, at the start",
        _STARTS,
        "if not same_digest(recomputed, admission.suspension_digest):",
        "if False:",
        _START,
    ),
    without(
        "the digest of the stored input, at the start",
        _STARTS,
        'if not same_digest(sha256_hex(bytes(resume.input or b"")), admission.input_sha256):',
        "if False:",
        _START,
    ),
    without(
        "the comparison of digests itself",
        "suspensions/domain/digests.py",
        "return hmac.compare_digest(left.encode(), right.encode())",
        "return True",
        _ADMIT,
    ),
    # -- scopes
    without(
        "the scope of an admit",
        _ADMISSIONS,
        '" WHERE run.id = %s AND run.scope = %s"\n)',
        '" WHERE run.id = %s AND (run.scope = %s OR TRUE)"\n)',
        _ADMIT,
        "tests/store/test_scopes.py",
        engines=BOTH,
    ),
    without(
        "the scope of a start",
        _RESUMES,
        '" WHERE run.id = %s AND run.scope = %s"\n)',
        '" WHERE run.id = %s AND (run.scope = %s OR TRUE)"\n)',
        _START,
        "tests/store/test_scopes.py",
        engines=BOTH,
    ),
    without(
        "the scope of the next start",
        _STARTS,
        "FROM run WHERE scope = %s AND resume = 'admitted'\"",
        "FROM run WHERE (scope = %s OR TRUE) AND resume = 'admitted'\"",
        _NEXT,
        "tests/store/test_scopes.py",
        engines=BOTH,
    ),
    without(
        "the scope of a read admission",
        _ADMISSIONS,
        '"run_id = %s AND suspension_id = %s AND scope = %s"',
        '"run_id = %s AND suspension_id = %s AND (scope = %s OR TRUE)"',
        "tests/store/test_read_admissions.py",
    ),
    # -- start against expiry
    without(
        "the expiry that excludes a start",
        _STARTS,
        "if resume.expiry is not None or (admission.start_by",
        "if (admission.start_by",
        _START,
    ),
    without(
        "start_by, at the start",
        _STARTS,
        " or (admission.start_by is not None and admission.start_by <= now):",
        ":",
        _START,
    ),
    without(
        "the very instant of start_by, at the start",
        _STARTS,
        "and admission.start_by <= now):",
        "and admission.start_by < now):",
        _START,
    ),
    without(
        "the start that excludes an expiry",
        _EXPIRIES,
        "        return resume.expiry\n    if resume.start is not None:\n        raise ResumeAlreadyStarted\n",
        "        return resume.expiry\n",
        _EXPIRE,
    ),
    without(
        "start_by, at the expiry",
        _EXPIRIES,
        "if admission.start_by is None or admission.start_by > now:",
        "if admission.start_by is None:",
        _EXPIRE,
    ),
    without(
        "the very instant of start_by, at the expiry",
        _EXPIRIES,
        "if admission.start_by is None or admission.start_by > now:",
        "if admission.start_by is None or admission.start_by >= now:",
        _EXPIRE,
    ),
    without(
        "the claimed revision, at the start",
        _STARTS,
        "if resume.closed or row.state != RunState.RUNNING or row.revision != admission.claimed_revision:\n"
        "        raise RunConflict(row.state, row.revision)\n\n\ndef _require_as",
        "if resume.closed or row.state != RunState.RUNNING:\n"
        "        raise RunConflict(row.state, row.revision)\n\n\ndef _require_as",
        _START,
    ),
    without(
        "start_by, when a start is handed out",
        _STARTS,
        "(start_by IS NULL OR start_by > %s)",
        "(start_by IS NULL OR start_by > %s OR TRUE)",
        _NEXT,
        engines=BOTH,
    ),
    without(
        "the lease of a healthy admitter",
        _STARTS,
        "(lease_expires_at IS NULL OR lease_expires_at <= %s)",
        "(lease_expires_at IS NULL OR lease_expires_at <= %s OR TRUE)",
        _NEXT,
        engines=BOTH,
    ),
    without(
        "the order in which starts are handed out",
        _STARTS,
        "ORDER BY admitted_at, admission_id LIMIT 1",
        "ORDER BY admitted_at DESC, admission_id DESC LIMIT 1",
        _NEXT,
        engines=BOTH,
    ),
    without("the owner of a repeated start", _STARTS, "        and start.lease_owner == owner\n", "", _NEXT),
    without(
        "the principal of a repeated start",
        _STARTS,
        "(scope.text, actor.principal, request_id),\n    )",
        "(scope.text, actor.principal, request_id),\n    ) or sql.fetch_one("
        '"SELECT run_id, suspension_id FROM resume_start_or_expiry WHERE request_id = %s", (request_id,))',
        _NEXT,
    ),
    without("the live lease of a repeated start", _STARTS, "        and not lease.lapsed(clock.now())\n", "", _NEXT),
    without(
        "the unused progress of a repeated start",
        _STARTS,
        "        and row.progress_epoch != row.lease_epoch\n",
        "",
        _NEXT,
    ),
    without(
        "the grace of an answer given in time",
        _ADMISSIONS,
        "max(expires_at, admitted_at + self.grace)",
        "expires_at",
        _ADMIT,
        _START,
    ),
    without(
        "the longest wait for a start",
        _ADMISSIONS,
        "return longest if bound is None else min(bound, longest)",
        "return bound",
        _ADMIT,
    ),
    # -- closing
    without(
        "the run's latest admission, in close",
        _CLOSURES,
        "latest != version.suspension_id\n        or run_revision",
        "run_revision",
        _CLOSE,
    ),
    without(
        "when the lease lapsed, in a closure's event", _CLOSURES, "    data |= guards.lapsed(row, now)\n", "", _CLOSE
    ),
    without(
        "the live lease, in close", _CLOSURES, "if lease is not None and not lease.lapsed(now):", "if False:", _CLOSE
    ),
    without(
        "the revision, in close",
        _CLOSURES,
        "if row.state != RunState.RUNNING or row.revision != request.run_revision:",
        "if row.state != RunState.RUNNING:",
        _CLOSE,
    ),
    without(
        "the time of a proof",
        _CLOSURES,
        "if not start.started_at <= request.observed_at <= now < request.expires_at"
        " <= request.observed_at + proofs.LONGEST:",
        "if False:",
        _CLOSE,
    ),
    without("the once of a proof", _CLOSURES, "    if used is not None:\n", "    if False:\n", _CLOSE),
    # -- the chain
    without(
        "the link of an event to the one before", _ROWS, "previous=row.event_hash,", "previous=None,", "tests/store"
    ),
    without(
        "the event of a transition",
        _ROWS,
        'return [sql.update("run", columns, guard), insert_event(event, row.id)]',
        'return [sql.update("run", columns, guard)]',
        "tests/store/test_events.py",
    ),
    without(
        "the digest of what a run was made with",
        "suspensions/domain/run_history.py",
        'if name != "scope" and getattr',
        'if name not in ("scope", "kept_sha256") and getattr',
        "tests/closing/test_row_verification.py",
    ),
    without(
        "the digest of what a run ended with",
        "suspensions/domain/run_history.py",
        'if name != "scope" and getattr',
        'if name not in ("scope", "result_sha256") and getattr',
        "tests/closing/test_row_verification.py",
    ),
)
