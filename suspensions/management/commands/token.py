"""``manage.py token``: make a bearer token, or end one."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError

from suspensions.domain.values import SYSTEM
from suspensions.management.words import one_line_errors, read_duration
from suspensions.operations import access


class Command(BaseCommand):
    """Print a new token, alone and this once, so that a script can take it; or revoke one."""

    help = "Make a token and print it this once, or revoke it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``USER``, ``--name``, ``--expires`` and ``--revoke``."""
        parser.add_argument("user", metavar="USER")
        parser.add_argument("--name", required=True, metavar="N", help="what the token is for; stands in receipts")
        parser.add_argument("--expires", metavar="30d", help="never where it is left out")
        parser.add_argument("--revoke", action="store_true", help="end the token of this name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the token to stdout, and nothing else there."""
        user, name, expires = options["user"], options["name"], options["expires"]
        if options["revoke"]:
            if expires is not None:
                raise CommandError("--expires and --revoke do not go together")
            with one_line_errors():
                access.revoke_token(user, name, SYSTEM)
            self.stderr.write(f"the token {name} of {user} is revoked")
            return
        expires_in = None if expires is None else read_duration(expires)
        with one_line_errors():
            self.stdout.write(access.issue_token(user, name, expires_in, SYSTEM))
