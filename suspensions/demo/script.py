"""What a sample agent says, calls and answers: its script, and how a decision moves it on.

Pure: nothing here speaks to a server. An agent keeps nothing in memory between two pauses. Which case it plays stands
in the run's metadata, where it stands in the continuation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from string import Template
from typing import Any

Message = dict[str, Any]
Values = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that must not run before somebody answered. `result` is what the tool says when it ran."""

    id: str
    name: str
    arguments: str
    result: str = ""
    note: str | None = None
    reply_with: str | None = None

    def filled(self, values: Values) -> Call:
        return Call(
            self.id,
            self.name,
            _fill(self.arguments, values),
            _fill(self.result, values),
            None if self.note is None else _fill(self.note, values),
            None if self.reply_with is None else _fill(self.reply_with, values),
        )

    def pending(self) -> dict[str, str]:
        """The member of a pause's `pending`."""
        members = {"id": self.id, "name": self.name, "arguments": self.arguments}
        if self.note is not None:
            members["note"] = self.note
        if self.reply_with is not None:
            members["reply_with"] = self.reply_with
        return members

    def in_message(self) -> dict[str, Any]:
        """The member of an assistant message, in the form of the common chat API."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True, slots=True)
class Step:
    """One step that ends in a pause: what the agent says, and the calls it waits with."""

    says: str
    calls: tuple[Call, ...]
    reason: str = "approval"
    deadline: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One piece of work of a sample agent, from the first message to the last."""

    name: str
    agent_name: str
    system_prompt: str
    config: Mapping[str, Any]
    history: tuple[Message, ...]
    opening: tuple[Message, ...]
    steps: tuple[Step, ...]
    closing: str
    choices: tuple[Values, ...]
    """Names and numbers for the `$placeholders`; a run takes one set of them."""

    def filled(self, seed: int) -> Case:
        """The case with the names and numbers of one run."""
        values = {**self.choices[seed % len(self.choices)], "seed": str(seed)}
        return Case(
            self.name,
            self.agent_name,
            self.system_prompt,
            self.config,
            tuple(_fill_all(message, values) for message in self.history),
            tuple(_fill_all(message, values) for message in self.opening),
            tuple(
                Step(_fill(step.says, values), tuple(c.filled(values) for c in step.calls), step.reason, step.deadline)
                for step in self.steps
            ),
            _fill(self.closing, values),
            self.choices,
        )


def _fill(text: str, values: Values) -> str:
    return Template(text).substitute(values)


def _fill_all(value: Any, values: Values) -> Any:
    if isinstance(value, str):
        return _fill(value, values)
    if isinstance(value, list):
        return [_fill_all(item, values) for item in value]
    if isinstance(value, dict):
        return {name: _fill_all(member, values) for name, member in value.items()}
    return value


# -- a run's way through its case ----------------------------------------------------------------------


def begin(case: Case) -> dict[str, Any]:
    """The continuation of a run that has just begun."""
    return _continuation(case, [*case.history, *case.opening], 0)


def step_of(case: Case, continuation: Mapping[str, Any]) -> Step | None:
    """The step that comes next; None where the case is at its end."""
    index = int(continuation["step_index"])
    return case.steps[index] if index < len(case.steps) else None


def pause_at(case: Case, continuation: Mapping[str, Any], step: Step) -> dict[str, Any]:
    """The continuation to pause with: the step's own message said, its calls open."""
    said = {"role": "assistant", "content": step.says, "tool_calls": [call.in_message() for call in step.calls]}
    return _continuation(case, [*continuation["messages"], said], int(continuation["step_index"]))


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one call."""

    call_id: str
    name: str
    outcome: str
    content: str
    note: str = ""
    edited: bool = False

    def done(self) -> dict[str, Any]:
        """The member of a progress snapshot's `done`; an approved call has run by now."""
        outcome = {"approved": "completed"}.get(self.outcome, self.outcome)
        return {"call_id": self.call_id, "content": self.content, "outcome": outcome}


def read_answer(step: Step, answer: Mapping[str, Any]) -> list[Result]:
    """Honour the admitted answer: run what was approved, and only that."""
    if step.reason == "agent_reply":
        replies = {reply["reply_with"]: reply["content"] for reply in answer["replies"]}
        return [Result(call.id, call.name, "completed", replies[call.reply_with]) for call in step.calls]
    decided = {decision["call_id"]: decision for decision in answer["decisions"]}
    return [_read_decision(call, decided[call.id]) for call in step.calls]


def _read_decision(call: Call, decision: Mapping[str, Any]) -> Result:
    outcome, note = decision["outcome"], decision.get("note") or ""
    if outcome == "denied":
        return Result(call.id, call.name, outcome, "Not run: a person denied it." + (f" {note}" if note else ""), note)
    if outcome == "approved":
        edited = decision.get("arguments") is not None
        told = f" It ran with the arguments that a person changed to {decision['arguments']}" if edited else ""
        return Result(call.id, call.name, outcome, call.result + told, note, edited)
    if outcome == "failed":
        return Result(call.id, call.name, outcome, f"It failed: {decision['error']}", note)
    content = decision["content"]
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return Result(call.id, call.name, outcome, text, note)


def go_on(case: Case, continuation: Mapping[str, Any], results: Sequence[Result]) -> dict[str, Any]:
    """The continuation after a step was answered: the results, and the agent's word on them.

    Where every call was denied, what was to come stood on them: the case is at its end.
    """
    answers = [{"role": "tool", "tool_call_id": result.call_id, "content": result.content} for result in results]
    said = {"role": "assistant", "content": _word_on(results)}
    all_denied = all(result.outcome == "denied" for result in results)
    index = len(case.steps) if all_denied else int(continuation["step_index"]) + 1
    return _continuation(case, [*continuation["messages"], *answers, said], index)


def _word_on(results: Sequence[Result]) -> str:
    sentences = []
    for result in results:
        because = f" The reason given: “{result.note}”" if result.note else ""
        if result.outcome == "denied":
            sentences.append(f"{result.name} was denied, so I have not run it.{because}")
        elif result.outcome == "failed":
            sentences.append(f"{result.name} failed: {result.content}")
        elif result.edited:
            sentences.append(f"{result.name} was approved with changed arguments, and I ran it with those.{because}")
        elif result.outcome == "approved":
            sentences.append(f"{result.name} was approved and has run.{because}")
        else:
            sentences.append(f"I have the answer to {result.name}.")
    return " ".join(sentences)


def last_word(case: Case, continuation: Mapping[str, Any]) -> str:
    """The run's output: the agent's closing message, or what was refused."""
    said = str(continuation["messages"][-1]["content"])
    return said if "was denied" in said else f"{said} {case.closing}"


def _continuation(case: Case, messages: list[Message], index: int) -> dict[str, Any]:
    spent = sum(len(json.dumps(message)) for message in messages) // 4
    return {
        "schema_version": 1,
        "messages": messages,
        "system_prompt": case.system_prompt,
        "step_index": index,
        "tokens_used": spent,
        "new_messages_from": len(case.history),
        "config": dict(case.config),
        "usage": {"input_tokens": spent * 3 // 4, "output_tokens": spent - spent * 3 // 4},
    }
