"""The queue, and the news that its polls ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.views.decorators.http import require_safe

from suspensions.domain.errors import InvalidRequest
from suspensions.domain.instants import format_instant, parse_instant
from suspensions.domain.values import Page, Reason
from suspensions.pages.contexts import (
    Empty,
    Filter,
    Link,
    Option,
    QueueGroup,
    QueueNews,
    QueuePage,
    Search,
    Tab,
)
from suspensions.pages.formats import bounded
from suspensions.pages.queue_rows import Rows, principals_of
from suspensions.pages.rendering import render_fragment, render_page
from suspensions.pages.visits import Visit, signed_in
from suspensions.queries import looking, queue
from suspensions.queries.people import display_names
from suspensions.queries.queue import QueueFilters, QueueItem

LIMIT = 50
MAX_SHOWN = 500
"""So many rows in sight may be asked about in one poll."""
SLACK = timedelta(seconds=5)
"""A row may be committed a moment after a list that was read later than its own time."""
TABS = {"": "Needs me", "all": "All waiting", "decided": "Decided, not picked up", "expired": "Expired today"}
AGES = {"1h": timedelta(hours=1), "8h": timedelta(hours=8), "1d": timedelta(days=1)}
DEADLINES = {"15m": timedelta(minutes=15), "1h": timedelta(hours=1), "1d": timedelta(days=1)}
_FILTERS = ("q", "reason", "tool", "agent", "scope", "age", "deadline")


@require_safe
@signed_in
def show(visit: Visit) -> HttpResponse:
    """The queue, or with `part=news` what happened since it was rendered."""
    query = visit.request.GET
    tab = query.get("tab", "")
    if tab not in TABS:
        raise InvalidRequest("tab names no part of the queue.")
    filters = read_filters(query, visit.now)
    if query.get("part") == "news":
        return _news(visit, tab, filters)
    lists = _read(visit, tab, filters, query.get("after") or None)
    page = _page(visit, tab, lists)
    variables = {
        "groups": page.groups,
        "news": page.news,
        "empty": page.empty,
        "older_href": page.older_href,
        "bulk_href": page.bulk_href,
        "bulk_scope": page.bulk_scope,
        "now": visit.now,
    }
    return render_page(
        visit.request, "suspensions/queue.html", page, fragment="suspensions/_queue_results.html", variables=variables
    )


@require_safe
@signed_in
def next_in_queue(visit: Visit) -> HttpResponse:
    """Go on to what needs this person after the pause they come from; to the queue where nothing else does."""
    found = queue.next_of_mine(visit.reach, visit.answerer, visit.request.GET.get("from", ""))
    return HttpResponseRedirect(visit.href("queue") if found is None else visit.href("pause", found))


def read_filters(query: QueryDict, now: datetime) -> QueueFilters:
    """The filters that stand in the address. Raises: InvalidRequest for a value that is none."""
    try:
        reason = Reason(text) if (text := query.get("reason")) else None
        age = AGES[text] if (text := query.get("age")) else None
        deadline = DEADLINES[text] if (text := query.get("deadline")) else None
    except (ValueError, KeyError):
        raise InvalidRequest("A filter has a value that it does not know.") from None
    return QueueFilters(
        reason=reason,
        tool=query.get("tool") or None,
        agent_name=query.get("agent") or None,
        words=query.get("q", "").strip() or None,
        created_before=None if age is None else now - age,
        expires_before=None if deadline is None else now + deadline,
        texts=tuple(query.get(name, "") for name in _FILTERS),
    )


_Lists = Sequence[tuple[str, str, Page[QueueItem]]]


def _read(visit: Visit, tab: str, filters: QueueFilters, after: str | None) -> _Lists:
    """The lists of a tab with their keys and titles. `after` is a list's key, a colon and its cursor."""
    key, _, cursor = (after or "").partition(":")
    if tab == "decided":
        return [("decided", TABS[tab], queue.list_decided(visit.reach, filters, cursor or None, LIMIT))]
    if tab == "expired":
        return [("expired", TABS[tab], queue.list_expired(visit.reach, visit.today, cursor or None, LIMIT))]
    lists: list[tuple[str, str, Page[QueueItem]]] = []
    if key != "others":
        mine = queue.list_waiting(visit.reach, visit.answerer, filters, cursor or None, LIMIT, mine=True)
        lists.append(("mine", "Yours to decide", mine))
        if tab != "all" or mine.next is not None:
            return lists
        cursor = ""
    others = queue.list_waiting(visit.reach, visit.answerer, filters, cursor or None, LIMIT, mine=False)
    return [*lists, ("others", "Waiting for somebody else", others)]


