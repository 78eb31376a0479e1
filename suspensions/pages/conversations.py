"""A continuation for reading: its conversation with the boundary of the loaded history, results, configuration.

Whatever the model or a tool wrote stays text; what is no text is shown as the JSON that it is.
Source: pages.md, "One pause".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suspensions.domain.strict_json import dumps
from suspensions.pages.contexts import Conversation, Fact, Folded, Message, MessageCall
from suspensions.pages.folding import fold
from suspensions.pages.formats import grouped

PART_LIMIT = 600
"""A part of a message up to this long is shown whole."""
LATEST = 40
"""Without being asked for more the page shows so many messages."""
LOADED = 2
"""And so many of the loaded history, for its end is where the run took up."""


def conversation(continuation: Mapping[str, Any], earlier_href: str, *, whole: bool) -> Conversation:
    """The messages, all of them or the latest."""
    messages = continuation["messages"]
    loaded = min(continuation.get("new_messages_from") or 0, len(messages))
    first = 0 if whole else max(loaded - LOADED, len(messages) - LATEST, 0)
    shown = [
        _message(message, index, loaded=index < loaded, boundary=0 < loaded == index)
        for index, message in enumerate(messages[first:], start=first)
    ]
    prompt = continuation.get("system_prompt")
    return Conversation(
        messages=shown,
        total=len(messages),
        loaded=loaded,
        system_prompt=fold(prompt, PART_LIMIT) if prompt else None,
        earlier=first,
        earlier_href=earlier_href,
        loaded_last=0 < loaded == len(messages),
    )


def _message(message: Mapping[str, Any], index: int, *, loaded: bool, boundary: bool) -> Message:
    calls = [_call(call) for call in message.get("tool_calls") or ()]
    parts, blocks = _content(message.get("content"))
    return Message(
        number=index + 1,
        role=message["role"],
        parts=parts,
        calls=[*calls, *blocks],
        loaded=loaded,
        boundary=boundary,
        aside="" if parts or calls or blocks else "No content.",
    )


def _content(content: Any) -> tuple[list[Folded], list[MessageCall]]:
    """The texts of a message, and its blocks that are none."""
    if content is None or content == "":
        return [], []
    if isinstance(content, str):
        return [fold(content, PART_LIMIT)], []
    texts: list[Folded] = []
    blocks: list[MessageCall] = []
    for block in content:
        if isinstance(block, str):
            texts.append(fold(block, PART_LIMIT))
        elif block.get("type") == "text" and isinstance(block.get("text"), str):
            texts.append(fold(block["text"], PART_LIMIT))
        else:
            blocks.append(_block(block))
    return texts, blocks


def _block(block: Mapping[str, Any]) -> MessageCall:
    kind, name = str(block.get("type", "block")), block.get("name")
    if kind == "tool_use" and isinstance(name, str):
        return MessageCall(name, fold(_json(block.get("input"))))
    if kind == "tool_result":
        said = block.get("content")
        return MessageCall("tool_result", fold(said if isinstance(said, str) else _json(said), PART_LIMIT))
    return MessageCall(kind, fold(_json({key: value for key, value in block.items() if key != "type"}), PART_LIMIT))


def _call(call: Mapping[str, Any]) -> MessageCall:
    body = call["function"] if isinstance(call.get("function"), dict) else call
    name = body.get("name") or call.get("type") or "call"
    arguments = body.get("arguments")
    return MessageCall(str(name), fold(arguments if isinstance(arguments, str) else _json(body), PART_LIMIT))


def tool_results(continuation: Mapping[str, Any]) -> list[MessageCall]:
    """The results that the step has already."""
    found = []
    for result in continuation.get("tool_results") or ():
        name = (
            result.get("call_id") or result.get("tool_call_id") or result.get("id")
            if isinstance(result, dict)
            else None
        )
        content = result.get("content") if isinstance(result, dict) else None
        text = content if isinstance(content, str) else _json(result)
        found.append(MessageCall(name if isinstance(name, str) else "result", fold(text, PART_LIMIT)))
    return found


def configuration(continuation: Mapping[str, Any]) -> list[Fact]:
    """Model, limits and tools: what is not set is said to be so, and no tools are no tools."""
    config: Mapping[str, Any] = continuation.get("config") or {}
    facts = [Fact("Model", str(config["model"]), "data")] if config.get("model") else []
    if config:
        temperature = config.get("temperature")
        facts.append(
            Fact("Temperature", "not set", aside="(null, not 0)")
            if temperature is None
            else Fact("Temperature", _json(temperature))
        )
    facts += _limits(continuation, config)
    if config:
        facts.append(_tools(config))
    for label, member in (("Budget", "budget"), ("Loop", "reasoning_loop"), ("Persona", "persona_ref")):
        value = config.get(member)
        if value:
            facts.append(Fact(label, value if isinstance(value, str) else _json(value), "data"))
    usage = continuation.get("usage")
    if usage:
        facts.append(Fact("Usage", _pairs(usage), "data"))
    return facts


def _limits(continuation: Mapping[str, Any], config: Mapping[str, Any]) -> list[Fact]:
    step, most_steps, tokens = continuation.get("step_index"), config.get("max_steps"), continuation.get("tokens_used")
    facts = []
    if step is not None or most_steps is not None:
        done = "unknown" if step is None else grouped(step)
        facts.append(Fact("Steps", done if most_steps is None else f"{done} of {grouped(most_steps)}"))
    if tokens is not None:
        facts.append(Fact("Tokens", grouped(tokens)))
    if config.get("max_tokens") is not None:
        facts.append(Fact("Max per step", grouped(config["max_tokens"])))
    return facts


def _tools(config: Mapping[str, Any]) -> Fact:
    tools = config.get("tools") or []
    if config.get("all_tools_restricted") or (config.get("tools_restricted") and not tools):
        return Fact("Tools", "no tools")
    if tools:
        words = f"restricted to {len(tools)}" if config.get("tools_restricted") else f"{len(tools)}, not restricted"
        return Fact("Tools", words, aside=", ".join(tools))
    return Fact("Tools", "not restricted")


def _pairs(usage: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {grouped(value) if isinstance(value, int) and not isinstance(value, bool) else _json(value)}"
        for name, value in usage.items()
    )


def _json(value: Any) -> str:
    return dumps(value).decode()
