"""Receipts: the lists, one with its chain, Verify, downloads and exports."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpResponse, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.views.decorators.http import require_POST, require_safe

from suspensions.domain.errors import InvalidRequest, NotFound
from suspensions.domain.instants import format_instant
from suspensions.domain.receipt_objects import Receipt, kind_of
from suspensions.domain.strict_json import dumps
from suspensions.domain.values import Admission, Closure, Expiry, Page, Start, SuspensionItem
from suspensions.operations.receipts import verify_receipt
from suspensions.pages.contexts import Empty, Link, ReceiptRow, ReceiptsPage, Search, Tab
from suspensions.pages.lives import actor_words
from suspensions.pages.queue_rows import call_lines
from suspensions.pages.receipt_pages import Shown, at_and_actor, document, receipt_of, receipt_page, verify_box
from suspensions.pages.rendering import render_fragment, render_page, wants_fragment
from suspensions.pages.standings import decisions_in, summary
from suspensions.pages.views.queue import choice
from suspensions.pages.visits import Visit, signed_in
from suspensions.queries import receipts
from suspensions.queries.lately import pauses_of, short_answers
from suspensions.queries.pause_page import read_pause
from suspensions.queries.people import display_names

LIMIT = 50
CALLS_SHOWN = 2
"""So many calls of a receipt's pause stand in its row; the others are counted."""
MAX_EXPORTED = 10_000
_TABS = {"admission": "Admissions", "start": "Starts", "expiry": "Expiries", "closure": "Closures"}


@dataclass(frozen=True, slots=True)
class Asked:
    """Which receipts are asked for, as the address says it."""

    kind: str
    words: str = ""
    tool: str = ""
    by_pause: bool = False
    """Whether the words are looked for in what the pauses asked, too."""
    when: str = ""

    def query(self, **more: str) -> dict[str, str]:
        """The address of just these; the list of admissions is the plain one."""
        kind = "" if self.kind == "admission" else self.kind
        return {
            "kind": kind,
            "q": self.words,
            "tool": self.tool,
            "by": "pause" if self.by_pause else "",
            "when": self.when,
            **more,
        }

    @property
    def looks(self) -> bool:
        """Whether the pauses must be looked through, which an index does not tell apart."""
        return bool(self.tool or self.when) or self.by_pause

    def read(self, visit: Visit, cursor: str | None, limit: int) -> Page[Receipt]:
        if not self.looks:
            return receipts.list_receipts(self.kind, visit.reach, self.words, cursor, limit)
        since, until = _days(self.when, visit.today)
        asked = receipts.Asked(self.tool, self.words, since, until, (self.tool, self.words, self.when))
        return receipts.look_through(self.kind, visit.reach, asked, cursor, limit)


_WHEN = {"today": "today", "yesterday": "yesterday", "7d": "last 7 days", "30d": "last 30 days"}


def _days(when: str, today: datetime) -> tuple[datetime | None, datetime | None]:
    """From the reader's midnight on, to another one. Days are the calendar's, also where the clock is put forward."""
    if when == "yesterday":
        return today - timedelta(days=1), today
    back = {"today": 0, "7d": 6, "30d": 29}.get(when)
    return None if back is None else today - timedelta(days=back), None


def _asked(query: QueryDict) -> Asked:
    """Raises: InvalidRequest."""
    kind = query.get("kind") or "admission"
    if kind not in _TABS:
        raise InvalidRequest("kind names no kind of receipt.")
    when = query.get("when", "")
    if when and when not in _WHEN:
        raise InvalidRequest("when names no days.")
    return Asked(kind, query.get("q", "").strip(), query.get("tool", ""), query.get("by") == "pause", when)


@require_safe
@signed_in
def index(visit: Visit) -> HttpResponseBase:
    """Receipts of one kind, newest pause first; with `export` the whole filtered list as a file."""
    query = visit.request.GET
    asked, after = _asked(query), query.get("after") or None
    if query.get("export"):
        return _export(visit, asked, query["export"])
    found = asked.read(visit, after, LIMIT)
    if asked.words and not asked.looks and not found.items and after is None:
        # Neither an id, nor a digest, nor a person: then it may be a word of what was asked.
        asked = replace(asked, by_pause=True)
        found = asked.read(visit, None, LIMIT)
    page = _page(visit, asked, found)
    variables = {
        "rows": page.rows,
        "empty": page.empty,
        "older_href": page.older_href,
        "looked": page.looked,
        "now": visit.now,
    }
    return render_page(
        visit.request,
        "suspensions/receipts.html",
        page,
        fragment="suspensions/_receipts_results.html",
        variables=variables,
    )


