"""``manage.py sweep``: write down what time has decided."""

from argparse import ArgumentParser, ArgumentTypeError
from contextlib import nullcontext
from typing import Any

import structlog
from django.conf import settings
from django.core.management import BaseCommand, CommandError
from django.db import DatabaseError, connection

from suspensions.management.daily import DailyCheckpoint
from suspensions.management.delivering import delivering_beside
from suspensions.management.heart import Heart
from suspensions.management.stopping import Stop, stopping_gently
from suspensions.management.words import one_line_errors
from suspensions.operations.sweep import BATCH, Sweeper, SweepReport

NAME = "sweeper"
"""By which Health and the metrics know it."""
INTERVAL = 1.0
WITHOUT_DATABASE = 5.0

log = structlog.stdlib.get_logger("cortex.sweeper")


class Command(BaseCommand):
    """Sweep again and again until SIGTERM or SIGINT, which let the row in hand finish. Several may run at once.

    Webhooks are delivered beside it, by a thread of their own: a receiver that is slow must not hold up a deadline.
    """

    help = "Expire pauses and resumes whose time has passed; finish endings that a lost worker left behind."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``--once``, ``--interval``, ``--batch`` and ``--no-deliver``."""
        parser.add_argument("--once", action="store_true", help="one sweep; exit code 1 where a row failed")
        parser.add_argument(
            "--interval", type=_seconds, default=INTERVAL, metavar="SECONDS", help="between two sweeps (default 1)"
        )
        parser.add_argument("--batch", type=_batch, default=BATCH, metavar="ROWS", help="rows read at once")
        parser.add_argument(
            "--no-deliver", action="store_true", help="deliver no webhooks; `deliver` does it in a process of its own"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Sweep once, or until asked to stop."""
        with stopping_gently() as stop:
            heart = Heart(NAME)

            def between_rows() -> bool:
                # A sweep with much to do takes minutes, and lives all the same.
                heart.turn()
                return stop.asked()

            sweeper = Sweeper(options["batch"], between_rows)
            daily = DailyCheckpoint(settings.CHECKPOINT_KEY)
            if options["once"]:
                daily.turn()
                self._once(sweeper)
            else:
                with nullcontext() if options["no_deliver"] else delivering_beside():
                    _loop(sweeper, daily, stop, options["interval"])

    def _once(self, sweeper: Sweeper) -> None:
        with one_line_errors():
            report = sweeper.sweep()
        self.stdout.write(
            f"expired {report.expired_pauses} pauses and {report.expired_resumes} resumes,"
            f" finished {report.finished_endings} endings, left {report.skipped} to others, {report.failed} failed"
        )
        if report.failed:
            raise CommandError(f"{report.failed} rows could not be swept; the log names them")


def _loop(sweeper: Sweeper, daily: DailyCheckpoint, stop: Stop, interval: float) -> None:
    while not stop.asked():
        report = _sweep(sweeper)
        if report is not None:
            daily.turn()
        stop.wait(WITHOUT_DATABASE if report is None else interval)


def _sweep(sweeper: Sweeper) -> SweepReport | None:
    """One sweep; None where the database was not to be had."""
    try:
        report = sweeper.sweep()
    except DatabaseError as error:
        # It may have been restarted, or not be up yet: a sweeper outlives that.
        log.error("the database is not ready", reason=type(error).__name__)
        connection.close()
        return None
    if report.did or report.failed:
        log.info(
            "swept",
            expired_pauses=report.expired_pauses,
            expired_resumes=report.expired_resumes,
            finished_endings=report.finished_endings,
            failed=report.failed,
        )
    return report


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.05 <= seconds <= 3600:
        raise ArgumentTypeError("must be 0.05 to 3600 seconds")
    return seconds


def _batch(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 10_000:
        raise ArgumentTypeError("must be a whole number from 1 to 10000")
    return int(text)
