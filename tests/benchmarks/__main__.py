"""Measure both engines, each in a process of its own, and print the table that docs/performance.md shows.

python -m tests.benchmarks [--part=queue] [--engine=sqlite] [--rounds=9] [--batch=100] [--profile=admit]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.support.postgres import private_cluster

ROOT = Path(__file__).resolve().parents[2]
ENGINES = ("postgresql", "sqlite")


def main() -> int:
    """Run the measurements; 0 where they ran."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("--engine", choices=ENGINES, action="append")
    parser.add_argument("--part", choices=("writes", "queue"))
    asked, further = parser.parse_known_args()
    if asked.part == "queue":
        return queue(further)
    for engine in asked.engine or ENGINES:
        with ExitStack() as stack:
            if engine == "postgresql":
                url = stack.enter_context(private_cluster(durable=True))
            else:
                # Beside the project, where its database would lie: a temporary folder may be in memory.
                var = ROOT / "var"
                var.mkdir(exist_ok=True)
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-", dir=var))
                url = f"sqlite:///{folder}/bench.sqlite3"
            environment = os.environ | {
                "DATABASE_URL": url,
                "SECRET_KEY": "only-for-the-benchmark-" + "0123456789" * 3,
                "DJANGO_SETTINGS_MODULE": "cortex_admin.settings",
            }
            command = [sys.executable, "-m", "tests.benchmarks.measure", *further]
            code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
            if code:
                return code
    return 0 if asked.part or asked.engine or further else queue([])


def queue(further: list[str]) -> int:
    """How the queue's lists keep up with their length, on PostgreSQL with the memory that a server would give it."""
    with private_cluster(shared_buffers="1GB") as url:
        command = [sys.executable, "-m", "tests.benchmarks.queue", f"--server={url}", *further]
        return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
