"""One turn of a deliverer: find what is to be told, send what is due, keep what came of it. Source: ADR 51."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from suspensions.notify.sending import Sender
from suspensions.operations.deliveries import Lookout, claim_due, forget_settled, keep_answer

FORGET_EVERY = 600.0
LEFT_ALONE = 60.0
"""Seconds for which a webhook is left alone that did not answer in time: all that is sent with it waits as long."""


@dataclass(slots=True)
class DeliveryReport:
    """What one turn did."""

    found: int = 0
    delivered: int = 0
    failed: int = 0

    @property
    def did(self) -> int:
        return self.found + self.delivered + self.failed


@dataclass(slots=True)
class Deliverer:
    """Turns again and again. Several may live at once: each sends what it claimed alone."""

    sender: Sender
    asked_to_stop: Callable[[], bool]
    _lookout: Lookout = field(default_factory=Lookout)
    _forgot_at: float | None = None
    _left_alone: dict[str, float] = field(default_factory=dict)

    def turn(self) -> DeliveryReport:
        """Look, then send until nothing is due. Between two handfuls it stops where that was asked."""
        report = DeliveryReport(found=self._lookout.look())
        while not self.asked_to_stop():
            now = time.monotonic()
            self._left_alone = {webhook: until for webhook, until in self._left_alone.items() if until > now}
            claimed = claim_due(self._left_alone)
            if not claimed:
                self._forget()
                break
            for each, answer in zip(claimed, self.sender.send(claimed), strict=True):
                keep_answer(each, answer)
                if answer.late:
                    self._left_alone[each.webhook_id] = time.monotonic() + LEFT_ALONE
                if answer.taken:
                    report.delivered += 1
                else:
                    report.failed += 1
        return report

    def _forget(self) -> None:
        now = time.monotonic()
        if self._forgot_at is None or now - self._forgot_at >= FORGET_EVERY:
            self._forgot_at = now
            forget_settled()
