"""``manage.py deliver``: tell webhooks what happened."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand

from suspensions.management.delivering import INTERVAL, deliver_until
from suspensions.management.stopping import stopping_gently
from suspensions.management.words import one_line_errors
from suspensions.notify.deliverer import Deliverer
from suspensions.notify.sending import Sender


class Command(BaseCommand):
    """Deliver again and again until SIGTERM or SIGINT, which let what is being sent finish. Several may run at once.

    A sweeper does the same beside its sweeps, unless told not to.
    """

    help = "Send events to webhooks, and again where a receiver did not take them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``--once``."""
        parser.add_argument("--once", action="store_true", help="send what is due now, and end")

    def handle(self, *args: Any, **options: Any) -> None:
        """Deliver once, or until asked to stop."""
        with stopping_gently() as stop:
            if not options["once"]:
                deliver_until(stop.asked, stop.wait, INTERVAL)
                return
            with one_line_errors(), Sender(allow_private=settings.WEBHOOK_ALLOW_PRIVATE) as sender:
                report = Deliverer(sender, stop.asked).turn()
            self.stdout.write(f"found {report.found}, delivered {report.delivered}, failed {report.failed}")
