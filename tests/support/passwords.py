"""Passwords that are quick to check: the real hash takes a fifth of a second at each sign-in of a test."""

from __future__ import annotations

from functools import cache

from django.contrib.auth.hashers import Argon2PasswordHasher


class QuickArgon2(Argon2PasswordHasher):
    """The product's own hasher with the least work."""

    time_cost = 1
    memory_cost = 8
    parallelism = 1


@cache
def quick_hash(password: str) -> str:
    """The password as its account's row holds it."""
    hasher = QuickArgon2()
    return hasher.encode(password, hasher.salt())
