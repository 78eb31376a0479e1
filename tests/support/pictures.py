"""Pictures of pages, for people to look at."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Error, Page

# What Chromium answers where its compositor had no frame at that instant, on a machine that is busy.
NO_FRAME = "Unable to capture screenshot"


def draw(page: Page, path: Path) -> None:
    """Draw the whole page into a file; asked again where the browser had nothing to draw from.

    Raises: playwright's Error after three tries, and at once for any other reason.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in (2, 1, 0):
        try:
            page.screenshot(path=path, full_page=True)
        except Error as error:
            if not left or NO_FRAME not in str(error):
                raise
        else:
            return
