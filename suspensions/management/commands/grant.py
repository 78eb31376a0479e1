"""``manage.py grant``: give a person or a service a role."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand

from suspensions.domain.policy import Role
from suspensions.domain.values import SYSTEM
from suspensions.management.words import one_line_errors, read_role, read_scope
from suspensions.operations import access


class Command(BaseCommand):
    """Make the account where it is missing, then grant the role at the scope and all below it."""

    help = "Grant a role at a scope; makes the account where it is missing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``USER``, ``ROLE``, ``--scope`` and ``--service``."""
        parser.add_argument("user", metavar="USER")
        parser.add_argument("role", metavar="ROLE", help=", ".join(Role))
        parser.add_argument("--scope", required=True, metavar="S", help="like workspace=acme/project=web")
        parser.add_argument("--service", action="store_true", help="a machine: it never signs in, it holds tokens")

    def handle(self, *args: Any, **options: Any) -> None:
        """Say what was granted; a grant that was there already is no error."""
        name, role, scope = options["user"], read_role(options["role"]), read_scope(options["scope"])
        with one_line_errors():
            principal = access.make_principal(name, service=options["service"], by=SYSTEM)
            held = access.grant_role(name, role, scope, SYSTEM)
        if principal.fresh and not principal.can_sign_in and not principal.is_service:
            self.stderr.write(f"made the account {name}; to sign in it needs a password: manage.py changepassword")
        self.stdout.write(f"{name} is {role} at {scope}" + ("" if held.fresh else " already"))
