"""Uncertain resumes: started, and nothing more was heard. The list, and closing one with proof."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_http_methods, require_safe

from suspensions.domain.errors import (
    ClosureDenied,
    CommitUnknown,
    CortexError,
    Forbidden,
    NotFound,
    ProofExpired,
    ResumeClosureConflict,
    RunConflict,
    RunLeaseLive,
)
from suspensions.domain.policy import Role
from suspensions.domain.texts import invalid
from suspensions.domain.values import Closure, ClosureRequest
from suspensions.operations.closures import close_resume
from suspensions.pages.closing import ClosingView
from suspensions.pages.closing_banners import over
from suspensions.pages.closing_forms import (
    LABELS,
    TypedClosing,
    confirm_fault,
    read_pins,
    read_typed,
    request_of,
    with_claims,
)
from suspensions.pages.contexts import Banner, Empty, Problem, UncertainPage, UncertainRow
from suspensions.pages.ended_sessions import take_kept
from suspensions.pages.refusals import problem_of
from suspensions.pages.rendering import render_fragment, render_page, wants_fragment
from suspensions.pages.visits import Visit, signed_in
from suspensions.problems import PROBLEMS, RETRY_AFTER
from suspensions.queries.closing_page import ClosingRead, read_closing
from suspensions.queries.uncertain_page import Uncertain, list_uncertain

LIMIT = 50
TEMPLATE = "suspensions/closing.html"


@require_safe
@signed_in
def index(visit: Visit) -> HttpResponse:
    """The list, newest pause first."""
    after = visit.request.GET.get("after") or None
    found = list_uncertain(visit.reach, after, LIMIT, visit.now, settings.UNCERTAIN_AFTER)
    empty = Empty("Nothing is uncertain", "Every resume that was started is being worked on, or has ended.")
    page = UncertainPage(
        chrome=visit.chrome("Uncertain"),
        rows=[_row(visit, item) for item in found.items],
        empty=None if found.items else empty,
        older_href=visit.href("uncertain", after=found.next) if found.next else "",
    )
    return render_page(visit.request, "suspensions/uncertain.html", page)


def _row(visit: Visit, item: Uncertain) -> UncertainRow:
    run, start = item.run, item.start
    lease = run.lease
    heard = [start.started_at, *([item.progress_at] if item.progress_at else [])]
    return UncertainRow(
        run_id=run.id,
        run_href=visit.href("run", run.id),
        start_href=visit.href("receipt", "start", run.id, start.version.suspension_id),
        agent=run.agent_name or "",
        scope=run.scope.text,
        started_at=start.started_at,
        holder=lease.owner if lease else start.lease_owner or "",
        silent_since=lease.expires_at if lease else max(heard),
        progress_at=item.progress_at,
        handed_out=item.handed_out,
        done=item.done,
        close_href=visit.href("close", run.id) if Role.OPERATOR in visit.caller.roles_at(run.scope) else "",
    )


# -- closing one -------------------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def close(visit: Visit, run_id: str) -> HttpResponse:
    """The form that closes a run's last resume, what it would close as one types, and closing it.

    An operator's alone: anybody else learns no more than the run's page says.
    """
    read = read_closing(visit.everywhere, run_id)
    visit.caller.require(read.run.scope, Role.OPERATOR)
    if visit.request.method != "POST":
        kept = take_kept(visit.request) if visit.request.method == "GET" else {}
        return _render(ClosingView(visit, read, read_typed(kept) if kept else None))
    posted = visit.request.POST.dict()
    if posted.get("scope") != read.run.scope.text:
        raise invalid("/scope", "is not the run's")
    typed = read_typed(posted, visit.request.FILES.get("proof_file"))
    view = ClosingView(visit, read, typed, read_pins(posted))
    if posted.get("do") == "check":
        return _check(view, read)
    if posted.get("do") == "close":
        return _close(view)
    raise invalid("/do", "must be check or close")


def _check(view: ClosingView, read: ClosingRead) -> HttpResponse:
    """What stands in the fields, judged so far as it can be before closing; an empty field is no fault yet."""
    visit = view.visit
    if not view.may_close:
        return _over_meanwhile(view)
    if wants_fragment(visit.request):
        faults = {**view.advice, **view.members.faults}
        frozen = view.frozen(faults, live=True)
        return render_fragment(visit.request, "suspensions/_closing_frozen.html", {"frozen": frozen, "now": visit.now})
    filled = ClosingView(visit, read, with_claims(view.typed), view.pins)
    return _render(filled, {**filled.advice, **filled.members.faults})


def _over_meanwhile(view: ClosingView) -> HttpResponse:
    """There is nothing to close any more, which somebody who still types learns beside the form, not in its place."""
    run = view.read.run
    if not wants_fragment(view.visit.request):
        return _render(view, refusal=RunConflict(run.state, run.revision), status=409)
    banner = over(view.visit, view.read, view.stand)
    text = "Nothing can be closed here any more. What you typed stays until you leave this page."
    problem = Problem(banner.title, text, 409, RunConflict.code, links=banner.links)
    response = render_fragment(view.visit.request, "shared/_problem.html", {"problem": problem}, status=409)
    response.headers["HX-Retarget"] = "#problem"
    return response


def _close(view: ClosingView) -> HttpResponse:
    """Close it, and go on to the receipt by GET; a repeat comes to the original one."""
    visit, run, typed = view.visit, view.read.run, view.typed
    last_word = confirm_fault(typed, run.id)
    faults = view.members.all_faults() | ({"confirm": last_word} if last_word else {})
    if faults:
        return _render(view, {**view.advice, **faults}, status=422) if view.may_close else _over_meanwhile(view)
    request = request_of(run, view.pins, view.members, visit.caller.principal)
    try:
        closure = close_resume(visit.caller, request, typed.proof.encode())
    except (Forbidden, NotFound):
        raise
    except CortexError as refusal:
        return _refused(visit, request, typed, refusal)
    words = "Closed as incomplete." if closure.fresh else "This was closed already. Here is the original receipt."
    return _to_receipt(visit, closure, words)


def _to_receipt(visit: Visit, closure: Closure, words: str) -> HttpResponse:
    messages.success(visit.request, words)
    version = closure.request.version
    href = visit.href("receipt", "closure", version.run_id, version.suspension_id)
    return HttpResponseRedirect(href, status=303)


_NOTHING = "Nothing was closed, and nothing was written."
_TITLES: dict[type[CortexError], str] = {
    ClosureDenied: "The proof or your authority was refused.",
    ProofExpired: "The times of the proof do not fit.",
    RunLeaseLive: "A worker holds the run again, so it lives.",
    RunConflict: "The run moved on since you opened this page.",
    ResumeClosureConflict: "This is not what stands.",
}


def _refused(visit: Visit, request: ClosureRequest, typed: TypedClosing, refusal: CortexError) -> HttpResponse:
    """The page as it is now, with the reason at its field; what was typed is kept."""
    # A moment later: who was faster is read anew, and the age of what they did must not be negative.
    later = visit.again()
    view = ClosingView(later, read_closing(later.everywhere, request.version.run_id), typed)
    closure = view.read.closure
    if isinstance(refusal, CommitUnknown) and closure is not None and closure.digest == request.digest():
        return _to_receipt(visit, closure, "Closed as incomplete. The answer was lost on its way; this is its record.")
    words = problem_of(refusal)
    status = PROBLEMS[refusal.code].status
    if not view.may_close:
        return _render(view, refusal=refusal, status=status)
    own = _at_their_fields(view, request, refusal)
    title = _TITLES.get(type(refusal), words.title)
    text = _NOTHING if type(refusal) in _TITLES else words.text
    if isinstance(refusal, RunConflict) or (isinstance(refusal, ResumeClosureConflict) and not own):
        text += " On the right is the request as it would be now. Look at it again."
    banner = Banner("stop", title, text, aside="What you typed is still in the form.", alert=True)
    response = _render(view, {**view.advice, **own}, banner=banner, refusal=refusal, status=status)
    if status == 503:
        response.headers["Retry-After"] = str(RETRY_AFTER)
    return response


def _at_their_fields(view: ClosingView, request: ClosureRequest, refusal: CortexError) -> dict[str, str]:
    """What the refusal is about, as a fault of the form."""
    if isinstance(refusal, ClosureDenied):
        return {refusal.about if refusal.about in LABELS else "proof": refusal.reason or refusal.detail}
    if isinstance(refusal, ProofExpired) and not view.advice:
        return {"expires_at": "The proof did not hold at the instant of closing."}
    same = view.pins.start_digest == request.start_digest and view.pins.run_revision == request.run_revision
    if isinstance(refusal, ResumeClosureConflict) and same:
        return {"proof_ref": "Used already, for another closure. A reference names one proof."}
    return {}


def _render(
    view: ClosingView,
    faults: Mapping[str, str] | None = None,
    *,
    banner: Banner | None = None,
    refusal: CortexError | None = None,
    status: int = 200,
) -> HttpResponse:
    page = view.page(faults or {}, banner=banner, refusal=refusal)
    return render_page(view.visit.request, TEMPLATE, page, status=status)
