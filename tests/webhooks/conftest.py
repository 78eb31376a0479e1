"""Fixtures of webhooks: a receiver, and nobody else's webhooks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from suspensions.notify.sending import Sender
from tests.support.receivers import Receiver, forget_webhooks, running_receiver


@pytest.fixture(autouse=True)
def alone(settings: Settings) -> Iterator[None]:
    """No webhooks of other tests, before and after; this machine may be sent to."""
    settings.WEBHOOK_ALLOW_PRIVATE = True
    forget_webhooks()
    yield
    forget_webhooks()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as running:
        yield running


@pytest.fixture
def sender() -> Iterator[Sender]:
    with Sender(allow_private=True) as ours:
        yield ours
