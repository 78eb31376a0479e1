"""``purge``: what it says, signs and refuses."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError
from django.test import override_settings

from suspensions.domain import keys
from suspensions.store.seals import purge_records
from tests.closing.test_verification import execute, without_triggers
from tests.commands.test_access_commands import refused, run
from tests.retention.test_checkpoints import SIGNED, sign
from tests.retention.test_purge import Era, era, finished, records_about, restored, there
from tests.support.builders import fresh_scope
from tests.support.proofs import Issuer

__all__ = ["era"]

YEAR = timedelta(days=365)


@pytest.fixture
def issuer() -> Issuer:
    return Issuer("operator", "1", Ed25519PrivateKey.generate())


@pytest.fixture
def key(issuer: Issuer, tmp_path: Path) -> str:
    file = tmp_path / "checkpoints.pem"
    file.write_text(issuer.private_pem)
    return str(file)


def signer_of(run_id: str) -> str | None:
    (number,) = records_about(run_id)
    (record,) = [each for there_is, each, _ in purge_records() if there_is == number]
    assert record is not None
    return record.key_id


def test_it_says_what_it_removed(era: Era) -> None:
    scope = fresh_scope()
    gone = [finished(scope) for _ in range(3)]
    era.now += 2 * YEAR
    finished(scope)
    out, errors = run("purge", "--older-than", "400d", "--unsigned")
    said = re.fullmatch(r"purged (\d+) runs and \d+ interactions, in \d+ purge records\n", out)
    # Other tests may have left older ones.
    assert said is not None and int(said[1]) >= len(gone)
    assert errors == ""
    assert there(scope) > 0
    assert all(signer_of(each.id) is None for each in gone)


def test_the_key_is_the_one_named_or_the_settings(era: Era, key: str, issuer: Issuer) -> None:
    named = finished(fresh_scope())
    era.now += 2 * YEAR
    run("purge", "--older-than", "1d", "--key", key)
    by_settings = finished(fresh_scope())
    era.now += 2 * YEAR
    with override_settings(CHECKPOINT_KEY=key):
        run("purge", "--older-than", "1d")
    assert signer_of(named.id) == signer_of(by_settings.id) == keys.key_id(issuer.key.public_key())


def test_what_does_not_verify_is_an_error_that_names_it(era: Era) -> None:
    scope = fresh_scope()
    damaged = finished(scope)
    with without_triggers():
        execute("UPDATE resume_admission SET lease_owner = 'eve' WHERE run_id = %s", damaged.id)
    era.now += 2 * YEAR
    with pytest.raises(CommandError, match="was kept"):
        run("purge", "--older-than", "400d", "--unsigned")
    with without_triggers():
        execute("UPDATE resume_admission SET lease_owner = NULL WHERE run_id = %s", damaged.id)
    run("purge", "--older-than", "400d", "--unsigned")
    assert there(scope) == 0


def test_where_checkpoints_are_signed_a_purge_needs_a_key_or_says_that_it_has_none(era: Era, key: str) -> None:
    scope = fresh_scope()
    finished(scope)
    era.now += 2 * YEAR
    with restored(*SIGNED):
        for table in SIGNED:
            execute(f"DELETE FROM {table}")
        sign()
        assert "give --key" in refused("purge", "--older-than", "1d")
        assert there(scope) > 0
        with override_settings(CHECKPOINT_KEY=key):
            run("purge", "--older-than", "1d", "--unsigned")
        assert there(scope) == 0
        finished(scope)
        era.now += 2 * YEAR
        run("purge", "--older-than", "1d", "--key", key)
        assert there(scope) == 0


def test_where_nothing_was_signed_it_needs_none(era: Era) -> None:
    run_id = finished(fresh_scope()).id
    era.now += 2 * YEAR
    with restored(*SIGNED):
        for table in SIGNED:
            execute(f"DELETE FROM {table}")
        run("purge", "--older-than", "1d")
    assert signer_of(run_id) is None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--older-than", "400"], "not a duration"),
        (["--older-than", "0d"], "not a duration"),
        (["--older-than", "1d", "--key", "/nowhere/key.pem"], "No such file"),
    ],
)
def test_what_makes_no_sense_removes_nothing(words: list[str], says: str, era: Era) -> None:
    scope = fresh_scope()
    finished(scope)
    era.now += 2 * YEAR
    before = there(scope)
    assert says in refused("purge", *words)
    assert there(scope) == before
