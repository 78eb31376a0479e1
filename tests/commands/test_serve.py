"""The production server: where it listens, what it refuses, how it ends."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from django.core.management import CommandError
from pytest_django.fixtures import Settings as SettingsWrapper

from suspensions.management.addresses import Address, parse_bind, require_free
from tests.support.server import running_server

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8000", Address("127.0.0.1", 8000)),
        ("0.0.0.0:80", Address("0.0.0.0", 80)),
        ("[::1]:8000", Address("::1", 8000)),
        ("localhost:8000", Address("localhost", 8000)),
    ],
)
def test_an_address_is_host_and_port(text: str, address: Address) -> None:
    assert parse_bind(text) == address


@pytest.mark.parametrize("text", ["8000", ":8000", "127.0.0.1", "127.0.0.1:", "a:b", "a:99999"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(CommandError):
        parse_bind(text)


def test_the_port_of_the_environment_goes_first(settings: SettingsWrapper) -> None:
    settings.PORT = 9000
    assert parse_bind("127.0.0.1:8000") == Address("127.0.0.1", 9000)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("h", False)],
)
def test_loopback_is_told_from_the_rest(host: str, loopback: bool) -> None:
    assert Address(host, 1).is_loopback is loopback


def test_a_taken_port_is_refused_in_one_line(taken_port: int) -> None:
    with pytest.raises(CommandError, match=f"cannot listen on 127.0.0.1:{taken_port}: "):
        require_free(Address("127.0.0.1", taken_port))


def test_up_says_that_the_port_is_taken_before_it_writes_anything(taken_port: int, tmp_path: Path) -> None:
    file = tmp_path / "untouched.sqlite3"
    done = subprocess.run(
        [sys.executable, "manage.py", "up", "--bind", f"127.0.0.1:{taken_port}"],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": f"sqlite:///{file}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{taken_port}" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not file.exists()


def test_the_server_is_ready_on_a_migrated_database_and_ends_well_on_sigterm() -> None:
    with running_server() as server:
        assert httpx.get(f"{server.url}/healthz").json() == {"status": "ok"}
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=30) == 0


def test_a_probe_by_another_host_name_is_answered_and_a_page_is_not() -> None:
    with running_server() as server:
        stranger = {"Host": "10.0.0.7:8000"}
        assert httpx.get(f"{server.url}/readyz", headers=stranger).status_code == 200
        assert httpx.get(f"{server.url}/admin/login/", headers=stranger).status_code == 400
