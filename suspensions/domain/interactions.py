"""One question to a human from a turn that stopped. Source: store.md section 5.

The suspending tool use must be the only one of its assistant message: a sibling would be dropped on resume, or
executed again.
"""

from __future__ import annotations

from typing import Any

from suspensions.domain.errors import (
    MalformedJson,
    NotSingletonSuspension,
    StoredRecordBroken,
    ToolResultMismatch,
)
from suspensions.domain.strict_json import loads
from suspensions.domain.texts import invalid, require_identifier


def require_interaction_id(value: object, pointer: str = "/interaction_id") -> str:
    """1 to 256 characters, no slash and no control characters, not `.` or `..`. Raises: InvalidRequest."""
    text = require_identifier(value, pointer)
    if "/" in text or text in (".", ".."):
        raise invalid(pointer, "must hold no slash and be neither . nor ..")
    return text


def require_singleton(assistant: Any, tool_use_id: str) -> None:
    """Raises: NotSingletonSuspension saying how many tool uses there were."""
    uses = tool_uses(assistant)
    if len(uses) != 1 or uses[0].get("id") != tool_use_id:
        raise NotSingletonSuspension(len(uses))


def tool_uses(assistant: Any) -> list[dict[str, Any]]:
    """The `tool_use` blocks of an assistant message."""
    content = assistant.get("content") if isinstance(assistant, dict) else None
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict) and block.get("type") == "tool_use"]


def require_result(result: Any, tool_use_id: str) -> None:
    """A mismatched pairing is how a resume silently answers the wrong question. Raises: ToolResultMismatch."""
    if not isinstance(result, dict) or result.get("type") != "tool_result" or result.get("tool_use_id") != tool_use_id:
        raise ToolResultMismatch


def build_resume_messages(assistant: Any, messages: Any, result: Any) -> list[Any]:
    """What to resume with: the transcript where it was recorded, else the assistant message; then the answer."""
    answer = {"role": "user", "content": [result]}
    return [*messages, answer] if messages is not None else [assistant, answer]


def restore(text: bytes) -> Any:
    """A stored content. Raises: StoredRecordBroken."""
    try:
        return loads(text)
    except MalformedJson:
        raise StoredRecordBroken("A stored interaction could not be read.") from None
