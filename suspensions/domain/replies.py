"""A peer's reply, admitted by the bus alone. Source: store.md section 2, "Reasons", and api.md."""

from __future__ import annotations

from dataclasses import dataclass

from suspensions.domain.decisions import require_bus
from suspensions.domain.errors import NotAgentReplyResumable
from suspensions.domain.values import PendingCall, Reason


@dataclass(frozen=True, slots=True)
class ReplyAnswer:
    """The exact input, and the reply addresses it echoes: the pending calls' own, as a set."""

    input: bytes
    reply_with: frozenset[str]

    def build_input(self, reason: Reason, pending: tuple[PendingCall, ...]) -> bytes:
        return self.input

    def check(self, reason: Reason, pending: tuple[PendingCall, ...], created_by: str) -> None:
        """Raises: RequiresApproval, NotAgentReplyResumable."""
        require_bus(reason)
        if self.reply_with != {call.reply_with for call in pending}:
            raise NotAgentReplyResumable("The reply does not echo the reply addresses of this pause.")
