"""The database is the last guard: what no code of ours may write, no code can. Source: store.md section 3.

Each rule is broken by raw SQL, past the store, on either engine.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from suspensions.domain import ids
from suspensions.domain.digests import sha256_hex
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import dumps
from suspensions.domain.values import NewInteraction, Reason
from suspensions.operations import interactions, resumes
from suspensions.operations.transactions import in_transaction
from suspensions.store import progress
from tests.store import situations, support
from tests.store.rows import execute, insert, rows
from tests.store.scenarios import ASSISTANT
from tests.store.situations import Made
from tests.store.support import this_moment, unchanged
from tests.support.builders import admit, caller, fresh_scope, make_pause, snapshot, take


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: bytes(value) if isinstance(value, memoryview) else value for name, value in row.items()}


def row_of(table: str, made: Made) -> dict[str, Any]:
    column = "id" if table == "run" else "run_id"
    return _plain(rows(f"SELECT * FROM {table} WHERE {column} = %s ORDER BY 1 LIMIT 1", [made.run_id])[0])


def refuse(made: Made, statement: str, *parameters: Any) -> None:
    """Fail unless the statement, or its commit, violates a rule of the database."""
    with unchanged(made.scope), pytest.raises(IntegrityError):
        transaction.atomic(lambda: execute(statement, parameters))()


def refuse_row(made: Made, table: str, row: dict[str, Any]) -> None:
    with unchanged(made.scope), pytest.raises(IntegrityError):
        transaction.atomic(lambda: insert(table, row))()


# -- one of each -------------------------------------------------------------------------------------


@pytest.mark.parametrize("situation", [situations.paused, situations.claimed, situations.admitted, situations.started])
def test_a_run_has_at_most_one_live_pause(situation: situations.Situation) -> None:
    made = situation(fresh_scope())
    second = row_of("suspension", made) | {"id": ids.new_id(ids.SUSPENSION), "claimed_at": None}

    refuse_row(made, "suspension", second)

    insert("suspension", second | {"retired_at": this_moment()})
    refuse(made, "UPDATE suspension SET retired_at = NULL WHERE id = %s", second["id"])


def test_a_pauses_id_is_there_once_in_every_scope() -> None:
    made, other = situations.claimed(fresh_scope()), situations.running(fresh_scope())
    foreign = {"run_id": other.run_id, "scope": other.scope.text, "scope_1": other.scope.text}
    refuse_row(made, "suspension", row_of("suspension", made) | foreign)


def test_a_runs_id_is_there_once_in_every_scope() -> None:
    made, other = situations.running(fresh_scope()), fresh_scope()
    refuse_row(made, "run", row_of("run", made) | {"scope": other.text, "scope_1": other.text})


@pytest.mark.parametrize(
    ("table", "situation"),
    [
        ("resume_admission", situations.admitted),
        ("resume_start_or_expiry", situations.started),
        ("resume_start_or_expiry", situations.expired),
        ("resume_closure", situations.closed),
    ],
)
def test_a_pause_has_one_admission_one_start_or_expiry_and_one_closure(
    table: str, situation: situations.Situation
) -> None:
    made = situation(fresh_scope())
    other = {"proof_ref": ids.new_id(ids.PROOF)} if table == "resume_closure" else {}
    refuse_row(made, table, row_of(table, made) | other)


def test_an_expiry_excludes_a_start() -> None:
    made = situations.expired(fresh_scope())
    start = row_of("resume_start_or_expiry", made) | {"kind": "start", "expired_revision": None}
    refuse_row(made, "resume_start_or_expiry", start)


def test_a_start_excludes_an_expiry() -> None:
    made = situations.started(fresh_scope())
    expiry = row_of("resume_start_or_expiry", made) | {"kind": "expiry", "expired_revision": 4}
    refuse_row(made, "resume_start_or_expiry", expiry)


def test_a_proof_closes_one_resume() -> None:
    made = situations.closed(fresh_scope())
    refuse_row(made, "resume_closure", row_of("resume_closure", made) | {"suspension_id": ids.new_id(ids.SUSPENSION)})


def test_a_chain_has_one_event_at_each_position() -> None:
    made = situations.paused(fresh_scope())
    refuse_row(made, "event", row_of("event", made) | {"id": ids.new_id(ids.EVENT)})


def test_a_request_id_names_one_start() -> None:
    """Another resume's start under the same request, by the same principal: only a raw insert can try."""
    scope = fresh_scope()
    first, second = (admit(make_pause(scope, Reason.AGENT_REPLY)) for _ in range(2))
    granted = resumes.start_next(caller(scope, Role.AGENT, principal="w"), scope, take(), request_id="once")
    assert granted is not None
    other = first if granted.version == second.version else second
    (row,) = rows("SELECT * FROM resume_start_or_expiry WHERE run_id = %s", [granted.version.run_id])
    changes = {
        "run_id": other.version.run_id,
        "suspension_id": other.version.suspension_id,
        "event_id": ids.new_id(ids.EVENT),
    }
    with unchanged(scope), pytest.raises(IntegrityError):
        transaction.atomic(lambda: insert("resume_start_or_expiry", _plain(row) | changes))()
    changes["request_id"] = "another"
    transaction.atomic(lambda: insert("resume_start_or_expiry", _plain(row) | changes))()