def _page(visit: Visit, asked: Asked, found: Page[Receipt]) -> ReceiptsPage:
    exports = [
        Link(label, visit.href("receipts", **asked.query(export=form)))
        for label, form in (("JSON lines", "jsonl"), ("CSV", "csv"))
    ]
    rows = _rows(visit, found.items)
    older = visit.href("receipts", **asked.query(after=found.next)) if found.next else ""
    stopped = asked.looks and found.next is not None and len(found.items) < LIMIT
    looked = f"{receipts.looked_at(visit.reach):,}" if stopped else ""
    return ReceiptsPage(
        chrome=visit.chrome("Receipts"),
        tabs=[
            Tab(label, visit.href("receipts", **replace(asked, kind=key).query()), current=key == asked.kind)
            for key, label in _TABS.items()
        ],
        search=_search(visit, asked, rows),
        rows=rows,
        empty=None if found.items else _empty(visit, asked, looked, older),
        older_href=older,
        looked=looked,
        exports=exports if found.items else (),
    )


def _search(visit: Visit, asked: Asked, rows: Sequence[ReceiptRow]) -> Search:
    """The filter line; tools to choose from are those in sight, as in the queue."""
    scopes = {grant.scope.text: grant.scope.text for grant in visit.caller.grants}
    tools = {call.tool: call.tool for row in rows for call in row.calls}
    return Search(
        action=visit.request.path,
        query=asked.words,
        placeholder="Tool, person, id or digest",
        label="Search receipts by tool, words of the arguments, person, run, pause or digest",
        filters=[
            choice("tool", "Tool", dict(sorted(tools.items())), visit.request.GET),
            choice("when", "When", _WHEN, visit.request.GET),
            choice("scope", "Scope", scopes, visit.request.GET, none="all"),
        ],
        kept=[("kind", asked.kind)] if asked.kind != "admission" else [],
    )


def _empty(visit: Visit, asked: Asked, looked: str, older: str) -> Empty:
    if asked.words or asked.tool or asked.when:
        what = ", ".join(
            each for each in (f"“{asked.words}”" if asked.words else "", asked.tool, _WHEN.get(asked.when, "")) if each
        )
        if looked:
            title = f"No {asked.kind} of the newest {looked} matches {what}"
            return Empty(title, "There are older ones to look through.", Link("Look further back", older))
        text = (
            "Searched tools, notes and arguments of the pauses, runs, people and digests. "
            "An id or a digest must be whole; of a pause that was purged no words are left."
        )
        everything = visit.href("receipts", **Asked(asked.kind).query())
        return Empty(f"No {asked.kind} matches {what}", text, Link("Clear the search", everything))
    return {
        "admission": Empty("No admissions yet", "One is written whenever an answer to a pause is taken."),
        "start": Empty("No starts yet", "One is written whenever a worker is granted an admitted answer."),
        "expiry": Empty("No expiries", "Every admitted answer was started in time, or still may be."),
        "closure": Empty("No closures", "No uncertain start had to be closed with proof."),
    }[asked.kind]


def _version(receipt: Receipt) -> Any:
    return receipt.request.version if isinstance(receipt, Closure) else receipt.version


def _rows(visit: Visit, found: Sequence[Receipt]) -> list[ReceiptRow]:
    names = display_names(at_and_actor(receipt)[1].principal for receipt in found)
    pauses = pauses_of([_version(receipt).suspension_id for receipt in found])
    answers = short_answers([receipt.version.suspension_id for receipt in found if isinstance(receipt, Admission)])
    rows = []
    for receipt in found:
        suspension_id = _version(receipt).suspension_id
        decided = decisions_in(answers.get(suspension_id, b""))
        rows.append(_row(visit, receipt, names, pauses.get(suspension_id), summary(decided)))
    return rows


def _row(
    visit: Visit, receipt: Receipt, names: dict[str, str], pause: SuspensionItem | None, decided: str
) -> ReceiptRow:
    calls, more_calls = call_lines(pause, CALLS_SHOWN)
    version, (at, actor) = _version(receipt), at_and_actor(receipt)
    match receipt:
        case Admission():
            text = decided or f"answered, {receipt.reason.value.replace('_', ' ')}"
        case Start():
            text = f"to {receipt.lease_owner}" if receipt.lease_owner else "without a lease"
        case Expiry():
            text = "nobody started it"
        case Closure():
            text = f"proof of {receipt.request.issuer}"
    scope = receipt.request.scope if isinstance(receipt, Closure) else receipt.scope
    return ReceiptRow(
        kind=kind_of(receipt),
        href=visit.href("receipt", kind_of(receipt), version.run_id, version.suspension_id),
        at=at,
        by=actor_words(actor, names),
        run_id=version.run_id,
        suspension_id=version.suspension_id,
        digest=receipt.digest,
        scope=scope.text,
        text=text,
        calls=calls,
        more_calls=more_calls,
    )


