"""The OpenAPI document from the routes: drf-spectacular walks the URLs, each route tells of itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema

from suspensions.api.members import SCOPE, Schema, Shape, reference
from suspensions.api.requests import PATH_IDS, SHAPES
from suspensions.api.schema.answers import ANSWERS
from suspensions.api.schema.contents import CONTENTS
from suspensions.api.schema.words import DESCRIPTION, TAGS
from suspensions.problems import CONTENT_TYPE, PROBLEMS

if TYPE_CHECKING:
    from suspensions.api.routes import Route

_ALWAYS = ("unauthenticated", "not_acceptable", "rate_limited", "internal_error", "store_busy", "invalid_request")
_SCOPED = ("no_scope", "invalid_scope", "not_found")
_BODY = ("malformed_json", "length_required", "body_too_large", "unsupported_media_type")
_HEADERS = {401: ("WWW-Authenticate",), 405: ("Allow",), 429: ("Retry-After",), 503: ("Retry-After",)}
_HEADER_WORDS = {
    "X-Request-ID": "The request's id, taken over from the caller where it is sane.",
    "WWW-Authenticate": "Bearer.",
    "Allow": "The methods that the address has.",
    "Retry-After": "Seconds to wait.",
}


def codes_of(route: Route, method: str, ids: Iterable[str]) -> set[str]:
    """Every code that a route may answer: what its outer checks refuse, and its own."""
    codes = {*_ALWAYS, *route.codes}
    if route.scoped:
        codes.update(_SCOPED)
    if route.roles:
        codes.add("forbidden")
    if {"run_id", "suspension_id"} & {*ids, *route.query}:
        codes.add("invalid_id")
    if method != "GET":
        codes.update(("csrf_failed", "commit_unknown"))
    if route.body is not None:
        codes.update((*_BODY, "invalid_id"))
    return codes


class RouteSchema(AutoSchema):
    """One operation, told by its route."""

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: Any
    ) -> dict[str, Any] | None:
        """The operation object."""
        route: Route = cast(Any, self.view).routes[method]
        ids = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        operation: dict[str, Any] = {
            "operationId": route.act.__name__,
            "summary": route.summary,
            "description": _describe(route),
            "tags": [TAGS[route.act.__module__.rpartition(".")[2]]],
            "parameters": _parameters(route, ids),
            "security": [{"bearer": []}, {"session": []}],
            "responses": _responses(route, method, ids),
        }
        if route.body is not None:
            operation["requestBody"] = {
                "required": not route.body.may_be_left_out,
                "content": {"application/json": {"schema": reference(route.body.name), **_examples(route.body)}},
            }
        return operation


class Generator(SchemaGenerator):
    """The whole document, with the components that the operations refer to."""

    def get_schema(self, request: Any = None, public: bool = False) -> dict[str, Any]:
        """The document."""
        document: dict[str, Any] = super().get_schema(request, public)  # type: ignore[no-untyped-call]
        document["info"]["description"] = DESCRIPTION
        document["tags"] = [{"name": name} for name in dict.fromkeys(TAGS.values())]
        document["components"] = {
            "schemas": dict(sorted(components().items())),
            "headers": {
                name: {"description": words, "schema": {"type": "string"}} for name, words in _HEADER_WORDS.items()
            },
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "A token, shown once when it is made."},
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "cortex_session",
                    "description": "A signed-in browser; what changes something needs the header X-CSRFToken.",
                },
            },
        }
        return document


def components() -> dict[str, Schema]:
    """Every schema by its name."""
    return {**ANSWERS, **CONTENTS, **{shape.name: shape.schema() for shape in SHAPES}}


def _describe(route: Route) -> str:
    roles = " or ".join(role.value for role in route.roles)
    return f"Role: {roles}." if roles else "Role: any." if route.scoped else "Role: none is needed."


def _parameters(route: Route, ids: list[str]) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": PATH_IDS[name].schema} for name in ids
    ]
    if route.scoped:
        parameters.append(
            {
                "name": "Cortex-Scope",
                "in": "header",
                "required": False,
                "description": "The working scope; may be left out where all grants name one and the same.",
                "schema": SCOPE.schema,
            }
        )
    parameters += [
        {"name": name, "in": "query", "required": member.required, "schema": member.schema}
        for name, member in route.query.items()
    ]
    return parameters


def _responses(route: Route, method: str, ids: list[str]) -> dict[str, Any]:
    responses = {
        str(status): _success(status, name, route_waits=len(route.gives) > 1) for status, name in route.gives.items()
    }
    by_status: dict[int, list[str]] = defaultdict(list)
    for code in sorted(codes_of(route, method, ids)):
        by_status[PROBLEMS[code].status].append(code)
    for status, codes in sorted(by_status.items()):
        responses[str(status)] = {
            "description": "; ".join(f"`{code}`: {PROBLEMS[code].title}" for code in codes),
            "headers": _headers(status),
            "content": {CONTENT_TYPE: {"schema": reference("Problem")}},
            "x-codes": codes,
        }
    return responses


def _success(status: int, name: str | None, *, route_waits: bool) -> dict[str, Any]:
    words = {200: "There already, or read.", 201: "Made.", 204: "Done, or waited in vain: there is nothing to tell."}
    response: dict[str, Any] = {"description": words[status], "headers": _headers(status)}
    if status == 204 and route_waits:
        response["headers"] |= _headers(429)
    if name is not None:
        response["content"] = {"application/json": {"schema": reference(name)}}
    return response


def _headers(status: int) -> dict[str, Any]:
    names = ["X-Request-ID", *_HEADERS.get(status, ())]
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _examples(body: Shape) -> dict[str, Any]:
    return {} if body.example is None else {"example": body.example}
