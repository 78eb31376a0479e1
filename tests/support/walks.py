"""A pause walked along its life through the API, by persons of its own: agent, approver, bus, operator."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any

from suspensions.domain import ids
from suspensions.domain.policy import Role
from tests.support.api import Answer, Client, assert_ok, client_for

CONTINUATION: dict[str, Any] = {"messages": [{"role": "user", "content": "Please cancel my booking."}]}
TAKE: dict[str, Any] = {"owner": "worker-1", "seconds": 60}


def pending_for(reason: str) -> list[dict[str, Any]]:
    call: dict[str, Any] = {"id": "c1", "name": "cancel_reservation", "arguments": '{"id":"ZFA04Y"}'}
    return [call | {"reply_with": "r1"}] if reason == "agent_reply" else [call]


@dataclass
class Walk:
    """One run and its pause. Each method goes one step further and gives the answer's document."""

    scope: str
    reason: str = "approval"
    run_id: str = field(default_factory=lambda: ids.new_id(ids.RUN))
    suspension_id: str = field(default_factory=lambda: ids.new_id(ids.SUSPENSION))
    agent: Client = field(init=False)
    approver: Client = field(init=False)
    bus: Client = field(init=False)
    operator: Client = field(init=False)
    revision: int = 0
    pause: dict[str, Any] = field(default_factory=dict)
    admission: dict[str, Any] = field(default_factory=dict)
    start: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.agent = client_for(self.scope, Role.AGENT)
        self.approver = client_for(self.scope, Role.APPROVER)
        self.bus = client_for(self.scope, Role.BUS)
        self.operator = client_for(self.scope, Role.OPERATOR)

    @property
    def run_path(self) -> str:
        return f"/runs/{self.run_id}"

    @property
    def pause_path(self) -> str:
        return f"/suspensions/{self.suspension_id}"

    @property
    def receipts_path(self) -> str:
        return f"{self.run_path}{self.pause_path}"

    @property
    def version(self) -> dict[str, Any]:
        return {"run_id": self.run_id, "suspension_id": self.suspension_id, "run_revision": self.revision}

    @property
    def resume(self) -> dict[str, Any]:
        digest = self.admission.get("request_digest", "0" * 64)
        return {"run_id": self.run_id, "suspension_id": self.suspension_id, "request_digest": digest}

    @property
    def holder(self) -> dict[str, Any]:
        return {"owner": self.start["lease"]["owner"], "epoch": self.start["lease"]["epoch"]}

    def make_run(self, **members: Any) -> dict[str, Any]:
        run: dict[str, Any] = assert_ok(self.agent.post("/runs", {"id": self.run_id, **members}), 201)
        return run

    def pause_body(self, **members: Any) -> dict[str, Any]:
        return {
            "id": self.suspension_id,
            "run_id": self.run_id,
            "run": {"id": self.run_id},
            "reason": self.reason,
            "pending": pending_for(self.reason),
            "continuation": CONTINUATION,
            **members,
        }

    def paused(self, **members: Any) -> Walk:
        self.pause = assert_ok(self.agent.post("/suspensions", self.pause_body(**members)), 201)
        self.revision = self.pause["run"]["revision"]
        return self

    def decision(self, decision: str = "approve", **members: Any) -> dict[str, Any]:
        answer: dict[str, Any] = {"content": "done"} if self.reason == "external_tool" else {"decision": decision}
        calls = self.pause["pending"]
        return {
            "run_revision": self.revision,
            "decisions": [
                {"call_id": call["id"], "arguments_sha256": call["arguments_sha256"], **answer, **members}
                for call in calls
            ],
        }

    def decide(self, client: Client | None = None, **members: Any) -> Answer:
        return (client or self.approver).post(f"{self.pause_path}/decision", self.decision(**members))

    def reply(self, value: bytes = b'{"reply":"yes"}', **members: Any) -> dict[str, Any]:
        return {
            "scope": self.scope,
            "version": self.version,
            "input": b64encode(value).decode(),
            "reply_with": ["r1"],
            **members,
        }

    def admitted(self, **members: Any) -> Walk:
        """Answered: by the bus where it waits for a peer, else by the approver."""
        if self.reason == "agent_reply":
            answer = self.bus.post("/resume-admissions", self.reply(**members))
        else:
            answer = self.decide(**members)
        self.admission = assert_ok(answer, 201)
        return self

    def started(self, **members: Any) -> Walk:
        self.start = assert_ok(self.agent.post("/resume-starts", self.resume | {"lease": TAKE} | members), 201)
        return self
