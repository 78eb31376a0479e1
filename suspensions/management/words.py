"""What the commands share: options read, and refusals told in one line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.core.management import CommandError
from django.db import OperationalError, ProgrammingError

from suspensions.domain.errors import CortexError
from suspensions.domain.keys import require_ed25519, require_private_ed25519
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope

MOST_BYTES = 1 << 20
"""A key or a list of claims is far smaller."""
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn a refusal, or a database that is not ready, into one line and exit code 1."""
    try:
        yield
    except CortexError as error:
        raise CommandError(error.detail) from error
    except (OperationalError, ProgrammingError) as error:
        first_line = str(error).partition("\n")[0]
        raise CommandError(f"the database is not ready ({first_line}); is it there, and migrated?") from error


def read_role(text: str) -> Role:
    """Raises: CommandError, naming the roles there are."""
    try:
        return Role(text)
    except ValueError:
        raise CommandError(f"{text!r} is no role; there are {', '.join(Role)}") from None


def read_scope(text: str) -> Scope:
    """Raises: CommandError."""
    with one_line_errors():
        return Scope.parse(text)


def read_text_file(path: str) -> str:
    """A small UTF-8 file, such as a key. Raises: CommandError."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        text = content.decode()
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path} is no text") from None
    if len(content) > MOST_BYTES:
        raise CommandError(f"{path} is larger than {MOST_BYTES:,} bytes")
    return text


def read_signing_key(path: str) -> Ed25519PrivateKey:
    """The private key in a PEM file. Raises: CommandError."""
    text = read_text_file(path)
    with one_line_errors():
        return require_private_ed25519(text)


def read_public_key(path: str) -> Ed25519PublicKey:
    """The public key in a PEM file. Raises: CommandError."""
    text = read_text_file(path)
    with one_line_errors():
        return require_ed25519(text)


def read_duration(text: str) -> timedelta:
    """A length of time like ``30d``, ``24h`` or ``15m``. Raises: CommandError."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})([smhd])", text, re.ASCII)
    if match is None:
        raise CommandError(f"{text!r} is not a duration like 30d, 24h or 15m")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
