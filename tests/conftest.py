"""Fixtures of every test: the database with real commits, a scope of one's own."""

import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from hypothesis import settings as hypothesis_settings
from hypothesis.configuration import set_hypothesis_home_dir
from pytest_django.plugin import DjangoDbBlocker

from tests.support.engine import own_database, reset_database, worker_name

# What it keeps names files of this machine: it stays out of the project.
set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "cortex-admin-hypothesis")
# On a busy machine a single example may take any time; the timeout per test is what bounds it.
hypothesis_settings.register_profile("suite", deadline=None)
hypothesis_settings.load_profile("suite")


def pytest_configure() -> None:
    """Serve plain static addresses in-process: no test of a page waits for collectstatic."""
    settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.WHITENOISE_USE_FINDERS = settings.WHITENOISE_AUTOREFRESH = True


def pytest_report_header() -> str:
    """Say in the header which engine a run was about."""
    return f"engine: {connection.vendor}, as {worker_name()}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse tests that ask to be rolled back: they would show nothing about durability."""
    for item in items:
        if item.get_closest_marker("django_db") is not None:
            raise pytest.UsageError(
                f"{item.nodeid}: no django_db mark: every test may use the database, "
                "with real commits and a fresh scope"
            )


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Make this process's database and open it to every test, with real commits."""
    with django_db_blocker.unblock(), own_database():
        yield


@pytest.fixture(scope="session", autouse=True)
def database(django_db_setup: None) -> None:
    """Give every test the migrated database of its process."""


@pytest.fixture(autouse=True)
def _no_open_transaction() -> Iterator[None]:
    """Fail the test that leaves a transaction open: the next one would run inside it."""
    yield
    assert not connection.in_atomic_block, "the test left a transaction open"


@pytest.fixture(scope="session")
def engine() -> str:
    """Name the engine: ``sqlite`` or ``postgresql``."""
    return connection.vendor


@pytest.fixture
def scope() -> str:
    """Give a scope that no other test has: ``w=<random>``."""
    return f"w={secrets.token_hex(8)}"


@pytest.fixture
def empty_database() -> None:
    """Empty it first: a sweep would count, and pass over, the rows that other tests broke on purpose."""
    reset_database()
