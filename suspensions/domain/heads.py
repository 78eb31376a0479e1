"""Heads of chains: what a purge record and a checkpoint say was there. Source: store.md section 10."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from suspensions.domain.digests import sha256_hex
from suspensions.domain.strict_json import canonical


@dataclass(frozen=True, slots=True, order=True)
class ChainHead:
    """How long a chain was, and the hash of its last event. A run's chain bears its id."""

    chain: str
    position: int
    hash: str


def heads_sha256(heads: Iterable[ChainHead]) -> str:
    """SHA-256 over a line for each head, by chain: the canonical JSON of `[chain, position, hash]`, a line feed."""
    lines = (canonical([head.chain, head.position, head.hash]) + b"\n" for head in sorted(heads))
    return sha256_hex(b"".join(lines))
