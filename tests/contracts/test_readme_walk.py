"""The README's walk from a new run to a closure receipt, run as it stands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.server import ROOT, running_server


@pytest.mark.timeout(300)
def test_the_walk_ends_on_a_closure_receipt(scope: str, tmp_path: Path) -> None:
    found = re.search(r"```sh walk\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    (tmp_path / "walk.sh").write_text(found[1].replace("walk-", f"walk-{scope[2:]}-"))
    with running_server() as server:
        given = os.environ | {
            "CORTEX_URL": server.url,
            "CORTEX_SCOPE": scope,
            "MANAGE": str(ROOT / "manage.py"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        told = subprocess.run(
            ["bash", "-euo", "pipefail", "walk.sh"],
            cwd=tmp_path,
            env=given,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
    assert told.returncode == 0, told.stdout + told.stderr

    def document(name: str) -> dict[str, Any]:
        read: dict[str, Any] = json.loads((tmp_path / f"{name}.json").read_text())
        return read

    assert document("admission")["fresh"] is document("start")["fresh"] is document("closure")["fresh"] is True
    assert [item["run_id"] for item in document("uncertain")["items"]] == [document("run")["id"]]
    assert document("closure")["run_revision"] == document("start")["claimed_run"]["revision"] + 1
    assert document("verified")["valid"] is True
