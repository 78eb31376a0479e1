"""What somebody who would close a resume should know first: that it is too early, or what stands instead."""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings

from suspensions.domain.errors import ClosureDenied, CortexError
from suspensions.domain.standing import Closing, is_uncertain
from suspensions.domain.values import Closure, Start
from suspensions.pages.contexts import Banner, Link
from suspensions.pages.formats import duration
from suspensions.pages.visits import Visit
from suspensions.queries.closing_page import ClosingRead
from suspensions.queries.people import display_names

_KEPT = "What you typed is below and can be copied. It was not taken."


def doubt(visit: Visit, read: ClosingRead, stand: Closing) -> Banner | None:
    """Why it may be too early to close; nothing where it is not."""
    run = read.run
    if stand is Closing.HELD and run.lease is not None:
        return Banner(
            "soon",
            f"{run.lease.owner} holds the lease, so nothing can be closed now.",
            "A worker that renews it lives. Otherwise it lapses at",
            at=run.lease.expires_at,
            icon="hourglass",
        )
    start = read.outcome if isinstance(read.outcome, Start) else None
    if not is_uncertain(run, visit.now, settings.UNCERTAIN_AFTER, start):
        title = f"This run has been silent for {duration(visit.now - run.updated_at)} only."
        text = "It was started without a lease, so nobody can tell whether its worker is at work. See to it first."
        return Banner("soon", title, text, icon="hourglass")
    return None


def over(visit: Visit, read: ClosingRead, stand: Closing, refusal: CortexError | None = None) -> Banner:
    """What stands where nothing can be closed; after a press, also that it was not taken, and why."""
    banner = _stands(visit, read, stand)
    if refusal is None:
        return banner
    taken = "Your closure was not taken."
    if isinstance(refusal, ClosureDenied):
        taken = f"Your closure was refused: {refusal.reason or refusal.detail}"
    return replace(banner, tone="stop", title=f"{banner.title} {taken}", aside=_KEPT, alert=True)


def _stands(visit: Visit, read: ClosingRead, stand: Closing) -> Banner:
    run = read.run
    links = [Link("Open the run", visit.href("run", run.id), primary=True)]
    if read.closure is not None:
        return _closed(visit, read.closure)
    if stand is Closing.NO_START:
        title = "Nothing of this run was started, so nothing is uncertain."
        text = "Closing ends a resume whose start was granted. There is none now."
        return Banner("info", title, text, icon="history", links=links)
    if run.completed_at is not None:
        title = f"The run is {run.state}. There is nothing to close."
        return Banner("info", title, "It ended at", icon="history", at=run.completed_at, links=links)
    title = f"The run went on and is {run.state}. There is nothing to close."
    text = "Its worker lives, or another one took the run over."
    return Banner("info", title, text, icon="history", links=links)


def _closed(visit: Visit, closure: Closure) -> Banner:
    """Who closed it and when, with the way to the receipt."""
    principal, version = closure.closed_by.principal, closure.request.version
    own = principal == visit.caller.principal
    who = "You" if own else display_names([principal]).get(principal, principal)
    receipt = visit.href("receipt", "closure", version.run_id, version.suspension_id)
    return Banner(
        "info",
        f"{who} closed this {duration(visit.now - closure.closed_at)} ago.",
        "The run is incomplete for good. Closed at",
        icon="lock",
        at=closure.closed_at,
        links=[Link("Open the receipt", receipt, primary=True)],
    )
