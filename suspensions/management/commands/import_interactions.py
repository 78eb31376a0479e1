"""``manage.py import_interactions``: bring questions in from a folder, a file each."""

from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management import BaseCommand, CommandError

from suspensions.domain.errors import CommitUnknown, CortexError, StoreBusy
from suspensions.domain.interaction_files import MAX_FILE_BYTES, SUFFIX, read_file
from suspensions.domain.scopes import Scope
from suspensions.domain.values import SYSTEM
from suspensions.management.folders import Folder, Unusable, open_folder
from suspensions.management.words import one_line_errors, read_scope
from suspensions.operations.interaction_files import import_interaction


class Command(BaseCommand):
    """Keep the question of each `<interaction_id>.json`; what is no such file is reported and left alone."""

    help = "Keep the questions of a folder's JSON files. Doing it again changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``DIR`` and ``--scope``."""
        parser.add_argument("folder", metavar="DIR", help="a folder; links in it are not followed")
        parser.add_argument("--scope", required=True, metavar="S", help="the scope to keep them in")

    def handle(self, *args: Any, **options: Any) -> None:
        """Name each file that was not taken; exit code 1 then."""
        scope = read_scope(options["scope"])
        counts: Counter[str] = Counter()
        try:
            with open_folder(options["folder"]) as folder, one_line_errors():
                for name in folder.names(SUFFIX):
                    counts[self._take(folder, name, scope)] += 1
        except OSError as error:
            raise CommandError(f"{options['folder']}: {error.strerror}") from None
        self.stdout.write(
            f"made {counts['made']}, resolved {counts['resolved']}, {counts['there already']} were there already"
        )
        if counts["failed"]:
            raise CommandError(f"{counts['failed']} files were not taken")

    def _take(self, folder: Folder, name: str, scope: Scope) -> str:
        try:
            return import_interaction(SYSTEM, read_file(folder.read(name, MAX_FILE_BYTES), name, scope))
        except (StoreBusy, CommitUnknown):
            raise
        except CortexError as error:
            self.stderr.write(f"{name!a}: {error.detail}")
        except Unusable as error:
            self.stderr.write(f"{name!a}: {error}")
        return "failed"
