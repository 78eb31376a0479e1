"""The loop of a deliverer: in a process of its own, or in a thread beside a sweeper."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import structlog
from django.conf import settings
from django.db import DatabaseError, connection, connections

from suspensions.domain.errors import CortexError
from suspensions.management.heart import Heart
from suspensions.notify.deliverer import Deliverer
from suspensions.notify.sending import WITHIN, Sender

NAME = "deliverer"
"""By which the metrics know it."""
INTERVAL = 1.0
AFTER_TROUBLE = 5.0

log = structlog.stdlib.get_logger("cortex.webhooks")


def deliver_until(asked_to_stop: Callable[[], bool], wait: Callable[[float], object], interval: float) -> None:
    """Deliver again and again until asked to stop; what is being sent then is waited for."""
    heart = Heart(NAME)

    def between_sends() -> bool:
        heart.turn()
        return asked_to_stop()

    with Sender(allow_private=settings.WEBHOOK_ALLOW_PRIVATE) as sender:
        deliverer = Deliverer(sender, between_sends)
        while not between_sends():
            wait(interval if _turn(deliverer) else AFTER_TROUBLE)


@contextmanager
def delivering_beside(interval: float = INTERVAL) -> Iterator[None]:
    """Deliver in a thread for the duration of the block."""
    ended = Event()

    def run() -> None:
        try:
            deliver_until(ended.is_set, ended.wait, interval)
        finally:
            connections.close_all()

    # A name server that does not answer must not keep the process alive: what was claimed is sent again later.
    thread = Thread(target=run, name=NAME, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(WITHIN + 1)


def _turn(deliverer: Deliverer) -> bool:
    """One turn; False where it ended in trouble, which it outlives: a thread that died would be missed by nobody."""
    try:
        report = deliverer.turn()
    except (DatabaseError, CortexError) as error:
        log.error("the database is not ready", reason=type(error).__name__)
        connection.close()
        return False
    except Exception as error:
        log.error("delivering webhooks failed", reason=type(error).__name__, exc_info=error)
        return False
    if report.did:
        log.info("webhooks", found=report.found, delivered=report.delivered, failed=report.failed)
    return True
