"""The real web server on the tests' database: ``manage.py serve`` in a process of its own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0


@dataclass(frozen=True)
class Server:
    """A running web server."""

    url: str
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """End it with `kill -9`, and return once its workers are gone too."""
        workers = self.workers()
        self.process.kill()
        self.process.wait(timeout=PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while any(_is_there(worker) for worker in workers):
            assert time.monotonic() < deadline, "a worker outlived its server"
            time.sleep(0.005)

    def workers(self) -> list[int]:
        """The processes that serve."""
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextmanager
def running_server(environment: Mapping[str, str] | None = None, *, port: int | None = None) -> Iterator[Server]:
    """Start the production server on a free port, or the one given; stop it afterwards.

    It works on the database that ``DATABASE_URL`` names now. Raises: AssertionError where it
    ends or is not ready in time, with what it said.
    """
    port = port or free_port()
    command = [sys.executable, "manage.py", "serve", "--bind", f"127.0.0.1:{port}"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"ACCESS_LOG": "false"} | dict(environment or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    server = Server(f"http://127.0.0.1:{port}", process)
    try:
        _wait_until_ready(server)
        yield server
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


def _wait_until_ready(server: Server) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        code = server.process.poll()
        assert code is None, f"the server ended with exit code {code} before it was ready"
        try:
            if httpx.get(f"{server.url}/readyz", timeout=2).status_code == 200:
                return
        except httpx.TransportError:
            pass
        # Nothing tells when a port begins to answer; this is no test's own wait.
        time.sleep(0.05)
    raise AssertionError("the server was not ready in time")


def _is_there(pid: int) -> bool:
    """Whether the process runs; one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
