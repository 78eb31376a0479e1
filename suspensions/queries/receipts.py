"""Receipts as values: those of one pause, and lists over all scopes that a person may see, newest pause first.

Lists never load an admission's input. Source: pages.md, "Receipts".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from suspensions.domain.cursors import make_cursor, read_cursor
from suspensions.domain.reach import Reach
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import dumps
from suspensions.domain.values import (
    Admission,
    Closure,
    Expiry,
    Page,
    Start,
)
from suspensions.domain.verification import Receipt
from suspensions.models import Admission as AdmissionRow
from suspensions.models import Closure as ClosureRow
from suspensions.models import StartOrExpiry, Suspension
from suspensions.models.receipt_rows import ADMISSION, CLOSURE, OUTCOME, to_admission, to_closure, to_outcome
from suspensions.queries.fragments import first
from suspensions.queries.reach import within
from suspensions.queries.suspensions import calling, matching

KINDS = ("admission", "start", "expiry", "closure")


def of_pause(suspension_id: str) -> tuple[Admission | None, Start | Expiry | None, Closure | None]:
    """What followed on a pause: its admission with the input, its start or expiry, its closure."""
    admission = AdmissionRow.objects.filter(suspension_id=suspension_id).values(*ADMISSION, "input").first()
    if admission is None:
        return None, None, None
    outcome = StartOrExpiry.objects.filter(suspension_id=suspension_id).values(*OUTCOME).first()
    closure = None
    if outcome is not None and outcome["kind"] == "start":
        closure = ClosureRow.objects.filter(suspension_id=suspension_id).values(*CLOSURE).first()
    return (
        to_admission(admission),
        None if outcome is None else to_outcome(outcome),
        None if closure is None else to_closure(closure),
    )


def scope_of(reach: Reach, run_id: str, suspension_id: str) -> Scope | None:
    """The scope of a pause's receipts where the reach covers it; each of them follows on an admission."""
    rows = AdmissionRow.objects.filter(within(reach), suspension_id=suspension_id, run_id=run_id)
    found = rows.values_list("scope", flat=True).first()
    return None if found is None else Scope(found)


def list_receipts(kind: str, reach: Reach, words: str, cursor: str | None, limit: int) -> Page[Receipt]:
    """Receipts of one kind, newest pause first.

    `words` finds a run, a pause, a person, or a digest of the receipt or of its request. Raises: InvalidCursor.
    """
    binding = ("receipts", kind, *(scope.text for scope in reach), words)
    rows, columns, person, _ = _table(kind)
    if words:
        rows = rows.filter(_matching(kind, words, person))
    after = read_cursor(cursor, binding, 1)
    if after is not None:
        rows = rows.filter(suspension_id__lt=after[0])
    keys = first("suspension_id", reach, rows, ("-suspension_id",), limit + 1)
    found = list(rows.model.objects.filter(pk__in=keys).order_by("-suspension_id").values(*columns))
    following = make_cursor(binding, found[limit - 1]["suspension_id"]) if len(found) > limit else None
    return Page(tuple(_to_receipt(kind, row) for row in found[:limit]), following)


_LOOKED_AT, _LEAST_LOOKED_AT = 5_000, 1_000
_CHUNK = 1_000


