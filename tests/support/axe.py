"""axe-core in a page, by evaluation: a strict Content-Security-Policy lets no other script in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

SOURCE = Path(__file__).resolve().parents[1] / "browser" / "vendor" / "axe.min.js"


def faults(page: Page) -> list[str]:
    """What axe finds on the page as it is now: WCAG 2.0 to 2.2, A and AA, and best practice."""
    page.evaluate(SOURCE.read_text())
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations'], reporter: 'v2'})")
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
