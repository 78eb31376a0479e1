"""`manage.py verify_receipts`: recompute every digest and every link, and name each row that fails."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from suspensions.domain.errors import CortexError
from suspensions.domain.instants import parse_instant
from suspensions.domain.scopes import Scope
from suspensions.operations.verification import verify_receipts


class Command(BaseCommand):
    """Exit 0 where everything is whole, 1 where a row fails."""

    help = "Recompute every digest and every link of receipts and events; name each row that fails."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take a scope to keep to, and a time since when runs must have changed."""
        parser.add_argument("--scope", help="only runs of this scope and below, like workspace=acme/project=web")
        parser.add_argument("--since", help="only runs changed since then, like 2031-05-01T12:00:00Z")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line per row that fails."""
        try:
            scope = None if options["scope"] is None else Scope.parse(options["scope"])
            since = None if options["since"] is None else parse_instant(options["since"])
        except CortexError as refused:
            raise CommandError(refused.detail) from refused
        count = 0
        for finding in verify_receipts(scope, since):
            count += 1
            self.stdout.write(f"{finding.kind} {finding.id} of {finding.chain!r}: {finding.detail}")
        if count:
            self.stderr.write(f"{count} row(s) fail.")
            sys.exit(1)
        self.stdout.write("Every receipt and every event is whole.")
