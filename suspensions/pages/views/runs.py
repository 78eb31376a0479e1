"""Runs: the list, one with its life, and cancelling it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_POST, require_safe

from suspensions.domain import limits
from suspensions.domain.errors import InvalidRequest
from suspensions.domain.policy import Role
from suspensions.domain.standing import is_uncertain
from suspensions.domain.states import Action, ResumeState, RunState, allows
from suspensions.domain.texts import invalid, require_text
from suspensions.domain.values import Run, Start
from suspensions.operations.runs import cancel_run
from suspensions.pages.contexts import (
    Banner,
    CancelView,
    Empty,
    Fact,
    LeaseView,
    Link,
    NamedText,
    RunPage,
    RunRow,
    RunsPage,
    Search,
    WorkItem,
)
from suspensions.pages.folding import TEXT_LIMIT, fold
from suspensions.pages.formats import grouped
from suspensions.pages.life_drawing import draw_life
from suspensions.pages.lives import LifeWords, actor_words, lapse
from suspensions.pages.queue_rows import call_lines
from suspensions.pages.rendering import render_page
from suspensions.pages.views.queue import choice
from suspensions.pages.visits import Visit, signed_in
from suspensions.queries.lately import Lately, last_start, read_lately
from suspensions.queries.people import display_names
from suspensions.queries.receipts import starts_of
from suspensions.queries.run_page import Life, Work, list_runs, read_life, read_run, read_work

LIMIT = 50
CALLS_SHOWN = 1
"""So many calls of a run's latest pause stand in its row; the others are counted."""


@require_safe
@signed_in
def index(visit: Visit) -> HttpResponse:
    """Runs, newest first."""
    query = visit.request.GET
    try:
        state = RunState(query["state"]) if query.get("state") else None
    except ValueError:
        raise InvalidRequest("state names no state of a run.") from None
    words, agent = query.get("q", "").strip(), query.get("agent") or None
    found = list_runs(visit.reach, words, state, agent, query.get("after") or None, LIMIT)
    older = query.copy()
    older["after"] = found.next or ""
    filtered = bool(words or state or agent)
    page = RunsPage(
        chrome=visit.chrome("Runs"),
        search=_search(visit, found.items),
        rows=_rows(visit, found.items),
        empty=None if found.items else _empty(visit, filtered),
        older_href=f"{visit.request.path}?{older.urlencode()}" if found.next else "",
    )
    variables = {"rows": page.rows, "empty": page.empty, "older_href": page.older_href, "now": visit.now}
    return render_page(
        visit.request, "suspensions/runs.html", page, fragment="suspensions/_runs_results.html", variables=variables
    )


def _rows(visit: Visit, runs: Sequence[Run]) -> list[RunRow]:
    lately = read_lately([run.id for run in runs])
    names = display_names(last.event.actor.principal for last in lately.values() if last.event)
    silent = [lately[run.id].pause for run in runs if run.id in lately and _tells_nothing(run)]
    starts = starts_of([pause.id for pause in silent if pause])
    return [_row(visit, run, lately[run.id], names, starts) for run in runs if run.id in lately]


def _tells_nothing(run: Run) -> bool:
    """Whether only its start tells if its resume is uncertain."""
    return run.resume is ResumeState.STARTED and run.lease is None


def _row(visit: Visit, run: Run, lately: Lately, names: dict[str, str], starts: Mapping[str, Start]) -> RunRow:
    start = starts.get(lately.pause.id) if lately.pause else None
    uncertain = is_uncertain(run, visit.now, settings.UNCERTAIN_AFTER, start)
    calls, more_calls = call_lines(lately.pause, CALLS_SHOWN)
    told = LifeWords(names, visit.href).tell([lately.event] if lately.event else [])
    return RunRow(
        id=run.id,
        href=visit.href("run", run.id),
        agent=run.agent_name or "",
        state="uncertain" if uncertain else run.state.value,
        revision=run.revision,
        scope=run.scope.text,
        created_at=run.created_at,
        updated_at=lately.event.at if lately.event else run.updated_at,
        text=told[-1].title if told else "",
        calls=calls,
        more_calls=more_calls,
    )


def _search(visit: Visit, runs: Sequence[Run]) -> Search:
    query = visit.request.GET
    agents = {run.agent_name: run.agent_name for run in runs if run.agent_name}
    scopes = {grant.scope.text: grant.scope.text for grant in visit.caller.grants}
    return Search(
        action=visit.request.path,
        query=query.get("q", ""),
        label="Search runs by id, session or agent",
        filters=[
            choice("state", "State", {state.value: state.value for state in RunState}, query),
            choice("agent", "Agent", agents, query),
            choice("scope", "Scope", scopes, query, none="all"),
        ],
    )


def _empty(visit: Visit, filtered: bool) -> Empty:
    if filtered:
        link = Link("Clear the filters", visit.request.path)
        return Empty("No run matches", "Searched ids, sessions and agents of what you may see.", link)
    return Empty("No runs yet", "A run appears here as soon as an agent makes one through the API.")


@require_safe
@signed_in
def show(visit: Visit, run_id: str) -> HttpResponse:
    """One run: its drawing, its life, who holds it, what it has done."""
    run = read_run(visit.everywhere, run_id)
    before = visit.request.GET.get("before", "")
    life = read_life(run.id, int(before) if before.isascii() and before.isdigit() and len(before) < 16 else None)
    return render_page(visit.request, "suspensions/run.html", _page(visit, run, life, read_work(run.id)))


