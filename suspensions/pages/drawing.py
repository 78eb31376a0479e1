"""Draws a run over time: turns spans of states and leases into the numbers of an SVG.

Only attributes (`x`, `width`) come out of it, never a style, so that the page's policy holds.
Source: pages.md, "One run".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from suspensions.pages.contexts import Bar, Drawing, Pin, Tick

WIDTH, HEIGHT = 1300, 164
_LEFT, _RIGHT = 110.0, 1290.0
_LETTER = 6.4
"""Width of a letter of a label, on the wide side: a label that might not fit is left out."""
_STATE_Y, _LEASE_Y = 38.5, 83.5
_STEPS = [
    timedelta(seconds=s)
    for s in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
]
_PIN_WIDTHS = {"Admission": 66.0, "Start": 38.0, "Expiry": 44.0, "Closure": 52.0}


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time with a label. `kind`: run, pause; lease, gap, ahead. No `end`: until now."""

    kind: str
    start: datetime
    end: datetime | None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A receipt: ``Admission``, ``Start``, ``Expiry`` or ``Closure``."""

    label: str
    at: datetime


def draw(
    words: str,
    states: Sequence[Span],
    leases: Sequence[Span],
    marks: Sequence[Mark],
    now: datetime,
    ended: bool = False,
) -> Drawing | None:
    """The drawing from the first state to now, or to the end of an ended run; None without a state."""
    if not states:
        return None
    start = states[0].start
    last = max([span.end or now for span in (*states, *leases)] + [mark.at for mark in marks])
    last = max(last, start + timedelta(seconds=1))
    scale = _Scale(start, last)
    return Drawing(
        width=WIDTH,
        height=HEIGHT,
        words=words,
        ticks=scale.ticks(None if ended else scale.x(now)),
        bars=[
            *(scale.bar(span, now, _STATE_Y) for span in states),
            *(scale.bar(span, now, _LEASE_Y) for span in leases),
        ],
        pins=_pins(scale, marks),
        now_x=None if ended else scale.x(now),
        fine=last - start < timedelta(minutes=8),
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    start: datetime
    end: datetime

    def x(self, at: datetime) -> float:
        share = (at - self.start) / (self.end - self.start)
        return round(_LEFT + min(max(share, 0.0), 1.0) * (_RIGHT - _LEFT), 1)

    def bar(self, span: Span, now: datetime, y: float) -> Bar:
        x = self.x(span.start)
        width = max(round(self.x(span.end or now) - x, 1), 2.0)
        fits = len(span.label) * _LETTER + 14 <= width
        return Bar(span.kind, x, y, width, span.label if fits else "", span.label)

    def ticks(self, now_x: float | None) -> list[Tick]:
        """Eight round instants at most; a label that would run into the edge, or into "now", is left out."""
        length = self.end - self.start
        step = next((one for one in _STEPS if length / one <= 8), None) or timedelta(
            days=-(-length // timedelta(days=8))
        )
        midnight = self.start.replace(hour=0, minute=0, second=0, microsecond=0)
        at = midnight + step * -(-(self.start - midnight) // step)
        ticks = []
        while at <= self.end:
            x = self.x(at)
            hidden = x > _RIGHT - 90 or (now_x is not None and now_x - 90 < x <= now_x)
            ticks.append(Tick(x, at, show=not hidden))
            at += step
        return ticks


def _pins(scale: _Scale, marks: Sequence[Mark]) -> list[Pin]:
    """Boxes under their instants, pushed right where they would overlap, then left from the edge."""
    pins: list[Pin] = []
    edge = _LEFT - 60
    for mark in sorted(marks, key=lambda one: one.at):
        x = scale.x(mark.at)
        width = _PIN_WIDTHS.get(mark.label, 60.0)
        box = max(x - width / 2, edge + 4)
        pins.append(Pin(x, round(box, 1), width, mark.label))
        edge = box + width
    limit = float(WIDTH - 1)
    for place in range(len(pins) - 1, -1, -1):
        pin = pins[place]
        if pin.box_x + pin.width <= limit:
            break
        pins[place] = Pin(pin.x, round(limit - pin.width, 1), pin.width, pin.label)
        limit = pins[place].box_x - 4
    return pins
