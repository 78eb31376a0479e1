"""Fixtures of the store's suite."""

from collections.abc import Iterator

import pytest

from tests.store.support import Clock, stopped_clock


@pytest.fixture
def time() -> Iterator[Clock]:
    """The application's clock, standing still until the test moves it."""
    with stopped_clock() as hands:
        yield hands
