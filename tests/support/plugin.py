"""The pytest plugin that chooses the engine before Django reads its settings.

``pytest --engine=postgresql`` runs the same tests on PostgreSQL. Loaded by ``-p`` in
pyproject.toml, since a conftest would come too late.
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.postgres import PostgresUnavailable, private_cluster

ENGINES = ("sqlite", "postgresql")

_resources = ExitStack()
# pytest does not unconfigure what failed while it was loading.
atexit.register(_resources.close)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--engine``."""
    parser.addoption(
        "--engine",
        choices=ENGINES,
        default="sqlite",
        help="the database engine that this run is about (default: sqlite, as a file)",
    )


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """Set the environment that settings and child processes read.

    Runs around pytest-django's own hook, which loads the settings. xdist's workers inherit the
    environment and come here no more: one cluster serves them all, a database each.
    """
    try:
        url = _server_url(early_config.known_args_namespace.engine)
    except PostgresUnavailable as error:
        pytest.exit(str(error), returncode=1)
    os.environ["DATABASE_URL"] = url
    os.environ["SECRET_KEY"] = "only-for-tests-" + "0123456789" * 5
    # What the developer's shell happens to hold must not decide whether a test passes.
    for name in ("ALLOWED_HOSTS", "DEBUG", "HTTPS", "PORT", "RATE_LIMIT"):
        os.environ.pop(name, None)
    yield


def _server_url(engine: str) -> str:
    """Give a URL on the engine; ``tests.support.engine`` makes a database of its own there."""
    if engine == "postgresql":
        given = os.environ.get("TEST_DATABASE_URL")
        return given or _resources.enter_context(private_cluster())
    folder = Path(tempfile.mkdtemp(prefix="cortex-sqlite-"))
    _resources.callback(shutil.rmtree, folder, ignore_errors=True)
    return f"sqlite:///{folder / 'unused.sqlite3'}"
