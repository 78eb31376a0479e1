"""Uncertain resumes: started, and nothing more was heard."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from suspensions.pages.contexts import Empty, UncertainPage, UncertainRow
from suspensions.pages.rendering import render_page
from suspensions.pages.visits import Visit, signed_in
from suspensions.queries.uncertain_page import Uncertain, list_uncertain

LIMIT = 50


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
    )
