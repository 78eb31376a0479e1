"""What a sweeper does once a day: sign a checkpoint, where a key is set."""

from datetime import datetime, timedelta

import structlog
from django.core.management import CommandError
from django.db import DatabaseError

from suspensions.domain import clock
from suspensions.domain.errors import CortexError
from suspensions.management.words import read_signing_key
from suspensions.operations.checkpoints import make_checkpoints_if_due

LOOK_EVERY = timedelta(minutes=1)
AFTER_TROUBLE = timedelta(minutes=15)

log = structlog.stdlib.get_logger("cortex.checkpoints")


class DailyCheckpoint:
    """Looks now and then whether the last checkpoint is a day old, and makes the next one. `file` is the key's."""

    def __init__(self, file: str | None) -> None:
        self._file = file
        self._look_at: datetime | None = None

    def turn(self) -> None:
        """Make it where it is due. Trouble is logged and stops no sweep; it is tried again a while later."""
        now = clock.now()
        if self._file is None or (self._look_at is not None and now < self._look_at):
            return
        self._look_at = now + LOOK_EVERY
        try:
            # Read each time: a key that was exchanged counts from the next checkpoint on.
            make_checkpoints_if_due(read_signing_key(self._file))
        except (CommandError, CortexError, DatabaseError) as error:
            self._look_at = now + AFTER_TROUBLE
            reason = str(error) if isinstance(error, CommandError) else type(error).__name__
            log.error("the daily checkpoint was not made", reason=reason)
