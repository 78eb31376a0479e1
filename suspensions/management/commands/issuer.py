"""``manage.py issuer``: register who may prove that workers are quiet, and revoke them."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError

from suspensions.domain.values import SYSTEM
from suspensions.management.words import one_line_errors, read_scope, read_text_file
from suspensions.operations import issuers


class Command(BaseCommand):
    """Add a revision of a proof issuer with its public key, or revoke a revision for good."""

    help = "Register a revision of a proof issuer, or revoke one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``add NAME`` and ``revoke NAME`` with their options."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        add = verbs.add_parser("add", help="register a revision with its Ed25519 key")
        add.add_argument("--scope", required=True, metavar="S", help="proves for runs at this scope and below")
        add.add_argument("--public-key", required=True, metavar="FILE", help="PEM SubjectPublicKeyInfo, Ed25519")
        revoke = verbs.add_parser("revoke", help="revoke a revision for good; its receipts stay")
        for verb in (add, revoke):
            verb.add_argument("name", metavar="NAME")
            verb.add_argument("--revision", required=True, metavar="R")

    def handle(self, *args: Any, **options: Any) -> None:
        """Say what was done; the same again is no error."""
        name, revision = options["name"], options["revision"]
        if options["verb"] == "revoke":
            with one_line_errors():
                issuers.revoke_issuer(SYSTEM, name, revision)
            self.stdout.write(f"{name}/{revision} is revoked")
            return
        scope, public_key = read_scope(options["scope"]), read_text_file(options["public_key"])
        with one_line_errors():
            issuer = issuers.add_issuer(SYSTEM, name, revision, scope, public_key)
        if issuer.revoked:
            raise CommandError(f"{name}/{revision} was revoked for good; register another revision")
        self.stdout.write(f"{name}/{revision} proves at {scope}")
