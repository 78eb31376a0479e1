"""Ed25519 keys as PEM: of proof issuers, and of the signer of checkpoints. Source: store.md sections 6 and 10."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from suspensions.domain.digests import sha256_hex
from suspensions.domain.texts import invalid


def require_ed25519(public_key: str) -> Ed25519PublicKey:
    """A PEM SubjectPublicKeyInfo that holds an Ed25519 key. Raises: InvalidRequest."""
    try:
        key = load_pem_public_key(public_key.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise invalid("/public_key", "must be a PEM SubjectPublicKeyInfo") from None
    if not isinstance(key, Ed25519PublicKey):
        raise invalid("/public_key", "must be an Ed25519 key")
    return key


def require_private_ed25519(private_key: str) -> Ed25519PrivateKey:
    """A PEM private key without a passphrase that is an Ed25519 one. Raises: InvalidRequest."""
    try:
        key = load_pem_private_key(private_key.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise invalid("/key", "must be a PEM private key without a passphrase") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise invalid("/key", "must be an Ed25519 key")
    return key


def public_key_pem(key: Ed25519PublicKey) -> str:
    """The one text of a public key."""
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def key_id(key: Ed25519PublicKey) -> str:
    """What names a key without a register of keys: SHA-256 over its SubjectPublicKeyInfo in DER."""
    return sha256_hex(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def sign_digest(key: Ed25519PrivateKey, domain: str, digest: str) -> bytes:
    """A signature over the domain, a line feed and the digest's 64 hex digits."""
    return key.sign(_message(domain, digest))


def signature_holds(key: Ed25519PublicKey, signature: bytes, domain: str, digest: str) -> bool:
    """Whether `sign_digest` with this key's private half made the signature."""
    try:
        key.verify(signature, _message(domain, digest))
    except InvalidSignature:
        return False
    return True


def _message(domain: str, digest: str) -> bytes:
    return f"{domain}\n{digest}".encode()
