"""One pipeline for every route: the outer checks in the contract's order, then one operation or query.

A route is declared with its roles, its body, its query and what it gives; nothing of the order of checks stands in any
of them. Source: api.md "Who calls, and in which scope", "Order of the outer checks".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, ClassVar

import structlog
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from rest_framework.request import Request
from rest_framework.views import APIView

from suspensions.api import throttling
from suspensions.api.authentication import BearerAuthentication, SessionAuthentication
from suspensions.api.bodies import ARRIVING, PARSED, expected_size, read_body, read_rest, require_media_type
from suspensions.api.members import Member, Shape
from suspensions.api.negotiation import accepts_json
from suspensions.api.requests import PATH_IDS
from suspensions.api.schema.generator import RouteSchema
from suspensions.domain.errors import InvalidRequest, NoScope, ScopeMismatch, Unauthenticated
from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import dumps, loads
from suspensions.problems import MethodNotAllowed, NotAcceptable, UnsupportedMediaType

Digest = Callable[[bytes], str]


@dataclass(frozen=True, slots=True)
class Call:
    """A request that has passed the outer checks. `digests` are over the content of the body as it was sent."""

    caller: Caller
    given_scope: Scope | None
    ids: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any
    digests: tuple[str, ...]

    @property
    def scope(self) -> Scope:
        """The working scope; routes without one never ask."""
        if self.given_scope is None:
            raise NoScope
        return self.given_scope

    @property
    def run_id(self) -> str:
        return self.ids["run_id"]

    @property
    def suspension_id(self) -> str:
        return self.ids["suspension_id"]


@dataclass(frozen=True, slots=True)
class Route:
    """What one method of one address does. `gives` names the answer's schema by status, None for no body.

    `codes` are the operation's own refusals; those of the outer checks follow from the rest.
    """

    act: Callable[[Call], HttpResponse]
    summary: str
    roles: tuple[Role, ...]
    gives: Mapping[int, str | None]
    body: Shape | None = None
    query: Mapping[str, Member] = field(default_factory=dict)
    codes: tuple[str, ...] = ()
    scoped: bool = True
    digests: tuple[Digest, ...] = ()


def route(
    summary: str,
    *roles: Role,
    gives: Mapping[int, str | None],
    body: Shape | None = None,
    query: Mapping[str, Member] | None = None,
    codes: tuple[str, ...] = (),
    scoped: bool = True,
    digests: tuple[Digest, ...] = (),
) -> Callable[[Callable[[Call], HttpResponse]], Route]:
    """Declare the decorated function as a route. No roles means any role."""
    return lambda act: Route(act, summary, roles, gives, body, query or {}, codes, scoped, digests)


def endpoint(address: str, **routes: Route) -> URLPattern:
    """One address with a route for each method."""
    members = {"routes": routes, **{method.lower(): Endpoint.act for method in routes}}
    view: type[Endpoint] = type("Endpoint", (Endpoint,), members)
    return path(address, view.as_view())


class Endpoint(APIView):
    """The pipeline. `initial` makes the outer checks, `act` hands over to the route."""

    routes: ClassVar[Mapping[str, Route]] = {}
    schema = RouteSchema()
    authentication_classes = (BearerAuthentication, SessionAuthentication)
    call: Call
    route: Route
    held: ExitStack
    is_known: bool

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer; what the request holds on the way is let go at its end."""
        self.is_known = False
        with ExitStack() as self.held:
            answer = super().dispatch(request, *args, **kwargs)
        # The framework's view and request hold each other: what is left here would lie in memory until a garbage
        # collection, a body and an answer of 32 MiB as well.
        for name in ("call", "response"):
            vars(self).pop(name, None)
        if self.is_known:
            # A stranger who declares a body and never sends it would hold a thread.
            read_rest(request)
        return answer

    @property
    def default_response_headers(self) -> dict[str, str]:
        """Receipts and work of one principal: no cache keeps them."""
        return {"Cache-Control": "no-store"}

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """The outer checks. Raises: a refusal for the first that fails."""
        caller = _require_caller(request)
        self.is_known = True
        self.route = self._require_method(request.method or "")
        django_request = request._request
        if not accepts_json(django_request.META.get("HTTP_ACCEPT")):
            raise NotAcceptable
        scope = _require_scope(django_request, caller, self.route) if self.route.scoped else None
        given = {name: PATH_IDS[name].read(text, "") for name, text in kwargs.items()}
        structlog.contextvars.bind_contextvars(**given)
        query = _read_query(django_request, self.route)
        body, digests = self._read_content(django_request)
        if isinstance(body, dict) and scope is not None and body.get("scope", scope) != scope:
            raise ScopeMismatch
        self.call = Call(caller, scope, given, query, body, digests)

    def act(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        """Let the route act on the call."""
        return self.route.act(self.call)

    def _require_method(self, method: str) -> Route:
        """Raises: MethodNotAllowed."""
        found = self.routes.get("GET" if method == "HEAD" else method)
        if found is None:
            raise MethodNotAllowed(method, tuple(self.routes))
        return found

    def _read_content(self, request: HttpRequest) -> tuple[Any, tuple[str, ...]]:
        """The body read as its shape, and the digests of its content that the route asks for.

        Raises: as `bodies`, then MalformedJson, InvalidRequest and what the members' readers raise.
        """
        shape = self.route.body
        if shape is None:
            return None, ()
        unnamed = shape.may_be_left_out and not request.META.get("CONTENT_TYPE")
        if not unnamed:
            require_media_type(request)
        self.held.enter_context(ARRIVING.taken(expected_size(request)))
        text = read_body(request)
        if not text and shape.may_be_left_out:
            return shape.read({}), ()
        if unnamed:
            raise UnsupportedMediaType
        self.held.enter_context(PARSED.taken(len(text)))
        # One after the other: each makes a tree of the text, and two at once would take twice the memory.
        digests = tuple(digest(text) for digest in self.route.digests)
        return shape.read(loads(text)), digests


def _require_caller(request: Request) -> Caller:
    """Raises: Unauthenticated, CsrfFailed, RateLimited."""
    caller = request.user
    if not isinstance(caller, Caller):
        raise Unauthenticated
    structlog.contextvars.bind_contextvars(actor=caller.principal)
    throttling.count(caller)
    return caller


def _require_scope(request: HttpRequest, caller: Caller, route: Route) -> Scope:
    """Raises: NoScope, InvalidScope; NotFound where no grant covers the scope; Forbidden for the wrong role."""
    given = request.META.get("HTTP_CORTEX_SCOPE")
    scope = caller.only_scope if given is None else Scope.parse(given)
    if scope is None:
        raise NoScope
    caller.require(scope, *route.roles)
    return scope


def _read_query(request: HttpRequest, route: Route) -> dict[str, Any]:
    """Raises: InvalidRequest for a parameter that is unknown, doubled or at fault, and what its reader raises."""
    read = {}
    for name, values in request.GET.lists():
        if name not in route.query:
            raise InvalidRequest("The query holds a parameter that is not known here.")
        if len(values) != 1:
            raise InvalidRequest(f"The query's {name} is given more than once.")
        try:
            read[name] = route.query[name].read(values[0], name)
        except InvalidRequest as refusal:
            # Pointers are for bodies; the sentence names the parameter.
            raise InvalidRequest(refusal.detail) from None
    return read


# -- answers -----------------------------------------------------------------------------------------


def answer(document: Any, status: int = 200) -> HttpResponse:
    """A JSON answer."""
    return HttpResponse(dumps(document), status=status, content_type="application/json")


def made(document: Mapping[str, Any], *, fresh: bool) -> HttpResponse:
    """201 where a record was made, 200 where it was there already."""
    return answer(document, 201 if fresh else 200)


def nothing(**headers: str) -> HttpResponse:
    """204: no body."""
    response = HttpResponse(status=204, headers={name.replace("_", "-"): value for name, value in headers.items()})
    del response.headers["Content-Type"]
    return response
