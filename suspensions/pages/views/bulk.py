"""Several approvals of one tool, looked at and decided together. Each is a decision of its own, in its own commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.http import HttpResponse
from django.views.decorators.http import require_POST, require_safe

from suspensions.domain.arguments import normalise_typed
from suspensions.domain.common import compare
from suspensions.domain.decisions import CallDecision, read_decisions
from suspensions.domain.errors import CortexError, InvalidRequest
from suspensions.domain.policy import same_principal
from suspensions.domain.preview import call_preview
from suspensions.domain.standing import Stand, answering_roles
from suspensions.domain.values import Reason
from suspensions.operations.resumes import decide
from suspensions.pages.arguments import read_arguments
from suspensions.pages.contexts import (
    BulkCall,
    BulkMember,
    BulkPage,
    BulkPause,
    BulkResult,
    BulkResultPage,
    Deadline,
    Empty,
    LeftOut,
    Link,
    TextWarning,
)
from suspensions.pages.ended_sessions import take_kept
from suspensions.pages.folding import fold
from suspensions.pages.formats import duration
from suspensions.pages.refusals import problem_of
from suspensions.pages.rendering import render_page
from suspensions.pages.standings import answered_words, outcomes_of, summary
from suspensions.pages.visits import Visit, signed_in
from suspensions.queries.bulk import PinnedPause, read_pinned
from suspensions.queries.pause_page import read_pause
from suspensions.queries.people import display_names

MOST = 50
"""So many pauses are decided by one press: what nobody can look through, nobody should approve."""
_SHORT = 80


@require_safe
@signed_in
def show(visit: Visit) -> HttpResponse:
    """Everything that the selected approvals share, and everything that differs."""
    wanted = visit.request.GET.getlist("id")[:MOST]
    kept = take_kept(visit.request) if visit.request.method == "GET" else {}
    return _render(visit, read_pinned(visit.everywhere, wanted), kept)


def _render(visit: Visit, selected: Sequence[PinnedPause], kept: Mapping[str, str]) -> HttpResponse:
    """The page, with what was typed and ticked before a session ended."""
    fitting, left_out = _sort_out(visit, selected)
    if not all(f"revision-{pause.id}" in kept for pause in fitting):
        # All selections have one address: a note must not reach an agent that it was not written to.
        kept = {}
    taken = kept.get("id", "").split("\n") if kept else [pause.id for pause in fitting]
    answered = [one for one in left_out if one.receipt_href]
    calls = [call for pause in fitting for call in pause.pending]
    compared = compare([call.arguments for call in calls])
    pauses: list[BulkPause] = []
    number = 0
    for index, pause in enumerate(fitting):
        shown = []
        for call in pause.pending:
            members = [BulkMember(name, fold(value)) for name, value in compared.differing[number]]
            shown.append(BulkCall(number, call.id, call.arguments_sha256, members, call.note or ""))
            number += 1
        deadline = Deadline(pause.expires_at, "fails at") if pause.expires_at else None
        href = visit.href("pause", pause.id)
        pauses.append(
            BulkPause(
                index,
                pause.id,
                href,
                pause.scope.text,
                pause.revision,
                pause.agent_name or "",
                shown,
                deadline,
                pause.id in taken,
            )
        )
    page = BulkPage(
        chrome=visit.chrome("Queue"),
        crumbs=[Link("Queue", visit.href("queue")), Link("Several together", "")],
        action=visit.href("bulk_decide"),
        tool=calls[0].name if calls else "",
        pauses=pauses,
        same=[BulkMember(name, fold(value)) for name, value in compared.same],
        warnings=_warnings(fitting),
        left_out=[one for one in left_out if not one.receipt_href],
        answered=answered,
        note=normalise_typed(kept.get("note", "")),
        empty=None
        if fitting
        else Empty(
            "Nothing is left to decide here",
            "Tick several approvals of one tool in the queue.",
            Link("Back to the queue", visit.href("queue")),
        ),
    )
    return render_page(visit.request, "suspensions/bulk.html", page, status=200 if fitting or answered else 409)


def _warnings(fitting: Sequence[PinnedPause]) -> list[TextWarning]:
    """What about any of the texts does not read the way it looks, with the number of its call."""
    warnings: list[TextWarning] = []
    calls = [call for pause in fitting for call in pause.pending]
    for number, call in enumerate(calls, start=1):
        read = read_arguments(call.arguments)
        flags = [flag for step in read.steps for flag in step.flags]
        texts = [f"{one.path}: {one.text}" if one.path else one.text for one in read.warnings]
        warnings += [TextWarning(f"call {number}", text) for text in (*texts, *flags)]
    return warnings


def _sort_out(visit: Visit, selected: Sequence[PinnedPause]) -> tuple[list[PinnedPause], list[LeftOut]]:
    """Those of the first one's tool that this person may decide now, and the others with why not."""
    fitting: list[PinnedPause] = []
    left_out: list[LeftOut] = []
    tool = next((pause.pending[0].name for pause in selected if not _why_not(visit, pause)), "")
    for pause in selected:
        why = _why_not(visit, pause)
        if not why and {call.name for call in pause.pending} != {tool}:
            why = "It is not of the same tool alone."
        if why:
            left_out.append(_answered(visit, pause) or _left_out(visit, pause, why))
        else:
            fitting.append(pause)
    return fitting, left_out


