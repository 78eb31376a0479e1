"""The table of settings in the docs and the settings that the code reads are the same."""

import re
from pathlib import Path

from cortex_admin import settings

TABLE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
ROW = re.compile(r"^\| `([A-Z_]+)` \| (?:`([^`]*)` |(\u2013) |)\| .+ \|$", re.MULTILINE)


def _documented() -> dict[str, str | None]:
    rows = ROW.findall(TABLE.read_text(encoding="utf-8"))
    return {name: None if unset else default for name, default, unset in rows}


def test_every_variable_is_documented_with_its_default() -> None:
    assert _documented() == settings.VARIABLES
