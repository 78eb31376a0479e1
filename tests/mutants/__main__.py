"""Take away each guard in a private copy of the tree, and see whether a test dies of it.

    python -m tests.mutants [--engine=sqlite] [--list] [words of a guard ...]

The table says which test noticed. A mutant that survives, that no longer applies, or that does not even start is a
failure of this run; so is a suite that is red without any mutant, since nobody could tell what it died of.
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import BOTH, POSTGRESQL, Mutant, NoLongerApplies
from tests.support.postgres import private_cluster

ROOT = Path(__file__).resolve().parents[2]
EVERYTHING = ("tests/store", "tests/domain", "tests/concurrency")
WORKERS = 2
LONGEST = 900


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant on one engine."""

    mutant: str
    engine: str
    good: bool
    said: str
    seconds: float


class Tree:
    """A private copy of the working tree, with a PostgreSQL cluster of its own."""

    def __init__(self, folder: Path, cluster: str) -> None:
        self.folder = folder
        self._cluster = cluster
        files = subprocess.run(
            ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
        for name in filter(None, files.split("\0")):
            source, target = ROOT / name, folder / name
            if source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)

    def judge(self, mutant: Mutant, engine: str) -> Verdict:
        """Apply the mutant, run its tests and then, should they not notice, the whole suite; and put all back."""
        begun = time.monotonic()
        kept = {edit.file: (self.folder / edit.file).read_bytes() for edit in mutant.edits}
        try:
            for edit in mutant.edits:
                edit.apply(self.folder)
            died, said = self._run(mutant.tests, engine)
            if not died and said == "survived":
                died, said = self._run(EVERYTHING, engine)
        except NoLongerApplies as fault:
            died, said = False, f"no longer applies: {fault}"
        finally:
            for name, content in kept.items():
                (self.folder / name).write_bytes(content)
        return Verdict(mutant.guard, engine, died, said, time.monotonic() - begun)

    def judge_nothing(self, engine: str) -> Verdict:
        """The suite as it stands: whatever it says then is not the doing of a mutant."""
        begun = time.monotonic()
        red, said = self._run(EVERYTHING, engine)
        green = not red and said == "survived"
        return Verdict("nothing", engine, green, "green" if green else f"RED: {said}", time.monotonic() - begun)

    def _run(self, tests: Sequence[str], engine: str) -> tuple[bool, str]:
        """Whether a test failed, and which one; a test that cannot even be set up is no death."""
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        words = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", f"--engine={engine}"]
        # A kept byte code could be an older mutant's, made within the same second.
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("TEST_DATABASE_URL", None)
        if engine == POSTGRESQL:
            environment["TEST_DATABASE_URL"] = self._cluster
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *words, f"--junit-xml={report}", *tests],
                cwd=self.folder,
                env=environment,
                timeout=LONGEST,
                capture_output=True,
                text=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True, f"hung for {LONGEST} s"
        if done.returncode == 0:
            return False, "survived"
        failed = list(_failures(report)) if report.exists() else []
        if done.returncode != 1 or not failed:
            last = (done.stdout.strip().splitlines() or ["no reason given"])[-1]
            return False, f"does not start: {last}"
        return True, failed[0]


def _failures(report: Path) -> Iterable[str]:
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("failure") is not None:
            yield f"{case.get('classname', '').removeprefix('tests.')}::{case.get('name')}"


def run(mutants: Sequence[Mutant], engines: Sequence[str]) -> list[Verdict]:
    """Judge every mutant on its engines, several at a time; each verdict is printed as it falls."""
    jobs: queue.Queue[tuple[Mutant | None, str]] = queue.Queue()
    for engine in engines:
        jobs.put((None, engine))
    for mutant in mutants:
        for engine in mutant.engines:
            if engine in engines:
                jobs.put((mutant, engine))
    verdicts: list[Verdict] = []

    def work() -> None:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cortex-mutants-")))
            tree = Tree(folder, stack.enter_context(private_cluster()))
            while True:
                try:
                    mutant, engine = jobs.get_nowait()
                except queue.Empty:
                    return
                verdict = tree.judge_nothing(engine) if mutant is None else tree.judge(mutant, engine)
                verdicts.append(verdict)
                say(line(verdict))

    workers = [threading.Thread(target=work) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return verdicts


def say(text: str) -> None:
    """Write a line at once: whoever looks on sees each verdict as it falls."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def line(verdict: Verdict) -> str:
    """One row of the table."""
    mark = "good" if verdict.good else "BAD "
    return f"{mark} | {verdict.mutant} | {verdict.engine} | {verdict.said} | {verdict.seconds:.0f} s"


def main() -> int:
    """The table, and 0 where every mutant died."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("words", nargs="*", help="only guards whose name holds one of these words")
    parser.add_argument("--engine", choices=BOTH, action="append", help="only on this engine")
    parser.add_argument("--list", action="store_true", help="name the guards and do nothing")
    asked = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if not asked.words or any(word in mutant.guard for word in asked.words)]
    if asked.list:
        say("\n".join(f"{mutant.guard} ({', '.join(mutant.engines)})" for mutant in chosen))
        return 0
    verdicts = run(chosen, asked.engine or BOTH)
    alive = [verdict for verdict in verdicts if not verdict.good]
    say(f"\n{len(verdicts)} verdicts, {len(alive)} bad")
    for verdict in alive:
        say(line(verdict))
    return 1 if alive or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