def _left_out(visit: Visit, pause: PinnedPause, why: str, receipt_href: str = "") -> LeftOut:
    return LeftOut(visit.href("pause", pause.id), _what(pause), _about(pause), why, receipt_href)


def _answered(visit: Visit, pause: PinnedPause) -> LeftOut | None:
    """By whom and when it was decided already, as its own page says it; None where it was not."""
    if pause.is_waiting:
        return None
    read = read_pause(visit.everywhere, pause.id)
    if read.admission is None:
        return None
    who = _who(visit, read.admission.admitted_by.principal)
    words = answered_words(read.admission, outcomes_of(read), who or "You", visit.again().now)
    return _left_out(visit, pause, words, visit.href("receipt", "admission", read.admission.version.run_id, pause.id))


def _who(visit: Visit, principal: str) -> str:
    """The name to show somebody by; empty for the reader."""
    return "" if principal == visit.caller.principal else display_names([principal]).get(principal, principal)


def _why_not(visit: Visit, pause: PinnedPause) -> str:
    if not pause.is_waiting:
        return "It waits no more."
    if pause.is_late(visit.now):
        return "Its time is up."
    if pause.reason is not Reason.APPROVAL:
        return "It is no approval."
    if not visit.caller.roles_at(pause.scope) & answering_roles(pause.reason):
        return "You hold no role for it."
    if same_principal(pause.created_by.principal, visit.caller.principal):
        return "You asked for it yourself."
    return ""


def _what(pause: PinnedPause) -> str:
    names = list(dict.fromkeys(call.name for call in pause.pending))
    return ", ".join(names)


def _about(pause: PinnedPause) -> str:
    """The first members of its first call's arguments, in a line that tells it from others of its tool."""
    first = call_preview(pause.pending[0].name, pause.pending[0].arguments, _SHORT)
    shown = first.raw or ", ".join(f"{member.key} {member.value}" for member in first.members)
    more = len(pause.pending) - 1
    return f"{shown} and {more} more call{'s' * (more > 1)}" if more else shown


# -- deciding --------------------------------------------------------------------------------------------


