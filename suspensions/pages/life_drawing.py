"""From a run's events to the stretches of time that its drawing shows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from suspensions.domain.instants import parse_instant
from suspensions.domain.states import ENDED
from suspensions.domain.values import Event, EventType, Lease, Run
from suspensions.pages.contexts import Drawing
from suspensions.pages.drawing import Mark, Span, draw

_MARKS = {
    EventType.RESUME_ADMITTED: "Admission",
    EventType.RESUME_STARTED: "Start",
    EventType.RESUME_EXPIRED: "Expiry",
    EventType.RESUME_CLOSED: "Closure",
}
_ENDS = {
    EventType.RUN_FINISHED,
    EventType.RUN_CANCELLED,
    EventType.RUN_EXPIRED,
    EventType.RESUME_EXPIRED,
    EventType.RESUME_CLOSED,
}
_RUNS = {EventType.RUN_CREATED, EventType.RUN_CLAIMED, EventType.RESUME_ADMITTED}
_UNLEASES = {EventType.RUN_PAUSED, EventType.RUN_LEASE_RELEASED, *_ENDS}
AHEAD = 0.12
"""How much of the drawing a lease may reach into the future."""


def draw_life(run: Run, events: Sequence[Event], now: datetime) -> Drawing | None:
    """The drawing of these events; None where there are none."""
    ended = run.state in ENDED
    states = _states(events)
    words = ", then ".join(span.label for span in states)
    return draw(
        f"{words.capitalize()}{'.' if ended else ' until now.'}",
        states,
        _leases(run, events, now),
        [Mark(_MARKS[event.type], event.at) for event in events if event.type in _MARKS],
        now,
        ended=ended,
    )


def _states(events: Sequence[Event]) -> list[Span]:
    spans: list[Span] = []
    kind, since, label = "", None, ""
    for event in events:
        if event.type is EventType.RUN_PAUSED:
            following = ("pause", f"paused, {str(event.data.get('reason', '')).replace('_', ' ')}")
        elif event.type in _RUNS:
            following = ("run", "running")
        elif event.type in _ENDS:
            following = ("", "")
        else:
            continue
        if since is not None and (following[0] != kind or following[0] == "pause"):
            # A run that is claimed and ended in one instant did not run in between.
            if event.at > since:
                spans.append(Span(kind, since, event.at, label))
            since = None
        if following[0] and since is None:
            kind, label = following
            since = event.at
    if since is not None:
        spans.append(Span(kind, since, None, label))
    return spans


def _leases(run: Run, events: Sequence[Event], now: datetime) -> list[Span]:
    spans: list[Span] = []
    owner, since = "", None
    for event in events:
        taken = event.data.get("lease")
        if since is not None and (taken or event.type in _UNLEASES):
            lapsed = event.data.get("lapsed")
            until = max(since, parse_instant(lapsed["expires_at"])) if lapsed else event.at
            spans.append(Span("lease", since, until, owner))
            if lapsed:
                spans.append(Span("gap", until, event.at))
            since = None
        if taken:
            owner, since = taken["owner"], event.at
    if since is not None:
        spans += _held_now(run.lease, owner, since, events[0].at, now)
    return spans


def _held_now(lease: Lease | None, owner: str, since: datetime, start: datetime, now: datetime) -> list[Span]:
    if lease is None:
        return [Span("lease", since, now, owner)]
    if lease.lapsed(now):
        lapsed = max(since, lease.expires_at)
        return [Span("lease", since, lapsed, owner), Span("gap", lapsed, now)]
    until = min(lease.expires_at, now + (now - start) * AHEAD)
    return [Span("lease", since, now, owner), Span("ahead", now, until)]
