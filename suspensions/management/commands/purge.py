"""``manage.py purge``: remove for good what ended long ago."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError

from suspensions.domain.values import SYSTEM
from suspensions.management.stopping import stopping_gently
from suspensions.management.words import one_line_errors, read_duration, read_signing_key
from suspensions.operations.checkpoints import has_checkpoints
from suspensions.operations.purge import purge


class Command(BaseCommand):
    """Remove ended runs with everything of theirs, batch by batch, each with its purge record."""

    help = "Remove for good what ended long ago; a purge record of it stays."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``--older-than``, ``--key`` and ``--unsigned``."""
        parser.add_argument("--older-than", required=True, metavar="400d", help="what ended longer ago")
        parser.add_argument(
            "--key", metavar="FILE", help="sign the purge records, with the checkpoints' key (default: CHECKPOINT_KEY)"
        )

        parser.add_argument(
            "--unsigned", action="store_true", help="without a key, although checkpoints are signed here"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Say what was removed; exit code 1 where something stays because it does not verify."""
        older_than = read_duration(options["older_than"])
        file = options["key"] or settings.CHECKPOINT_KEY
        key = None if file is None or options["unsigned"] else read_signing_key(file)
        if key is None and not options["unsigned"]:
            _require_nothing_signed()
        with stopping_gently() as stop, one_line_errors():
            report = purge(SYSTEM, older_than, key=key, asked_to_stop=stop.asked)
        self.stdout.write(
            f"purged {report.runs} runs and {report.interactions} interactions, in {report.records} purge records"
        )
        for finding in report.kept:
            self.stderr.write(f"{finding.kind} {finding.id} of {finding.chain!r}: {finding.detail}")
        if report.kept:
            raise CommandError("what does not verify was kept; see manage.py verify_receipts")


def _require_nothing_signed() -> None:
    """An unsigned record explains no chain that a checkpoint signed, for ever. Raises: CommandError."""
    with one_line_errors():
        signed = has_checkpoints()
    if signed:
        raise CommandError("checkpoints are signed here, and only a signed purge record explains: give --key")
