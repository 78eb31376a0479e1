"""Without the rules of runs and pauses: what a state allows, which scope sees, when a deadline has passed."""

from __future__ import annotations

from tests.mutants.mutant import BOTH, without

_GUARDS = "suspensions/store/guards.py"
_ROWS = "suspensions/store/run_rows.py"
_RUNS = "suspensions/store/runs.py"
_SUSPENSIONS = "suspensions/store/suspensions.py"
_STATES = "suspensions/domain/states.py"
_IDS = "suspensions/domain/ids.py"

_CLAIMS = (
    "tests/store/test_claim_suspension.py",
    "tests/store/test_claim_suspension_version.py",
    "tests/store/test_claim_expired_suspension.py",
)
_PAUSE = "tests/store/test_create_suspension.py"
_FINISH = "tests/store/test_finish_run.py"
_CANCEL = "tests/store/test_cancel_run.py"
_DELETE = "tests/store/test_delete_suspension.py"
_STATES_TEST = "tests/store/test_states.py"

MUTANTS = (
    # -- states
    without(
        "the rule that an admitted run is nobody's to touch",
        _STATES,
        "if resume is ResumeState.ADMITTED and action in _HELD_BY_ADMISSION:",
        "if False:",
        _STATES_TEST,
    ),
    *(
        without(
            f"the rule that an admitted run is not to be touched by {action.lower()}",
            _STATES,
            "frozenset({Action.FINISH, Action.PAUSE, Action.SAVE_PROGRESS, Action.RECLAIM})",
            f"frozenset({{Action.FINISH, Action.PAUSE, Action.SAVE_PROGRESS, Action.RECLAIM}}) - {{Action.{action}}}",
            _STATES_TEST,
        )
        for action in ("FINISH", "PAUSE", "SAVE_PROGRESS", "RECLAIM")
    ),
    without(
        "the rule that nothing pauses an ended run",
        _STATES,
        "Action.PAUSE: (frozenset({RunState.RUNNING, RunState.PAUSED})",
        "Action.PAUSE: (frozenset({RunState.RUNNING, RunState.PAUSED}) | ENDED",
        _STATES_TEST,
    ),
    without(
        "the rule that nothing finishes a paused run",
        _STATES,
        "Action.FINISH: (frozenset({RunState.RUNNING})",
        "Action.FINISH: (frozenset({RunState.RUNNING, RunState.PAUSED})",
        _STATES_TEST,
    ),
    without(
        "the rule that nothing cancels an ended run",
        _STATES,
        "Action.CANCEL: (frozenset({RunState.RUNNING, RunState.PAUSED})",
        "Action.CANCEL: (frozenset({RunState.RUNNING, RunState.PAUSED}) | ENDED",
        _STATES_TEST,
    ),
    without(
        "the rule that only an incomplete run is continued",
        _STATES,
        "(frozenset({RunState.INCOMPLETE}), RunState.RUNNING)",
        "(ENDED, RunState.RUNNING)",
        "tests/store/test_claim_continuation_leased.py",
    ),
    without(
        "the rule that a run closed with proof is not continued",
        "suspensions/store/leases.py",
        'WHERE run_id = %s LIMIT 1", (row.id,)) is not None:',
        'WHERE run_id = %s LIMIT 1", (row.id,)) is ...:',
        "tests/store/test_claim_continuation_leased.py",
        "tests/store/test_close_resume.py",
    ),
    without(
        "one live pause at a time",
        _SUSPENSIONS,
        "if live_id is not None and live_claimed_at is None:",
        "if False:",
        _PAUSE,
    ),
    without(
        "the retirement of a claimed pause by the next one",
        _SUSPENSIONS,
        '        sql.write(sql.update("suspension", {"retired_at": now, "updated_at": now}, {"id": live_id, '
        '"retired_at": None}))\n',
        "        pass\n",
        _PAUSE,
    ),
    without(
        "the retirement of a pause by the end of its run",
        _RUNS,
        "told, actor, now), retire_live(row, now), *write_result",
        "told, actor, now), *write_result",
        _FINISH,
        _CANCEL,
    ),
    without(
        "the end of open questions with their run",
        _RUNS,
        "    resolve_open_interactions(row, now)\n",
        "",
        "tests/store/test_interactions.py",
    ),
    # -- the record first
    without(
        "the record first, in create run",
        _RUNS,
        "        if found is not None:\n            if found.request_sha256",
        "        if found is not None:\n            raise AlreadyExists\n            if found.request_sha256",
        "tests/store/test_create_run.py",
    ),
    without(
        "the comparison of content, in create run",
        _RUNS,
        "if found.request_sha256 != new.request_sha256:",
        "if False:",
        "tests/store/test_create_run.py",
    ),
    without(
        "the record first, in pause",
        _SUSPENSIONS,
        "    if record is not None:\n        return record\n",
        "",
        _PAUSE,
    ),
    without(
        "the comparison of content, in pause",
        _SUSPENSIONS,
        "if found != (new.scope.text, new.run_id, new.request_sha256):",
        "if found[:2] != (new.scope.text, new.run_id):",
        _PAUSE,
    ),
    without(
        "the comparison of scope, in pause",
        _SUSPENSIONS,
        "if found != (new.scope.text, new.run_id, new.request_sha256):",
        "if found[1:] != (new.run_id, new.request_sha256):",
        _PAUSE,
    ),
    without(
        "the record first, in finish",
        _RUNS,
        "    if guards.is_ended(row) and row.finish_sha256 == content:\n"
        "        return to_run(row)\n    guards.require_allowed",
        "    guards.require_allowed",
        _FINISH,
    ),
    without(
        "the record first, in cancel",
        _RUNS,
        "    if guards.is_ended(row) and row.finish_sha256 == content:\n        return to_run(row)\n    if not allows",
        "    if not allows",
        _CANCEL,
    ),
    without(
        "the comparison of content, in finish",
        _RUNS,
        "    if guards.is_ended(row) and row.finish_sha256 == content:\n"
        "        return to_run(row)\n    guards.require_allowed",
        "    if guards.is_ended(row):\n        return to_run(row)\n    guards.require_allowed",
        _FINISH,
    ),
    # -- deadlines
    without(
        "the deadline",
        _GUARDS,
        "if deadline is not None and deadline <= now:",
        "if False:",
        *_CLAIMS,
    ),
    without(
        "the very instant of the deadline, which is the sweep's",
        _GUARDS,
        "if deadline is not None and deadline <= now:",
        "if deadline is not None and deadline < now:",
        *_CLAIMS,
    ),
    without(
        "the deadline in the sweep's claim",
        _SUSPENSIONS,
        "if deadline is None or deadline > expired_by:",
        "if deadline is None:",
        *_CLAIMS,
    ),
    without(
        "the need of a deadline in the sweep's claim",
        _SUSPENSIONS,
        "if deadline is None or deadline > expired_by:",
        "if deadline is not None and deadline > expired_by:",
        *_CLAIMS,
    ),
    without(
        "the very instant of the deadline, in the sweep's claim",
        _SUSPENSIONS,
        "if deadline is None or deadline > expired_by:",
        "if deadline is None or deadline >= expired_by:",
        *_CLAIMS,
    ),
    without(
        "the refusal of an instant in the future, in the sweep's claim",
        _SUSPENSIONS,
        "if expired_by is not None and expired_by > now:",
        "if False:",
        *_CLAIMS,
    ),
    without(
        "the deadline in the list of expired pauses",
        _SUSPENSIONS,
        'f" AND suspension.expires_at <= %s{where}"',
        'f" AND (suspension.expires_at IS NULL OR suspension.expires_at <> %s){where}"',
        "tests/store/test_list_expired.py",
        engines=BOTH,
    ),
    without(
        "the longest deadline",
        _SUSPENSIONS,
        "if self.maximum is not None and expires_at > now + self.maximum:",
        "if False:",
        _PAUSE,
    ),
    # -- the pin
    without("the revision check", _GUARDS, " or row.revision != version.run_revision:", ":", *_CLAIMS),
    without("the check of the pinned pause", _GUARDS, "if live_id != version.suspension_id or row", "if row", *_CLAIMS),
    without(
        "the check that a claimed run is paused",
        _SUSPENSIONS,
        "    elif row.state != RunState.PAUSED:\n",
        "    elif False:\n",
        *_CLAIMS,
    ),
    without(
        "the check that a pinned run is paused",
        _GUARDS,
        "if row.state != RunState.PAUSED or live_id is None:",
        "if live_id is None:",
        *_CLAIMS,
    ),
    without(
        "the id that keeps a delete from a later pause",
        _SUSPENSIONS,
        " or suspension_id not in (None, live[0]):",
        ":",
        _DELETE,
    ),
    without(
        "the refusal to delete a pause that still decides",
        _SUSPENSIONS,
        "if row.state == RunState.PAUSED or row.held_by_admission():",
        "if False:",
        _DELETE,
    ),
    without(
        "the refusal to delete a pause whose admission waits",
        _SUSPENSIONS,
        "if row.state == RunState.PAUSED or row.held_by_admission():",
        "if row.state == RunState.PAUSED:",
        _DELETE,
    ),
    # -- ids
    without(
        "the order of chosen pause ids",
        _SUSPENSIONS,
        "if row.last_suspension_id is not None and chosen <= row.last_suspension_id:",
        "if False:",
        _PAUSE,
    ),
    without("the bound of a chosen id's time", _IDS, "if (number >> 80) >", "if False and (number >> 80) >", _PAUSE),
    without(
        "the need of a UUIDv7", _IDS, "if not _is_uuid7(number):\n        raise", "if False:\n        raise", _PAUSE
    ),
    without("the prefix of an id", _IDS, "if head == prefix and len(tail)", "if len(tail)", "tests/domain/test_ids.py"),
    without(
        "the id that follows a chosen one",
        _IDS,
        "if latest is None or fresh > latest:",
        "if True:",
        "tests/domain/test_ids.py",
    ),
    # -- scopes
    without(
        "the scope of a locked run",
        _ROWS,
        '"WHERE run.id = %s AND run.{scope_column} = %s"',
        '"WHERE run.id = %s AND (run.{scope_column} = %s OR TRUE)"',
        _FINISH,
        _CANCEL,
        "tests/store/test_scopes.py",
        engines=BOTH,
    ),
    without(
        "the exactness of the scope, where covering is not enough",
        _ROWS,
        'return _find_run("scope", run_id, scope, contents)',
        "return _find_run(prefix_column(scope), run_id, scope, contents)",
        _FINISH,
        _CANCEL,
        "tests/store/test_scopes.py",
        engines=BOTH,
    ),
    without(
        "the scope of a claim",
        _SUSPENSIONS,
        '{_READ_FOR_CLAIM} WHERE run.id = %s AND run.{column} = %s"',
        '{_READ_FOR_CLAIM} WHERE run.id = %s AND (run.{column} = %s OR TRUE)"',
        *_CLAIMS,
        "tests/store/test_scopes.py",
        engines=BOTH,
    ),
    without(
        "equality of scope columns, in favour of a pattern",
        _SUSPENSIONS,
        '{_READ_FOR_CLAIM} WHERE run.id = %s AND run.{column} = %s"',
        '{_READ_FOR_CLAIM} WHERE run.id = %s AND run.{column} LIKE %s"',
        *_CLAIMS,
        "tests/store/test_scopes.py",
        engines=BOTH,
    ),
    without(
        "the scope of a pause",
        _SUSPENSIONS,
        '" WHERE run.id = %s AND run.scope = %s"\n',
        '" WHERE run.id = %s AND (run.scope = %s OR TRUE)"\n',
        _PAUSE,
        "tests/store/test_scopes.py",
        engines=BOTH,
    ),
    without(
        "the scope of a read pause",
        _SUSPENSIONS,
        'WHERE suspension.run_id = %s AND suspension.{column} = %s AND suspension.retired_at IS NULL"',
        'WHERE suspension.run_id = %s AND (suspension.{column} = %s OR TRUE) AND suspension.retired_at IS NULL"',
        "tests/store/test_get_suspension.py",
        "tests/store/test_scopes.py",
        engines=BOTH,
    ),
    without(
        "the need that a covering scope covers level by level",
        "suspensions/domain/scopes.py",
        'return other.text == self.text or other.text.startswith(f"{self.text}/")',
        "return other.text.startswith(self.text)",
        "tests/domain/test_scopes.py",
    ),
)
