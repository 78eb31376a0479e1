"""A sample agent that asks single questions: one stays open, and each answer is taken up and settled."""

from __future__ import annotations

import secrets
from typing import Any

import structlog

from suspensions.demo.client import Api, Refused, Stopped, Wait

LOOK_SECONDS = 3
TOOL = "ask_person"
QUESTIONS = (
    (
        "The traveller asks for a receipt in another name than the booking's.",
        "May I issue the receipt for KQ7TZ2 to the traveller's company?",
    ),
    (
        "The hotel offers two rooms that differ in the view alone.",
        "Is the sea view worth EUR 14 a night to us?",
    ),
    (
        "The voucher rule names no airport hotels.",
        "Does the meal voucher hold in the hotel at the airport too?",
    ),
)
"""What the agent says first, and what it asks."""

log = structlog.stdlib.get_logger("cortex.demo")


class Asker:
    """Keeps one question open in its scope. Which came last stands in the questions' ids, not in memory."""

    def __init__(self, api: Api, wait: Wait) -> None:
        self._api = api
        self._wait = wait

    def run(self) -> None:
        """Ask and listen until the end is asked for."""
        try:
            while not self._wait(LOOK_SECONDS):
                self.look()
        except Stopped:
            pass

    def look(self) -> None:
        """Settle what was answered; ask the next question where none is open."""
        asked = [item for item in self._api.pages("interactions") if self._is_mine(item)]
        for item in asked:
            if item["answered_at"] is not None:
                self._settle(item["interaction_id"])
        if all(item["answered_at"] is not None for item in asked):
            self._ask(secrets.randbelow(len(QUESTIONS)))

    def _is_mine(self, item: dict[str, Any]) -> bool:
        return item["scope"] == self._api.scope and str(item["interaction_id"]).startswith("demo-question-")

    def _settle(self, interaction_id: str) -> None:
        try:
            self._api.post(f"interactions/{interaction_id}/resolve", {})
        except Refused as refusal:
            log.info("a question was settled otherwise", interaction_id=interaction_id, code=refusal.code)

    def _ask(self, index: int) -> None:
        says, question = QUESTIONS[index]
        use_id = f"toolu_{secrets.token_hex(6)}"
        use = {"type": "tool_use", "id": use_id, "name": TOOL, "input": {"question": question}}
        self._api.post(
            "interactions",
            {
                "interaction_id": f"demo-question-{secrets.token_hex(4)}",
                "tool_use_id": use_id,
                "tool_name": TOOL,
                "tool_input": {"question": question},
                "assistant": {"role": "assistant", "content": [{"type": "text", "text": says}, use]},
            },
        )