def _page(visit: Visit, tab: str, lists: _Lists) -> QueuePage:
    items = [item for _, _, page in lists for item in page.items]
    shown = [(key, title, page) for key, title, page in lists if page.items]
    key, _, last = lists[-1]
    query = visit.request.GET.copy()
    is_later = bool(query.pop("after", None))
    until = _until(query.get("until", ""), lists, is_later=is_later)
    query.pop("until", None)
    older = query.copy()
    older["after"] = f"{key}:{last.next}"
    if until:
        older["until"] = until
    groups = _groups(visit, shown, items)
    return QueuePage(
        chrome=visit.chrome("Queue"),
        tabs=_tabs(visit, tab),
        search=_search(visit, tab, items),
        groups=groups,
        news=_start_of_news(visit, query, until, is_whole=last.next is None and not is_later),
        empty=None if shown else _empty(visit, tab),
        older_href=f"{visit.request.path}?{older.urlencode()}" if last.next else "",
        bulk_scope=visit.chosen.text if visit.chosen else "",
        bulk_href=visit.href("bulk", scope="") if any(row.pick for group in groups for row in group.rows) else "",
    )


def _groups(visit: Visit, lists: _Lists, items: Sequence[QueueItem]) -> list[QueueGroup]:
    lookers = looking.lookers([item.pause.id for item in items], visit.now, visit.caller.principal)
    deciders = principals_of(items)
    names = {looker.principal: looker.name for found in lookers.values() for looker in found}
    names |= display_names(deciders)
    href = {item.pause.id: visit.href("pause", item.pause.id) for item in items}
    rows = Rows(visit.caller, visit.now, href, names, lookers)
    return [
        QueueGroup(key, title, _count(visit, key, page), [rows.row(item) for item in page.items])
        for key, title, page in lists
    ]


def _count(visit: Visit, key: str, page: Page[QueueItem]) -> str:
    """How many, which of them where there are more, and in which order."""
    begun, _, cursor = visit.request.GET.get("after", "").partition(":")
    goes_on, is_later = page.next is not None, begun == key and bool(cursor)
    if len(page.items) == 1:
        return "the last one" if is_later and not goes_on else "1"
    which = ("the next " if goes_on else "the last ") if is_later else "the first " if goes_on else ""
    order = {"mine": ", nearest deadline first", "others": ", nearest deadline first", "expired": ", latest first"}
    return f"{which}{len(page.items)}{order.get(key, ', oldest first')}"


def _tabs(visit: Visit, tab: str) -> list[Tab]:
    counts = {"": "mine", "all": "waiting", "decided": "decided", "expired": "expired"}
    counted = visit.counted
    tabs = [
        Tab(label, visit.href("queue", tab=key), counted[counts[key]], current=key == tab, counts=counts[key])
        for key, label in TABS.items()
    ]
    uncertain = counted["uncertain"]
    tabs.insert(3, Tab("Uncertain", visit.href("uncertain"), uncertain, alert=True, counts="uncertain"))
    return tabs


def _search(visit: Visit, tab: str, items: Sequence[QueueItem]) -> Search:
    """The filter line. Tools and agents to choose from are those in sight: to know all is to read everything."""
    query = visit.request.GET
    if tab == "expired":
        return _search_expired(visit)
    tools = {call["name"] for item in items for call in item.pause.calls}
    agents = {item.pause.agent_name for item in items if item.pause.agent_name}
    scopes = {grant.scope.text for grant in visit.caller.grants}
    reasons = {"approval": "approval", "external_tool": "external tool", "agent_reply": "agent reply"}
    ages = {"1h": "over 1 h", "8h": "over 8 h", "1d": "over 1 day"}
    deadlines = {"15m": "within 15 min", "1h": "within 1 h", "1d": "within 1 day"}
    return Search(
        action=visit.request.path,
        query=query.get("q", ""),
        label="Search the queue by tool, note, arguments or id",
        kept=[("tab", tab)] if tab else [],
        filters=[
            choice("reason", "Reason", reasons, query),
            choice("tool", "Tool", {name: name for name in sorted(tools)}, query),
            choice("agent", "Agent", {name: name for name in sorted(agents)}, query),
            choice("scope", "Scope", {name: name for name in sorted(scopes)}, query, none="all"),
            choice("age", "Age", ages, query),
            choice("deadline", "Deadline", deadlines, query),
        ],
    )


def _search_expired(visit: Visit) -> Search:
    """What failed today is read from the events, which know scopes alone: nothing else is offered to filter by."""
    scopes = {grant.scope.text: grant.scope.text for grant in visit.caller.grants}
    filters = [choice("scope", "Scope", dict(sorted(scopes.items())), visit.request.GET, none="all")]
    runs = Link("Find a run that failed by its agent or id", visit.href("runs", state="failed"))
    return Search(visit.request.path, filters=filters, kept=[("tab", "expired")], words=False, instead=runs)


