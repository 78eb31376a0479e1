"""A run's row and its pauses must change, so no trigger keeps them; what they say is held against the events.

Whoever can write to the database could else take the maker's name off a pause and approve it, put an approved resume
up to be started again, show approvers another call than the one that is bound, or move a run to another tenant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from suspensions.domain import clock
from suspensions.domain.digests import sha256_hex
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.strict_json import dumps
from suspensions.domain.values import Admission, Reason, Suspension, suspension_digest
from suspensions.domain.verification import verify_chain
from suspensions.models.fields import to_database
from suspensions.operations import receipts, resumes, runs, suspensions
from suspensions.operations.transactions import in_transaction
from suspensions.operations.verification import verify_receipts
from suspensions.store import evidence
from tests.closing.test_verification import execute, without_triggers
from tests.support.builders import admit, approve_all, caller, fresh_scope, holder_of, make_pause, make_run, start, take


@dataclass
class Waiting:
    """One run with an answer that waits for its worker, one with an answer that was started, one with a question."""

    scope: Scope
    admitted: Admission
    started: Admission
    open: Suspension


@pytest.fixture
def waiting() -> Waiting:
    scope = fresh_scope(2)
    admitted = admit(make_pause(scope, expires_at=clock.now() + timedelta(hours=1)))
    started = admit(make_pause(scope, Reason.EXTERNAL_TOOL))
    start(started, lease=take())
    return Waiting(scope, admitted, started, make_pause(scope, run=make_run(scope, lease=take())))


def findings(scope: Scope) -> list[tuple[str, str, str]]:
    return [(finding.kind, finding.id, finding.detail) for finding in verify_receipts(scope)]


def test_what_the_product_wrote_is_whole(waiting: Waiting) -> None:
    assert findings(waiting.scope) == []


EVE = dumps({"principal": "eve", "via": "session"}).decode()
RUN_CHANGES: dict[str, tuple[str, Any]] = {
    "its maker": ("created_by", EVE),
    "its age": ("created_at", "2020-01-01T00:00:00.000000Z"),
    "its agent": ("agent_name", "eve"),
    "its holder": ("lease_owner", "eve"),
    "its epoch": ("lease_epoch", 77),
    "a start that was never": ("resume", "started"),
    "a start that is to be again": ("resume", "admitted"),
    "another admission": ("admission_id", "sus_00000000000000000000000000"),
    "its turn": ("admitted_at", "2020-01-01T00:00:00.000000Z"),
    "its time to start": ("start_by", "2999-01-01T00:00:00.000000Z"),
    "its last pause": ("last_suspension_id", None),
    "its open questions": ("open_interactions", 3),
    "its agent's id": ("agent_id", "eve"),
    "its session": ("session_id", "another"),
    "its persona": ("persona_ref", "another"),
    "its metadata": ("metadata", b'{"limit":1000000}'),
    "its first level": ("scope_1", "w=evil"),
    "its second level": ("scope_2", "w=evil/p=x"),
    "a third level": ("scope_3", "w=evil/p=x/t=y"),
}


def _change_run(run_id: str, column: str, value: Any) -> None:
    # Where a check constraint wants both or neither, the other one goes along.
    with_it = {"lease_owner": ", lease_expires_at = created_at"}.get(column, "")
    if connection.vendor == "postgresql" and column in ("created_at", "admitted_at", "start_by"):
        column, value = f"{column}", to_database(clock.now() + timedelta(days=1), "postgresql")
    execute(f"UPDATE run SET {column} = %s{with_it} WHERE id = %s", value, run_id)


@pytest.mark.parametrize(("column", "value"), RUN_CHANGES.values(), ids=RUN_CHANGES.keys())
def test_a_run_that_is_not_what_its_events_say_is_named(column: str, value: Any, waiting: Waiting) -> None:
    resume = waiting.started if value == "admitted" else waiting.admitted
    run_id = resume.version.run_id
    _change_run(run_id, column, value)
    # By its chain: a look at one scope alone does not come to a run that is filed elsewhere.
    found = verify_chain(in_transaction(evidence.stored_run, run_id))
    assert {(finding.kind, finding.id) for finding in found} == {("run", run_id)}


def test_a_lease_that_was_slipped_back_in_is_found(waiting: Waiting) -> None:
    run_id = waiting.started.version.run_id
    execute("UPDATE run SET lease_owner = NULL, lease_expires_at = NULL WHERE id = %s", run_id)
    assert findings(waiting.scope) == [("run", run_id, "has other columns than its events say: lease_owner")]


def test_a_run_that_was_moved_to_another_scope_is_found(waiting: Waiting) -> None:
    target = fresh_scope(2)
    one, two, _ = target.prefixes
    run_id = waiting.admitted.version.run_id
    execute("UPDATE run SET scope = %s, scope_1 = %s, scope_2 = %s WHERE id = %s", target.text, one, two, run_id)
    (finding,) = findings(target)
    assert finding[:2] == ("run", run_id)
    assert waiting.scope.text in finding[2]


PAUSE_CHANGES: dict[str, tuple[str, Any]] = {
    "its maker": ("created_by", EVE),
    "its checkpoint": ("checkpoint_id", "acp_00000000000000000000000000"),
    "what lists show of its calls": ("calls", b"[]"),
    "the words it is found by": ("search_text", "harmless"),
    "the agent it is found by": ("agent_name", "harmless"),
    "its calls": ("pending", b'[{"id":"call-1","name":"cancel_reservation","arguments":"{}","note":"harmless"}]'),
    "its digest": ("digest", "0" * 64),
    "the digest of its calls": ("pending_sha256", "0" * 64),
    "the digest of its continuation": ("continuation_sha256", "0" * 64),
    "its first level": ("scope_1", "w=evil"),
}


@pytest.mark.parametrize(("column", "value"), PAUSE_CHANGES.values(), ids=PAUSE_CHANGES.keys())
def test_a_pause_that_is_not_what_its_event_says_is_named(column: str, value: Any, waiting: Waiting) -> None:
    """Also one that nobody has answered yet: the answer would bind what was put in its place."""
    execute(f"UPDATE suspension SET {column} = %s WHERE id = %s", value, waiting.open.id)
    assert {(kind, row_id) for kind, row_id, _ in findings(waiting.scope)} == {("suspension", waiting.open.id)}


@pytest.mark.parametrize("which", ["open", "admitted"])
def test_a_pause_that_was_hidden_is_found(which: str, waiting: Waiting) -> None:
    suspension_id = waiting.open.id if which == "open" else waiting.admitted.version.suspension_id
    execute("UPDATE suspension SET retired_at = created_at WHERE id = %s", suspension_id)
    assert findings(waiting.scope) == [("suspension", suspension_id, "is retired although it is still needed")]


def test_a_pause_that_was_marked_as_claimed_is_found(waiting: Waiting) -> None:
    execute("UPDATE suspension SET claimed_at = created_at WHERE id = %s", waiting.open.id)
    assert [finding[:2] for finding in findings(waiting.scope)] == [("suspension", waiting.open.id)]


def test_a_pause_that_was_put_back_is_found(waiting: Waiting) -> None:
    suspension_id = waiting.started.version.suspension_id
    suspensions.delete_suspension(caller(waiting.scope), waiting.scope, waiting.started.version.run_id)
    assert findings(waiting.scope) == []
    execute("UPDATE suspension SET claimed_at = NULL, retired_at = NULL WHERE id = %s", suspension_id)
    assert [finding[:2] for finding in findings(waiting.scope)] == [("suspension", suspension_id)]


def test_a_pause_that_was_removed_is_found(waiting: Waiting) -> None:
    execute("DELETE FROM suspension_continuation WHERE suspension_id = %s", waiting.open.id)
    execute("DELETE FROM suspension WHERE id = %s", waiting.open.id)
    assert findings(waiting.scope) == [("suspension", waiting.open.id, "was removed")]


def test_a_pause_whose_continuation_is_gone_is_named_once(waiting: Waiting) -> None:
    execute("DELETE FROM suspension_continuation WHERE suspension_id = %s", waiting.open.id)
    assert findings(waiting.scope) == [("suspension", waiting.open.id, "cannot be read any more")]


def test_a_pause_that_was_invented_is_found(waiting: Waiting) -> None:
    invented = "sus_7zzzzzzzzzzzzzzzzzzzzzzzzz"
    copied = (
        "run_id, scope, scope_1, scope_2, scope_3, reason, pending, calls, search_text, pending_sha256,"
        " continuation_sha256, digest, request_sha256, created_by, created_at, updated_at, claimed_at"
    )
    execute(
        f"INSERT INTO suspension (id, retired_at, {copied}) SELECT %s, created_at, {copied}"
        " FROM suspension WHERE id = %s",
        invented,
        waiting.open.id,
    )
    execute(
        "INSERT INTO suspension_continuation (suspension_id, body)"
        " SELECT %s, body FROM suspension_continuation WHERE suspension_id = %s",
        invented,
        waiting.open.id,
    )
    assert [finding[:2] for finding in findings(waiting.scope)] == [("suspension", invented)]


def test_calls_that_were_swapped_with_all_their_digests_are_found_although_an_answer_binds_them(
    waiting: Waiting,
) -> None:
    pause, calls = waiting.open, b'[{"id":"call-1","name":"cancel_reservation","arguments":"{\\"all\\":true}"}]'
    hashes = sha256_hex(calls), pause.continuation_sha256
    digest = suspension_digest(pause.id, pause.run_id, pause.scope, pause.reason, *hashes, pause.expires_at)
    execute(
        "UPDATE suspension SET pending = %s, pending_sha256 = %s, digest = %s WHERE id = %s",
        calls,
        hashes[0],
        digest,
        pause.id,
    )
    read = suspensions.read_suspension(caller(pause.scope), pause.scope, pause.id)
    assert pause.run is not None
    admission = resumes.decide(caller(pause.scope), pause.scope, pause.id, pause.run.revision, approve_all(read))
    start(admission)
    assert [finding[:2] for finding in findings(waiting.scope)] == [("suspension", pause.id)]
    version = admission.version
    viewer = caller(pause.scope, Role.VIEWER)
    checks = receipts.verify_receipt(viewer, pause.scope, "admission", version.run_id, version.suspension_id)
    assert [check.name for check in checks if not check.ok] == ["chain"]


FILED: dict[str, Callable[[Waiting], str]] = {
    "resume_admission": lambda waiting: waiting.admitted.version.run_id,
    "resume_start_or_expiry": lambda waiting: waiting.started.version.run_id,
    "event": lambda waiting: waiting.open.run_id,
}


@pytest.mark.parametrize("table", FILED)
def test_a_receipt_or_event_that_is_filed_under_another_scope_is_found(table: str, waiting: Waiting) -> None:
    """Its own hash does not cover the columns by which the pages find it."""
    with without_triggers():
        execute(f"UPDATE {table} SET scope_2 = 'w=evil/p=x' WHERE run_id = %s", FILED[table](waiting))
    details = {detail for _, _, detail in findings(waiting.scope)}
    assert details == {"is filed under another scope"}


def test_a_start_that_is_filed_under_another_principal_is_found(waiting: Waiting) -> None:
    """By that column a repeated request finds its start, and gets the work again."""
    with without_triggers():
        execute("UPDATE resume_start_or_expiry SET principal = 'eve' WHERE scope = %s", waiting.scope.text)
    suspension_id = waiting.started.version.suspension_id
    assert findings(waiting.scope) == [("start", suspension_id, "is filed under another principal")]


def test_a_life_of_many_stints_is_whole() -> None:
    scope = fresh_scope(2)
    run = make_run(scope, lease=take("first"))
    for reason in (Reason.EXTERNAL_TOOL, Reason.APPROVAL, Reason.AGENT_REPLY):
        pause = make_pause(scope, reason, run=run)
        claimed = start(admit(pause), lease=take(f"{reason}")).claimed_run
        assert claimed is not None
        run = claimed
    make_pause(scope, Reason.EXTERNAL_TOOL, run=run)
    claimed = suspensions.claim_suspension(caller(scope), scope, run.id, lease=take("last")).claimed_run
    assert claimed is not None and holder_of(claimed).epoch == 5
    assert findings(scope) == []


ENDED_CHANGES = {
    "its input": "UPDATE run_content SET input = %s WHERE run_id = %s",
    "its output": "UPDATE run_result SET output = %s WHERE run_id = %s",
    "its error": "UPDATE run_result SET error = %s WHERE run_id = %s",
}


def _ended(scope: Scope, *, how: str) -> str:
    run = make_run(scope, input="Refund 12.")
    by = caller(scope)
    if how == "finished":
        runs.finish_run(by, scope, run.id, RunState.COMPLETED, output="Refunded 12.", error="none", holder=None)
    else:
        runs.cancel_run(by, scope, run.id, "The passenger withdrew.")
    return run.id


@pytest.mark.parametrize("how", ["finished", "cancelled"])
@pytest.mark.parametrize("statement", ENDED_CHANGES.values(), ids=ENDED_CHANGES.keys())
def test_what_a_run_began_and_ended_with_cannot_be_changed_unseen(statement: str, how: str) -> None:
    scope = fresh_scope()
    run_id = _ended(scope, how=how)
    assert findings(scope) == []
    execute(statement, b"Refund 1200.", run_id)
    ((kind, row_id, detail),) = findings(scope)
    assert (kind, row_id) == ("run", run_id)
    assert "_sha256" in detail


@pytest.mark.parametrize("table", ["run_content", "run_result"])
def test_what_a_run_began_or_ended_with_cannot_be_removed_unseen(table: str) -> None:
    scope = fresh_scope()
    run_id = _ended(scope, how="finished")
    execute(f"DELETE FROM {table} WHERE run_id = %s", run_id)
    assert [row_id for _, row_id, _ in findings(scope)] == [run_id]


def test_runs_whose_contents_do_not_fit_into_memory_together_are_each_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scope = fresh_scope()
    run_ids = [_ended(scope, how="finished") for _ in range(5)]
    read: list[int] = []
    gather = evidence._gather

    def counted(part: list[str]) -> Any:
        read.append(len(part))
        return gather(part)

    monkeypatch.setattr(evidence, "_gather", counted)
    # Each run has 10 bytes of input, 12 of output and 4 of error.
    monkeypatch.setattr(evidence, "AT_ONCE", 60)
    assert [stored.chain for stored in evidence.stored_runs(scope, None)] == sorted(run_ids)
    assert read == [2, 2, 1]
