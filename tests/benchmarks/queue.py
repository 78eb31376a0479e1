"""How the queue's lists keep up with their length: the same person's lists at 1,000 and at 1,000,000 waiting pauses.

Each size is a database and a process of its own. One process at a time measures one thing once, and all of them take
turns, so that whatever else the machine does falls on all; what counts is the median over the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import IO

import psycopg

SIZES = (1_000, 1_000_000)
PEOPLE = ("one scope", "five scopes", "fifty scopes", "one broad grant")
LISTS = ("raw", "statement", "call", "raw others", "statement others", "call others")
FILTERS = (
    "reason",
    "tool",
    "tool, rare",
    "agent",
    "agent, rare",
    "age",
    "age, rare",
    "deadline",
    "search: a common word",
    "search: one in a hundred",
    "search: a guest",
    "search: a reservation",
    "search: nothing",
    "search: a pause's id",
    "tool, agent and word",
)
COUNTS = "counts"


# -- all sizes, by turns --------------------------------------------------------------------------------


@dataclass
class Size:
    """A process that measures one size."""

    pending: int
    asked: IO[str]
    answers: IO[str]

    def wait(self) -> None:
        line = self.answers.readline().strip()
        if line != "ready":
            raise RuntimeError(f"the process for {self.pending} pauses did not get ready: {line}")

    def measure(self, name: str) -> float:
        self.asked.write(f"{name}\n")
        self.asked.flush()
        return float(self.answers.readline())


@contextmanager
def open_size(server: str, pending: int) -> Iterator[Size]:
    name = f"pending_{pending}"
    with closing(psycopg.connect(server, autocommit=True)) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
    environment = os.environ | {
        "DATABASE_URL": f"{server.rpartition('/')[0]}/{name}",
        "SECRET_KEY": "only-for-the-benchmark-" + "0123456789" * 3,
        "DJANGO_SETTINGS_MODULE": "cortex_admin.settings",
    }
    command = [sys.executable, "-m", "tests.benchmarks.lists", f"--pending={pending}"]
    with subprocess.Popen(
        command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Size(pending, process.stdin, process.stdout)
        process.stdin.close()


Figures = dict[tuple[int, str], float]


def measure(server: str, sizes: list[int], rounds: int) -> Figures:
    """The median of each, in milliseconds, by size and name."""
    names = [f"{person}/{what}" for person in PEOPLE for what in (*LISTS, *FILTERS, COUNTS)]
    taken: dict[tuple[int, str], list[float]] = {}
    with ExitStack() as stack:
        opened = [stack.enter_context(open_size(server, pending)) for pending in sizes]
        for size in opened:
            size.wait()
        for number in range(-8, rounds):
            for name in names:
                for size in opened:
                    seconds = size.measure(name)
                    # The first rounds fill the caches and let the statements be prepared.
                    if number >= 0:
                        taken.setdefault((size.pending, name), []).append(seconds)
    return {key: 1000 * median(seconds) for key, seconds in taken.items()}


def table(found: Figures, sizes: list[int]) -> str:
    """The tables for docs/performance.md."""
    small, large = sizes[0], sizes[-1]
    lines = [
        "| a person with | list | raw, ms | statement, ms | of raw | whole call, ms"
        f" | statement of {small:,} | raw of {small:,} |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for person in PEOPLE:
        for which, title in (("", "mine"), (" others", "others'")):
            names = [f"{person}/{what}{which}" for what in LISTS[:3]]
            raw, statement, call = (found[large, name] for name in names)
            # A list that is shorter than a page says nothing about how a page grows.
            grown = [f"{found[large, name] / found[small, name]:.2f}" for name in names]
            if which and person in PEOPLE[:3]:
                grown = ["", ""]
            figures = f"{raw:.2f} | {statement:.2f} | {statement / raw:.2f} | {call:.2f} | {grown[1]} | {grown[0]}"
            lines.append(f"| {person} | {title} | {figures} |")
    lines += ["", f"| ms at {large:,} | {' | '.join(PEOPLE)} |", "|---|" + "---:|" * len(PEOPLE)]
    for what in (*FILTERS, COUNTS):
        figures = " | ".join(f"{found[large, f'{person}/{what}']:.1f}" for person in PEOPLE)
        lines.append(f"| {what} | {figures} |")
    return "\n".join(lines)


def main() -> int:
    """Load, measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--pending", type=int, action="append")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, help="where to keep all figures")
    asked = parser.parse_args()
    sizes = asked.pending or list(SIZES)
    found = measure(asked.server, sizes, asked.rounds)
    if asked.json:
        asked.json.write_text(
            json.dumps({f"{size} {name}": figure for (size, name), figure in found.items()}, indent=1)
        )
    sys.stdout.write(table(found, sizes) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
