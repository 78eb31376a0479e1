"""Measure one engine in one process: product and floor by turns, transaction by transaction.

Interleaved, so that whatever else the machine does falls on both; what counts is the median over the rounds.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from tests.benchmarks import writes  # noqa: E402
from tests.benchmarks.floor import Floor, PostgresFloor, SqliteFloor, open_floor, record  # noqa: E402
from tests.benchmarks.writes import HOT, Call, Hot  # noqa: E402


@dataclass
class Spent:
    """What one round of one side took: seconds on the clock, and of this process's own work."""

    wall: float = 0.0
    cpu: float = 0.0

    def add(self, call: Call) -> None:
        begun, worked = time.perf_counter(), time.process_time()
        call()
        self.cpu += time.process_time() - worked
        self.wall += time.perf_counter() - begun


@dataclass
class Rates:
    """What product and floor took, round by round, with `size` transactions of each in a round."""

    size: int
    ours: list[Spent] = field(default_factory=list)
    floor: list[Spent] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Our rate as a share of the floor's, in the median of the rounds."""
        return median(floor.wall / ours.wall for ours, floor in zip(self.ours, self.floor, strict=True))

    def rate(self, spent: Sequence[Spent]) -> float:
        return self.size / median(each.wall for each in spent)

    def work(self, spent: Sequence[Spent]) -> float:
        """Milliseconds of this process's own work for one transaction."""
        return 1000 * median(each.cpu for each in spent) / self.size


def _careless(careless: bool) -> None:
    """Rows are prepared without waiting for the disk; what is measured waits."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"SET synchronous_commit TO {'off' if careless else 'on'}")
        else:
            cursor.execute(f"PRAGMA synchronous = {'OFF' if careless else 'FULL'}")


def _prepare(hot: Hot, floor: PostgresFloor | SqliteFloor, size: int) -> tuple[list[Call], list[Call]]:
    _careless(True)
    scope, by = writes.a_scope()
    ours = [hot.prepare(scope, by).call for _ in range(size)]
    lean = []
    for _ in range(size):
        prepared = hot.prepare(scope, by)
        found = record(prepared.call)
        about = (prepared.run_id, scope.text)
        lean.append(floor.prepare(Floor(hot.read + writes.READ_OF_RUN, about, prepared.run_id, scope.text, found)))
    _careless(False)
    return ours, lean


def measure(rounds: int, size: int, names: Sequence[str]) -> dict[str, Rates]:
    """Every hot write, `rounds` times `size` of each kind."""
    floor = open_floor()
    rates = {hot.name: Rates(size) for hot in HOT if not names or hot.name in names}
    for number in range(-1, rounds):
        for hot in HOT:
            if hot.name not in rates:
                continue
            ours, least = Spent(), Spent()
            for mine, lean in zip(*_prepare(hot, floor, size), strict=True):
                ours.add(mine)
                least.add(lean)
            if number >= 0:  # the first round only warms both up
                rates[hot.name].ours.append(ours)
                rates[hot.name].floor.append(least)
        if number < 0:
            # A plan made for empty tables reads them from end to end; an hour later autovacuum would have seen to it.
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE")
    floor.close()
    return rates


def table(rates: dict[str, Rates]) -> str:
    """The rows for docs/performance.md."""
    lines = [
        f"| {connection.vendor} | ours, 1/s | floor, 1/s | ratio | our work, ms | the floor's, ms |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, found in rates.items():
        rates_of = f"{found.rate(found.ours):.0f} | {found.rate(found.floor):.0f} | {found.ratio:.0%}"
        lines.append(f"| {name} | {rates_of} | {found.work(found.ours):.2f} | {found.work(found.floor):.2f} |")
    return "\n".join(lines)


def profile(name: str, size: int) -> None:
    """Where the product's time goes in one hot write."""
    (hot,) = (hot for hot in HOT if hot.name == name)
    floor = open_floor()
    _prepare(hot, floor, 5)
    ours, _ = _prepare(hot, floor, size)
    profiler = cProfile.Profile()
    profiler.enable()
    for call in ours:
        call()
    profiler.disable()
    pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(40)
    floor.close()


def main() -> int:
    """Migrate, measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--profile")
    asked = parser.parse_args()
    call_command("migrate", verbosity=0, interactive=False)
    if asked.profile:
        profile(asked.profile, asked.rounds * asked.batch)
    else:
        sys.stdout.write(table(measure(asked.rounds, asked.batch, asked.only)) + "\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
