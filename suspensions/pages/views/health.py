"""Health: the database, the sweeper, what waits too long, who is not told, runs that nobody holds."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from suspensions.domain.policy import Role
from suspensions.domain.values import Run
from suspensions.pages.contexts import Fact, HealthCheck, HealthPage, SilentRun
from suspensions.pages.formats import bounded, duration, rough
from suspensions.pages.rendering import render_page
from suspensions.pages.views.webhooks import webhook_name
from suspensions.pages.visits import Visit, signed_in
from suspensions.queries import health_page
from suspensions.queries.counts import MOST
from suspensions.queries.health_page import DatabaseHealth
from suspensions.queries.webhooks import Delivering, deliverings

SLOW = timedelta(milliseconds=100)
BEAT_LATE = timedelta(seconds=30)
BEAT_GONE = timedelta(minutes=2)
PICKED_UP_LATE = timedelta(minutes=5)
TOLD_LATE = timedelta(minutes=1)
UNTOLD = timedelta(minutes=30)
CLOCK_APART = timedelta(seconds=1)
CLOCK_WRONG = timedelta(seconds=30)
_REASONS = {"approval": "for approval", "external_tool": "for an external tool", "agent_reply": "for another agent"}


@require_safe
@signed_in
def index(visit: Visit) -> HttpResponse:
    """What an operator looks at first."""
    oldest = health_page.oldest(visit.reach, visit.now)
    silent = health_page.silent_runs(visit.reach, visit.now, settings.UNCERTAIN_AFTER)
    counts = visit.counts
    database = health_page.database()
    checks = [
        _database(database),
        *_clock(database),
        _sweeper(visit),
        _overdue(visit, oldest.overdue_since),
        _decided(visit, oldest.decided_since),
    ]
    checks.append(
        HealthCheck(
            "Uncertain resumes",
            "stop" if counts.uncertain else "good",
            f"{bounded(counts.uncertain)} started, and nothing more was heard" if counts.uncertain else "None",
            href=visit.href("uncertain") if counts.uncertain else "",
            link="Open the list",
        )
    )
    checks += _webhooks(visit)
    depths = health_page.depth_by_reason(visit.reach, MOST)
    facts = [Fact(f"Waiting {words}", bounded(depths.get(reason, 0)) or "0") for reason, words in _REASONS.items()]
    facts += [
        Fact("Oldest has waited", rough(visit.now - oldest.waiting_since))
        if oldest.waiting_since
        else Fact("Oldest has waited", "nothing waits"),
        Fact("Decided, not picked up", bounded(counts.decided) or "0"),
        Fact("Expired today", bounded(counts.expired) or "0"),
        Fact("Open questions", bounded(counts.interactions) or "0"),
    ]
    page = HealthPage(
        chrome=visit.chrome("Health"),
        checks=checks,
        facts=facts,
        silent=[_silent(visit, run) for run in silent],
        more_silent=len(silent) == health_page.MOST_SILENT,
    )
    return render_page(visit.request, "suspensions/health.html", page)


def _database(found: DatabaseHealth) -> HealthCheck:
    took = f"{max(found.took.total_seconds() * 1000, 0.1):.1f} ms"
    tone = "soon" if found.took > SLOW else "good"
    return HealthCheck("Database", tone, f"{found.engine} {found.version}, the smallest question took {took}")


def _clock(found: DatabaseHealth) -> list[HealthCheck]:
    """Where hosts share a database: whether this one's clock, which decides here, is the same as the database's."""
    if found.ahead is None:
        return []
    apart = abs(found.ahead)
    if apart < CLOCK_APART:
        return [HealthCheck("Clock", "good", "This host and the database agree")]
    which = "ahead of" if found.ahead > timedelta(0) else "behind"
    words = (
        f"This host is {duration(apart)} {which} the database: deadlines and leases end early or late here. Mend NTP"
    )
    return [HealthCheck("Clock", "stop" if apart > CLOCK_WRONG else "soon", words)]


def _sweeper(visit: Visit) -> HealthCheck:
    """The latest beat of any sweeper: one that lives is enough."""
    sweepers = [(host, at) for name, host, at in health_page.beats() if name == "sweeper"]
    if not sweepers:
        words = "No sweeper has ever been seen: deadlines pass, and nobody fails what is overdue"
        return HealthCheck("Sweeper", "stop", words)
    host, at = sweepers[0]
    ago = visit.now - at
    tone = "stop" if ago > BEAT_GONE else "soon" if ago > BEAT_LATE else "good"
    others = f", {len(sweepers) - 1} more known" if len(sweepers) > 1 else ""
    return HealthCheck(
        "Sweeper", tone, f"Last beat {duration(max(ago, timedelta(0)))} ago on {host}{others}, at", at=at
    )


def _overdue(visit: Visit, since: datetime | None) -> HealthCheck:
    if since is None:
        return HealthCheck("Overdue pauses", "good", "None waits past its deadline")
    late = visit.now - since
    tone = "stop" if late > BEAT_GONE else "soon"
    return HealthCheck(
        "Overdue pauses", tone, f"The oldest is {duration(late)} past its deadline and not swept, since", at=since
    )


def _decided(visit: Visit, since: datetime | None) -> HealthCheck:
    if since is None:
        return HealthCheck("Decided, not picked up", "good", "Workers keep up")
    waits = visit.now - since
    tone = "soon" if waits > PICKED_UP_LATE else "good"
    text = f"The oldest answer has waited {duration(waits)} for a worker, since"
    return HealthCheck(
        "Decided, not picked up", tone, text, at=since, href=visit.href("queue", tab="decided"), link="Open the list"
    )


def _webhooks(visit: Visit) -> list[HealthCheck]:
    """Where there are any: whether those who want to be told are told."""
    found = deliverings(visit.reach)
    if not found:
        return []
    troubled = [each for each in found if each.failing or each.given_up or _waits(visit, each) > TOLD_LATE]
    if not troubled:
        waiting = sum(each.pending for each in found)
        words = f"{waiting:,} on their way" if waiting else "Everything was told"
        return [HealthCheck("Webhooks", "good", f"{words}, to {len(found)} receiver{'s' * (len(found) > 1)}")]
    oldest = min((each.oldest_at for each in troubled if each.oldest_at), default=None)
    worst = any(each.given_up or _waits(visit, each) > UNTOLD for each in troubled)
    admin = [each for each in troubled if Role.ADMIN in visit.caller.roles_at(each.webhook.scope)]
    href = f"{visit.href('access')}#webhooks"
    if len(troubled) == 1:
        href = visit.href("webhook", troubled[0].webhook.id)
    who, what = _who(troubled, len(found), named=bool(admin)), _what(troubled)
    text = f"{who}: {what}" if who else what[0].upper() + what[1:]
    return [
        HealthCheck(
            "Webhooks",
            "stop" if worst else "soon",
            text,
            at=oldest,
            href=href if admin else "",
            link="Open its deliveries" if len(troubled) == 1 else "Open the list",
        )
    ]


def _waits(visit: Visit, each: Delivering) -> timedelta:
    return timedelta(0) if each.oldest_at is None else visit.now - each.oldest_at


def _who(troubled: list[Delivering], total: int, *, named: bool) -> str:
    if len(troubled) == 1 and named:
        return webhook_name(troubled[0].webhook)
    return f"{len(troubled)} of {total}" if total > 1 else ""


def _what(troubled: list[Delivering]) -> str:
    """What is wrong with them, ending where the instant of the oldest that waits follows."""
    waiting = sum(each.pending for each in troubled)
    waits = f"{waiting:,} wait{'s' * (waiting == 1)}, the oldest since" if waiting else ""
    given_up, failing = any(each.given_up for each in troubled), any(each.failing for each in troubled)
    if given_up:
        said = "the last delivery was given up" if len(troubled) == 1 else "deliveries were given up"
        return f"{said}; {waits}" if waits else said
    if failing:
        one = len(troubled) == 1
        said = "the receiver does not take what it is told" if one else "the receivers do not take what they are told"
        return f"{said}; {waits}"
    return f"nobody sends; {waits}"


def _silent(visit: Visit, run: Run) -> SilentRun:
    return SilentRun(
        id=run.id,
        href=visit.href("run", run.id),
        agent=run.agent_name or "",
        scope=run.scope.text,
        since=run.updated_at,
        holder=run.lease.owner if run.lease else "",
    )
