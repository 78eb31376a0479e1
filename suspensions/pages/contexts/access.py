"""Signing in, and refusals in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from suspensions.pages.contexts.frame import Chrome, Link, Option
from suspensions.pages.contexts.pause import KeptText


@dataclass(frozen=True, slots=True)
class SignInPage:
    """Sign-in, also after a session ended: `ended` is then told, `next` leads back.

    `typed_kept`: what was typed waits on the server, since nothing may be left in the browser's storage.
    """

    chrome: Chrome
    action: str
    next: str = ""
    username: str = ""
    fault: str = ""
    ended: bool = False
    typed_kept: bool = False


@dataclass(frozen=True, slots=True)
class ProfilePage:
    """How a person likes the pages, what they may do, and a new password."""

    chrome: Chrome
    name: str
    action: str
    password_action: str
    zone: str
    zones: Sequence[str]
    themes: Sequence[Option]
    single_keys: bool
    grants: Sequence[tuple[str, str]]
    """Scope and role of each."""
    zone_fault: str = ""
    old_fault: str = ""
    new_fault: str = ""
    again_fault: str = ""


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
