"""``sweep``: once, or until it is asked to stop."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from suspensions.domain.scopes import Scope
from suspensions.domain.values import Suspension
from tests.support import builders

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0


def expired_pause(ago: timedelta = timedelta(seconds=1)) -> Suspension:
    return builders.make_pause(builders.fresh_scope(), expires_at=builders.now() - ago)


def state_of(pause: Suspension) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT state FROM run WHERE id = %s", (pause.run_id,))
        return str(cursor.fetchone()[0])


@contextmanager
def broken_pause(scope: Scope) -> Iterator[Suspension]:
    """An expired pause that no longer decodes, taken out of the sweep's way afterwards."""
    pause = builders.make_pause(scope, expires_at=builders.now() - timedelta(days=900))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE suspension SET pending = %s WHERE id = %s", (b"\xff", pause.id))
        yield pause
        cursor.execute("UPDATE suspension SET expires_at = NULL, pending = %s WHERE id = %s", (b"[]", pause.id))


@contextmanager
def sweeper(*words: str) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, which ends with the block at the latest."""
    with subprocess.Popen(
        [sys.executable, "manage.py", "sweep", *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"LOG_FORMAT": "json"},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.usefixtures("empty_database")
def test_once_sweeps_and_says_what_it_did() -> None:
    pause = expired_pause()
    out = StringIO()

    call_command("sweep", "--once", stdout=out)

    assert state_of(pause) == "failed"
    assert out.getvalue().startswith("expired ")
    assert out.getvalue().endswith(" 0 failed\n")


@pytest.mark.usefixtures("empty_database")
def test_once_ends_with_an_error_where_a_row_failed() -> None:
    with broken_pause(builders.fresh_scope()), pytest.raises(CommandError, match="could not be swept"):
        call_command("sweep", "--once", stdout=StringIO())


@pytest.mark.parametrize("words", [["--batch", "0"], ["--batch", "x"], ["--interval", "0"], ["--interval", "nan"]])
def test_what_makes_no_sense_is_refused(words: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("sweep", "--once", *words)


@pytest.mark.usefixtures("empty_database")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_sweeps_again_and_again_and_stops_when_asked(number: signal.Signals) -> None:
    first = expired_pause()
    with sweeper("--interval", "0.05") as process:
        assert process.stderr is not None
        assert '"event": "swept"' in process.stderr.readline()
        assert state_of(first) == "failed"

        second = expired_pause()
        assert '"event": "swept"' in process.stderr.readline()
        assert state_of(second) == "failed"
        process.send_signal(number)

        out, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out, errors) == (0, "", "")
