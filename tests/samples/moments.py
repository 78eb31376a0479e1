"""Real moments at which an agent pauses: each consequential call of the transcripts, with its true history.

The transcripts of an airline's agent lie beside the project where they were handed out; without them the demo's own
stand in, so that the same walk is always made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suspensions.demo import script
from suspensions.demo.transcripts import PROJECTS

AIRLINE = Path(__file__).resolve().parents[2] / ".." / "shared" / "samples" / "airline.jsonl"

HAND_OVER = "transfer_to_human_agents"
_CONSEQUENTIAL = ("book_", "update_", "cancel_", "send_certificate", HAND_OVER)


@dataclass(frozen=True)
class Moment:
    """A run at the point where it waits: what was said up to the calls, and the calls."""

    name: str
    reason: str
    continuation: dict[str, Any]
    pending: list[dict[str, str]]

    @property
    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.continuation["messages"]
        return found


def moments() -> list[Moment]:
    """Every moment of the airline's transcripts, or of the demo's where those are not here."""
    return list(_of_the_airline(AIRLINE.read_bytes()) if AIRLINE.exists() else of_the_demo())


def _of_the_airline(lines: bytes) -> Iterator[Moment]:
    for line in lines.splitlines():
        transcript = json.loads(line)
        messages = transcript["messages"]
        for index, message in enumerate(messages):
            calls = [call for call in message.get("tool_calls") or [] if _is_consequential(call["function"]["name"])]
            if not calls:
                continue
            hand_over = calls[0]["function"]["name"] == HAND_OVER
            yield Moment(
                name=f"{transcript['transcript_id']}, message {index}",
                # The hand-over is done by whoever takes the customer over, who then says what was agreed.
                reason="external_tool" if hand_over else "approval",
                continuation={
                    "messages": messages[: index + 1],
                    "system_prompt": messages[0]["content"],
                    "step_index": index,
                    "new_messages_from": 0,
                },
                pending=[
                    {
                        "id": call["id"],
                        "name": call["function"]["name"],
                        "arguments": call["function"]["arguments"],
                    }
                    for call in calls
                ],
            )


def _is_consequential(name: str) -> bool:
    return name.startswith(_CONSEQUENTIAL)


def of_the_demo() -> Iterator[Moment]:
    """Every pause of the demo's own cases, each step answered by approving all of it."""
    for project, cases in PROJECTS.items():
        for pattern in cases:
            case = pattern.filled(0)
            continuation = script.begin(case)
            while (step := script.step_of(case, continuation)) is not None:
                paused = script.pause_at(case, continuation, step)
                yield Moment(
                    name=f"{project}, {case.name}, step {paused['step_index']}",
                    reason=step.reason,
                    continuation=paused,
                    pending=[call.pending() for call in step.calls],
                )
                results = [script.Result(call.id, call.name, "completed", call.result) for call in step.calls]
                continuation = script.go_on(case, paused, results)
