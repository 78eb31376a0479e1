"""The members of requests, declared once: the same declaration reads them and stands in the OpenAPI document.

Reading is strict: a member that is not known is refused with a pointer, and so is one of another type; null means
absent. Source: store.md section 2, "Exactness".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from suspensions.domain import ids, limits
from suspensions.domain.continuations import decode_base64
from suspensions.domain.errors import Fault, InputTooLarge, InvalidCursor, InvalidId, InvalidLimit, InvalidRequest
from suspensions.domain.instants import parse_instant
from suspensions.domain.pending import require_members, require_name
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import dumps
from suspensions.domain.texts import invalid, require_content, require_identifier, require_limit, require_text

Schema = dict[str, Any]
Read = Callable[[Any, str], Any]


@dataclass(frozen=True, slots=True)
class Member:
    """How one member is read, given its value and its pointer, and what the OpenAPI document says of it."""

    read: Read
    schema: Schema
    required: bool = False

    def must(self) -> Member:
        """The same member where it is required."""
        return Member(self.read, self.schema, required=True)

    def told(self, description: str) -> Member:
        """The same member with a description of its own."""
        return Member(self.read, {**self.schema, "description": description}, self.required)


@dataclass(frozen=True, slots=True)
class Shape:
    """An object of known members. `build` makes the value of what was read, given the pointer of the object."""

    name: str
    members: Mapping[str, Member]
    build: Callable[[dict[str, Any], str], Any] = field(default=lambda members, pointer: members)
    description: str = ""
    example: Schema | None = None
    may_be_left_out: bool = False
    """Whether a request without a body is one with an empty object."""
    known: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", frozenset(self.members))

    def read(self, value: Any, pointer: str = "") -> Any:
        """The members that are there, each read. Raises: InvalidRequest, and what a member's reader raises."""
        given = {name: item for name, item in require_members(value, pointer, self.known).items() if item is not None}
        missing = [name for name, member in self.members.items() if member.required and name not in given]
        if missing:
            faults = tuple(Fault(f"{pointer}/{name}", "is required") for name in missing)
            raise InvalidRequest(f"{faults[0].pointer} is required.", faults=faults)
        read = {name: self.members[name].read(item, f"{pointer}/{name}") for name, item in given.items()}
        return self.build(read, pointer)

    def schema(self) -> Schema:
        """The JSON Schema of the object."""
        required = [name for name, member in self.members.items() if member.required]
        return {
            "type": "object",
            **({"description": self.description} if self.description else {}),
            "properties": {
                name: member.schema if member.required else nullable(member.schema)
                for name, member in self.members.items()
            },
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }


def nullable(schema: Schema) -> Schema:
    """The same, or null."""
    if {"$ref", "oneOf", "anyOf", "enum"} & schema.keys():
        # An enumeration that holds null itself becomes several types in generated clients.
        return {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]} if "type" in schema else schema


def reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


# -- kinds of members --------------------------------------------------------------------------------

# Every character but control characters; tab and newline pass where a text may have lines.
_LINE = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"
_LINES = "^[^\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]*$"


def _type_id(value: Any, pointer: str, prefix: str) -> str:
    """Raises: InvalidId, with a pointer where the id stands in a body."""
    try:
        return ids.require_id(value, prefix)
    except InvalidId as refusal:
        faults = (Fault(pointer, refusal.detail),) if pointer.startswith("/") else ()
        raise InvalidId(refusal.detail, faults=faults) from None


def type_id(prefix: str) -> Member:
    return Member(
        lambda value, pointer: _type_id(value, pointer, prefix),
        {"type": "string", "pattern": f"^{prefix}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$"},
    )


def free_or_type_id(prefix: str) -> Member:
    """A free identifier, or a TypeID of this prefix: another prefix is a mix-up. Raises: InvalidId."""

    def read(value: Any, pointer: str) -> str:
        given = require_identifier(value, pointer)
        return _type_id(given, pointer, prefix) if _TYPE_ID.fullmatch(given) else given

    return Member(read, identifier().schema)


_TYPE_ID = re.compile(r"[a-z]+_[0-7][0-9a-hjkmnp-tv-z]{25}", re.ASCII)


def text(longest: int, shortest: int = 0) -> Member:
    return Member(
        lambda value, pointer: require_text(value, pointer, shortest=shortest, longest=longest),
        {"type": "string", "minLength": shortest, "maxLength": longest, "pattern": _LINES},
    )


def identifier(longest: int = limits.MAX_CALL_ID) -> Member:
    return Member(
        lambda value, pointer: require_identifier(value, pointer, longest=longest),
        {"type": "string", "minLength": 1, "maxLength": longest, "pattern": _LINE},
    )


def _owner(value: Any, pointer: str) -> str:
    # An empty owner is a lost lease, which is said in its turn, not a fault of the body's shape.
    return "" if value == "" else require_identifier(value, pointer, longest=limits.MAX_OWNER)


