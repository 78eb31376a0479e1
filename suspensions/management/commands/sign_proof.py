"""``manage.py sign_proof``: sign claims as an issuer would, for drills and tests."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError

from suspensions.closing.proof import sign_proof
from suspensions.domain.errors import MalformedJson
from suspensions.domain.keys import require_private_ed25519
from suspensions.domain.proofs import require_issuer_name
from suspensions.domain.strict_json import loads
from suspensions.management.words import MOST_BYTES, one_line_errors, read_text_file


class Command(BaseCommand):
    """Read claims from stdin and print the proof. What they claim is not judged here: whoever closes finds out."""

    help = "Sign the claims on stdin and print the proof, a JWS in compact form."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``--key`` and ``--kid``."""
        parser.add_argument("--key", required=True, metavar="FILE", help="PEM private key, Ed25519")
        parser.add_argument("--kid", required=True, metavar="ISSUER/REVISION", help="the registered revision")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the JWS to stdout, and nothing else there."""
        private_key = read_text_file(options["key"])
        issuer, slash, revision = options["kid"].partition("/")
        with one_line_errors():
            require_private_ed25519(private_key)
            require_issuer_name(issuer, "--kid")
            require_issuer_name(revision, "--kid")
        self.stdout.write(sign_proof(_read_claims(), private_key, f"{issuer}{slash}{revision}"))


def _read_claims() -> dict[str, object]:
    """Raises: CommandError."""
    text = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise CommandError(f"the claims are larger than {MOST_BYTES:,} bytes")
    try:
        claims = loads(text)
    except MalformedJson as error:
        raise CommandError(f"the claims are no strict JSON: {error.detail}") from None
    if not isinstance(claims, dict):
        raise CommandError("the claims are no JSON object")
    return claims
