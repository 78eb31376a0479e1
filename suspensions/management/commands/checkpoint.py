"""``manage.py checkpoint``: sign what the chains end in."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError

from suspensions.management.words import one_line_errors, read_signing_key
from suspensions.operations.checkpoints import make_checkpoints


class Command(BaseCommand):
    """Sign the heads of all chains that changed since the last checkpoint, with a key from outside the database."""

    help = "Sign the heads of the chains that changed since the last checkpoint."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``--key``."""
        parser.add_argument(
            "--key", metavar="FILE", help="PEM private key, Ed25519 (default: the setting CHECKPOINT_KEY)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print each checkpoint's number and hash: keep the last line where the database's owner cannot reach it."""
        file = options["key"] or settings.CHECKPOINT_KEY
        if file is None:
            raise CommandError("--key or the setting CHECKPOINT_KEY must name the file of a key")
        key = read_signing_key(file)
        with one_line_errors():
            for made in make_checkpoints(key):
                self.stdout.write(f"checkpoint {made.number} {made.hash} covers {made.count} chains")
