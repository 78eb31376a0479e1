"""``manage.py serve``: the production web server."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError
from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server.common import AbstractServer

from suspensions.checks import dangers_of_listening
from suspensions.management.addresses import DEFAULT_BIND, Address, parse_bind, require_free
from suspensions.management.shared_counts import shared_counts
from suspensions.management.statics import ensure_static_files

STOP_WITHIN = 10
"""Seconds that requests in hand get to finish after SIGTERM; a waiting long poll is cut then."""


class Command(BaseCommand):
    """Serve pages and API until SIGTERM or SIGINT, then finish the requests in hand."""

    help = "Serve pages and API: the production web server."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``--bind``."""
        parser.add_argument(
            "--bind",
            default=DEFAULT_BIND,
            metavar="HOST:PORT",
            help=f"where to listen (default {DEFAULT_BIND}; PORT in the environment goes first)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuse what is dangerous or taken, then serve."""
        address = parse_bind(options["bind"])
        if dangers := dangers_of_listening(loopback=address.is_loopback):
            raise CommandError("; ".join(dangers))
        require_free(address)
        ensure_static_files()
        if options["verbosity"] > 0:
            self.stdout.write(f"serving on {address.url}")
            self.stdout.flush()
        with shared_counts():
            self._server(address).serve()

    def _server(self, address: Address) -> AbstractServer[Any]:
        # A long poll holds a thread for as long as it waits. They have their own number on top,
        # so that all of them together leave the pages every thread they have without any.
        threads = settings.WEB_THREADS + settings.MAX_LONG_POLLS
        server: AbstractServer[Any] = Granian(
            "suspensions.management.worker:application",
            address=address.host,
            port=address.port,
            interface=Interfaces.WSGI,
            workers=settings.WEB_WORKERS,
            blocking_threads=threads,
            # Queue in the socket what the threads cannot take, instead of in memory.
            backpressure=threads,
            respawn_failed_workers=True,
            workers_kill_timeout=STOP_WITHIN,
            websockets=False,
            log_level=LogLevels.error,
        )
        return server
