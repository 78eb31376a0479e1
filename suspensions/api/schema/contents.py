"""Contents that go in and come out alike: continuations, messages, calls. Source: store.md section 2."""

from __future__ import annotations

from suspensions.api.members import NAME, SHA256, Schema, identifier, nullable, reference, text
from suspensions.domain import limits
from suspensions.domain.values import Outcome

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": limits.MAX_SAFE_INTEGER}
_FLAG: Schema = {"type": "boolean"}
_KEPT: Schema = {"type": "object", "additionalProperties": True}
_CALL_ID = identifier().schema
_NOTE = text(limits.MAX_NOTE).schema


def _open(members: dict[str, Schema], required: tuple[str, ...] = (), description: str = "") -> Schema:
    """An object whose unknown members are kept and returned."""
    return {
        "type": "object",
        **({"description": description} if description else {}),
        "properties": members,
        **({"required": list(required)} if required else {}),
        "additionalProperties": True,
    }


def _closed(members: dict[str, Schema], required: tuple[str, ...], description: str = "") -> Schema:
    return {**_open(members, required, description), "additionalProperties": False}


CONTENTS: dict[str, Schema] = {
    "Continuation": _open(
        {
            "messages": {"type": "array", "items": reference("Message")},
            "system_prompt": nullable(_TEXT),
            "step_index": nullable(_COUNT),
            "tokens_used": nullable(_COUNT),
            "new_messages_from": {
                **nullable(_COUNT),
                "description": "Where the run's own messages begin; at most the number of messages.",
            },
            "session_id": nullable(_TEXT),
            "config": nullable(reference("RunConfig")),
            "tool_results": nullable({"type": "array", "items": {}}),
            "schema_version": nullable(_COUNT),
            "prepared": nullable({"type": "string", "contentEncoding": "base64"}),
            "provenance": nullable(_KEPT),
            "usage": nullable(_KEPT),
        },
        ("messages",),
        "Everything needed to continue. Members that are not known are kept and come back as they were sent.",
    ),
    "RunConfig": _open(
        {
            "context": nullable(_KEPT),
            "publication": {"type": ["object", "string", "null"]},
            "budget": nullable(_KEPT),
            "model": nullable(_TEXT),
            "temperature": {"type": ["number", "null"], "description": "null is not 0."},
            "max_steps": nullable(_COUNT),
            "max_tokens": nullable(_COUNT),
            "reasoning_loop": nullable(_TEXT),
            "tools": nullable({"type": "array", "items": _TEXT}),
            "persona_ref": nullable(_TEXT),
            "tools_restricted": {**nullable(_FLAG), "description": "With no tools it means no tools, not every tool."},
            "all_tools_restricted": nullable(_FLAG),
        },
    ),
    "Message": _open(
        {
            "role": {**_TEXT, "minLength": 1},
            "content": {
                "anyOf": [
                    _TEXT,
                    {"type": "null"},
                    {"type": "array", "items": {"type": ["object", "string"]}},
                ]
            },
            "tool_calls": nullable({"type": "array", "items": reference("ToolCall")}),
            "tool_call_id": nullable(_TEXT),
        },
        ("role",),
        "A message in the shape of the common model APIs; blocks are kept whole.",
    ),
    "ToolCall": _open(
        {
            "id": {**_TEXT, "minLength": 1},
            "type": nullable(_TEXT),
            "function": nullable(_open({"name": _TEXT, "arguments": nullable(_TEXT)}, ("name",))),
            "name": nullable(_TEXT),
            "arguments": nullable(_TEXT),
        },
        ("id",),
        "Either form of the common model APIs, with name and arguments here or in function; calls of another type are "
        "kept whole.",
    ),
    "PendingCallIn": _closed(
        {
            "id": _CALL_ID,
            "name": NAME.schema,
            "arguments": {**_TEXT, "description": "The model's text, verbatim; it may not even be JSON."},
            "note": nullable(_NOTE),
            "reply_with": {**nullable(_CALL_ID), "description": "On every call of an agent_reply pause, nowhere else."},
        },
        ("id", "name", "arguments"),
    ),
    "CallResult": _closed(
        {
            "call_id": _CALL_ID,
            "content": {},
            "error": nullable(_TEXT),
            "outcome": {
                "type": "string",
                "enum": [str(outcome) for outcome in (Outcome.COMPLETED, Outcome.FAILED, Outcome.DENIED)],
            },
        },
        ("call_id", "outcome"),
    ),
    "Ending": _closed(
        {"kind": {"type": "string", "enum": ["cancel", "expire"]}, "reason": nullable(_NOTE)},
        ("kind",),
        "The end that a claim was made to write.",
    ),
    "CallDecision": _closed(
        {
            "call_id": _CALL_ID,
            "decision": {
                **nullable({"type": "string", "enum": ["approve", "deny"]}),
                "description": "For approval pauses.",
            },
            "arguments": {**nullable(_TEXT), "description": "Edited arguments of an approved call, strict JSON."},
            "content": {"description": "For external tools: the result; a text or any JSON."},
            "error": {**nullable(_TEXT), "description": "For external tools: why the call failed."},
            "note": nullable(_NOTE),
            "arguments_sha256": {**SHA256.schema, "description": "Of the arguments that the decider saw."},
        },
        ("call_id", "arguments_sha256"),
    ),
}
