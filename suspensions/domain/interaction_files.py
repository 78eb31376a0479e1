"""Interactions as files, in the form of the origin: `<interaction_id>.json`, a JSON object each.

Source: store.md section 5, "Files"; the origin's `Suspension`. What a file says is checked here; which files are looked
at, and how they are written, is the command's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from suspensions.domain import limits
from suspensions.domain.errors import InvalidId, StoredRecordBroken
from suspensions.domain.ids import RUN, require_id
from suspensions.domain.instants import format_instant, parse_instant
from suspensions.domain.interactions import require_interaction_id, require_singleton, restore
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import content_digest, dumps, loads
from suspensions.domain.texts import invalid, require_identifier, require_text
from suspensions.domain.values import Interaction, NewInteraction

SUFFIX = ".json"
VERSION = 1
MAX_FILE_BYTES = limits.MAX_BODY_BYTES

# The same name on every file system: no separators, no dot in front, nothing that a shell or a normal form changes.
_SAFE_ID = re.compile(r"[A-Za-z0-9_=+~@-][A-Za-z0-9_=+~@.,-]{0,199}", re.ASCII)
_MEMBERS = frozenset(
    {
        "version",
        "session_id",
        "run_id",
        "interaction_id",
        "tool_use_id",
        "tool_name",
        "tool_input",
        "assistant",
        "messages",
        "created_at",
        "resolved",
        "answer",
    }
)
# What makes two files the same question: how far it got does not count.
_NOT_CONTENT = ("version", "created_at", "resolved", "answer")
# The origin's clock writes nanoseconds.
_FINER = re.compile(r"(\.\d{6})\d+")
_NEVER = "0001-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class InteractionFile:
    """What a file says. `run_id` is any text: whether it is a run of this store is the store's to tell."""

    new: NewInteraction
    run_id: str | None
    resolved: bool
    content_sha256: str

    @property
    def known_run_id(self) -> str | None:
        """The run id where it could be one of this store's."""
        try:
            return None if self.run_id is None else require_id(self.run_id, RUN)
        except InvalidId:
            return None


def file_name(interaction_id: str) -> str | None:
    """The file's name; None for an id that is no safe one."""
    return interaction_id + SUFFIX if _SAFE_ID.fullmatch(interaction_id) else None


def file_text(interaction: Interaction) -> bytes:
    """The file of a question, resolved or not, with the kept answer where there is one.

    `answer` is the one member that the origin does not know, and passes over. Raises: StoredRecordBroken.
    """
    if interaction.assistant is None:
        raise StoredRecordBroken
    members: dict[str, Any] = {
        "version": VERSION,
        "session_id": interaction.session_id,
        "run_id": interaction.run_id or interaction.origin_run_id,
        "interaction_id": interaction.interaction_id,
        "tool_use_id": interaction.tool_use_id,
        "tool_name": interaction.tool_name,
        "tool_input": _restored(interaction.tool_input),
        "assistant": restore(interaction.assistant),
        "messages": _restored(interaction.messages),
        "created_at": format_instant(interaction.created_at),
        "resolved": interaction.resolved,
        "answer": _restored(interaction.answer),
    }
    return dumps({name: value for name, value in members.items() if value is not None}) + b"\n"


def read_file(text: bytes, name: str, scope: Scope) -> InteractionFile:
    """What a file of this name says.

    Raises: MalformedJson (half-written, doubled names and so on), InvalidRequest with the member at fault,
    NotSingletonSuspension.
    """
    document = loads(text)
    if not isinstance(document, dict):
        raise invalid("", "must be an object")
    members = {member: value for member, value in document.items() if value is not None}
    for unknown in sorted(set(document) - _MEMBERS):
        raise invalid(f"/{unknown}", "is not known here")
    if members.get("version") != VERSION or isinstance(members["version"], bool):
        raise invalid("/version", f"must be {VERSION}")
    resolved = members.get("resolved", False)
    if not isinstance(resolved, bool):
        raise invalid("/resolved", "must be true or false")
    interaction_id = require_interaction_id(members.get("interaction_id"))
    if interaction_id + SUFFIX != name:
        raise invalid("/interaction_id", "is not what the file is named after")
    assistant, messages = members.get("assistant"), members.get("messages") or None
    if not isinstance(assistant, dict):
        raise invalid("/assistant", "must be an object")
    if messages is not None and not isinstance(messages, list):
        raise invalid("/messages", "must be a list")
    tool_use_id = require_identifier(members.get("tool_use_id"), "/tool_use_id")
    require_singleton(assistant, tool_use_id)
    new = NewInteraction(
        scope=scope,
        interaction_id=interaction_id,
        tool_use_id=tool_use_id,
        assistant=dumps(assistant),
        session_id=_identifier(members, "session_id"),
        tool_name=require_text(members["tool_name"], "/tool_name", longest=limits.MAX_NAME)
        if members.get("tool_name", "") != ""
        else None,
        tool_input=dumps(members["tool_input"]) if "tool_input" in members else None,
        messages=None if messages is None else dumps(messages),
        created_at=_created_at(members),
    )
    content_sha256 = content_digest(text, without=_NOT_CONTENT)
    return InteractionFile(new, _identifier(members, "run_id"), resolved, content_sha256)


def same_content(left: NewInteraction | Interaction, right: NewInteraction | Interaction) -> bool:
    """Whether two are one question: asked by the same tool use, in the same words."""
    return _content(left) == _content(right)


def _content(value: NewInteraction | Interaction) -> tuple[str | None, ...]:
    texts = (value.tool_input, value.assistant, value.messages)
    return (
        value.session_id,
        value.run_id or value.origin_run_id,
        value.tool_use_id,
        value.tool_name,
        *(None if text is None else content_digest(text) for text in texts),
    )


def _identifier(members: dict[str, Any], name: str) -> str | None:
    """The origin leaves out what is empty."""
    return require_identifier(members[name], f"/{name}") if members.get(name, "") != "" else None


def _created_at(members: dict[str, Any]) -> datetime | None:
    written = members.get("created_at")
    if written is None or written == _NEVER:
        return None
    return parse_instant(_FINER.sub(r"\1", written) if isinstance(written, str) else written, "/created_at")


def _restored(text: bytes | None) -> Any:
    return None if text is None else restore(text)
