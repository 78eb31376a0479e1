"""Signed checkpoints: whoever owns the database cannot rewrite the past unnoticed.

Checkpoints span all scopes, so that one key signs them for every test of a process, and each test looks at its own
chains alone.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import DatabaseError, transaction

from suspensions.domain import clock, keys
from suspensions.domain.checkpoints import CHECKPOINTS, Checkpoint
from suspensions.domain.digests import CHECKPOINT
from suspensions.domain.heads import ChainHead, heads_sha256
from suspensions.domain.purges import PurgeRecord
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.strict_json import dumps
from suspensions.domain.values import SYSTEM, Run
from suspensions.management.daily import DailyCheckpoint
from suspensions.operations import runs
from suspensions.operations.checkpoints import make_checkpoints, make_checkpoints_if_due, verify_checkpoints
from suspensions.operations.transactions import in_transaction
from suspensions.operations.verification import verify_receipts
from suspensions.store import checkpoints as store
from suspensions.store import evidence
from suspensions.store.purge import insert_record, last_record
from suspensions.store.seals import heads_of
from tests.closing.test_verification import execute, without_triggers
from tests.retention.test_purge import DAY, Era, ask, era, finished, restored
from tests.store.rows import rows
from tests.support.builders import at, caller, fresh_scope, make_pause, make_run
from tests.support.proofs import Issuer
from tests.support.threads import together

__all__ = ["era"]

KEY = Ed25519PrivateKey.generate()
PUBLIC = KEY.public_key()
SIGNED = ("checkpoint", "checkpoint_head")


def sign(key: Ed25519PrivateKey = KEY) -> Checkpoint:
    """The last of the checkpoints that are made now."""
    return make_checkpoints(key)[-1]


def covered(checkpoint: Checkpoint, chain: str) -> list[ChainHead]:
    return [head for head in heads_of("checkpoint_head", checkpoint.number) if head.chain == chain]


def head_of(run_id: str) -> ChainHead:
    (row,) = rows("SELECT event_position, event_hash FROM run WHERE id = %s", [run_id])
    return ChainHead(run_id, row["event_position"], row["event_hash"])


def found(*chains: str, **known: Any) -> list[str]:
    """What is wrong with the checkpoints and with these chains; with the public key unless another is given."""
    given = {"public_keys": (PUBLIC,), **known}
    return [
        f"{finding.kind} {finding.id}: {finding.detail}"
        for finding in verify_checkpoints(**given)
        if finding.chain in (CHECKPOINTS, *chains)
    ]


def remove(run: Run) -> None:
    """Remove a run with everything of its own, as whoever owns the database can."""
    with without_triggers():
        for table in ("run_content", "run_result", "event"):
            execute(f"DELETE FROM {table} WHERE run_id = %s", run.id)
        execute("DELETE FROM run WHERE id = %s", run.id)


def ended(scope: Scope) -> Run:
    run = make_run(scope)
    return runs.finish_run(caller(scope), scope, run.id, RunState.COMPLETED, output="done", error="")


# -- what is covered ---------------------------------------------------------------------------------


def test_a_checkpoint_covers_what_changed_since_the_last_one(scope: str) -> None:
    at_scope = Scope(scope)
    still, moving = ended(at_scope), make_run(at_scope)
    first = sign()
    assert covered(first, still.id) == [head_of(still.id)]
    assert covered(first, moving.id) == [head_of(moving.id)]

    runs.finish_run(caller(at_scope), at_scope, moving.id, RunState.FAILED, output="", error="no")
    new = make_run(at_scope)
    second = sign()
    assert covered(second, still.id) == []
    assert covered(second, moving.id) == [head_of(moving.id)]
    assert covered(second, new.id) == [head_of(new.id)]
    assert (second.number, second.previous) == (first.number + 1, first.hash)
    assert keys.signature_holds(PUBLIC, second.signature, CHECKPOINT, second.hash)
    assert found(still.id, moving.id, new.id) == []


def test_a_question_without_a_run_is_covered(scope: str) -> None:
    chain = f"{scope}\n{ask(Scope(scope))}"
    assert [head.position for head in covered(sign(), chain)] == [2]
    assert found(chain) == []


def test_where_nothing_changed_nothing_is_signed_but_the_link() -> None:
    first = sign()
    second = sign()
    assert (second.count, second.heads_sha256) == (0, heads_sha256([]))
    assert second.previous == first.hash
    assert found() == []


def test_what_is_too_much_for_one_checkpoint_goes_into_the_next(scope: str) -> None:
    sign()
    chains = [make_run(Scope(scope)).id for _ in range(5)]
    made = make_checkpoints(KEY, most=2)
    assert [checkpoint.count for checkpoint in made] == [2, 2, 1]
    assert sorted(chain for chain in chains for checkpoint in made if covered(checkpoint, chain)) == sorted(chains)
    assert found(*chains) == []


def test_checkpoints_at_once_stand_in_one_line(scope: str) -> None:
    chains = [make_run(Scope(scope)).id for _ in range(4)]
    made = together([sign] * 3)
    assert all(isinstance(checkpoint, Checkpoint) for checkpoint in made), made
    assert len({checkpoint.number for checkpoint in made if isinstance(checkpoint, Checkpoint)}) == 3
    for chain in chains:
        assert len(rows("SELECT number FROM checkpoint_head WHERE chain = %s", [chain])) == 1
    assert found(*chains) == []


def test_a_checkpoint_once_made_is_not_changed_any_more() -> None:
    number = sign().number
    for statement in (
        "UPDATE checkpoint SET hash = hash WHERE number = %s",
        "DELETE FROM checkpoint WHERE number = %s",
        "UPDATE checkpoint_head SET hash = hash WHERE number <= %s",
        "DELETE FROM checkpoint_head WHERE number <= %s",
    ):
        make_run(fresh_scope())
        sign()
        with pytest.raises(DatabaseError), transaction.atomic():
            execute(statement, number)


# -- what is found -----------------------------------------------------------------------------------


def test_a_removed_run_is_found_against_a_checkpoint_alone(scope: str) -> None:
    signed, unsigned = ended(Scope(scope)), None
    sign()
    unsigned = ended(Scope(scope))
    for run in (signed, unsigned):
        remove(run)
    assert list(verify_receipts(Scope(scope))) == []
    assert [line.partition(":")[0] for line in found(signed.id, unsigned.id)] == [f"chain {signed.id}"]
    assert found(signed.id, public_keys=()) != []


def test_a_cut_tail_is_found_with_its_head_rewound(scope: str) -> None:
    run = make_pause(Scope(scope)).run
    assert run is not None
    sign()
    with without_triggers():
        last = rows("SELECT position, previous FROM event WHERE chain = %s ORDER BY position DESC", [run.id])[0]
        execute("DELETE FROM event WHERE chain = %s AND position = %s", run.id, last["position"])
        execute(
            "DELETE FROM suspension_continuation WHERE suspension_id IN (SELECT id FROM suspension WHERE run_id = %s)",
            run.id,
        )
        execute("DELETE FROM suspension WHERE run_id = %s", run.id)
        execute(
            "UPDATE run SET event_position = %s, event_hash = %s, state = 'running', revision = 1,"
            " last_suspension_id = NULL WHERE id = %s",
            last["position"] - 1,
            last["previous"],
            run.id,
        )
    assert list(verify_receipts(Scope(scope))) == []
    assert "no event stands there now" in "".join(found(run.id))


def rewrite(run_id: str, principal: str) -> None:
    """Give every event another actor, and every hash that follows from it: a past without a seam."""
    previous: str | None = None
    with without_triggers():
        for event in sorted(in_transaction(evidence.stored_run, run_id).events, key=lambda each: each.position):
            forged = replace(event, actor=replace(event.actor, principal=principal), previous=previous)
            previous = forged.compute_hash()
            execute(
                "UPDATE event SET actor = %s, previous = %s, hash = %s WHERE id = %s",
                dumps(forged.actor.to_json()).decode(),
                forged.previous,
                previous,
                event.id,
            )
        forger = dumps(forged.actor.to_json()).decode()
        execute("UPDATE run SET event_hash = %s, created_by = %s WHERE id = %s", previous, forger, run_id)
        execute("UPDATE suspension SET created_by = %s WHERE run_id = %s", forger, run_id)


def test_a_past_rewritten_without_a_seam_is_found(scope: str) -> None:
    run = ended(Scope(scope))
    sign()
    rewrite(run.id, "eve")
    assert list(verify_receipts(Scope(scope))) == []
    assert "another event stands there now" in "".join(found(run.id))
    # Signing the new past does not make the old signature go away.
    sign()
    assert "another event stands there now" in "".join(found(run.id))


FIRST_SIGNATURE = "SELECT signature FROM checkpoint WHERE number = 1"
DAMAGES = {
    "its time": "UPDATE checkpoint SET at = (SELECT MIN(at) FROM checkpoint) WHERE number = %s",
    "its hash": "UPDATE checkpoint SET hash = heads_sha256 WHERE number = %s",
    "its signature": f"UPDATE checkpoint SET signature = ({FIRST_SIGNATURE}) WHERE number = %s",
    "the one before": "UPDATE checkpoint SET previous = heads_sha256 WHERE number = %s",
    "its purge record": "UPDATE checkpoint SET purge_number = 999 WHERE number = %s",
    "its removal": "DELETE FROM checkpoint WHERE number = %s",
    "a removed head": "DELETE FROM checkpoint_head WHERE number = %s",
    "a changed head": "UPDATE checkpoint_head SET position = 1 WHERE number = %s",
    "an invented head": "INSERT INTO checkpoint_head (number, chain, position, hash) VALUES (%s, 'arun_x', 1, 'x')",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_changed_or_removed_checkpoint_is_found(damage: str, scope: str) -> None:
    sign()
    run = ended(Scope(scope))
    number = sign().number
    sign()
    with restored(*SIGNED):
        assert execute(damage, number) == 1
        assert found(run.id)
    assert found(run.id) == []


def test_a_checkpoint_made_anew_under_another_key_is_found(scope: str) -> None:
    run = ended(Scope(scope))
    last = sign()
    with restored(*SIGNED):
        execute("DELETE FROM checkpoint_head WHERE number = %s", last.number)
        execute("DELETE FROM checkpoint WHERE number = %s", last.number)
        rewrite(run.id, "eve")
        forged = sign(Ed25519PrivateKey.generate())
        assert forged.number == last.number
        assert found(run.id, public_keys=()) == []
        assert "with a key that was not given" in "".join(found(run.id))


def test_a_signature_by_another_key_does_not_pass_under_the_right_ones_name() -> None:
    sign()
    other = Ed25519PrivateKey.generate()
    with restored(*SIGNED):
        last = store.last_checkpoint()
        forged = replace(
            Checkpoint(last.number + 1, clock.now(), 0, heads_sha256([]), 0, None, last.hash, ""),
            key_id=keys.key_id(PUBLIC),
        ).signed(other)
        in_transaction(store.insert_checkpoint, forged, [])
        assert "does not hold" in "".join(found())


def test_the_newest_ones_removal_is_found_by_whoever_noted_it() -> None:
    sign()
    noted = sign()
    with restored(*SIGNED):
        execute("DELETE FROM checkpoint_head WHERE number = %s", noted.number)
        execute("DELETE FROM checkpoint WHERE number = %s", noted.number)
        assert found() == []
        assert found(expected=noted.hash)
    assert found(expected=noted.hash) == []


def test_nothing_signed_at_all_is_a_finding_for_whoever_has_the_key() -> None:
    sign()
    with restored(*SIGNED):
        for table in SIGNED:
            execute(f"DELETE FROM {table}")
        assert found(public_keys=()) == []
        assert found()


def test_an_exchanged_key_is_given_beside_the_old_one() -> None:
    with restored(*SIGNED):
        sign()
        new = Ed25519PrivateKey.generate()
        sign(new)
        assert found()
        assert found(public_keys=(new.public_key(), PUBLIC)) == []


# -- with purges -------------------------------------------------------------------------------------


SIGNERS = {"the checkpoints' key": KEY, "nobody": None, "another key": Ed25519PrivateKey.generate()}


@pytest.mark.parametrize("signer", SIGNERS.values(), ids=SIGNERS.keys())
def test_a_purge_explains_what_is_missing_and_with_the_key_only_a_signed_one(
    signer: Ed25519PrivateKey | None, era: Era
) -> None:
    run = finished(fresh_scope())
    sign()
    era.now += 2 * DAY
    era.purge(key=signer)
    assert found(run.id, public_keys=()) == []
    if signer is KEY:
        assert found(run.id) == []
    else:
        assert "is not signed with a key that was given" in "".join(found(run.id))


@pytest.mark.parametrize("again", [0, 1], ids=["purged", "purged twice"])
def test_a_question_that_is_asked_again_under_an_id_that_was_purged_is_another_question(again: int, era: Era) -> None:
    """Its chain begins anew under the same name; what was signed of the old one went with the purge."""
    scope = fresh_scope()
    interaction_id = ask(scope)
    chain = f"{scope.text}\n{interaction_id}"
    for left in range(again, -1, -1):
        sign()
        era.now += 2 * DAY
        era.purge(key=KEY)
        era.now += timedelta(seconds=1)
        # The last one stays open: other tests' purges must not come upon what is damaged below.
        ask(scope, interaction_id=interaction_id, resolved=left > 0)
    assert found(chain) == []
    sign()
    assert found(chain) == []
    with without_triggers():
        execute("UPDATE event SET hash = %s WHERE chain = %s", "0" * 64, chain)
    assert "another event stands there now" in "".join(found(chain))


def test_a_theft_behind_an_invented_purge_record_is_found(scope: str) -> None:
    run = ended(Scope(scope))
    head = head_of(run.id)
    sign()
    remove(run)
    with restored("purge_record", "purge_record_head", *SIGNED):
        number, previous = last_record()
        record = PurgeRecord(number + 1, clock.now(), SYSTEM, clock.now(), 1, heads_sha256([head]), previous).sealed(
            None
        )
        in_transaction(insert_record, record, [head])
        # The next checkpoint signs the record's hash; that makes nobody's word of it.
        sign()
        assert found(run.id, public_keys=()) == []
        assert "is not signed with a key that was given" in "".join(found(run.id))


@pytest.mark.parametrize("change", [{"position": 1}, {"hash": "0" * 64}], ids=["shorter", "other"])
def test_a_purge_record_of_another_chain_explains_nothing(change: dict[str, Any], scope: str) -> None:
    run = ended(Scope(scope))
    head = replace(head_of(run.id), **change)
    sign()
    remove(run)
    with restored("purge_record", "purge_record_head"):
        number, previous = last_record()
        record = PurgeRecord(number + 1, clock.now(), SYSTEM, clock.now(), 1, heads_sha256([head]), previous).sealed(
            KEY
        )
        in_transaction(insert_record, record, [head])
        assert "tells of another chain" in "".join(found(run.id))


def test_a_removed_purge_record_is_found_by_the_checkpoint_that_names_it(era: Era) -> None:
    finished(fresh_scope())
    era.now += 2 * DAY
    era.purge(key=KEY)
    sign()
    with restored("purge_record", "purge_record_head"):
        number, _ = last_record()
        execute("DELETE FROM purge_record_head WHERE number = %s", number)
        execute("DELETE FROM purge_record WHERE number = %s", number)
        assert f"purge record {number}" in "".join(found())
    assert found() == []


# -- once a day --------------------------------------------------------------------------------------


def test_a_day_after_the_last_one_the_next_is_due() -> None:
    now = clock.now()
    with at(now):
        last = sign()
        assert make_checkpoints_if_due(KEY) == []
    with at(now + DAY - timedelta(microseconds=1)):
        assert make_checkpoints_if_due(KEY) == []
    with at(now + DAY):
        (made,) = make_checkpoints_if_due(KEY)
        assert made.number == last.number + 1
        assert make_checkpoints_if_due(KEY) == []


def test_of_several_sweepers_one_makes_it() -> None:
    sign()
    then = clock.now() + DAY

    def go() -> list[Checkpoint]:
        with at(then):
            return make_checkpoints_if_due(KEY)

    made = together([go] * 3)
    assert sorted(len(each) for each in made if isinstance(each, list)) == [0, 0, 1]


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "key.pem"
    file.write_text(Issuer("x", "1", KEY).private_pem)
    return file


def test_the_sweeper_signs_where_a_key_is_set(key_file: Path) -> None:
    before = sign().number
    with at(clock.now() + DAY):
        DailyCheckpoint(None).turn()
        assert store.last_checkpoint().number == before
        daily = DailyCheckpoint(str(key_file))
        daily.turn()
        daily.turn()
        assert store.last_checkpoint().number == before + 1


def test_a_key_that_is_not_there_is_told_now_and_then_and_stops_nothing(
    key_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    missing = key_file.with_name("missing.pem")
    daily = DailyCheckpoint(str(missing))
    before = sign().number
    then = clock.now() + DAY
    with caplog.at_level(logging.ERROR):
        for minutes in range(15):
            with at(then + timedelta(minutes=minutes)):
                daily.turn()
    assert len([record for record in caplog.records if "missing.pem" in record.getMessage()]) == 1
    missing.write_bytes(key_file.read_bytes())
    with at(then + timedelta(minutes=16)):
        daily.turn()
    assert store.last_checkpoint().number == before + 1
