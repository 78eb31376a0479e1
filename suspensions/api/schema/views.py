"""The OpenAPI document, its readable page, and a page for each code: open to all. Source: api.md."""

from __future__ import annotations

import json
from functools import lru_cache, wraps
from typing import Any

from csp.decorators import csp_update
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from drf_spectacular.renderers import OpenApiYamlRenderer

from suspensions.api.schema.generator import Generator
from suspensions.problems import PROBLEMS, MethodNotAllowed, problem_response

_READS = ("GET", "HEAD")


def _read_only(view: Any) -> Any:
    """Refuse whatever is no read, as a problem."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method not in _READS:
            return problem_response(request, MethodNotAllowed(request.method or "", ("GET",)))
        answer: HttpResponse = view(request, *args, **kwargs)
        return answer

    guarded.csrf_exempt = True  # type: ignore[attr-defined]
    return guarded


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """The whole document; the routes do not change while a process lives."""
    return Generator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]


@lru_cache(maxsize=2)
def document_text(kind: str) -> bytes:
    """The document as JSON or YAML, the latter as `manage.py spectacular --file` writes it."""
    if kind == "yaml":
        return bytes(OpenApiYamlRenderer().render(document(), renderer_context={}))  # type: ignore[no-untyped-call]
    return json.dumps(document(), ensure_ascii=False, separators=(",", ":")).encode()


@_read_only
def schema(request: HttpRequest) -> HttpResponse:
    """The document: JSON, or YAML where `?format=yaml` or the Accept header asks for it."""
    wanted = request.GET.get("format") or ("yaml" if "yaml" in request.headers.get("Accept", "") else "json")
    if wanted == "yaml":
        return HttpResponse(document_text("yaml"), content_type="application/yaml; charset=utf-8")
    return HttpResponse(document_text("json"), content_type="application/json")


@_read_only
@csp_update({"img-src": ["data:"]})
def docs(request: HttpRequest) -> HttpResponse:
    """The document as a page to read and to try; its drawings lie in its style sheet as data addresses."""
    return render(request, "api_docs.html")


@_read_only
def problem(request: HttpRequest, code: str) -> HttpResponse:
    """What one code means."""
    found = PROBLEMS.get(code)
    if found is None:
        raise Http404
    page = {"code": code, "title": found.title, "status": found.status, "paragraphs": found.explanation}
    return render(request, "problem_kind.html", {"page": page})
