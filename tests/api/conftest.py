"""Clients of the API: an owner of every role, a stranger, and ways to make more."""

from __future__ import annotations

import pytest

from tests.support.api import Client, client_for


@pytest.fixture
def client(scope: str) -> Client:
    """A service with every role at the test's scope."""
    return client_for(scope)
