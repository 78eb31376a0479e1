"""``checkpoint``, and ``verify_receipts`` with what is known of checkpoints."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import call_command
from django.test import override_settings

from suspensions.domain.scopes import Scope
from suspensions.operations.checkpoints import make_checkpoints
from suspensions.store.checkpoints import last_checkpoint
from tests.closing.test_verification import execute
from tests.commands.test_access_commands import refused, run
from tests.retention.test_checkpoints import KEY, SIGNED, ended, remove
from tests.retention.test_purge import restored
from tests.support.proofs import Issuer


@pytest.fixture
def private_key(tmp_path: Path) -> str:
    file = tmp_path / "key.pem"
    file.write_text(Issuer("x", "1", KEY).private_pem)
    return str(file)


@pytest.fixture
def public_key(tmp_path: Path) -> str:
    file = tmp_path / "key.pub.pem"
    file.write_text(Issuer("x", "1", KEY).public_pem)
    return str(file)


def verify(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What it printed; other tests of this process leave damage of their own, so the exit code tells nothing here."""
    with suppress(SystemExit):
        call_command("verify_receipts", *words)
    return capsys.readouterr().out


def test_it_prints_number_and_hash(private_key: str, scope: str) -> None:
    make_checkpoints(KEY)
    ended(Scope(scope))
    out, errors = run("checkpoint", "--key", private_key)
    last = last_checkpoint()
    assert out == f"checkpoint {last.number} {last.hash} covers 1 chains\n"
    assert errors == ""


def test_the_settings_name_the_key(private_key: str) -> None:
    before = last_checkpoint().number
    with override_settings(CHECKPOINT_KEY=private_key):
        assert re.fullmatch(rf"checkpoint {before + 1} [0-9a-f]{{64}} covers \d+ chains\n", run("checkpoint")[0])


def test_without_a_key_nothing_is_signed(public_key: str) -> None:
    before = last_checkpoint().number
    assert "CHECKPOINT_KEY" in refused("checkpoint")
    assert "private key" in refused("checkpoint", "--key", public_key)
    assert last_checkpoint().number == before


def test_verification_takes_the_public_key_and_a_hash(
    public_key: str, private_key: str, scope: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = ended(Scope(scope))
    noted = run("checkpoint", "--key", private_key)[0].split()[2]
    known = ("--checkpoint-key", public_key, "--checkpoint", noted)
    assert "checkpoints" not in verify(capsys, *known)
    assert "is not there" in verify(capsys, "--checkpoint-key", public_key, "--checkpoint", "0" * 64)
    assert "key that was not given" in verify(capsys, "--checkpoint-key", _other_key(Path(public_key)))
    remove(lost)
    assert re.search(rf"chain {lost.id} of '{lost.id}': checkpoint \d+ signed it", verify(capsys, *known))


def _other_key(beside: Path) -> str:
    file = beside.with_name("other.pub.pem")
    file.write_text(Issuer("x", "1", Ed25519PrivateKey.generate()).public_pem)
    return str(file)


def test_checkpoints_are_of_everything(public_key: str, private_key: str, scope: str) -> None:
    for words in (("--scope", scope), ("--since", "2031-05-01T12:00:00Z")):
        assert "leave out" in refused("verify_receipts", *words, "--checkpoint-key", public_key)
        assert "leave out" in refused("verify_receipts", *words, "--checkpoint", "0" * 64)
    assert "SubjectPublicKeyInfo" in refused("verify_receipts", "--checkpoint-key", private_key)


@pytest.mark.usefixtures("empty_database")
@pytest.mark.parametrize(("key", "signed"), [(True, 1), (False, 0)])
def test_a_sweep_signs_what_is_due_where_the_settings_name_a_key(key: bool, signed: int, private_key: str) -> None:
    with restored(*SIGNED):
        for table in SIGNED:
            execute(f"DELETE FROM {table}")
        with override_settings(CHECKPOINT_KEY=private_key if key else None):
            run("sweep", "--once")
            run("sweep", "--once")
        assert last_checkpoint().number == signed
