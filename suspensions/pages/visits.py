"""One request of a signed-in person: who it is, what their grants cover, how they like the pages.

`signed_in` is what every page's view wears. It leads whoever is not signed in to the sign-in and back, and it is
the one place where a refusal becomes an answer; views let refusals pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import cached_property, wraps
from typing import Concatenate, ParamSpec
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
from django.conf import settings
from django.contrib.messages import get_messages
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from suspensions.domain import clock
from suspensions.domain.errors import CortexError, InvalidRequest
from suspensions.domain.policy import Caller, Role
from suspensions.domain.reach import Reach, narrowed, reach_of, require_reach
from suspensions.domain.scopes import Scope
from suspensions.operations.access import caller_for_user
from suspensions.pages import ended_sessions
from suspensions.pages.contexts import Chrome, NavItem
from suspensions.pages.formats import bounded
from suspensions.pages.refusals import bare_chrome, refusal_response
from suspensions.queries import counts, people
from suspensions.queries.counts import Counts
from suspensions.queries.queue import Answerer

P = ParamSpec("P")


class Visit:
    """What a view is given in place of a bare request."""

    def __init__(self, request: HttpRequest, caller: Caller, likes: people.Preferences, scope: str) -> None:
        self.request = request
        self.caller = caller
        self.likes = likes
        self.now: datetime = clock.now()
        self._scope = scope

    @cached_property
    def chosen(self) -> Scope | None:
        """The scope that was chosen in the address. Raises: InvalidScope."""
        return Scope.parse(self._scope) if self._scope else None

    @cached_property
    def everywhere(self) -> Reach:
        """All scopes that the person has grants for."""
        return reach_of(self.caller)

    @cached_property
    def reach(self) -> Reach:
        """What lists cover: everything granted, or the chosen part. Raises: InvalidScope, NotFound."""
        return require_reach(self.everywhere, self.chosen)

    @cached_property
    def answerer(self) -> Answerer:
        approves = reach_of(self.caller, Role.APPROVER)
        answers = reach_of(self.caller, Role.APPROVER, Role.AGENT)
        chosen = self.chosen
        return Answerer(self.caller.principal, self.now, narrowed(approves, chosen), narrowed(answers, chosen))

    def again(self) -> Visit:
        """The same visit a moment later, with nothing remembered."""
        return Visit(self.request, self.caller, self.likes, self._scope)

    @property
    def today(self) -> datetime:
        """The reader's midnight."""
        return timezone.localtime(self.now).replace(hour=0, minute=0, second=0, microsecond=0)

    @cached_property
    def counts(self) -> Counts:
        silent: timedelta = settings.UNCERTAIN_AFTER
        return counts.count(self.reach, self.answerer, self.now, self.today, silent)

    @property
    def counted(self) -> dict[str, str]:
        """Each count by its name, as finished text."""
        return {name: bounded(number) for name, number in asdict(self.counts).items()}

    def href(self, name: str, *args: str, **query: str) -> str:
        """A page's address; the chosen scope goes along."""
        kept = {"scope": self.chosen.text} if self.chosen and "scope" not in query else {}
        pairs = {key: value for key, value in (*kept.items(), *query.items()) if value}
        address = reverse(f"pages:{name}", args=args)
        return f"{address}?{urlencode(pairs)}" if pairs else address

    def chrome(self, section: str = "") -> Chrome:
        """The frame around a page; `section` names the entry of the top bar that it belongs to."""
        shown = self.counted
        entries = [
            ("Queue", "queue", "mine", False),
            ("Runs", "runs", "", False),
            ("Receipts", "receipts", "", False),
            ("Uncertain", "uncertain", "uncertain", True),
            ("Interactions", "interactions", "interactions", False),
            ("People and access", "access", "", False),
            ("Health", "health", "", False),
        ]
        return Chrome(
            now=self.now,
            person=self.caller.display_name or self.caller.principal,
            scope=self.chosen.text if self.chosen else self.everywhere[0].text if len(self.everywhere) == 1 else "",
            nav=[
                NavItem(label, self.href(name), label == section, shown.get(counts, ""), alert, counts)
                for label, name, counts, alert in entries
            ],
            theme="" if self.likes.theme == "system" else self.likes.theme,
            single_keys=self.likes.single_keys,
            zone=self.likes.time_zone,
            home_href=self.href("queue"),
            profile_href=reverse("pages:profile"),
            sign_out_href=reverse("pages:sign_out"),
            toasts=[str(message) for message in get_messages(self.request)],
        )


def visit_of(request: HttpRequest, *, anywhere: bool = False) -> Visit:
    """The visit of a signed-in request; `anywhere`: whatever scope was chosen."""
    caller = caller_for_user(request.user)
    structlog.contextvars.bind_contextvars(actor=caller.principal)
    scope = "" if anywhere else request.GET.get("scope", "")
    return Visit(request, caller, people.preferences_of(caller.principal), scope)


def zone_of(likes: people.Preferences) -> ZoneInfo:
    """The reader's time zone; UTC where the name is not known here any more."""
    try:
        return ZoneInfo(likes.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def _names_what_cannot_be(request: HttpRequest, named: Mapping[str, object]) -> bool:
    """Whether the address holds a NUL. No text of the store does, and PostgreSQL fails on being asked for one."""
    values = [*(value for _, many in request.GET.lists() for value in many), *map(str, named.values())]
    return any("\0" in value for value in values)


def signed_in(
    view: Callable[Concatenate[Visit, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """The view, for people who are signed in alone; refusals that pass through it become answers."""

    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return ended_sessions.lead_to_sign_in(request)
        if _names_what_cannot_be(request, kwargs):
            return refusal_response(request, InvalidRequest(), bare_chrome)
        visit = visit_of(request)
        with timezone.override(zone_of(visit.likes)):
            try:
                return view(visit, *args, **kwargs)
            except CortexError as refusal:
                structlog.contextvars.bind_contextvars(code=refusal.code)
                # What was refused may be the very scope that was chosen, so the frame must not depend on it.
                return refusal_response(request, refusal, lambda: visit_of(request, anywhere=True).chrome())

    return wrapper