def looked_at(reach: Reach) -> int:
    """How many receipts one look for what was asked goes through; each scope is read so far, so fewer of many."""
    return max(_LEAST_LOOKED_AT, _LOOKED_AT // max(len(reach), 1))


@dataclass(frozen=True, slots=True)
class Asked:
    """What receipts are looked through for; what is empty or None narrows nothing.

    A pause that called the `tool`; that has the `words`, or a receipt that they find as in `list_receipts`; written
    from `since` on and before `until`. `texts` is all of it as it stands in the address, to which a cursor is bound.
    """

    tool: str = ""
    words: str = ""
    since: datetime | None = None
    until: datetime | None = None
    texts: tuple[str, ...] = ()


def look_through(kind: str, reach: Reach, asked: Asked, cursor: str | None, limit: int) -> Page[Receipt]:
    """Receipts of one kind that fit what is asked, newest pause first.

    A receipt keeps no words, and an index of what all pauses ever asked would cost a write at each of them. So this
    goes through the newest `looked_at` receipts; a page that is not full and has a next one says that there are older
    ones to look through. Raises: InvalidCursor.
    """
    binding = ("receipts asked", kind, *(scope.text for scope in reach), *asked.texts)
    rows, columns, _, _ = _table(kind)
    after = read_cursor(cursor, binding, 1)
    older = rows if after is None else rows.filter(suspension_id__lt=after[0])
    most = looked_at(reach)
    newest = rows.model.objects.filter(pk__in=first("suspension_id", reach, older, ("-suspension_id",), most + 1))
    keys = list(newest.order_by("-pk").values_list("pk", flat=True))
    found: list[str] = []
    for fitting in _fitting(kind, keys[:most], asked):
        found += fitting
        if len(found) > limit:
            break
    items = rows.model.objects.filter(pk__in=found[:limit]).order_by("-pk").values(*columns)
    last = found[limit - 1] if len(found) > limit else keys[most - 1] if len(keys) > most else None
    return Page(tuple(_to_receipt(kind, row) for row in items), None if last is None else make_cursor(binding, last))


def _fitting(kind: str, keys: Sequence[str], asked: Asked) -> Iterator[list[str]]:
    """Of these receipts those that are asked for, some at a time: what is often asked is found among the first."""
    rows, _, person, at = _table(kind)
    if asked.since is not None:
        rows = rows.filter(**{f"{at}__gte": asked.since})
    if asked.until is not None:
        rows = rows.filter(**{f"{at}__lt": asked.until})
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        pauses, found = Suspension.objects.filter(id__in=chunk), rows.filter(pk__in=chunk)
        if asked.tool:
            found = found.filter(pk__in=pauses.filter(calling(asked.tool)).values("id"))
        if asked.words:
            named = _matching(kind, asked.words, person)
            found = found.filter(named | Q(pk__in=pauses.filter(matching(asked.words)).values("id")))
        yield list(found.order_by("-pk").values_list("pk", flat=True))


def _table(kind: str) -> tuple[QuerySet[Any], tuple[str, ...], str, str]:
    """The rows of a kind, its columns, and the columns that name who did it and when."""
    if kind == "admission":
        return AdmissionRow.objects.all(), ADMISSION, "admitted_by", "admitted_at"
    if kind == "closure":
        return ClosureRow.objects.all(), CLOSURE, "closed_by", "closed_at"
    return StartOrExpiry.objects.filter(kind=kind), OUTCOME, "actor", "at"


def _matching(kind: str, words: str, person: str) -> Q:
    found = Q(run_id=words) | Q(suspension_id=words) | Q(request_digest=words) | Q(record_sha256=words)
    if kind == "admission":
        found |= Q(suspension_digest=words) | Q(input_sha256=words)
    if kind == "closure":
        found |= Q(admission_digest=words) | Q(start_digest=words) | Q(proof_ref=words) | Q(proof_digest=words)
    opening = dumps({"principal": words}).decode().removesuffix('"}')
    return found | Q(**{f"{person}__istartswith": opening})


def _to_receipt(kind: str, row: Mapping[str, Any]) -> Receipt:
    if kind == "admission":
        return to_admission(row)
    return to_closure(row) if kind == "closure" else to_outcome(row)


def starts_of(suspension_ids: Sequence[str]) -> dict[str, Start]:
    """The starts of these pauses, by pause."""
    rows = StartOrExpiry.objects.filter(suspension_id__in=suspension_ids, kind="start").values(*OUTCOME)
    found = ((row["suspension_id"], to_outcome(row)) for row in rows)
    return {suspension_id: start for suspension_id, start in found if isinstance(start, Start)}
