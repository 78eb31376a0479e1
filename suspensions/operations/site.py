"""The site's own bounds, from its settings. Source: operate.md "Settings by environment"."""

from __future__ import annotations

from django.conf import settings

from suspensions.store.admissions import StartWindow
from suspensions.store.suspensions import Deadlines


def deadlines() -> Deadlines:
    """The default and the longest deadline of a pause."""
    return Deadlines(settings.DEFAULT_DEADLINE, settings.MAX_DEADLINE)


def start_window() -> StartWindow:
    """How long an admitted answer may wait for a worker."""
    return StartWindow(settings.RESUME_START_GRACE, settings.RESUME_START_MAX)
