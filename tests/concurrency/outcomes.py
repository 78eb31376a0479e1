"""What one contender got: its answer or its refusal, as a plain value that travels between processes too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from suspensions.domain import clock
from suspensions.domain.errors import CortexError

Call = Callable[[], Any]


@dataclass(frozen=True)
class Outcome:
    """`code` is None where the call was answered."""

    value: Any = None
    code: str | None = None
    members: dict[str, Any] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        return self.code is None

    @property
    def fresh(self) -> bool:
        """Whether this answer made a record, or took something."""
        value = self.value[0] if isinstance(self.value, tuple) else self.value
        return self.answered and bool(getattr(value, "fresh", False))


def attempt(call: Call) -> Outcome:
    """Call, and keep a refusal as an outcome; whatever else goes wrong is the test's failure."""
    try:
        return Outcome(value=call())
    except CortexError as refused:
        return Outcome(code=refused.code, members=dict(refused.members()))


class FixedClock:
    """A clock that stands still, and travels to another process."""

    def __init__(self, instant: datetime) -> None:
        self.instant = instant

    def __call__(self) -> datetime:
        return self.instant


@dataclass(frozen=True)
class At:
    """The call as made at an instant, by the clock of whoever makes it."""

    instant: datetime
    call: Call

    def __call__(self) -> Any:
        with clock.use_clock(FixedClock(self.instant)):
            return self.call()


# -- counting ----------------------------------------------------------------------------------------


def fresh(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.fresh]


def the_fresh(outcomes: Sequence[Outcome]) -> Any:
    """The answer of the one winner. Raises: AssertionError where there is not exactly one."""
    found = fresh(outcomes)
    assert len(found) == 1, f"{len(found)} of {len(outcomes)} won: {summary(outcomes)}"
    return found[0].value


def others(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if not outcome.fresh]


def codes(outcomes: Sequence[Outcome]) -> set[str | None]:
    return {outcome.code for outcome in outcomes}


def summary(outcomes: Sequence[Outcome]) -> str:
    said = ["fresh" if outcome.fresh else outcome.code or "record" for outcome in outcomes]
    return ", ".join(f"{said.count(word)} {word}" for word in sorted(set(said)))
