"""``manage.py revoke``: take a role away."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError

from suspensions.domain.policy import Role
from suspensions.domain.values import SYSTEM
from suspensions.management.words import one_line_errors, read_role, read_scope
from suspensions.operations import access


class Command(BaseCommand):
    """Take grants away: all of an account, or those of a role, or those at exactly one scope."""

    help = "Revoke a role, or every role; at one scope, or at every scope."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``USER``, ``ROLE`` and ``--scope``."""
        parser.add_argument("user", metavar="USER")
        parser.add_argument("role", metavar="ROLE", nargs="?", help="every role where it is left out")
        parser.add_argument("--scope", metavar="S", help="exactly this scope; every scope where it is left out")

    def handle(self, *args: Any, **options: Any) -> None:
        """Say what was taken away. Nothing is an error: a mistyped name must not pass for a revocation."""
        name = options["user"]
        role = None if options["role"] is None else read_role(options["role"])
        scope = None if options["scope"] is None else read_scope(options["scope"])
        with one_line_errors():
            # Whoever is here can grant without being admin, so the last admin may go too; a scope is given up so.
            removed = access.revoke_role(name, role, scope, SYSTEM, keep_an_admin=False)
        if not removed:
            raise CommandError(f"{name} holds no such grant; nothing was revoked")
        for at, taken in removed:
            self.stdout.write(f"{name} is no longer {taken} at {at}")
            if taken is Role.ADMIN and not access.has_admin(at):
                self.stderr.write(
                    f"nobody is admin of {at} any more; manage.py grant NAME admin --scope {at} makes one"
                )