def test_a_run_has_one_snapshot() -> None:
    made = situations.leased(fresh_scope())
    assert made.holder is not None
    in_transaction(progress.save_progress, made.scope, snapshot(made.run_id), made.holder)
    refuse_row(made, "progress", row_of("progress", made))


# -- runs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["", "Running", "suspended", "expired"])
def test_a_state_is_one_of_the_seven(state: str) -> None:
    made = situations.running(fresh_scope())
    refuse(made, "UPDATE run SET state = %s WHERE id = %s", state, made.run_id)


@pytest.mark.parametrize("revision", [0, -1])
def test_a_revision_is_positive(revision: int) -> None:
    made = situations.running(fresh_scope())
    refuse(made, "UPDATE run SET revision = %s WHERE id = %s", revision, made.run_id)


@pytest.mark.parametrize(
    "half",
    [
        "lease_owner = NULL",
        "lease_expires_at = NULL",
        "lease_owner = ''",
        "lease_owner = '', lease_expires_at = NULL",
    ],
)
def test_a_lease_has_owner_and_end_or_neither(half: str) -> None:
    made = situations.leased(fresh_scope())
    refuse(made, f"UPDATE run SET {half} WHERE id = %s", made.run_id)


@pytest.mark.parametrize(
    "situation",
    [
        situations.paused,
        situations.completed,
        situations.failed,
        situations.cancelled,
        situations.incomplete,
    ],
)
def test_nobody_holds_a_paused_or_ended_run(situation: situations.Situation) -> None:
    made = situation(fresh_scope())
    refuse(made, "UPDATE run SET lease_owner = 'x', lease_expires_at = %s WHERE id = %s", this_moment(), made.run_id)


@pytest.mark.parametrize(
    "broken",
    [
        "admission_id = NULL",
        "resume = NULL",
        "admitted_at = NULL",
        "resume = 'expired'",
        "resume = ''",
        "admission_id = NULL, resume = NULL",
    ],
)
def test_an_open_resume_is_whole_on_its_run(broken: str) -> None:
    made = situations.admitted(fresh_scope())
    refuse(made, f"UPDATE run SET {broken} WHERE id = %s", made.run_id)


# -- pauses and receipts -----------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["", "Approval", "human"])
def test_a_reason_is_one_of_the_three(reason: str) -> None:
    made = situations.admitted(fresh_scope())
    refuse(made, "UPDATE suspension SET reason = %s WHERE run_id = %s", reason, made.run_id)
    refuse_row(
        made,
        "resume_admission",
        row_of("resume_admission", made) | {"suspension_id": ids.new_id(ids.SUSPENSION), "reason": reason},
    )


def _another(made: Made, table: str, **changes: Any) -> dict[str, Any]:
    """The row of another pause, so that only the changes can be at fault."""
    unique = {"resume_closure": {"proof_ref": ids.new_id(ids.PROOF)}}.get(table, {})
    return row_of(table, made) | {"suspension_id": ids.new_id(ids.SUSPENSION)} | unique | changes


