"""Pending calls and their results at the door. Source: store.md section 2, "Pending call" and "Progress"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from suspensions.domain import limits
from suspensions.domain.errors import Fault, InvalidRequest, StoredRecordBroken
from suspensions.domain.strict_json import dumps, escape_token
from suspensions.domain.texts import invalid, require_identifier, require_text
from suspensions.domain.values import Ending, Outcome, PendingCall, Reason

_CALL_MEMBERS = frozenset({"id", "name", "arguments", "note", "reply_with"})
_RESULT_MEMBERS = frozenset({"call_id", "content", "error", "outcome"})


def read_pending(value: object, reason: Reason, pointer: str = "/pending") -> tuple[PendingCall, ...]:
    """All calls of a step that cannot finish, in the model's order.

    Raises: InvalidRequest with pointers; for two calls of one id with pointers to both.
    """
    calls = read_calls(value, pointer, shortest=1)
    for index, call in enumerate(calls):
        place = f"{pointer}/{index}/reply_with"
        if reason is Reason.AGENT_REPLY and call.reply_with is None:
            raise invalid(place, "is required on every call of an agent_reply pause")
        if reason is not Reason.AGENT_REPLY and call.reply_with is not None:
            raise invalid(place, "belongs to agent_reply pauses alone")
    return calls


def read_calls(value: object, pointer: str, *, shortest: int = 0) -> tuple[PendingCall, ...]:
    """A list of at most 128 calls with distinct ids. Raises: InvalidRequest."""
    if not isinstance(value, list) or not shortest <= len(value) <= limits.MAX_CALLS:
        raise invalid(pointer, f"must be a list of {shortest} to {limits.MAX_CALLS} calls")
    calls = tuple(_read_call(call, f"{pointer}/{index}") for index, call in enumerate(value))
    first_places: dict[str, int] = {}
    for index, call in enumerate(calls):
        first = first_places.setdefault(call.id, index)
        if first != index:
            raise InvalidRequest(
                f"Two calls have the id {call.id!r}.",
                faults=(
                    Fault(f"{pointer}/{first}/id", "is the id of another call too"),
                    Fault(f"{pointer}/{index}/id", "is the id of another call too"),
                ),
            )
    return calls


def _read_call(value: object, pointer: str) -> PendingCall:
    members = require_members(value, pointer, _CALL_MEMBERS)
    arguments = members.get("arguments")
    if not isinstance(arguments, str):
        raise invalid(f"{pointer}/arguments", "must be the arguments' text as the model wrote it")
    note, reply_with = members.get("note"), members.get("reply_with")
    return PendingCall(
        id=require_identifier(members.get("id"), f"{pointer}/id"),
        name=require_name(members.get("name"), f"{pointer}/name"),
        arguments=arguments,
        note=None if note is None else require_text(note, f"{pointer}/note", longest=limits.MAX_NOTE),
        reply_with=None if reply_with is None else require_identifier(reply_with, f"{pointer}/reply_with"),
    )


def require_name(value: object, pointer: str) -> str:
    """A tool's or agent's name: 1 to 256 characters, not blank. Raises: InvalidRequest."""
    name = require_text(value, pointer, shortest=1, longest=limits.MAX_NAME)
    if not name.strip():
        raise invalid(pointer, "is blank")
    return name


def require_members(value: object, pointer: str, known: frozenset[str]) -> Mapping[str, Any]:
    """An object of an envelope: unknown members are refused, since a mistyped one must not be lost.

    Raises: InvalidRequest.
    """
    if not isinstance(value, dict):
        raise invalid(pointer, "must be an object")
    unknown = [name for name in value if name not in known]
    if unknown:
        faults = tuple(Fault(f"{pointer}/{escape_token(name)}", "is not a known member") for name in unknown[:20])
        raise InvalidRequest(f"{faults[0].pointer} is not a known member.", faults=faults)
    return value


def read_results(value: object, pointer: str = "/done") -> bytes:
    """Results of calls that are done, as the JSON text to be kept. Raises: InvalidRequest."""
    if not isinstance(value, list):
        raise invalid(pointer, "must be a list of results")
    for index, result in enumerate(value):
        place = f"{pointer}/{index}"
        members = require_members(result, place, _RESULT_MEMBERS)
        require_identifier(members.get("call_id"), f"{place}/call_id")
        if members.get("outcome") not in (Outcome.COMPLETED, Outcome.FAILED, Outcome.DENIED):
            raise invalid(f"{place}/outcome", "must be completed, failed or denied")
        if not isinstance(members.get("error"), (str, type(None))):
            raise invalid(f"{place}/error", "must be a text")
    return dumps(value)


def read_ending(value: object, pointer: str = "/ending") -> Ending:
    """Raises: InvalidRequest."""
    members = require_members(value, pointer, frozenset({"kind", "reason"}))
    if members.get("kind") not in ("cancel", "expire"):
        raise invalid(f"{pointer}/kind", "must be cancel or expire")
    reason = members.get("reason")
    if reason is not None:
        reason = require_text(reason, f"{pointer}/reason", longest=limits.MAX_NOTE)
    return Ending(members["kind"], reason)


def pending_text(calls: tuple[PendingCall, ...]) -> bytes:
    """The stored form: UTF-8 JSON text, arguments as an escaped text inside it."""
    return dumps([call.to_json() for call in calls])


def restore_pending(text: bytes) -> tuple[PendingCall, ...]:
    """Raises: StoredRecordBroken where the stored text no longer decodes."""
    try:
        return tuple(
            PendingCall(call["id"], call["name"], call["arguments"], call.get("note"), call.get("reply_with"))
            for call in orjson.loads(text)
        )
    except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError):
        raise StoredRecordBroken("A stored pending call could not be read.") from None
