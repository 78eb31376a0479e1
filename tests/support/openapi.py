"""Answers held against the OpenAPI document: status, codes and body must be what it says."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema  # type: ignore[import-untyped]
from django.urls import Resolver404, resolve

from suspensions.api.schema.views import document

_METHODS = {"HEAD": "GET"}


def require_documented(method: str, path: str, status: int, headers: Mapping[str, str], body: Any) -> None:
    """Fail where the document does not know this answer, or describes another body."""
    operation = _operation(method, path)
    if operation is None or status == 405:
        return
    responses = operation["responses"]
    assert str(status) in responses, f"{method} {path}: {status} is not documented"
    told = responses[str(status)]
    if body is not None and "code" in body and status >= 400:
        assert body["code"] in told["x-codes"], f"{method} {path}: {body['code']} is not documented"
    assert "X-Request-ID" in headers
    for media_type in told.get("content", {}).values():
        _validator(media_type["schema"]["$ref"]).validate(body)


def _operation(method: str, path: str) -> dict[str, Any] | None:
    try:
        match = resolve(path)
    except Resolver404:
        return None
    address = "/" + match.route
    for name in match.kwargs:
        address = address.replace(f"<str:{name}>", "{" + name + "}")
    found = document()["paths"].get(address, {}).get(_METHODS.get(method, method).lower())
    return found if found is None else dict(found)


@cache
def _validator(reference: str) -> jsonschema.Draft202012Validator:
    whole = {"$ref": reference, "components": document()["components"]}
    return jsonschema.Draft202012Validator(whole, format_checker=jsonschema.FormatChecker())
