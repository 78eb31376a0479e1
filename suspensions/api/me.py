"""Who the caller is. Source: api.md `GET /me`."""

from __future__ import annotations

from django.http import HttpResponse

from suspensions.api import shapes
from suspensions.api.routes import Call, answer, route
from suspensions.queries import access


@route("Read who is calling: principal, grants, token", gives={200: "Me"}, scoped=False)
def get_me(call: Call) -> HttpResponse:
    caller = call.caller
    kind, _, name = caller.via.partition(":")
    tokens = access.list_tokens(caller.principal) if kind == "token" else ()
    expires_at = next((token.expires_at for token in tokens if token.name == name and token.revoked_at is None), None)
    return answer(shapes.me(caller, expires_at))
