"""Whether questions and their answers are what their events say: what was asked, and what a human answered.

Pure; it names each question that fails. Source: store.md sections 5 and 10.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from suspensions.domain.digests import INTERACTION, digest
from suspensions.domain.values import Actor, Event, EventType


@dataclass(frozen=True, slots=True)
class Settled:
    """Who answered or resolved a question, and when; `answer_sha256` is over the very bytes of an answer."""

    by: Actor
    at: datetime
    answer_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question as it is stored now. `kept_sha256` is over all that is written once and has no digest of its own."""

    interaction_id: str
    tool_use_id: str
    content_sha256: str
    digest: str
    kept_sha256: str
    created_by: Actor
    answered: Settled | None
    resolved: Settled | None

    def compute_digest(self) -> str:
        members = {
            "interaction_id": self.interaction_id,
            "tool_use_id": self.tool_use_id,
            "content_sha256": self.content_sha256,
        }
        return digest(INTERACTION, members)


def verify_questions(events: Iterable[Event], questions: Mapping[str, QuestionRow]) -> Iterator[tuple[str, str]]:
    """The id of each question that fails, and what is wrong with it. *Requires*: a chain that is whole."""
    told: dict[EventType, dict[str, Event]] = {EventType.INTERACTION_SAVED: {}}
    for event in events:
        if event.type.startswith("interaction."):
            told.setdefault(event.type, {})[str(event.data.get("interaction_id"))] = event
    saved = told[EventType.INTERACTION_SAVED]
    answered, resolved = (
        told.get(kind, {}) for kind in (EventType.INTERACTION_ANSWERED, EventType.INTERACTION_RESOLVED)
    )
    for interaction_id, event in saved.items():
        row = questions.get(interaction_id)
        if row is None:
            yield interaction_id, "was removed"
            continue
        wrong = [
            *_content_faults(row, event),
            *_settled_faults("answer", row.answered, answered.get(interaction_id)),
            *_settled_faults("end", row.resolved, resolved.get(interaction_id)),
        ]
        if wrong:
            yield interaction_id, "; ".join(wrong)
    for interaction_id in questions:
        if interaction_id not in saved:
            yield interaction_id, "was never told of: no event made it"


def _content_faults(row: QuestionRow, event: Event) -> Iterator[str]:
    if not row.compute_digest() == row.digest == event.data.get("digest"):
        yield "does not have the digest that its event names"
    if row.kept_sha256 != event.data.get("kept_sha256"):
        yield "is not the one that was asked"
    if row.created_by != event.actor:
        yield "names another asker than its event"


def _settled_faults(what: str, stored: Settled | None, event: Event | None) -> Iterator[str]:
    said = None if event is None else Settled(event.actor, event.at, event.data.get("answer_sha256"))
    if stored != said:
        yield f"has another {what} than its events say"
