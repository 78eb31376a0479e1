"""A stage for the pages alone: their samples in a real browser, without a store or a server behind them."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias
from zoneinfo import ZoneInfo

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, Request, Route

from tests.support.page_samples import NOW, SAMPLES, ZONE

ORIGIN = "http://cortex.test"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
Reply: TypeAlias = "tuple[int, str] | tuple[int, str, dict[str, str]]"


def rendered(name: str) -> str:
    """The sample as the server would send it."""
    sample = SAMPLES[name]()
    with timezone.override(ZoneInfo(ZONE)):
        return render_to_string(sample.template, {"page": sample.page, "csrf_token": "a-token"} if sample.page else {})


class Stage:
    """Answers every request of a context itself: samples by name, static files, and what a test sets.

    `posts` keeps what was posted; `complaints` what the browser's console said.
    """

    def __init__(self, context: BrowserContext) -> None:
        self.page: Page = context.new_page()
        self.posts: list[str] = []
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.post_reply: Callable[[Request], Reply] = lambda request: (204, "")
        self.poll_reply: Callable[[Request], Reply] = lambda request: (204, "")
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        # The samples' instant is now, and a test may run time ahead instead of waiting.
        self.page.clock.install(time=NOW)
        context.route(f"{ORIGIN}/**", self._answer)

    def open(self, name: str, suffix: str = "") -> Page:
        self.page.goto(f"{ORIGIN}/sample/{name}{suffix}")
        return self.page

    def _answer(self, route: Route, request: Request) -> None:
        path = request.url.removeprefix(ORIGIN).partition("#")[0]
        self.asked.append(path)
        if request.method == "POST":
            self.posts.append(request.post_data or "")
            self._fulfil(route, self.post_reply(request))
        elif "part=news" in path:
            self._fulfil(route, self.poll_reply(request))
        elif path.startswith("/static/"):
            file = Path(settings.BASE_DIR) / path.lstrip("/")
            route.fulfill(body=file.read_bytes(), content_type=mimetypes.guess_type(file)[0] or "text/plain")
        elif path.startswith("/sample/"):
            self._fulfil(route, (200, rendered(path.removeprefix("/sample/").partition("?")[0])))
        else:
            self._fulfil(route, (200, f"<!doctype html><title>elsewhere</title><p>{path}"))

    @staticmethod
    def _fulfil(route: Route, reply: Reply) -> None:
        status, body, *headers = reply
        route.fulfill(
            status=status,
            body=body,
            content_type="text/html; charset=utf-8",
            headers={"Content-Security-Policy": POLICY} | (headers[0] if headers else {}),
        )
