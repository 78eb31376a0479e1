"""What the logs never say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

_FAIL = """
import django
django.setup()
import structlog

def handle(token):
    raise RuntimeError("it went wrong")

try:
    handle("a-secret-" + "of-somebody")
except RuntimeError:
    structlog.stdlib.get_logger("cortex.test").exception("a failure")
"""


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_traceback_shows_no_local_variable(log_format: str) -> None:
    environment = os.environ | {"LOG_FORMAT": log_format, "DJANGO_SETTINGS_MODULE": "cortex_admin.settings"}

    done = subprocess.run(
        [sys.executable, "-c", _FAIL], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )

    assert "it went wrong" in done.stderr
    assert "in handle" in done.stderr or '"name": "handle"' in done.stderr
    assert "a-secret-of-somebody" not in done.stderr
