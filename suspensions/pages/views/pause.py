"""One pause, the news of it, and the decision that its form makes."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_POST, require_safe

from suspensions.domain.continuations import restore_continuation
from suspensions.domain.errors import CortexError
from suspensions.domain.standing import Stand
from suspensions.domain.texts import invalid
from suspensions.domain.values import Admission
from suspensions.operations.looking import mark_looking
from suspensions.operations.resumes import decide
from suspensions.pages.contexts import Banner
from suspensions.pages.conversations import conversation
from suspensions.pages.ended_sessions import take_kept
from suspensions.pages.formats import short_digest
from suspensions.pages.forms import Faults, TypedForm, make_decisions, read_form, read_kept
from suspensions.pages.pauses import PauseView
from suspensions.pages.refusals import problem_of
from suspensions.pages.rendering import redirect_whole_page, render_fragment, render_page, wants_fragment
from suspensions.pages.standings import outcomes_of, summary
from suspensions.pages.visits import Visit, signed_in
from suspensions.problems import PROBLEMS
from suspensions.queries.looking import lookers
from suspensions.queries.pause_page import PauseRead, read_pause

SWAPPED = (200, 409, 422)
"""Answers that take the form's place; with any other one the form stays as it is, and a problem stands beside it."""


@require_safe
@signed_in
def show(visit: Visit, suspension_id: str) -> HttpResponse:
    """The pause; opening its form places a soft mark that blocks nobody."""
    request = visit.request
    read = read_pause(visit.everywhere, suspension_id)
    view = PauseView(visit, read)
    if view.may_answer and request.method == "GET":
        mark_looking(visit.caller, read.pause.scope, suspension_id)
    if request.GET.get("part") == "news":
        marks = lookers([suspension_id], visit.now, visit.caller.principal).get(suspension_id, [])
        return render_fragment(request, "suspensions/_pause_news.html", {"news": view.news(marks)})
    if request.GET.get("part") == "standing":
        return _standing_news(view)
    whole = request.GET.get("conversation") == "all"
    if whole and wants_fragment(request):
        talk = conversation(restore_continuation(read.pause.continuation), "", whole=True)
        return render_fragment(request, "suspensions/_conversation.html", {"talk": talk})
    if request.method == "GET":
        # Only the page itself: a poll of the old one must not swallow what was typed before the session ended.
        view = PauseView(visit, read, read_kept(take_kept(request)))
    return _render(view, whole=whole)


def _standing_news(view: PauseView) -> HttpResponse:
    """What came of an answer that a worker had not picked up; nothing while that is so."""
    if view.stand in (Stand.OPEN, Stand.ADMITTED):
        return HttpResponse(status=204)
    return render_fragment(view.visit.request, "suspensions/_standing_news.html", {"page": view.page()})


@require_POST
@signed_in
def decision(visit: Visit, suspension_id: str) -> HttpResponse:
    """Send the decision: to what stands now when it was taken, back to the form with the reason when not."""
    read = read_pause(visit.everywhere, suspension_id)
    posted = visit.request.POST
    typed = read_form(posted.dict())
    if posted.get("scope") != read.pause.scope.text:
        raise invalid("/scope", "is not the pause's")
    made, faults = make_decisions(typed, read.pause.pending, read.pause.reason)
    if faults:
        return _faulty(PauseView(visit, read, typed), faults)
    try:
        admission = decide(visit.caller, read.pause.scope, suspension_id, typed.run_revision, made)
    except CortexError as refusal:
        return _refused(visit, suspension_id, typed, refusal)
    return _taken(visit, read, admission)


_NAMED_TOOLS = 2


def _taken(visit: Visit, read: PauseRead, admission: Admission) -> HttpResponse:
    """Go on by GET, so that reloading sends nothing again."""
    pause = read.pause
    if visit.request.POST.get("then") != "next":
        return HttpResponseRedirect(visit.href("pause", pause.id), status=303)
    what = summary(outcomes_of(PauseRead(pause, read.run, admission)))
    tools = list(dict.fromkeys(call.name for call in pause.pending))
    more = f" and {len(tools) - _NAMED_TOOLS} more" if len(tools) > _NAMED_TOOLS else ""
    told = f"{', '.join(tools[:_NAMED_TOOLS])}{more}: {what or 'answered'}. Receipt {short_digest(admission.digest)}."
    messages.success(visit.request, told)
    href = visit.href("next", **{"from": pause.id})
    return redirect_whole_page(href) if wants_fragment(visit.request) else HttpResponseRedirect(href, status=303)


def _faulty(view: PauseView, faults: Faults) -> HttpResponse:
    """Something must be mended first; what stands is shown where that is past."""
    if not view.may_answer:
        return _render(view, status=409)
    return _render(view, faults=faults, status=422)


_STILL_OPEN: dict[str, Banner] = {
    "arguments_changed": Banner(
        "soon",
        "The arguments changed since you opened this page.",
        "Nothing was admitted. Look at them again, and decide again.",
        icon="history",
        alert=True,
    ),
    "run_conflict": Banner(
        "soon",
        "The run moved on since you opened this page.",
        "Nothing was admitted. Below is the pause as it is now; what you typed is still in it. Decide again.",
        icon="history",
        alert=True,
    ),
    "results_mismatch": Banner(
        "soon",
        "This form did not answer every call.",
        "Nothing was admitted. Below are all calls of the pause; decide again.",
        icon="history",
        alert=True,
    ),
}


def _refused(visit: Visit, suspension_id: str, typed: TypedForm, refusal: CortexError) -> HttpResponse:
    """The page as it is now, with who won or what changed; what was typed is kept."""
    status = PROBLEMS[refusal.code].status
    if wants_fragment(visit.request) and status not in SWAPPED:
        words = problem_of(refusal, request_id=visit.request.META.get("HTTP_X_REQUEST_ID", ""))
        return render_fragment(visit.request, "shared/_problem.html", {"problem": words}, status=status)
    # A moment later: who won is read anew, and the age of what they did must not be negative.
    later = visit.again()
    view = PauseView(later, read_pause(later.everywhere, suspension_id), typed)
    if not view.may_answer:
        return _render(view, refusal=refusal, status=status)
    words = problem_of(refusal)
    banner = _STILL_OPEN.get(refusal.code) or Banner("stop", words.title, words.text, alert=True)
    return _render(view, banner=banner, status=status)


def _render(
    view: PauseView,
    *,
    banner: Banner | None = None,
    faults: Faults | None = None,
    refusal: CortexError | None = None,
    whole: bool = False,
    status: int = 200,
) -> HttpResponse:
    form = view.form(banner, faults) if view.may_answer else None
    page = view.page(form=form, refusal=refusal, whole_conversation=whole)
    fragment, variables = "", dict[str, object]()
    if page.form is not None:
        fragment, variables = "suspensions/_decision_form.html", {"form": page.form}
    elif page.standing is not None:
        fragment, variables = "suspensions/_pause_standing.html", {"page": page}
    return render_page(
        view.visit.request, "suspensions/pause.html", page, fragment=fragment, variables=variables, status=status
    )