@pytest.mark.parametrize(
    ("table", "situation", "changes"),
    [
        ("resume_admission", situations.admitted, {"input_bytes": 0}),
        ("resume_admission", situations.admitted, {"input_bytes": (8 << 20) + 1}),
        ("resume_admission", situations.admitted, {"claimed_revision": 2}),
        ("resume_admission", situations.admitted, {"claimed_revision": 4}),
        ("resume_start_or_expiry", situations.started, {"kind": "closure"}),
        ("resume_start_or_expiry", situations.started, {"expired_revision": 4}),
        ("resume_start_or_expiry", situations.expired, {"expired_revision": None}),
        ("resume_start_or_expiry", situations.expired, {"lease_owner": "x"}),
        ("resume_start_or_expiry", situations.expired, {"request_id": "x"}),
        ("resume_closure", situations.closed, {"run_revision": 3}),
        ("resume_closure", situations.closed, {"run_revision": 5}),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else None,
)
def test_a_receipt_that_contradicts_itself_is_refused(
    table: str, situation: situations.Situation, changes: dict[str, Any]
) -> None:
    made = situation(fresh_scope())
    refuse_row(made, table, _another(made, table, **changes))
    # The same row without the contradiction is taken.
    with transaction.atomic():
        insert(table, _another(made, table))
        transaction.set_rollback(True)


@pytest.mark.parametrize("kind", ["", "run.renewed", "RUN.CREATED"])
def test_an_event_is_of_a_known_kind(kind: str) -> None:
    made = situations.running(fresh_scope())
    refuse_row(made, "event", row_of("event", made) | {"id": ids.new_id(ids.EVENT), "position": 2, "type": kind})


@pytest.mark.parametrize("kind", ["", "finish", "Cancel"])
def test_an_ending_is_a_cancel_or_an_expiry(kind: str) -> None:
    made = situations.leased(fresh_scope())
    assert made.holder is not None
    in_transaction(progress.save_progress, made.scope, snapshot(made.run_id), made.holder)
    refuse(made, "UPDATE progress SET ending_kind = %s WHERE run_id = %s", kind, made.run_id)


# -- what hangs on what ------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["suspension", "resume_admission", "resume_start_or_expiry"])
def test_nothing_hangs_on_a_run_that_is_not_there(table: str) -> None:
    made = situations.started(fresh_scope())
    orphan = _another(made, table, run_id=ids.new_id(ids.RUN)) if table != "suspension" else row_of(table, made)
    if table == "suspension":
        orphan |= {"id": ids.new_id(ids.SUSPENSION), "run_id": ids.new_id(ids.RUN)}
    refuse_row(made, table, orphan)


def test_a_run_with_a_history_is_not_deleted() -> None:
    for situation in (situations.paused, situations.started, situations.closed):
        made = situation(fresh_scope())
        refuse(made, "DELETE FROM run WHERE id = %s", made.run_id)


def test_a_pause_keeps_its_continuation_and_the_reverse() -> None:
    made = situations.paused(fresh_scope())
    assert made.pause is not None
    refuse(made, "DELETE FROM suspension WHERE id = %s", made.pause.id)
    refuse_row(made, "suspension_continuation", {"suspension_id": ids.new_id(ids.SUSPENSION), "body": b"{}"})


def test_a_violated_rule_leaves_the_store_usable() -> None:
    made = situations.paused(fresh_scope(), Reason.EXTERNAL_TOOL)
    refuse_row(made, "suspension", row_of("suspension", made) | {"id": ids.new_id(ids.SUSPENSION)})
    support.claim(made.scope, made.run_id)
    assert make_pause(made.scope, run=made.run).fresh


# -- questions ---------------------------------------------------------------------------------------


def _question(scope: Scope) -> dict[str, Any]:
    new = NewInteraction(scope, "q-1", "tu", dumps(ASSISTANT))
    interactions.save_interaction(caller(scope), new, sha256_hex(b"q-1"))
    (row,) = rows("SELECT * FROM interaction WHERE scope = %s", [scope.text])
    return {name: value for name, value in _plain(row).items() if name != "id"}


def test_a_question_is_there_once_in_its_scope() -> None:
    scope = fresh_scope()
    row = _question(scope)
    with unchanged(scope), pytest.raises(IntegrityError):
        transaction.atomic(lambda: insert("interaction", row))()
    transaction.atomic(lambda: insert("interaction", row | {"interaction_id": "q-2"}))()


@pytest.mark.parametrize("half", ["resolved_at", "resolved_by"])
def test_a_resolved_question_says_when_and_by_whom_or_neither(half: str) -> None:
    scope = fresh_scope()
    row = _question(scope)
    value = row["created_by"] if half == "resolved_by" else row["created_at"]
    with unchanged(scope), pytest.raises(IntegrityError):
        transaction.atomic(lambda: insert("interaction", row | {"interaction_id": "q-2", half: value}))()
