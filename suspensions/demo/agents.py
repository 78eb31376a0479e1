"""The sample agents at work: they pause, wait for a person, take the answer, go on and pause again.

Nothing is kept in memory between two looks at the server, so that the demo may be killed and started again at any
time: what a run plays stands in its metadata, where it stands in its continuation or its progress.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import structlog

from suspensions.demo import script
from suspensions.demo.client import Api, Refused, Stopped, Wait
from suspensions.demo.script import Case
from suspensions.domain import ids

LEASE_SECONDS = 60
LONG_POLL_SECONDS = 3
"""Short, so that the demo ends soon after it was asked to."""

PEER_THINKS_SECONDS = 40

log = structlog.stdlib.get_logger("cortex.demo")


@dataclass(slots=True)
class Work:
    """A run in hand: its case, where it stands, and the lease it is held by."""

    run_id: str
    case: Case
    continuation: dict[str, Any]
    holder: dict[str, Any]


class Agent:
    """Plays the cases of one project: one live run of each, as far as the person lets it."""

    def __init__(
        self,
        api: Api,
        cases: Sequence[Case],
        owner: str,
        wait: Wait,
        *,
        work_seconds: float = 1.5,
        poll_seconds: int = LONG_POLL_SECONDS,
    ) -> None:
        self._api = api
        self._cases = {case.name: case for case in cases}
        self._owner = owner
        self._wait = wait
        self._work_seconds = work_seconds
        self._poll_seconds = poll_seconds
        self._filled = False

    def run(self) -> None:
        """Work until the end is asked for."""
        try:
            while not self._wait(0):
                self.look()
        except Stopped:
            pass

    def look(self) -> None:
        """One look: keep the population, then take an answer if there is one."""
        try:
            self._keep_population()
            self._take_answer()
        except Refused as refusal:
            if refusal.status != 409 and refusal.code != "run_not_found":
                raise
            # Somebody was faster, or the person cancelled the run meanwhile: the next look sees it as it is.
            log.info("a run moved on without its agent", agent=self._owner, code=refusal.code)
            self._wait(self._work_seconds)

    # -- the population ------------------------------------------------------------------------------

    def _keep_population(self) -> None:
        """Begin a run of each case that has none alive: all at once at first, then one at a look."""
        live = self._live_runs()
        for run in live:
            self._rescue(run)
        playing = {run["metadata"].get("case") for run in live}
        missing = [case for name, case in self._cases.items() if name not in playing]
        for case in missing if not self._filled else missing[:1]:
            self._begin(case)
        self._filled = True

    def _live_runs(self) -> list[dict[str, Any]]:
        runs = [run for state in ("paused", "running") for run in self._api.pages("runs", state=state)]
        return [run for run in runs if run["scope"] == self._api.scope and run["metadata"].get("demo")]

    def _begin(self, case: Case) -> None:
        seed = secrets.randbelow(1_000_000)
        run = self._api.post(
            "runs",
            {
                "id": ids.new_id(ids.RUN),
                "agent_name": case.agent_name,
                "input": f"{case.name}, number {seed}",
                "metadata": {"demo": True, "case": case.name, "seed": seed},
                "lease": self._lease(),
            },
        )
        played = case.filled(seed)
        self._go_on(Work(run["id"], played, script.begin(played), _holder(run["lease"])))

    def _rescue(self, run: Mapping[str, Any]) -> None:
        """Take over a run that an earlier life of the demo left in the middle of a step."""
        lease = run["lease"]
        unheld = lease is None or datetime.fromisoformat(lease["expires_at"]) <= datetime.now(UTC)
        if run["state"] != "running" or run["resume"] == "admitted" or not unheld or run["lease_epoch"] == 0:
            return
        taken = self._api.post(f"runs/{run['id']}/lease/reclaim", self._lease())
        holder, progress = _holder(taken["lease"]), taken.get("progress")
        case = self._case_of(run)
        if case is not None and progress is not None and progress["done"] is not None:
            self._go_on(Work(run["id"], case, progress["continuation"], holder))
        elif case is not None and run["revision"] == 1:
            self._go_on(Work(run["id"], case, script.begin(case), holder))
        else:
            # Its calls were handed out, and nobody can say which of them ran: asking again could run one twice.
            error = "The sample agent was stopped in the middle of a step and cannot tell how far it came."
            self._finish(run["id"], holder, "failed", error=error)

    def _case_of(self, run: Mapping[str, Any]) -> Case | None:
        case = self._cases.get(run["metadata"].get("case", ""))
        return None if case is None else case.filled(int(run["metadata"].get("seed", 0)))

    # -- answers -------------------------------------------------------------------------------------

    def _take_answer(self) -> None:
        """Start the oldest answered pause, do what was allowed, and go on from there."""
        start = self._api.post(
            "resume-starts/next",
            {"lease": self._lease(), "request_id": secrets.token_hex(12), "wait": self._poll_seconds},
        )
        if start is None:
            return
        run, suspension = start["claimed_run"], start["suspension"]
        case, holder = self._case_of(run), _holder(run["lease"])
        continuation = suspension["continuation"]
        step = None if case is None else script.step_of(case, continuation)
        if case is None or step is None:
            self._finish(run["id"], holder, "failed", error="This sample agent no longer knows the case.")
            return
        results = script.read_answer(step, json.loads(base64.b64decode(start["input"])))
        allowed = [call.pending() for call, result in zip(step.calls, results, strict=True) if _runs(result)]
        self._save(run["id"], holder, continuation, started=allowed)
        self._wait(self._work_seconds)
        after = script.go_on(case, continuation, results)
        self._save(run["id"], holder, after, started=allowed, done=[result.done() for result in results])
        self._go_on(Work(run["id"], case, after, holder))

    def _go_on(self, work: Work) -> None:
        """Pause at the next step, or finish."""
        self._wait(self._work_seconds)
        step = script.step_of(work.case, work.continuation)
        if step is None:
            self._finish(work.run_id, work.holder, "completed", output=script.last_word(work.case, work.continuation))
            return
        body: dict[str, Any] = {
            "id": ids.new_id(ids.SUSPENSION),
            "run_id": work.run_id,
            "reason": step.reason,
            "pending": [call.pending() for call in step.calls],
            "continuation": script.pause_at(work.case, work.continuation, step),
            "lease": work.holder,
        }
        if step.deadline is not None:
            deadline = datetime.now(UTC) + step.deadline
            body["expires_at"] = deadline.isoformat(timespec="microseconds").replace("+00:00", "Z")
        self._api.post("suspensions", body)

    def _save(self, run_id: str, holder: Mapping[str, Any], continuation: dict[str, Any], **more: Any) -> None:
        self._api.put(f"runs/{run_id}/progress", {**holder, "continuation": continuation, **more})

    def _finish(self, run_id: str, holder: Mapping[str, Any], outcome: str, **more: str) -> None:
        self._api.post(f"runs/{run_id}/finish", {"outcome": outcome, "lease": holder, **more})

    def _lease(self) -> dict[str, Any]:
        return {"owner": self._owner, "seconds": LEASE_SECONDS}


def _runs(result: script.Result) -> bool:
    """Whether the agent itself executes the call now: an external tool's was done by whoever answered."""
    return result.outcome == "approved"