@require_POST
@signed_in
def decide_all(visit: Visit) -> HttpResponse:
    """Decide each by itself; whatever was refused is told with why. Doing it again changes nothing."""
    posted = visit.request.POST
    decision = posted.get("decision", "")
    if decision not in ("approve", "deny"):
        raise InvalidRequest("The form says neither approve nor deny.")
    note = normalise_typed(posted.get("note", "")) or None
    chosen = posted.getlist("id")[:MOST]
    if not chosen:
        raise InvalidRequest("The form names no pause to decide.")
    results = []
    for suspension_id in chosen:
        found = read_pinned(visit.everywhere, [suspension_id])
        results.append(_decide_one(visit, found[0], decision, note) if found else _gone(visit, suspension_id))
    return _results(visit, results, decision, note or "")


def _gone(visit: Visit, suspension_id: str) -> BulkResult:
    """What is not there and what no grant covers look alike."""
    why = "it is not there, or in a scope that you have no grant for"
    return BulkResult(visit.href("queue"), suspension_id[:_SHORT], "", False, why)


def _decide_one(visit: Visit, pause: PinnedPause, decision: str, note: str | None) -> BulkResult:
    posted = visit.request.POST
    href, what, about = visit.href("pause", pause.id), _what(pause), _about(pause)
    try:
        made = _decisions(visit, pause, decision, note)
        revision = posted.get(f"revision-{pause.id}", "")
        admission = decide(visit.caller, pause.scope, pause.id, int(revision) if revision.isdecimal() else 0, made)
    except CortexError as refusal:
        return BulkResult(href, what, about, False, _why_refused(visit, pause.id, refusal))
    receipt = visit.href("receipt", "admission", admission.version.run_id, pause.id)
    return BulkResult(href, what, about, True, "approved" if decision == "approve" else "denied", receipt)


def _decisions(visit: Visit, pause: PinnedPause, decision: str, note: str | None) -> tuple[CallDecision, ...]:
    """The same decision on every call, with the digest of the arguments that the page showed of it."""
    seen = visit.request.POST
    return read_decisions(
        [
            {
                "call_id": call.id,
                "decision": decision,
                "note": note,
                "arguments_sha256": seen.get(f"sha256-{pause.id}-{place}", ""),
            }
            for place, call in enumerate(pause.pending)
        ]
    )


def _why_refused(visit: Visit, suspension_id: str, refusal: CortexError) -> str:
    """In a few words: who was faster, or what else stands in the way."""
    read = read_pause(visit.everywhere, suspension_id)
    now = visit.again().now
    if read.admission is not None:
        name = _who(visit, read.admission.admitted_by.principal) or "you"
        ago = duration(now - read.admission.admitted_at)
        return f"{summary(outcomes_of(read)) or 'answered'} by {name} {ago} earlier"
    stand = read.stand(now)
    if stand in (Stand.LATE, Stand.TIMED_OUT):
        return "its time ran out"
    if stand is Stand.CANCELLED:
        return "its run was cancelled"
    words = problem_of(refusal)
    return f"{words.title[0].lower()}{words.title[1:]}"


def _results(visit: Visit, results: Sequence[BulkResult], decision: str, note: str) -> HttpResponse:
    done = sum(result.ok for result in results)
    word = "approved" if decision == "approve" else "denied"
    if done == len(results):
        every = {1: "1", 2: "Both"}.get(done, f"All {done}")
        title, text = f"{every} {word}.", "It has a receipt." if done == 1 else "Each has a receipt of its own."
    else:
        refused = len(results) - done
        if done:
            title, those = f"{done} of {len(results)} {word}.", f"The other{'s were' if refused > 1 else ' was'}"
        else:
            title, those = f"None was {word}.", f"All {refused} were" if refused > 1 else "It was"
        text = f"{those} refused; nothing was half done."
    page = BulkResultPage(
        chrome=visit.again().chrome("Queue"),
        crumbs=[Link("Queue", visit.href("queue")), Link("Several together", "")],
        title=title,
        text=text,
        results=results,
        note=note,
        next_link=Link("Back to the queue", visit.href("queue"), primary=True),
    )
    return render_page(visit.request, "suspensions/bulk_result.html", page)
