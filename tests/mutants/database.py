"""Without the database's own guards: constraints, keys, and the triggers that make receipts insert-only."""

from __future__ import annotations

from tests.mutants.mutant import without, without_constraint, without_key, without_trigger

_CONSTRAINTS = "tests/store/test_constraints.py"
_TRIGGERS = "tests/store/test_triggers.py"
_RECEIPTS = ("resume_admission", "resume_start_or_expiry", "resume_closure", "event")

MUTANTS = (
    without_constraint("run", "run_state_known", _CONSTRAINTS),
    without_constraint("run", "run_lease_both_or_neither", _CONSTRAINTS),
    without_constraint("run", "run_revision_positive", _CONSTRAINTS),
    without_constraint("run", "run_resume_whole", _CONSTRAINTS),
    without_constraint("run", "run_unheld_while_paused_or_ended", _CONSTRAINTS),
    without_constraint("progress", "progress_ending_known", _CONSTRAINTS),
    without_constraint("suspension", "suspension_reason_known", _CONSTRAINTS),
    without_constraint("suspension", "suspension_one_live_per_run", _CONSTRAINTS),
    without_constraint("admission", "admission_reason_known", _CONSTRAINTS),
    without_constraint("admission", "admission_input_size", _CONSTRAINTS),
    without_constraint("admission", "admission_claimed_next", _CONSTRAINTS),
    without_constraint("startorexpiry", "start_or_expiry_kind", _CONSTRAINTS),
    without_constraint("closure", "closure_next_revision", _CONSTRAINTS),
    # On SQLite the triggers that refuse REPLACE look at the same unique keys, and refuse first.
    without_constraint("startorexpiry", "start_request_once", _CONSTRAINTS, engines=("postgresql",)),
    without_constraint("event", "event_chain_position", _CONSTRAINTS, engines=("postgresql",)),
    without_constraint("event", "event_type_known", _CONSTRAINTS),
    without_constraint("interaction", "interaction_id_in_scope", _CONSTRAINTS),
    without_constraint("interaction", "interaction_resolved_whole", _CONSTRAINTS),
    without_key("resume_admission", _CONSTRAINTS),
    without_key("resume_start_or_expiry", _CONSTRAINTS),
    without_key("resume_closure", _CONSTRAINTS),
    *(
        without_trigger(table, kind, _TRIGGERS)
        for table in _RECEIPTS
        for kind in ("row", "truncate", "update", "delete", "insert")
    ),
    without(
        "the purge window's being the one door for a delete",
        "suspensions/models/triggers.py",
        " AND EXISTS (SELECT 1 FROM purge_window) THEN",
        " THEN",
        _TRIGGERS,
        engines=("postgresql",),
    ),
)
