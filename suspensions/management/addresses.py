"""Addresses to bind to: read from the command line, and looked at before a server starts."""

import ipaddress
import socket
from dataclasses import dataclass

from django.conf import settings
from django.core.management import CommandError

DEFAULT_BIND = "127.0.0.1:8000"


@dataclass(frozen=True)
class Address:
    """A host and a port to listen on."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether nobody outside this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """The address as one would type it into a browser on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)  # noqa: S104
        if ":" in host and not host.startswith("["):
            host = f"[{host}]"
        return f"http://{host}:{self.port}/"


def parse_bind(text: str) -> Address:
    """Read ``HOST:PORT``; the setting ``PORT`` goes before the port given here.

    Raises: CommandError where it is no such pair.
    """
    host, colon, port = text.rpartition(":")
    host = host.strip("[]")
    if not (colon and host and port.isascii() and port.isdigit()):
        raise CommandError(f"--bind {text}: not HOST:PORT, such as {DEFAULT_BIND}")
    number = settings.PORT if settings.PORT is not None else int(port)
    if not 1 <= number <= 65535:
        raise CommandError(f"port {number}: not between 1 and 65535")
    return Address(host, number)


def require_free(address: Address) -> None:
    """Refuse an address that cannot be bound, in one line instead of a server's traceback.

    Raises: CommandError.
    """
    try:
        family = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # As the server does: a port in TIME_WAIT is free, one that is listened on is not.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address.host, address.port))
    except OSError as error:
        raise CommandError(
            f"cannot listen on {address.host}:{address.port}: {error.strerror or error}; "
            "choose another with --bind HOST:PORT or PORT=..."
        ) from error
