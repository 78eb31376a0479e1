"""What the suite of the store stands on: time in its hands, proof that nothing was written, ways past the product."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from suspensions.domain.clock import use_clock
from suspensions.domain.errors import CortexError
from suspensions.domain.scopes import Scope
from suspensions.domain.values import (
    Actor,
    Holder,
    PendingCall,
    Reason,
    Run,
    Suspension,
)
from suspensions.models.fields import from_database
from suspensions.operations.transactions import in_transaction
from suspensions.store import run_rows, suspensions
from tests.store.rows import rows
from tests.support import builders

ACTOR = Actor("p-store", "token:test")

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
TICK = timedelta(microseconds=1)
"""The smallest step of time that the store knows."""


ANCIENT = datetime(2020, 1, 1, tzinfo=UTC)
"""A moment for ids that are the same in every process of a test run."""


def around(scope: Scope) -> dict[str, Scope]:
    """Other scopes than one of two levels, by where they lie."""
    top, own, _ = scope.prefixes
    assert scope.depth == 2
    return {
        "above": Scope.parse(top),
        "below": Scope.parse(f"{own}/t=x"),
        "beside": Scope.parse(f"{own}x"),
        "elsewhere": builders.fresh_scope(2),
    }


# -- time --------------------------------------------------------------------------------------------


def this_moment() -> datetime:
    """The present, for tests that stop the clock at it."""
    return datetime.now(UTC)


@contextmanager
def at(instant: datetime) -> Iterator[datetime]:
    """Let the application's clock stand at an instant."""
    with use_clock(lambda: instant):
        yield instant


class Clock:
    """A clock that stands still until it is told to move."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def tick(self, seconds: float = 1) -> datetime:
        """Let seconds pass. Gives the new instant."""
        self.now += timedelta(seconds=seconds)
        return self.now

    def ahead(self, seconds: float) -> datetime:
        """An instant so many seconds from now."""
        return self.now + timedelta(seconds=seconds)


@contextmanager
def stopped_clock() -> Iterator[Clock]:
    """The application's clock, in the test's hands."""
    hands = Clock()
    with use_clock(hands):
        yield hands


def instant_of(value: Any) -> datetime | None:
    """An instant as a column holds it."""
    return from_database(value)


# -- nothing was written -----------------------------------------------------------------------------

# Each table with the words that find the rows of a tree of scopes in it, by its topmost scope, and by an index:
# other tests' rows are many.
_RUNS = "run_id IN (SELECT id FROM run WHERE scope_1 = %s)"
_OF_A_TREE = {
    "run": "scope_1 = %s",
    "run_content": _RUNS,
    "run_result": _RUNS,
    "progress": _RUNS,
    "suspension": _RUNS,
    "suspension_continuation": f"suspension_id IN (SELECT id FROM suspension WHERE {_RUNS})",
    "resume_admission": _RUNS,
    "resume_start_or_expiry": _RUNS,
    "resume_closure": _RUNS,
    "interaction": "scope_1 = %s",
    "event": "chain IN (SELECT id FROM run WHERE scope_1 = %s)",
}


def everything(*scopes: Scope) -> dict[str, list[str]]:
    """Every row in the trees of the scopes, by table, as texts that can be compared."""
    trees = sorted({scope.prefixes[0] for scope in scopes})
    found: dict[str, list[str]] = {table: [] for table in _OF_A_TREE}
    if connection.vendor == "postgresql":
        # One round trip for all tables: thousands of tests look before and after.
        parts = [f"SELECT '{table}' AS t, {table}::text AS r FROM {table} WHERE {_OF_A_TREE[table]}" for table in found]
        for tree in trees:
            for row in rows(" UNION ALL ".join(parts), [tree] * len(parts)):
                found[row["t"]].append(row["r"])
    else:
        for table, words in _OF_A_TREE.items():
            for tree in trees:
                found[table] += [repr(row) for row in rows(f"SELECT * FROM {table} WHERE {words}", [tree])]
    return {table: sorted(texts) for table, texts in found.items()}


@contextmanager
def unchanged(*scopes: Scope) -> Iterator[None]:
    """Fail where the block writes anything at all."""
    before = everything(*scopes)
    yield
    assert everything(*scopes) == before


@contextmanager
def refused(error: type[CortexError], *scopes: Scope) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Fail unless the block is refused with exactly this class, and nothing was written."""
    with unchanged(*scopes), pytest.raises(error) as caught:
        yield caught
    assert type(caught.value) is error


# -- statements --------------------------------------------------------------------------------------


@contextmanager
def statements() -> Iterator[list[str]]:
    """The statements that the block sends to the database, BEGIN and COMMIT among them."""
    sent: list[str] = []
    connection.ensure_connection()
    # The log keeps a number of statements only, and counts from its beginning.
    connection.queries_log.clear()
    with CaptureQueriesContext(connection) as captured:
        yield sent
    sent.extend(query["sql"] for query in captured.captured_queries)


# -- the store, for any reason -----------------------------------------------------------------------


def claim(scope: Scope, run_id: str, **more: Any) -> Suspension:
    """The store's own claim, which asks of no reason: as cancel, the sweep and the resumes use it."""
    claimed, _ = in_transaction(suspensions.claim, scope, run_id, ACTOR, **more)
    return claimed


def read_run(scope: Scope, run_id: str) -> Run:
    """The run as it stands at its exact scope."""
    return run_rows.to_run(in_transaction(run_rows.require_run, run_id, scope))


def live_of(run_id: str) -> list[str]:
    """The ids of a run's live pauses."""
    found = rows("SELECT id FROM suspension WHERE run_id = %s AND retired_at IS NULL ORDER BY id", [run_id])
    return [row["id"] for row in found]


def holder_or_nobody(run: Run) -> Holder | None:
    return None if run.lease is None else builders.holder_of(run)


@dataclass(frozen=True, slots=True)
class AnyAnswer:
    """An answer that no rule of its own refuses: the core of admitting alone is asked."""

    input: bytes

    def build_input(self, reason: Reason, pending: tuple[PendingCall, ...]) -> bytes:
        return self.input

    def check(self, reason: Reason, pending: tuple[PendingCall, ...], created_by: str) -> None:
        """Refuses nothing."""