def _whole(value: Any, pointer: str, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise invalid(pointer, f"must be a whole number from {least} to {most}")
    return value


def whole(least: int = 0, most: int = limits.MAX_SAFE_INTEGER) -> Member:
    return Member(
        lambda value, pointer: _whole(value, pointer, least, most),
        {"type": "integer", "minimum": least, "maximum": most},
    )


def choice(*values: str) -> Member:
    def read(value: Any, pointer: str) -> str:
        if value not in values:
            raise invalid(pointer, f"must be one of {', '.join(values)}")
        return str(value)

    return Member(read, {"type": "string", "enum": list(values)})


def _object(value: Any, pointer: str) -> bytes:
    if not isinstance(value, dict):
        raise invalid(pointer, "must be an object")
    return dumps(value)


def _kept(value: Any, pointer: str) -> bytes:
    return dumps(value)


def _base64(value: Any, pointer: str) -> bytes:
    decoded = decode_base64(value) if isinstance(value, str) else None
    if decoded is None:
        raise invalid(pointer, "must be standard base64 with padding")
    return decoded


def _digest(value: Any, pointer: str) -> str:
    if not isinstance(value, str) or len(value) != 64 or value.strip("0123456789abcdef"):
        raise invalid(pointer, "must be a SHA-256, 64 lower-case hex digits")
    return value


def _texts(value: Any, pointer: str) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > limits.MAX_CALLS:
        raise invalid(pointer, f"must be a list of at most {limits.MAX_CALLS} texts")
    return tuple(require_identifier(item, f"{pointer}/{index}") for index, item in enumerate(value))


def _seconds(value: Any, pointer: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or value < 0:
        raise invalid(pointer, "must be a number of seconds from 0")
    return float(min(value, 1e6))


def _instant(value: Any, pointer: str) -> datetime:
    return parse_instant(value, pointer)


def _content(value: Any, pointer: str) -> str:
    """Raises: InputTooLarge beyond 8 MiB, as for an admission's input."""
    if isinstance(value, str) and (
        len(value) > limits.MAX_CONTENT_BYTES or len(value.encode()) > limits.MAX_CONTENT_BYTES
    ):
        detail = f"is larger than {limits.MAX_CONTENT_BYTES:,} bytes"
        raise InputTooLarge(f"{pointer} {detail}.", faults=(Fault(pointer, detail),))
    return require_content(value, pointer)


def as_is(schema: Schema) -> Member:
    """A member whose reading needs its neighbours: left as it is for the shape's `build`."""
    return Member(lambda value, pointer: value, schema)


def nested(shape: Shape) -> Member:
    return Member(shape.read, reference(shape.name))


_LEVEL = "[A-Za-z0-9_.-]{1,64}=[A-Za-z0-9_.:@+~-]{1,128}"

RUN_ID = type_id(ids.RUN)
SUSPENSION_ID = type_id(ids.SUSPENSION)
NAME = Member(require_name, {"type": "string", "minLength": 1, "maxLength": limits.MAX_NAME, "pattern": _LINES})
OWNER = Member(_owner, {"type": "string", "maxLength": limits.MAX_OWNER, "pattern": _LINE})
CONTENT = Member(_content, {"type": "string", "description": "Up to 8 MiB as UTF-8."})
INSTANT = Member(_instant, {"type": "string", "format": "date-time"})
BYTES = Member(_base64, {"type": "string", "contentEncoding": "base64"})
SHA256 = Member(_digest, {"type": "string", "pattern": "^[0-9a-f]{64}$"})
SCOPE = Member(
    lambda value, pointer: Scope.parse(value),
    {
        "type": "string",
        "pattern": f"^{_LEVEL}(/{_LEVEL}){{0,2}}$",
    },
)
OBJECT = Member(_object, {"type": "object"})
KEPT = Member(_kept, {})
TEXTS = Member(_texts, {"type": "array", "items": {"type": "string"}, "maxItems": limits.MAX_CALLS})
SECONDS = Member(_seconds, {"type": "number", "minimum": 0})


# -- parameters of a query, which come as texts ------------------------------------------------------


def _from_text(read: Read, pattern: str) -> Read:
    """Read a text that must look like a JSON number before the member's own reader sees it."""

    def read_text(value: str, pointer: str) -> Any:
        if not re.fullmatch(pattern, value, re.ASCII) or len(value) > _LONGEST_NUMBER:
            raise invalid(pointer, "is not a number of the expected form")
        return read(float(value) if "." in value else int(value), pointer)

    return read_text


_LONGEST_NUMBER = 20


def whole_text(member: Member) -> Member:
    """A whole number in a query."""
    return Member(_from_text(member.read, r"-?[0-9]+"), member.schema, member.required)


def number_text(member: Member) -> Member:
    """A number in a query."""
    return Member(_from_text(member.read, r"[0-9]+(\.[0-9]+)?"), member.schema, member.required)


def _limit(value: str, pointer: str) -> int:
    if not re.fullmatch(r"[0-9]{1,4}", value, re.ASCII):
        raise InvalidLimit
    return require_limit(int(value))


def _cursor(value: str, pointer: str) -> str:
    if not value or len(value) > _LONGEST_CURSOR or not value.isascii():
        raise InvalidCursor
    return value


_LONGEST_CURSOR = 4096


def _flag(value: str, pointer: str) -> bool:
    if value not in ("true", "false"):
        raise invalid(pointer, "must be true or false")
    return value == "true"


LIMIT = Member(_limit, {"type": "integer", "minimum": 1, "maximum": limits.MAX_LIMIT, "default": limits.DEFAULT_LIMIT})
CURSOR = Member(_cursor, {"type": "string", "description": "The next of the page before."})
FLAG = Member(_flag, {"type": "boolean"})
PAGED: Mapping[str, Member] = {"limit": LIMIT, "cursor": CURSOR}
