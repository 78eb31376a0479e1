"""Races and crashes: the ports of closing let everything through, and child processes have a warm parent."""

import pytest
from pytest_django import Settings

from tests.concurrency import children
from tests.support.closing import PERMISSIVE_AUTHORIZER, PERMISSIVE_FENCE


@pytest.fixture(autouse=True)
def _open_ports(settings: Settings) -> None:
    settings.CLOSURE_AUTHORIZER = PERMISSIVE_AUTHORIZER
    settings.CLOSURE_FENCE = PERMISSIVE_FENCE


@pytest.fixture(scope="session")
def warm_parent(database: None) -> None:
    """The parent of all child processes, on this process's database."""
    children.warm_up()
