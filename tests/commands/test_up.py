"""``up`` brings everything, tells a new account's password once, and ends as one."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start_and_stop(database: Path) -> str:
    """Bring everything up on a database, look at it, stop it by Ctrl-C; give what it printed."""
    port = _free_port()
    process = subprocess.Popen(
        [sys.executable, "manage.py", "up", "--no-demo", "--bind", f"127.0.0.1:{port}"],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": f"sqlite:///{database}", "LOG_LEVEL": "WARNING"},
        stdout=subprocess.PIPE,
        text=True,
    )
    printed = []
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            printed.append(line)
            if "Ctrl-C stops everything" in line:
                assert httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
                process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 0
    return "".join(printed)


def test_the_first_start_tells_a_password_and_the_second_does_not(tmp_path: Path) -> None:
    database = tmp_path / "cortex.sqlite3"
    assert re.search(r"sign in as  admin\n  password    \S{12,}   \(shown this once\)", _start_and_stop(database))
    assert "password" not in _start_and_stop(database)