def _holder(lease: Mapping[str, Any]) -> dict[str, Any]:
    return {"owner": lease["owner"], "epoch": lease["epoch"]}


class Peer:
    """The peer agent behind the bus: it takes its time, and answers what it was asked."""

    def __init__(self, api: Api, wait: Wait, thinks_seconds: float = PEER_THINKS_SECONDS) -> None:
        self._api = api
        self._wait = wait
        self._thinks_seconds = thinks_seconds

    def run(self) -> None:
        """Answer until the end is asked for."""
        try:
            while not self._wait(LONG_POLL_SECONDS):
                self.look()
        except Stopped:
            pass

    def look(self) -> None:
        """Answer every question that was thought about for long enough."""
        for run_id in self._api.get("agent-reply-runs", limit=50)["items"]:
            try:
                self._answer(run_id)
            except Refused as refusal:
                log.info("a question was settled otherwise", run_id=run_id, code=refusal.code)

    def _answer(self, run_id: str) -> None:
        run = self._api.get(f"runs/{run_id}")
        if run["state"] != "paused":
            return
        pause = self._api.get(f"runs/{run_id}/suspension")
        asked_at = datetime.fromisoformat(pause["created_at"])
        if (datetime.now(UTC) - asked_at).total_seconds() < self._thinks_seconds:
            return
        reply_with = [call["reply_with"] for call in pause["pending"]]
        content = "Nothing requires them. There are four, the oldest from 31 months ago."
        replies = [{"reply_with": each, "content": content} for each in reply_with]
        body = {
            "scope": self._api.scope,
            "version": {"run_id": run_id, "suspension_id": pause["id"], "run_revision": run["revision"]},
            "input": base64.b64encode(json.dumps({"replies": replies}).encode()).decode(),
            "reply_with": reply_with,
        }
        self._api.post("resume-admissions", body)