# -- one receipt -----------------------------------------------------------------------------------------


def _shown(visit: Visit, kind: str, run_id: str, suspension_id: str) -> Shown:
    """Raises: NotFound for one that is not there, or that no grant covers."""
    read = read_pause(visit.everywhere, suspension_id)
    receipt = receipt_of(kind, read) if kind in _TABS and read.pause.run_id == run_id else None
    if receipt is None:
        raise NotFound
    there = [found for found in (read.admission, read.outcome, read.closure) if found is not None]
    names = display_names(at_and_actor(found)[1].principal for found in there)
    return Shown(kind, read, receipt, names)


@require_safe
@signed_in
def show(visit: Visit, kind: str, run_id: str, suspension_id: str) -> HttpResponse:
    """One receipt with its members, its digest's object and its chain."""
    page = receipt_page(visit, _shown(visit, kind, run_id, suspension_id))
    return render_page(visit.request, "suspensions/receipt.html", page)


@require_POST
@signed_in
def verify(visit: Visit, kind: str, run_id: str, suspension_id: str) -> HttpResponse:
    """Recompute everything about the receipt on the server, and say what matched."""
    shown = _shown(visit, kind, run_id, suspension_id)
    checks = verify_receipt(visit.caller, shown.read.pause.scope, kind, run_id, suspension_id)
    if wants_fragment(visit.request):
        box = verify_box(visit, shown, checks)
        return render_fragment(visit.request, "suspensions/_verify.html", {"verify": box, "now": visit.now})
    return render_page(visit.request, "suspensions/receipt.html", receipt_page(visit, shown, checks))


@require_safe
@signed_in
def download(visit: Visit, kind: str, run_id: str, suspension_id: str) -> HttpResponse:
    """The receipt as a JSON file."""
    shown = _shown(visit, kind, run_id, suspension_id)
    response = HttpResponse(document(shown), content_type="application/json")
    response.headers["Content-Disposition"] = f'attachment; filename="{kind}-{suspension_id}.json"'
    response.headers["Cache-Control"] = "no-store"
    return response


# -- exports ---------------------------------------------------------------------------------------------

_COLUMNS = ("kind", "at", "by", "via", "run_id", "suspension_id", "scope", "digest", "record_sha256")


def _export(visit: Visit, asked: Asked, form: str) -> HttpResponseBase:
    """The filtered list, newest pause first, up to `MAX_EXPORTED` receipts. Raises: InvalidRequest."""
    if form not in ("jsonl", "csv"):
        raise InvalidRequest("export is jsonl or csv.")
    found = _all(visit, asked)
    lines: Iterable[bytes] = _json_lines(found) if form == "jsonl" else _csv_lines(found)
    content_type = "application/jsonl" if form == "jsonl" else "text/csv; charset=utf-8"
    response = StreamingHttpResponse(lines, content_type=content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{asked.kind}-receipts.{form}"'
    response.headers["Cache-Control"] = "no-store"
    return response


def _all(visit: Visit, asked: Asked) -> Iterator[Receipt]:
    cursor, left = None, MAX_EXPORTED
    while left > 0:
        found = asked.read(visit, cursor, min(left, 256))
        yield from found.items
        left -= len(found.items)
        cursor = found.next
        if cursor is None:
            return


def _values(receipt: Receipt) -> tuple[str, ...]:
    version, (at, actor) = _version(receipt), at_and_actor(receipt)
    scope = receipt.request.scope if isinstance(receipt, Closure) else receipt.scope
    return (
        kind_of(receipt),
        format_instant(at),
        actor.principal,
        actor.via,
        version.run_id,
        version.suspension_id,
        scope.text,
        receipt.digest,
        receipt.record_sha256,
    )


def _json_lines(found: Iterable[Receipt]) -> Iterator[bytes]:
    for receipt in found:
        yield dumps({**dict(zip(_COLUMNS, _values(receipt), strict=True)), "record": receipt.record()}) + b"\n"


class _Line:
    """What `csv` writes to: it hands each line on."""

    def write(self, text: str) -> bytes:
        return text.encode()


def _csv_lines(found: Iterable[Receipt]) -> Iterator[bytes]:
    writer = csv.writer(_Line())
    yield writer.writerow(_COLUMNS)
    for receipt in found:
        yield writer.writerow([safe_cell(value) for value in _values(receipt)])


def safe_cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