def choice(name: str, label: str, values: dict[str, str], query: QueryDict, none: str = "any") -> Filter:
    """A filter with these values; the one that is in force stands among them whatever else does."""
    chosen = query.get(name, "")
    if chosen and chosen not in values:
        values = {**values, chosen: chosen}
    options = [Option(value, text, selected=value == chosen) for value, text in values.items()]
    return Filter(name, label, [Option("", none), *options])


def _empty(visit: Visit, tab: str) -> Empty:
    query = visit.request.GET
    if not visit.everywhere:
        return Empty("You hold no grants yet", "An admin can grant you a role under People and access.")
    if tab != "expired" and any(query.get(name) for name in _FILTERS):
        words = f"“{query['q'].strip()}”" if query.get("q") else "these filters"
        everything = visit.request.path + (f"?tab={tab}" if tab else "")
        return Empty(
            f"No pause matches {words}",
            "Searched tools, notes, arguments and ids of what this tab lists. What was decided stands in the receipts.",
            Link("Clear the filters", everything),
            Link("Look through the receipts", visit.href("receipts", q=query.get("q", "").strip())),
        )
    if tab == "" and visit.counts.waiting:
        many = bounded(visit.counts.waiting)
        waits = "1 pause waits for somebody else." if many == "1" else f"{many} pauses wait for somebody else."
        text = f"{waits} New ones appear here by themselves."
        return Empty("Nothing needs you", text, Link("See all waiting", visit.href("queue", tab="all")))
    return {
        "": Empty("Nothing needs you", "No agent waits for anybody. New pauses appear here by themselves."),
        "all": Empty("Nothing waits", "No agent waits for anybody. New pauses appear here by themselves."),
        "decided": Empty("Everything that was decided was picked up", "Workers keep up with the decisions."),
        "expired": Empty("Nothing expired today", "Every pause of today was answered in time, or still waits."),
    }[tab]


# -- news ------------------------------------------------------------------------------------------------


_NEVER = datetime(9999, 1, 1, tzinfo=UTC)
"""Past every deadline: of what is due before it, each has one."""


def _until(carried: str, lists: _Lists, *, is_later: bool) -> str:
    """Before which deadline a row stands on the first page, where that is only the beginning of the person's own.

    Later pages carry it along, since showing what is new leads back to the first. Empty where every row is news.
    """
    if is_later:
        return carried
    key, _, last = lists[-1]
    return "" if key != "mine" or last.next is None else format_instant(last.items[-1].pause.expires_at or _NEVER)


def _start_of_news(visit: Visit, query: QueryDict, until: str, *, is_whole: bool) -> QueueNews:
    """What a page starts polling with. Where it is not all of the list, rows that are not in sight are no news."""
    since = visit.now - SLACK if is_whole else visit.now
    return _news_of(visit, query, since, until)


def _news_of(visit: Visit, query: QueryDict, since: datetime, until: str) -> QueueNews:
    polled, shown = query.copy(), query.copy()
    for name in ("part", "since", "until", "shown"):
        polled.pop(name, None)
        shown.pop(name, None)
    polled["part"], polled["since"] = "news", format_instant(since)
    if until:
        polled["until"] = until
    show_href = visit.request.path + (f"?{shown.urlencode()}" if shown else "")
    return QueueNews(f"{visit.request.path}?{polled.urlencode()}", show_href, since)


def _news(visit: Visit, tab: str, filters: QueueFilters) -> HttpResponse:
    query = visit.request.GET
    since = parse_instant(query.get("since", ""))
    until = query.get("until", "")
    shown = [name for name in query.get("shown", "").split(",")[:MAX_SHOWN] if name]
    news = _news_of(visit, query, since, until)
    new_count, gone = 0, []
    if tab in ("", "all"):
        now_there = queue.what_became(visit.reach, shown)
        names = display_names(principals_of(now_there.values()))
        rows = Rows(visit.caller, visit.now, {}, names, {})
        found = (rows.gone(name, now_there.get(name)) for name in shown)
        gone = [row for row in found if row is not None]
        mine = tab == "" or bool(until)
        new_count = queue.count_new(visit.reach, visit.answerer, _due(filters, until), since, shown, mine=mine)
    answer = QueueNews(news.poll_href, news.show_href, since, new_count, gone, visit.counted)
    return render_fragment(visit.request, "suspensions/_queue_news.html", {"news": answer, "now": visit.now})


def _due(filters: QueueFilters, until: str) -> QueueFilters:
    """The filters with the page's own end. Raises: InvalidRequest."""
    if not until:
        return filters
    end = parse_instant(until)
    return replace(filters, expires_before=min(end, filters.expires_before or end))
