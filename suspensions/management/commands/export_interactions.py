"""``manage.py export_interactions``: write questions to a folder, a file each."""

import errno
from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError

from suspensions.domain.errors import CortexError
from suspensions.domain.interaction_files import file_name, file_text
from suspensions.domain.values import Interaction
from suspensions.management.folders import Folder, open_folder
from suspensions.management.words import one_line_errors, read_scope
from suspensions.operations.interaction_files import export_interactions


class Command(BaseCommand):
    """Write every question of one scope, resolved or not, as `<interaction_id>.json`, replacing what is there."""

    help = "Write the questions of a scope to a folder, a JSON file each."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``DIR`` and ``--scope``."""
        parser.add_argument("folder", metavar="DIR", help="a folder that is there")
        parser.add_argument("--scope", required=True, metavar="S", help="exactly this scope")

    def handle(self, *args: Any, **options: Any) -> None:
        """Name each question that could not be written; exit code 1 then."""
        scope = read_scope(options["scope"])
        written, failed, names = 0, 0, set[str]()
        try:
            with open_folder(options["folder"]) as folder, one_line_errors():
                for interaction in export_interactions(scope):
                    fault = _write(folder, interaction, names)
                    if fault is None:
                        written += 1
                    else:
                        failed += 1
                        self.stderr.write(f"{interaction.interaction_id!a}: {fault}")
        except OSError as error:
            raise CommandError(f"{options['folder']}: {error.strerror}") from None
        self.stdout.write(f"wrote {written} interactions")
        if failed:
            raise CommandError(f"{failed} were not written")


def _write(folder: Folder, interaction: Interaction, names: set[str]) -> str | None:
    """Write one; what is wrong with it, if it was not. Raises: OSError where no other would fare better."""
    name = file_name(interaction.interaction_id)
    if name is None:
        return "its id is no safe file name"
    if name.casefold() in names:
        return "its id differs from another's in case alone, which some file systems do not tell apart"
    names.add(name.casefold())
    try:
        folder.write(name, file_text(interaction))
    except CortexError as error:
        return error.detail
    except OSError as error:
        if error.errno not in (errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST):
            raise
        return f"{name}: {error.strerror}"
    return None
