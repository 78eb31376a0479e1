"""``issuer`` and ``sign_proof``: a proof made at the command line closes a resume; refusals are one line."""

from __future__ import annotations

import io
import json
import secrets
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from suspensions.domain import clock
from suspensions.domain.errors import ClosureDenied
from suspensions.operations import closures
from suspensions.store.issuers import find_issuer
from tests.closing.test_proof import LATER, make_trouble
from tests.commands.test_access_commands import refused, run
from tests.support.builders import at
from tests.support.proofs import Issuer, bind, claims_for, request_for


@pytest.fixture
def issuer() -> Issuer:
    """An issuer with a key that nobody has registered."""
    return Issuer(f"iss-{secrets.token_hex(4)}", "2031-05", Ed25519PrivateKey.generate())


@pytest.fixture
def public_key(issuer: Issuer, tmp_path: Path) -> str:
    file = tmp_path / "public.pem"
    file.write_text(issuer.public_pem)
    return str(file)


@pytest.fixture
def private_key(issuer: Issuer, tmp_path: Path) -> str:
    file = tmp_path / "private.pem"
    file.write_text(issuer.private_pem)
    return str(file)


def add(issuer: Issuer, scope: str, public_key: str) -> str:
    words = ("--revision", issuer.revision, "--scope", scope, "--public-key", public_key)
    return run("issuer", "add", issuer.name, *words)[0]


def sign(monkeypatch: pytest.MonkeyPatch, claims: Any, *words: str) -> str:
    text = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    return run("sign_proof", *words)[0]


def test_a_proof_signed_at_the_command_line_closes_a_resume_until_its_issuer_is_revoked(
    issuer: Issuer, public_key: str, private_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trouble = make_trouble()
    assert add(issuer, trouble.scope.text, public_key) == f"{issuer.kid} proves at {trouble.scope}\n"
    with at(clock.now() + LATER):
        request = request_for(trouble.operator, trouble.admission, trouble.start, issuer)
        printed = sign(monkeypatch, claims_for(request, "worker-1"), "--key", private_key, "--kid", issuer.kid)
        assert printed.count("\n") == 1
        proof = printed.strip().encode()
        closure = closures.close_resume(trouble.operator, bind(request, proof), proof)
        assert closure.fresh

        assert run("issuer", "revoke", issuer.name, "--revision", issuer.revision)[0] == f"{issuer.kid} is revoked\n"
        with pytest.raises(ClosureDenied):
            closures.close_resume(trouble.operator, bind(request, proof), proof)


def test_the_same_again_is_no_error_and_another_key_or_scope_is(
    issuer: Issuer, public_key: str, scope: str, tmp_path: Path
) -> None:
    add(issuer, scope, public_key)
    # Another spelling of the same key is the same key.
    spelled = tmp_path / "spelled.pem"
    spelled.write_bytes(issuer.public_pem.replace("\n", "\r\n").encode() + b"\r\n\r\n")
    assert add(issuer, scope, str(spelled)) == f"{issuer.kid} proves at {scope}\n"

    other = tmp_path / "other.pem"
    other.write_text(Issuer("x", "r", Ed25519PrivateKey.generate()).public_pem)
    for at_scope, key in ((scope, str(other)), (f"{scope}/p=1", public_key)):
        line = refused(
            "issuer", "add", issuer.name, "--revision", issuer.revision, "--scope", at_scope, "--public-key", key
        )
        assert "another scope or key" in line
    kept = find_issuer(issuer.name, issuer.revision)
    assert kept is not None
    assert (kept.scope, kept.public_key) == (scope, issuer.public_pem)


def test_revoking_twice_changes_nothing_and_a_stranger_is_an_error(issuer: Issuer, public_key: str, scope: str) -> None:
    add(issuer, scope, public_key)
    for _ in range(2):
        run("issuer", "revoke", issuer.name, "--revision", issuer.revision)
    kept = find_issuer(issuer.name, issuer.revision)
    assert kept is not None and kept.revoked
    assert refused("issuer", "revoke", issuer.name, "--revision", "other")
    words = ("--revision", issuer.revision, "--scope", scope, "--public-key", public_key)
    assert "revoked for good" in refused("issuer", "add", issuer.name, *words)


def test_what_is_no_issuer_is_refused(
    issuer: Issuer, public_key: str, private_key: str, scope: str, tmp_path: Path
) -> None:
    curve = tmp_path / "curve.pem"
    curve.write_bytes(
        generate_private_key(SECP256R1()).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    large = tmp_path / "large"
    large.write_bytes(b"x" * ((1 << 20) + 1))
    for name, revision, at_scope, key, says in (
        ("a/b", "r1", scope, public_key, "/name"),
        (issuer.name, "r/1", scope, public_key, "/revision"),
        (issuer.name, "r1", "acme", public_key, "key=value"),
        (issuer.name, "r1", scope, private_key, "SubjectPublicKeyInfo"),
        (issuer.name, "r1", scope, str(curve), "Ed25519"),
        (issuer.name, "r1", scope, str(binary), "no text"),
        (issuer.name, "r1", scope, str(large), "larger than"),
        (issuer.name, "r1", scope, str(tmp_path / "nothing"), "No such file"),
        (issuer.name, "r1", scope, str(tmp_path), "directory"),
    ):
        assert says in refused("issuer", "add", name, "--revision", revision, "--scope", at_scope, "--public-key", key)
    assert find_issuer(issuer.name, "r1") is None


def test_sign_proof_prints_whatever_is_claimed(
    issuer: Issuer, private_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A drill needs wrong proofs too."""
    printed = sign(monkeypatch, {"workers": []}, "--key", private_key, "--kid", issuer.kid)
    assert len(printed.strip().split(".")) == 3


def test_sign_proof_refuses_what_it_cannot_sign(
    issuer: Issuer, private_key: str, public_key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = tmp_path / "locked.pem"
    locked.write_bytes(issuer.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")))
    curve = tmp_path / "curve.pem"
    curve.write_bytes(
        generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    for claims, key, kid, says in (
        (b"{}", public_key, issuer.kid, "private key"),
        (b"{}", str(locked), issuer.kid, "passphrase"),
        (b"{}", str(curve), issuer.kid, "Ed25519"),
        (b"{}", private_key, "issuer", "--kid"),
        (b"{}", private_key, "a/b/c", "--kid"),
        (b"[]", private_key, issuer.kid, "no JSON object"),
        (b'{"a":1,"a":2}', private_key, issuer.kid, "strict JSON"),
        (b" " * ((1 << 20) + 1), private_key, issuer.kid, "larger than"),
    ):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(claims)))
        assert says in refused("sign_proof", "--key", key, "--kid", kid)
