"""Questions to a human: the lists, and answering one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_POST, require_safe

from suspensions.domain.arguments import normalise_typed
from suspensions.domain.errors import CortexError, InvalidRequest
from suspensions.domain.interactions import restore
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import dumps
from suspensions.domain.values import Interaction
from suspensions.operations.interactions import answer_interaction
from suspensions.pages.arguments import read_arguments
from suspensions.pages.contexts import Banner, Empty, Folded, InteractionsPage, Link, QuestionView, Search, Tab
from suspensions.pages.ended_sessions import take_kept
from suspensions.pages.folding import TEXT_LIMIT, fold
from suspensions.pages.formats import bounded
from suspensions.pages.lives import actor_words
from suspensions.pages.refusals import problem_of
from suspensions.pages.rendering import render_page
from suspensions.pages.views.queue import choice
from suspensions.pages.visits import Visit, signed_in
from suspensions.problems import PROBLEMS
from suspensions.queries.interaction_page import PARTS, list_questions, read_question
from suspensions.queries.people import display_names

LIMIT = 20
EMPTY_ANSWER = "Empty. Type the answer, or tick the box and say what went wrong."
_TABS = {"open": "Open", "answered": "Answered, not picked up", "resolved": "Resolved"}
Typed = tuple[str, str, bool, str]
"""Interaction id, text, whether it is an error, and what is wrong with it."""


@require_safe
@signed_in
def index(visit: Visit) -> HttpResponse:
    """Questions: the open ones oldest first, each with an answer box."""
    query = visit.request.GET
    part = query.get("part") or "open"
    if part not in PARTS:
        raise InvalidRequest("part names no part of the questions.")
    words = query.get("q", "").strip()
    found = list_questions(visit.reach, part, words, query.get("after") or None, LIMIT)
    kept = take_kept(visit.request) if visit.request.method == "GET" else {}
    typed = (kept.get("interaction_id", ""), kept.get("answer", ""), "is_error" in kept, "")
    return _render(visit, part, words, found.items, found.next, typed)


def _render(
    visit: Visit,
    part: str,
    words: str,
    questions: Sequence[Interaction],
    following: str | None = None,
    typed: Typed = ("", "", False, ""),
    banner: Banner | None = None,
    status: int = 200,
) -> HttpResponse:
    actors = [actor for one in questions for actor in (one.created_by, one.answered_by, one.resolved_by) if actor]
    names = display_names(actor.principal for actor in actors)
    older = visit.request.GET.copy()
    older["after"] = following or ""
    scopes = {grant.scope.text: grant.scope.text for grant in visit.caller.grants}
    page = InteractionsPage(
        chrome=visit.chrome("Interactions"),
        tabs=[
            Tab(
                label,
                visit.href("interactions", part="" if key == "open" else key),
                bounded(visit.counts.interactions) if key == "open" else "",
                current=key == part,
            )
            for key, label in _TABS.items()
        ],
        search=Search(
            action=visit.href("interactions"),
            query=words,
            label="Search questions by id, run, session or tool",
            filters=[choice("scope", "Scope", scopes, visit.request.GET, none="all")],
            kept=[("part", part)] if part != "open" else [],
        ),
        questions=[_question(visit, number, one, names, typed, banner) for number, one in enumerate(questions)],
        empty=None if questions else _empty(part, words),
        older_href=f"{visit.request.path}?{older.urlencode()}" if following else "",
    )
    return render_page(visit.request, "suspensions/interactions.html", page, status=status)


def _empty(part: str, words: str) -> Empty:
    if words:
        return Empty(f"No question matches “{words}”", "Searched ids, runs, sessions and tools of this tab.")
    return {
        "open": Empty("Nobody asks anything", "Questions of agents appear here, each with an answer box."),
        "answered": Empty("No answer waits", "Every answer that was given was picked up by its agent."),
        "resolved": Empty("Nothing was resolved yet", "Settled questions stay here, with who answered and when."),
    }[part]


def _question(
    visit: Visit,
    number: int,
    one: Interaction,
    names: dict[str, str],
    typed: Typed,
    banner: Banner | None,
) -> QuestionView:
    text = dumps(restore(one.tool_input)).decode() if one.tool_input is not None else ""
    read = read_arguments(text) if text else None
    is_open = not one.resolved and one.answered_at is None
    may_answer = Role.APPROVER in visit.caller.roles_at(one.scope)
    mine = typed[0] == one.interaction_id
    answer, failed = _answer(one)
    return QuestionView(
        key=f"q{number}",
        id=one.interaction_id,
        scope=one.scope.text,
        tool=one.tool_name or "question",
        at=one.created_at,
        by=actor_words(one.created_by, names),
        said=_said(one),
        steps=read.steps if read else (),
        verbatim=fold(text, TEXT_LIMIT) if text else None,
        warnings=read.warnings if read else (),
        run_id=one.run_id or "",
        run_href=visit.href("run", one.run_id) if one.run_id else "",
        answer_href=visit.href("answer") if is_open and may_answer else "",
        typed=typed[1] if mine else "",
        typed_error=typed[2] if mine else False,
        fault=typed[3] if mine else "",
        banner=banner if mine else None,
        answer=answer,
        answer_is_error=failed,
        answered_by=actor_words(one.answered_by, names) if one.answered_by else "",
        answered_at=one.answered_at,
        resolved_by=actor_words(one.resolved_by, names) if one.resolved_by else "",
        resolved_at=one.resolved_at,
        cannot="" if may_answer or not is_open else "Answering needs the role approver in this scope.",
    )


def _said(one: Interaction) -> list[Folded]:
    """What the assistant said beside the tool use."""
    message = restore(one.assistant) if one.assistant is not None else None
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [fold(content, TEXT_LIMIT)]
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return [fold(text, TEXT_LIMIT) for text in texts if isinstance(text, str) and text]


def _answer(one: Interaction) -> tuple[Folded | None, bool]:
    block: Any = restore(one.answer) if one.answer is not None else None
    if not isinstance(block, dict):
        return None, False
    content = block.get("content")
    text = content if isinstance(content, str) else dumps(content).decode()
    return fold(text, TEXT_LIMIT), bool(block.get("is_error"))


@require_POST
@signed_in
def answer(visit: Visit) -> HttpResponse:
    """Keep the answer for the agent; what was typed stays where it was not taken."""
    posted = visit.request.POST
    scope, interaction_id = Scope.parse(posted.get("scope")), posted.get("interaction_id", "")
    question = read_question(visit.everywhere, scope, interaction_id)
    text, is_error = normalise_typed(posted.get("answer", "")), "is_error" in posted
    if not text.strip():
        return _render(visit, "open", "", [question], typed=(interaction_id, text, is_error, EMPTY_ANSWER), status=422)
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": question.tool_use_id, "content": text}
    if is_error:
        block |= {"is_error": True}
    try:
        answer_interaction(visit.caller, scope, interaction_id, block)
    except CortexError as refusal:
        return _refused(visit, question, (interaction_id, text, is_error, ""), refusal)
    messages.success(visit.request, "Answered. The agent reads it when it comes back for it.")
    return HttpResponseRedirect(visit.href("interactions"), status=303)


def _refused(visit: Visit, question: Interaction, typed: Typed, refusal: CortexError) -> HttpResponse:
    words = problem_of(refusal)
    aside = "What you typed is below and can be copied. It was not sent."
    link = Link("Open questions", visit.href("interactions"), primary=True)
    banner = Banner("stop", words.title, words.text, aside=aside, alert=True, links=[link])
    now = read_question(visit.everywhere, question.scope, question.interaction_id)
    part = "resolved" if now.resolved else "answered" if now.answered_at else "open"
    return _render(visit, part, "", [now], typed=typed, banner=banner, status=PROBLEMS[refusal.code].status)
