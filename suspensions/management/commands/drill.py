"""``manage.py drill``: make one kind of trouble on a demo database, to practise on."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand

from suspensions.domain.scopes import Scope
from suspensions.management.words import one_line_errors, read_scope
from suspensions.operations.drills import KINDS, make_trouble

DEMO = Scope("workspace=demo")
DEFAULT_SCOPE = "workspace=demo/project=drill"
_WHAT_NEXT = {
    "expired-pause": "A pause whose deadline has passed. A sweeper fails its run within a second or two; without one "
    "it stays, and Health and cortex_pauses_overdue tell.",
    "not-picked-up": "An answer that no worker has taken, for six minutes. See the queue's tab Decided, not picked up.",
    "uncertain-resume": "A resume that was started and fell silent, a refund handed out. See /uncertain/.",
    "dead-worker": "A worker that died before it wrote the end that it was told. A sweeper writes it for it.",
}


class Command(BaseCommand):
    """Make it through the operations that agents and people use, at instants that lie back, and say where to look."""

    help = "Make one kind of trouble on a demo database; docs/uncertain.md says what to do about it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``KIND`` and ``--scope``."""
        parser.add_argument("kind", metavar="KIND", choices=sorted(KINDS), help=", ".join(sorted(KINDS)))
        parser.add_argument("--scope", default=DEFAULT_SCOPE, metavar="S", help=f"below {DEMO}")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the run and the pause, each on a line of its own."""
        scope = read_scope(options["scope"])
        with one_line_errors():
            trouble = make_trouble(options["kind"], DEMO, scope)
        self.stderr.write(f"{_WHAT_NEXT[trouble.kind]} What to do: docs/uncertain.md")
        self.stdout.write(f"run {trouble.run_id}")
        if trouble.suspension_id is not None:
            self.stdout.write(f"pause {trouble.suspension_id}")