def _page(visit: Visit, run: Run, life: Life, work: Work | None) -> RunPage:
    names = display_names({event.actor.principal for event in life.events} | {run.created_by.principal})
    texts = (("Input", run.input), ("Output", run.output), ("Error", run.error))
    uncertain = _is_uncertain(visit, run)
    return RunPage(
        chrome=visit.chrome("Runs"),
        id=run.id,
        title=f"Run of {run.agent_name}" if run.agent_name else "Run of an unnamed agent",
        state=run.state.value,
        revision=run.revision,
        since=_since(run, life),
        events=[*LifeWords(names, visit.href).tell(life.events), *lapse(run, visit.now)],
        facts=_facts(run, actor_words(run.created_by, names)),
        crumbs=[Link("Runs", visit.href("runs"))],
        drawing=draw_life(run, life.events, visit.now),
        lease=_lease(run, visit.now),
        progress_at=work.updated_at if work else None,
        progress=_work(work) if work else (),
        cancel=_cancel(visit, run, uncertain=uncertain),
        older_href=visit.href("run", run.id, before=str(life.before)) if life.before else "",
        banner=_banner(visit, run) if uncertain else None,
        texts=[NamedText(label, fold(text, TEXT_LIMIT), len(text.encode())) for label, text in texts if text],
    )


def _is_uncertain(visit: Visit, run: Run) -> bool:
    start = last_start(run.id) if _tells_nothing(run) else None
    return is_uncertain(run, visit.now, settings.UNCERTAIN_AFTER, start)


def _banner(visit: Visit, run: Run) -> Banner:
    """What somebody who looks at the run should know first; it is uncertain."""
    may_close = Role.OPERATOR in visit.caller.roles_at(run.scope)
    return Banner(
        "stop",
        "It is not known what became of this resume.",
        "Its start was granted, and nothing more was heard. The work may have happened. Nobody may start it again.",
        links=[
            *([Link("Close it with proof", visit.href("close", run.id))] if may_close else []),
            Link("All uncertain resumes", visit.href("uncertain")),
        ],
    )


def _since(run: Run, life: Life) -> datetime:
    """When the run came to its revision."""
    return next((event.at for event in life.events if event.revision == run.revision), run.updated_at)


def _lease(run: Run, now: datetime) -> LeaseView | None:
    if run.lease is None:
        return None
    return LeaseView(run.lease.owner, run.lease.expires_at, run.lease.epoch, lapsed=run.lease.lapsed(now))


def _facts(run: Run, maker: str) -> list[Fact]:
    facts = [
        Fact("Scope", run.scope.text, "scope"),
        Fact("Agent", run.agent_name or "unnamed", aside=run.agent_id or ""),
        Fact("Session", run.session_id, "id") if run.session_id else None,
        Fact("Persona", run.persona_ref, "data") if run.persona_ref else None,
        Fact("Steps", grouped(run.step_count)),
        Fact("Tokens", grouped(run.tokens_used)),
        Fact("Lease epoch", str(run.lease_epoch)) if run.lease is None else None,
        Fact("Made by", maker),
        Fact("Metadata", run.metadata.decode(), "data") if run.metadata != b"{}" else None,
    ]
    return [fact for fact in facts if fact is not None]


def _work(work: Work) -> list[WorkItem]:
    """Calls that are done by outcome, then those that were handed out and are not known to be done."""
    names = {call.id: call.name for call in work.started}
    done = [WorkItem(names.get(each["call_id"], each["call_id"]), each["outcome"]) for each in work.done]
    ids = {each["call_id"] for each in work.done}
    return [*done, *(WorkItem(call.name, "handed out") for call in work.started if call.id not in ids)]


def _cancel(visit: Visit, run: Run, *, uncertain: bool) -> CancelView | None:
    if Role.OPERATOR not in visit.caller.roles_at(run.scope) or not allows(Action.CANCEL, run.state, run.resume):
        return None
    text = "It ends the run as cancelled for good."
    text += (
        " Nobody can answer its pause any more, and no call of it runs."
        if run.state is RunState.PAUSED
        else " Calls already handed out are not undone."
    )
    if run.lease is not None and not run.lease.lapsed(visit.now):
        why_not = f"A worker holds the lease, so only {run.lease.owner} can end this run now."
        return CancelView(text, why_not=why_not, possible_from=run.lease.expires_at)
    instead = Link("Close it with proof", visit.href("close", run.id)) if uncertain else None
    return CancelView(text, action=visit.href("cancel", run.id), scope=run.scope.text, instead=instead)


@require_POST
@signed_in
def cancel(visit: Visit, run_id: str) -> HttpResponse:
    """End the run as cancelled, and show what stands."""
    run = read_run(visit.everywhere, run_id)
    if visit.request.POST.get("scope") != run.scope.text:
        raise invalid("/scope", "is not the run's")
    reason = require_text(visit.request.POST.get("reason", "").strip(), "/reason", shortest=1, longest=limits.MAX_NOTE)
    cancel_run(visit.caller, run.scope, run.id, reason)
    messages.success(visit.request, "The run was cancelled.")
    return HttpResponseRedirect(visit.href("run", run.id), status=303)
