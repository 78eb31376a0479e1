"""Settings read what they document and refuse what is dangerous, in one line."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.checks import run_checks
from pytest_django.fixtures import Settings as SettingsWrapper

from cortex_admin import settings as project
from suspensions.checks import dangers_of_listening

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = "cortex.example.com"


def _check_ids() -> set[str | None]:
    return {message.id for message in run_checks()}


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("1s", timedelta(seconds=1)),
        ("15m", timedelta(minutes=15)),
        ("24h", timedelta(hours=24)),
        ("400d", timedelta(days=400)),
    ],
)
def test_durations_carry_their_unit(text: str, duration: timedelta) -> None:
    assert project.parse_duration(text) == duration


@pytest.mark.parametrize("text", ["15", "0s", "-1s", "1.5h", "1 h", "1w", "٣s", "", "1h30m"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        project.parse_duration(text)


@pytest.fixture(autouse=True)
def _loopback_only(settings: SettingsWrapper) -> None:
    """Take away the host name that Django's test client brought along."""
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]


def test_debug_on_a_public_host_refuses_to_start(settings: SettingsWrapper) -> None:
    settings.DEBUG = True
    assert "suspensions.E001" not in _check_ids()
    settings.ALLOWED_HOSTS = ["localhost", PUBLIC]
    assert "suspensions.E001" in _check_ids()


def test_sqlite_without_immediate_refuses_to_start(
    monkeypatch: pytest.MonkeyPatch, settings: SettingsWrapper, tmp_path: Path
) -> None:
    database = project.parse_database(f"sqlite:///{tmp_path / 'a.sqlite3'}")
    monkeypatch.setitem(settings.DATABASES, "default", database)
    assert "suspensions.E002" not in _check_ids()
    database["OPTIONS"]["transaction_mode"] = "DEFERRED"
    assert "suspensions.E002" in _check_ids()


def test_a_generated_or_short_secret_on_a_public_host_refuses_to_start(
    settings: SettingsWrapper,
) -> None:
    settings.SECRET_KEY_IS_GENERATED = True
    assert "suspensions.E003" not in _check_ids()
    settings.ALLOWED_HOSTS = [PUBLIC]
    assert "suspensions.E003" in _check_ids()
    settings.SECRET_KEY_IS_GENERATED = False
    assert "suspensions.E003" not in _check_ids()
    settings.SECRET_KEY = "short"
    assert "suspensions.E003" in _check_ids()


def test_a_default_deadline_beyond_the_longest_refuses_to_start(settings: SettingsWrapper) -> None:
    settings.DEFAULT_DEADLINE = timedelta(hours=2)
    assert "suspensions.E004" not in _check_ids()
    settings.MAX_DEADLINE = timedelta(hours=1)
    assert "suspensions.E004" in _check_ids()


def test_a_public_address_takes_neither_debug_nor_a_generated_secret(
    settings: SettingsWrapper,
) -> None:
    assert dangers_of_listening(loopback=False) == []
    settings.DEBUG = settings.SECRET_KEY_IS_GENERATED = True
    assert dangers_of_listening(loopback=True) == []
    assert len(dangers_of_listening(loopback=False)) == 2


def test_an_address_that_is_no_database_of_ours_is_refused() -> None:
    for address in ("mysql://root@localhost/a", "sqlite://:memory:", "nonsense"):
        with pytest.raises(ValueError, match=r"SQLite must be a file|only sqlite"):
            project.parse_database(address)


def test_what_stands_in_a_postgresql_address_goes_before_our_own_options() -> None:
    query = "sslmode=require&server_side_binding=false&prepare_threshold=none"
    options = project.parse_database(f"postgres://u:p@h:5432/n?{query}")["OPTIONS"]
    assert options["sslmode"] == "require"
    assert options["server_side_binding"] is False
    assert options["prepare_threshold"] is None
    assert options["application_name"] == "cortex-admin"


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("DEBUG", "flase"),
        ("RESUME_START_GRACE", "15"),
        ("LOG_FORMAT", "xml"),
        ("WEB_THREADS", "0"),
        ("RATE_LIMIT", "many"),
        ("EMAIL_URL", "pigeon://roof"),
        ("DATABASE_URL", "mysql://root@localhost/a"),
        ("SECRET_KEY", ""),
    ],
)
def test_a_wrong_variable_stops_every_command_with_one_line_that_names_it(variable: str, text: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env=os.environ | {variable: text},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"manage.py: {variable}: ")
    assert len(done.stderr.splitlines()) == 1
