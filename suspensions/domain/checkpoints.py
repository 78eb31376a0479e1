"""Signed checkpoints: what the chains ended in at an instant, under a key from outside the database.

Source: store.md section 10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from suspensions.domain import digests, keys
from suspensions.domain.heads import ChainHead, heads_sha256
from suspensions.domain.instants import format_instant
from suspensions.domain.purges import PurgeRecord
from suspensions.domain.values import Json
from suspensions.domain.verification import Finding

CHECKPOINTS = "checkpoints"
"""The chain that the checkpoints make among themselves, in findings."""
Keys = Mapping[str, Ed25519PublicKey]
"""Public keys by their ids."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The heads that changed since the checkpoint before; they are kept beside it.

    `purge_number` and `purge_hash` are the last purge record's that was there: 0 and None before the first.
    """

    number: int
    at: datetime
    count: int
    heads_sha256: str
    purge_number: int
    purge_hash: str | None
    previous: str | None
    key_id: str
    hash: str = ""
    signature: bytes = b""

    def to_json(self) -> Json:
        """What the hash is over."""
        return {
            "number": self.number,
            "at": format_instant(self.at),
            "count": self.count,
            "heads_sha256": self.heads_sha256,
            "purge_number": self.purge_number,
            "purge_hash": self.purge_hash,
            "previous": self.previous,
            "key_id": self.key_id,
        }

    def compute_hash(self) -> str:
        return digests.digest(digests.CHECKPOINT, self.to_json())

    def signed(self, key: Ed25519PrivateKey) -> Checkpoint:
        """The checkpoint with its hash, and the key's signature over it."""
        computed = self.compute_hash()
        return replace(self, hash=computed, signature=keys.sign_digest(key, digests.CHECKPOINT, computed))


@dataclass(frozen=True, slots=True)
class Missing:
    """A head that was signed and is not there as it was; `there` is what stands at its place, if anything.

    `purged_in` is the purge record since then that tells of the chain, and `purged` the head that it tells of.
    """

    head: ChainHead
    there: str | None
    purged_in: int | None = None
    purged: ChainHead | None = None


def verify_checkpoint(
    checkpoint: Checkpoint, heads: Sequence[ChainHead], number: int, previous: str | None, public_keys: Keys
) -> Iterator[Finding]:
    """What is wrong with a checkpoint that should bear this number and name this hash of the one before.

    Without public keys its signature is not looked at.
    """
    wrong = []
    if checkpoint.number != number:
        wrong.append(f"stands where {number} is expected: a checkpoint was removed or added")
    if checkpoint.previous != previous:
        wrong.append("does not name the hash of the one before")
    if not digests.same_digest(checkpoint.compute_hash(), checkpoint.hash):
        wrong.append("does not have its hash")
    if checkpoint.count != len(heads) or not digests.same_digest(heads_sha256(heads), checkpoint.heads_sha256):
        wrong.append("is not about the heads that are kept with it")
    if public_keys:
        wrong += _signature_faults(checkpoint, public_keys)
    if wrong:
        yield Finding("checkpoint", str(checkpoint.number), CHECKPOINTS, "; ".join(wrong))


def _signature_faults(checkpoint: Checkpoint, public_keys: Keys) -> list[str]:
    key = public_keys.get(checkpoint.key_id)
    if key is None:
        return [f"is signed with a key that was not given ({checkpoint.key_id})"]
    if not keys.signature_holds(key, checkpoint.signature, digests.CHECKPOINT, checkpoint.hash):
        return ["has a signature that does not hold"]
    return []


def verify_missing(
    checkpoint: Checkpoint, missing: Missing, records: Mapping[int, PurgeRecord], public_keys: Keys
) -> Iterator[Finding]:
    """Whether a purge explains why a signed head is not there; with public keys only a signed record does."""
    fault = _missing_fault(missing, records, public_keys)
    if fault is not None:
        head = missing.head
        signed = f"checkpoint {checkpoint.number} signed it at position {head.position}, and"
        yield Finding("chain", head.chain, head.chain, f"{signed} {fault}")


def _missing_fault(missing: Missing, records: Mapping[int, PurgeRecord], public_keys: Keys) -> str | None:
    if missing.purged_in is None or missing.purged is None:
        return f"{'no' if missing.there is None else 'another'} event stands there now"
    # What stands there after the purge is another chain, under a name that was free again.
    record, then, purged = records.get(missing.purged_in), missing.head, missing.purged
    told = f"purge record {missing.purged_in}, which tells of its removal,"
    if purged.position < then.position or (purged.position == then.position and purged.hash != then.hash):
        return f"{told} tells of another chain"
    fault = _record_fault(record, public_keys)
    return None if fault is None else f"{told} {fault}"


def _record_fault(record: PurgeRecord | None, public_keys: Keys) -> str | None:
    """Why a purge record explains nothing."""
    if record is None:
        return "is not there"
    if not public_keys:
        return None
    key = public_keys.get(record.key_id or "")
    if key is None or record.signature is None:
        return "is not signed with a key that was given"
    if not keys.signature_holds(key, record.signature, digests.PURGE, record.hash):
        return "has a signature that does not hold"
    return None
