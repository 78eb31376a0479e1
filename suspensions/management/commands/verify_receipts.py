"""`manage.py verify_receipts`: recompute every digest and every link, and name each row that fails."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from suspensions.domain.errors import CortexError
from suspensions.domain.instants import parse_instant
from suspensions.domain.scopes import Scope
from suspensions.management.words import read_public_key
from suspensions.operations.verification import verify_receipts


class Command(BaseCommand):
    """Exit 0 where everything is whole, 1 where a row fails."""

    help = "Recompute every digest and every link of receipts and events; name each row that fails."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take a scope to keep to, a time since when runs must have changed, and what is known of checkpoints."""
        parser.add_argument("--scope", help="only runs of this scope and below, like workspace=acme/project=web")
        parser.add_argument("--since", help="only runs changed since then, like 2031-05-01T12:00:00Z")
        parser.add_argument(
            "--checkpoint-key",
            action="append",
            default=[],
            metavar="FILE",
            help="PEM public key that signed checkpoints and purge records; again for each further one",
        )
        parser.add_argument("--checkpoint", metavar="HASH", help="a checkpoint that must be there, as noted elsewhere")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line per row that fails."""
        try:
            scope = None if options["scope"] is None else Scope.parse(options["scope"])
            since = None if options["since"] is None else parse_instant(options["since"])
        except CortexError as refused:
            raise CommandError(refused.detail) from refused
        public_keys = [read_public_key(file) for file in options["checkpoint_key"]]
        expected = options["checkpoint"]
        if (scope, since) != (None, None) and (public_keys or expected is not None):
            raise CommandError("checkpoints span all scopes and times: leave out --scope and --since")
        count = 0
        for finding in verify_receipts(scope, since, public_keys=public_keys, checkpoint=expected):
            count += 1
            self.stdout.write(f"{finding.kind} {finding.id} of {finding.chain!r}: {finding.detail}")
        if count:
            self.stderr.write(f"{count} row(s) fail.")
            sys.exit(1)
        self.stdout.write("Every receipt and every event is whole.")
