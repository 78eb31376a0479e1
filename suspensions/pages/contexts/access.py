"""Signing in, and refusals in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from suspensions.pages.contexts.frame import Chrome, Link
from suspensions.pages.contexts.pause import KeptText


@dataclass(frozen=True, slots=True)
class SignInPage:
    """Sign-in, also after a session ended: `ended` is then told, `next` leads back.

    `kept` texts are carried along as hidden fields ``kept-<name>``, since nothing may be left in
    the browser's storage.
    """

    chrome: Chrome
    action: str
    next: str = ""
    username: str = ""
    fault: str = ""
    ended: bool = False
    ended_at: datetime | None = None
    kept: Sequence[KeptText] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """A refusal in words: what happened, what it means here, what to do."""

    title: str
    text: str
    status: int = 0
    code: str = ""
    aside: str = ""
    links: Sequence[Link] = ()
    kept: Sequence[KeptText] = ()
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class ProblemPage:
    chrome: Chrome
    problem: Problem


@dataclass(frozen=True, slots=True)
class ProblemKindPage:
    """The page behind an error's ``type``: ``/problems/<code>``."""

    chrome: Chrome
    code: str
    title: str
    status: int
    paragraphs: Sequence[str] = field(default_factory=tuple)
