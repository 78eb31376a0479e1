"""Purge records: what was removed for good, when and by whom, each linked to the one before.

Source: store.md section 3, "The database is the last guard", and section 10.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from suspensions.domain import digests, keys
from suspensions.domain.heads import ChainHead, heads_sha256
from suspensions.domain.instants import format_instant
from suspensions.domain.values import Actor, Json
from suspensions.domain.verification import Finding

RECORDS = "purge records"
"""The chain that the records make among themselves, in findings."""


@dataclass(frozen=True, slots=True)
class PurgeRecord:
    """One batch of chains that were removed whole; their heads are kept beside it.

    `ended_before` is what the purge was asked for. The signature is there where a key was given.
    """

    number: int
    at: datetime
    purged_by: Actor
    ended_before: datetime
    count: int
    heads_sha256: str
    previous: str | None
    hash: str = ""
    key_id: str | None = None
    signature: bytes | None = None

    def to_json(self) -> Json:
        """What the hash is over."""
        return {
            "number": self.number,
            "at": format_instant(self.at),
            "purged_by": self.purged_by.to_json(),
            "ended_before": format_instant(self.ended_before),
            "count": self.count,
            "heads_sha256": self.heads_sha256,
            "previous": self.previous,
        }

    def compute_hash(self) -> str:
        return digests.digest(digests.PURGE, self.to_json())

    def sealed(self, key: Ed25519PrivateKey | None) -> PurgeRecord:
        """The record with its hash, signed where there is a key."""
        computed = self.compute_hash()
        if key is None:
            return replace(self, hash=computed)
        return replace(
            self,
            hash=computed,
            key_id=keys.key_id(key.public_key()),
            signature=keys.sign_digest(key, digests.PURGE, computed),
        )


def verify_record(
    record: PurgeRecord, heads: Sequence[ChainHead], number: int, previous: str | None
) -> Iterator[Finding]:
    """What is wrong with a record that should bear this number and name this hash of the one before."""
    wrong = []
    if record.number != number:
        wrong.append(f"stands where {number} is expected: a record was removed or added")
    if record.previous != previous:
        wrong.append("does not name the hash of the one before")
    if not digests.same_digest(record.compute_hash(), record.hash):
        wrong.append("does not have its hash")
    if record.count != len(heads) or not digests.same_digest(heads_sha256(heads), record.heads_sha256):
        wrong.append("is not about the heads that are kept with it")
    if wrong:
        yield Finding("purge", str(record.number), RECORDS, "; ".join(wrong))
