"""kill -9 between any two steps of purging and of signing checkpoints: whole batches, no half record, and the same
command does the rest.

Both work in several transactions, and over all scopes. So what is compared is not a scope's footprint before and after,
but what stands after each commit: whatever was begun after the last one must be as if it had never been.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from suspensions.domain import clock, failpoints, keys
from suspensions.domain.checkpoints import CHECKPOINTS
from suspensions.domain.failpoints import Point
from suspensions.domain.scopes import Scope
from suspensions.domain.values import SYSTEM
from suspensions.operations.checkpoints import make_checkpoints, verify_checkpoints
from suspensions.operations.purge import purge
from suspensions.operations.verification import verify_purges, verify_receipts
from tests.concurrency import children
from tests.concurrency.consistency import require_consistent
from tests.concurrency.outcomes import At, Call, FixedClock
from tests.retention import test_checkpoints
from tests.retention.test_purge import DAY, ask, finished
from tests.store.rows import rows
from tests.store.support import everything
from tests.support.builders import fresh_scope, make_run

pytestmark = [pytest.mark.usefixtures("warm_parent"), pytest.mark.timeout(600)]

BEFORE_EVERYTHING = datetime(1950, 1, 1, tzinfo=UTC)
"""What ends in such a year is purged by nobody else, and a purge in it finds nothing of anybody else's."""
EVERY = {Point.BEFORE_BEGIN, Point.BEFORE_LOCK, Point.BEFORE_WRITE, Point.BEFORE_COMMIT, Point.AFTER_COMMIT}
THIRDS = [slice(part, None, 3) for part in range(3)]


@dataclass(frozen=True)
class Sign:
    """Signing checkpoints of so many heads at most, with a key that travels to another process."""

    pem: str
    most: int

    def __call__(self) -> int:
        return len(make_checkpoints(keys.require_private_ed25519(self.pem), self.most))


def undisturbed(call: Call, left: Callable[[], int]) -> tuple[list[Point], list[int]]:
    """The points that the command passes, and what `left` counts before it and after each of its commits."""
    passed: list[Point] = []
    counts = [left()]

    def note(point: Point) -> None:
        passed.append(point)
        if point is Point.AFTER_COMMIT:
            counts.append(left())

    with failpoints.installed(note):
        call()
    assert set(passed) >= EVERY
    return passed, counts


def commits(passed: list[Point], index: int) -> int:
    """How many transactions are committed when the process dies at this point."""
    return passed[: index + 1].count(Point.AFTER_COMMIT)


# -- purge ---------------------------------------------------------------------------------------------


class Ended:
    """Two runs with everything of theirs and a question, which ended long ago; a third run that goes on."""

    def __init__(self) -> None:
        self.scope = fresh_scope()
        began = BEFORE_EVERYTHING + timedelta(seconds=secrets.randbelow(6 * 10**8))
        with clock.use_clock(FixedClock(began)):
            self.chains = [finished(self.scope).id, finished(self.scope).id]
            self.chains.append(f"{self.scope.text}\n{ask(self.scope)}")
            self.running = make_run(self.scope)
        # One chain a batch, so that there are several.
        self.command: Call = At(began + 2 * DAY, partial(purge, SYSTEM, DAY, limit=1))

    def left(self) -> int:
        """How many of the chains are still there."""
        return sum(bool(rows("SELECT 1 FROM event WHERE chain = %s LIMIT 1", [chain])) for chain in self.chains)

    def require_whole(self, left: int, place: str) -> None:
        """So many chains are there with everything of theirs; each of the others has one record, and nothing else."""
        assert self.left() == left, place
        require_consistent(self.scope)
        assert [str(finding) for finding in verify_receipts(self.scope)] == [], place
        assert [str(finding) for finding in verify_purges()] == [], place
        assert rows("SELECT * FROM purge_window") == [], place
        for chain in self.chains:
            there = rows("SELECT 1 FROM event WHERE chain = %s LIMIT 1", [chain])
            told = rows("SELECT number FROM purge_record_head WHERE chain = %s", [chain])
            assert len(told) == (0 if there else 1), place

    def require_gone(self) -> None:
        """Only what goes on is left in the scope."""
        chains = {row["chain"] for row in rows("SELECT chain FROM event WHERE scope = %s", [self.scope.text])}
        assert chains == {self.running.id}
        found = everything(self.scope)
        assert len(found["run"]) == 1
        assert not any(found[table] for table in ("suspension", "resume_admission", "interaction"))


