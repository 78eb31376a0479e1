"""Turns pauses of the queue into its rows: the preview, the situation in words, the time left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from suspensions.domain.policy import Caller, same_principal
from suspensions.domain.preview import CallPreview
from suspensions.domain.standing import answering_roles
from suspensions.domain.states import RunState
from suspensions.domain.values import Json, Reason, SuspensionItem
from suspensions.pages.contexts import CallLine, Deadline, GoneRow, QueueRow
from suspensions.pages.folding import preview_line
from suspensions.pages.formats import duration
from suspensions.queries.looking import Looker
from suspensions.queries.queue import QueueItem

MAX_CALLS = 6
"""So many calls of a pause stand in its row; the others are counted."""


class Rows:
    """Makes rows for one reader at one instant. `names` shows people by their names."""

    def __init__(
        self,
        caller: Caller,
        now: datetime,
        href: Mapping[str, str],
        names: Mapping[str, str],
        lookers: Mapping[str, Sequence[Looker]],
    ) -> None:
        self._caller = caller
        self._now = now
        self._href = href
        self._names = names
        self._lookers = lookers

    def row(self, item: QueueItem) -> QueueRow:
        pause = item.pause
        sign, situation = self._situation(item)
        return QueueRow(
            id=pause.id,
            href=self._href[pause.id],
            calls=[call_line(call) for call in pause.calls[:MAX_CALLS]],
            more_calls=max(0, len(pause.calls) - MAX_CALLS),
            reason=pause.reason.value,
            agent=pause.agent_name or "",
            run_id=pause.run_id,
            scope=pause.scope.text,
            since=pause.created_at,
            situation=situation,
            situation_icon=sign,
            note=next((call["note"] for call in pause.calls if call.get("note")), ""),
            deadline=self._deadline(item),
            decidable=self._decidable(item),
            since_word="Waiting" if item.decided_by is None and item.expired_at is None else "Age",
            pick=self._pick(item),
        )

    def _pick(self, item: QueueItem) -> str:
        """The tool by which it may be decided together with others: an approval whose calls are all of one tool."""
        pause = item.pause
        tools = {call["name"] for call in pause.calls}
        own = same_principal(pause.created_by.principal, self._caller.principal)
        fits = pause.reason is Reason.APPROVAL and len(tools) == 1 and not own and self._decidable(item)
        return tools.pop() if fits else ""

    def _deadline(self, item: QueueItem) -> Deadline | None:
        if item.decided_by is not None:
            return Deadline(item.start_by, "must start by", "to start") if item.start_by else None
        if item.pause.expires_at is None:
            return None
        return Deadline(item.pause.expires_at, "was due" if self._late(item) else "fails at")

    def _decidable(self, item: QueueItem) -> bool:
        if item.pause.claimed_at or item.pause.retired_at or self._late(item):
            return False
        return bool(self._caller.roles_at(item.pause.scope) & answering_roles(item.pause.reason))

    def _late(self, item: QueueItem) -> bool:
        return item.pause.expires_at is not None and item.pause.expires_at <= self._now

    def _situation(self, item: QueueItem) -> tuple[str, str]:
        """A sign and a few words."""
        if item.expired_at is not None:
            answered = item.pause.claimed_at is not None and item.pause.claimed_at < item.expired_at
            return "timer-off", "Answered, and no worker came" if answered else "Nobody answered in time"
        if item.decided_by is not None and item.decided_at is not None:
            who, ago = self.name(item.decided_by.principal), duration(self._now - item.decided_at)
            return "hourglass", f"Answered by {who} {ago} ago"
        if self._late(item):
            return "timer-off", "Time is up; the sweep ends it"
        return self._waiting(item)

    def _waiting(self, item: QueueItem) -> tuple[str, str]:
        pause = item.pause
        if pause.reason is Reason.AGENT_REPLY:
            return "bot", "Waiting for the other agent"
        if not self._decidable(item):
            return "", "Waiting for somebody with a role for it"
        if pause.reason is Reason.APPROVAL and same_principal(pause.created_by.principal, self._caller.principal):
            return "ban", "Yours: you may deny it, not approve it"
        others = self._lookers.get(pause.id, ())
        if others:
            more = f" and {len(others) - 1} more are" if len(others) > 1 else " is"
            return "eye", f"{self.name(others[0].principal)}{more} looking"
        return "", "Waiting for a result" if pause.reason is Reason.EXTERNAL_TOOL else "Waiting for you"

    def name(self, principal: str) -> str:
        return self._names.get(principal, principal)

    def gone(self, suspension_id: str, item: QueueItem | None) -> GoneRow | None:
        """What became of a row that the reader still sees; None where it still waits."""
        if item is None:
            return GoneRow(suspension_id, "Not here any more")
        if item.decided_by is not None and item.decided_at is not None:
            who = "you" if item.decided_by.principal == self._caller.principal else self.name(item.decided_by.principal)
            return GoneRow(suspension_id, f"Answered by {who} {duration(self._now - item.decided_at)} ago")
        if item.pause.retired_at is not None:
            words = {RunState.CANCELLED: "The run was cancelled", RunState.FAILED: "The run failed: time was up"}
            return GoneRow(suspension_id, words.get(item.state, "Not waiting any more"))
        return GoneRow(suspension_id, "Taken over") if item.pause.claimed_at else None


def call_line(stored: Json) -> CallLine:
    return preview_line(CallPreview.from_json(stored))


def call_lines(pause: SuspensionItem | None, most: int) -> tuple[Sequence[CallLine], int]:
    """The first calls of a pause, and how many are left out; none of both where there is no pause."""
    calls = () if pause is None else pause.calls
    return [call_line(call) for call in calls[:most]], max(0, len(calls) - most)


def principals_of(items: Iterable[QueueItem]) -> set[str]:
    return {item.decided_by.principal for item in items if item.decided_by is not None}
