"""What a continuation must look like at the door. Source: store.md section 2, "Continuation".

The shapes of the common model APIs go in as they are; unknown members are kept. A known member of the
wrong type is refused with a pointer, because a half-restored run is found out several steps later.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any, TypeGuard

from suspensions.domain import limits
from suspensions.domain.errors import Fault, InvalidContinuation, MalformedJson, StoredRecordBroken
from suspensions.domain.strict_json import dumps, loads
from suspensions.domain.values import Continuation

MAX_FAULTS = 20


class _Faults:
    """Collects faults, so that a caller mends them all at once."""

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def add(self, pointer: str, detail: str) -> None:
        if len(self.found) < MAX_FAULTS:
            self.found.append(Fault(pointer, detail))


Check = Callable[[Any, str, _Faults], None]


def read_continuation(value: object, pointer: str = "/continuation") -> Continuation:
    """The parsed member as a checked continuation, with the members it was sent with.

    Raises: InvalidContinuation with a pointer for each fault.
    """
    faults = _Faults()
    if not isinstance(value, dict):
        raise InvalidContinuation("The continuation must be an object.", faults=(Fault(pointer, "must be an object"),))
    _check_continuation(value, pointer, faults)
    if faults.found:
        first = faults.found[0]
        raise InvalidContinuation(f"{first.pointer} {first.detail}.", faults=tuple(faults.found))
    return Continuation(dumps(value), value.get("step_index"), value.get("tokens_used"))


def restore_continuation(text: bytes) -> dict[str, Any]:
    """A stored continuation's members.

    Raises: StoredRecordBroken where it no longer decodes or no longer has its shape.
    """
    faults = _Faults()
    try:
        value = loads(text)
    except MalformedJson:
        raise StoredRecordBroken("A stored continuation could not be read.") from None
    if isinstance(value, dict):
        _check_continuation(value, "", faults)
    if not isinstance(value, dict) or faults.found:
        raise StoredRecordBroken("A stored continuation could not be read.")
    return value


def _check_continuation(value: dict[str, Any], pointer: str, faults: _Faults) -> None:
    messages = value.get("messages")
    if not isinstance(messages, list):
        faults.add(f"{pointer}/messages", "must be a list of messages")
    else:
        for index, message in enumerate(messages):
            _check_message(message, f"{pointer}/messages/{index}", faults)
    _check_members(value, pointer, _CONTINUATION, faults)
    boundary = value.get("new_messages_from")
    if isinstance(messages, list) and _is_count(boundary) and boundary > len(messages):
        faults.add(f"{pointer}/new_messages_from", f"must lie between 0 and {len(messages)}, the number of messages")


def _check_message(value: Any, pointer: str, faults: _Faults) -> None:
    if not isinstance(value, dict):
        faults.add(pointer, "must be a message object")
        return
    if not isinstance(value.get("role"), str) or not value["role"]:
        faults.add(f"{pointer}/role", "must be a text")
    content = value.get("content")
    if isinstance(content, list):
        for index, block in enumerate(content):
            if not isinstance(block, (dict, str)):
                faults.add(f"{pointer}/content/{index}", "must be a block")
    elif content is not None and not isinstance(content, str):
        faults.add(f"{pointer}/content", "must be a text, null or a list of blocks")
    tool_calls = value.get("tool_calls")
    if isinstance(tool_calls, list):
        for index, call in enumerate(tool_calls):
            _check_tool_call(call, f"{pointer}/tool_calls/{index}", faults)
    elif tool_calls is not None:
        faults.add(f"{pointer}/tool_calls", "must be a list of calls")
    if not isinstance(value.get("tool_call_id"), (str, type(None))):
        faults.add(f"{pointer}/tool_call_id", "must be a text")


def _check_tool_call(value: Any, pointer: str, faults: _Faults) -> None:
    if not isinstance(value, dict):
        faults.add(pointer, "must be a call object")
        return
    if not isinstance(value.get("id"), str) or not value["id"]:
        faults.add(f"{pointer}/id", "must be a text")
    body, place = value, pointer
    if "function" in value:
        body, place = value["function"], f"{pointer}/function"
        if not isinstance(body, dict):
            faults.add(place, "must be an object")
            return
    if not isinstance(body.get("name"), str):
        # Other call kinds of the model APIs (custom tools and the like) are kept whole under their own type.
        if isinstance(value.get("type"), str) and value["type"] != "function" and "function" not in value:
            return
        faults.add(f"{place}/name", "must be a text")
    if not isinstance(body.get("arguments"), (str, type(None))):
        faults.add(f"{place}/arguments", "must be the arguments' text")


def _check_members(value: dict[str, Any], pointer: str, checks: dict[str, Check], faults: _Faults) -> None:
    for name, check in checks.items():
        if value.get(name) is not None:
            check(value[name], f"{pointer}/{name}", faults)


def _is(kind: type | tuple[type, ...], words: str) -> Check:
    def check(value: Any, pointer: str, faults: _Faults) -> None:
        if not isinstance(value, kind):
            faults.add(pointer, f"must be {words}")

    return check


def _count(value: Any, pointer: str, faults: _Faults) -> None:
    if not _is_count(value):
        faults.add(pointer, "must be a whole number from 0")


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= limits.MAX_SAFE_INTEGER


def _number(value: Any, pointer: str, faults: _Faults) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        faults.add(pointer, "must be a number or null")


def _names(value: Any, pointer: str, faults: _Faults) -> None:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        faults.add(pointer, "must be a list of names")


def _bytes(value: Any, pointer: str, faults: _Faults) -> None:
    if not isinstance(value, str) or decode_base64(value) is None:
        faults.add(pointer, "must be standard base64 with padding")


def _config(value: Any, pointer: str, faults: _Faults) -> None:
    if isinstance(value, dict):
        _check_members(value, pointer, _CONFIG, faults)
    else:
        faults.add(pointer, "must be an object")


_text = _is(str, "a text")
_object = _is(dict, "an object")
_flag = _is(bool, "true or false")

_CONTINUATION: dict[str, Check] = {
    "system_prompt": _text,
    "step_index": _count,
    "tokens_used": _count,
    "new_messages_from": _count,
    "session_id": _text,
    "config": _config,
    "tool_results": _is(list, "a list"),
    "schema_version": _count,
    "prepared": _bytes,
    "provenance": _object,
    "usage": _object,
}

_CONFIG: dict[str, Check] = {
    "context": _object,
    "publication": _is((dict, str), "an object"),
    "budget": _object,
    "model": _text,
    "temperature": _number,
    "max_steps": _count,
    "max_tokens": _count,
    "reasoning_loop": _text,
    "tools": _names,
    "persona_ref": _text,
    "tools_restricted": _flag,
    "all_tools_restricted": _flag,
}


def decode_base64(text: str) -> bytes | None:
    """Standard alphabet with padding, strictly; None where it is not that."""
    try:
        decoded = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError, ValueError):
        return None
    # b64decode lets stray bits of the last group pass; the encoded form of the result must be the text.
    return decoded if base64.b64encode(decoded).decode() == text else None