def _purge_matrix(part: slice) -> None:
    first = Ended()
    passed, counts = undisturbed(first.command, first.left)
    first.require_gone()
    assert sorted(set(counts), reverse=True) == [3, 2, 1, 0]
    for index in range(len(passed))[part]:
        ended = Ended()
        children.run_killed(ended.command, index)
        place = f"killed {passed[index]}, step {index + 1} of {len(passed)}"
        ended.require_whole(counts[commits(passed, index)], place)
        ended.command()
        ended.require_whole(0, f"{place}, then again")
        ended.require_gone()


# -- checkpoints ---------------------------------------------------------------------------------------


@pytest.fixture
def pem() -> str:
    """One key signs for every test of a process, since checkpoints span all scopes."""
    key: Ed25519PrivateKey = test_checkpoints.KEY
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


class Uncovered:
    """Three runs that no checkpoint covers; everything else is covered."""

    def __init__(self, pem: str) -> None:
        test_checkpoints.sign()
        self.scope: Scope = fresh_scope()
        self.chains = [make_run(self.scope).id for _ in range(3)]
        # Two heads a checkpoint, so that there are several.
        self.command: Call = Sign(pem, 2)

    def left(self) -> int:
        """How many of the runs are not covered yet."""
        return len(self.chains) - sum(len(self._covered(chain)) for chain in self.chains)

    @staticmethod
    def _covered(chain: str) -> list[int]:
        return [row["number"] for row in rows("SELECT number FROM checkpoint_head WHERE chain = %s", [chain])]

    def require_whole(self, left: int, place: str) -> None:
        """So many runs are uncovered, none is covered twice, and what was signed holds."""
        assert self.left() == left, place
        assert max(len(self._covered(chain)) for chain in self.chains) <= 1, place
        found = verify_checkpoints([test_checkpoints.PUBLIC])
        assert [str(one) for one in found if one.chain in (CHECKPOINTS, *self.chains)] == [], place
        numbers = [row["number"] for row in rows("SELECT number FROM checkpoint ORDER BY number")]
        assert numbers == list(range(1, len(numbers) + 1)), place
        assert [str(finding) for finding in verify_receipts(self.scope)] == [], place


def _checkpoint_matrix(pem: str, part: slice) -> None:
    first = Uncovered(pem)
    passed, counts = undisturbed(first.command, first.left)
    assert counts == [3, 1, 0]
    for index in range(len(passed))[part]:
        uncovered = Uncovered(pem)
        children.run_killed(uncovered.command, index)
        place = f"killed {passed[index]}, step {index + 1} of {len(passed)}"
        uncovered.require_whole(counts[commits(passed, index)], place)
        uncovered.command()
        uncovered.require_whole(0, f"{place}, then again")


# -- a part of it always, the whole with the matrix -------------------------------------------------------


def test_a_purge_killed_at_every_fifth_point_leaves_whole_batches_and_is_finished_by_the_next() -> None:
    _purge_matrix(slice(4, None, 5))


def test_signing_killed_at_every_third_point_leaves_whole_checkpoints_and_is_finished_by_the_next(pem: str) -> None:
    _checkpoint_matrix(pem, slice(1, None, 3))


@pytest.mark.matrix
@pytest.mark.parametrize("part", THIRDS, ids=["first", "second", "last"])
def test_a_purge_killed_at_every_point(part: slice) -> None:
    _purge_matrix(part)


@pytest.mark.matrix
def test_signing_killed_at_every_point(pem: str) -> None:
    _checkpoint_matrix(pem, slice(None))
