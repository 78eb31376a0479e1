"""Debian's packages, for what the tests need and the machine lacks."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Only one process of this machine looks, and installs: the next finds a package whole, or not at all."""
    with (Path(tempfile.gettempdir()) / f"cortex-packages-{os.geteuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(package: str) -> None:
    """Try to install a package; nothing is said where that is not to be."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "-y", "--no-install-recommends", package],
    ):
        subprocess.run(
            command,
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
