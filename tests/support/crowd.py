"""Very many waiting pauses at once, straight into the tables: what no test would make one by one.

The rows are as the product writes them where lists look; digests and events are left out. One tenant has fifty desks,
of which the first is the largest, and thousands of branches; another tenant has as much again, unseen.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Model

from suspensions.domain.preview import call_preview, search_text
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import dumps
from suspensions.domain.values import PendingCall, Reason
from suspensions.models import Admission, Closure, Event, Interaction, StartOrExpiry
from suspensions.models.fields import InstantField, to_database

DESKS, BRANCHES = 50, 4_000
TOOLS = [
    f"{verb}_{noun}" for verb in ("cancel", "update", "book", "refund") for noun in ("flight", "seat", "bag", "meal")
]
RARE_TOOL, RARE_AGENT = "wire_transfer", "night-shift"
AGENTS = [f"agent-{number}" for number in range(12)]
CITIES = [f"{start}{end}" for start in ("Ober", "Unter", "Neu", "Alt", "Bad") for end in ("berg", "tal", "feld", "hof")]


@dataclass(frozen=True, slots=True)
class Crowd:
    """Where the pauses lie."""

    tenant: str
    other: str

    @property
    def desks(self) -> list[Scope]:
        return [Scope(f"w={self.tenant}/p=desk-{number:02}") for number in range(DESKS)]

    @property
    def broad(self) -> Scope:
        return Scope(f"w={self.tenant}")


def load(crowd: Crowd, count: int, now: datetime, *, continuation: int = 1_000, foreign: float = 0.2) -> None:
    """Commit `count` waiting pauses of the tenant, and a share more of the other one."""
    made = random.Random(7)
    body = b'{"messages":[{"role":"user","content":"' + b"x" * (continuation - 43) + b'"}]}'
    pauses = _Pauses(crowd, made, now, body)
    total = count + int(count * foreign)
    size = 20_000
    for start in range(0, total, size):
        numbers = range(start, min(start + size, total))
        rows = [pauses.row(number, total, number % 6 == 5 if foreign else False) for number in numbers]
        _insert("run", [row.run for row in rows])
        _insert("suspension", [row.suspension for row in rows])
        _insert("suspension_continuation", [row.continuation for row in rows])


def analyse() -> None:
    """Let the planner know what is there now; on PostgreSQL with every page known to be visible to all.

    Its own vacuum may look at one of the tables meanwhile, and as long as its snapshot is older than what was loaded,
    no page of that is marked: the planner then thinks little of reading an index alone.

    Raises: AssertionError where somebody holds an old snapshot for good.
    """
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            cursor.execute("ANALYZE")
            return
        cursor.execute("VACUUM ANALYZE")
        for _ in range(2_000):
            cursor.execute(
                "SELECT string_agg(quote_ident(relname), ', ') FROM pg_class"
                " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relallvisible < relpages"
            )
            (unmarked,) = cursor.fetchone()
            if unmarked is None:
                return
            cursor.execute(f"VACUUM ANALYZE {unmarked}")
    raise AssertionError(f"somebody holds an old snapshot: {unmarked}")


@dataclass(frozen=True, slots=True)
class _Rows:
    run: dict[str, Any]
    suspension: dict[str, Any]
    continuation: dict[str, Any]


class _Pauses:
    def __init__(self, crowd: Crowd, made: random.Random, now: datetime, body: bytes) -> None:
        self._crowd, self._made, self._now, self._body = crowd, made, now, body
        self._begun = now - timedelta(days=7)
        self._desks = [scope.text for scope in crowd.desks]

    def row(self, number: int, total: int, foreign: bool) -> _Rows:
        chance = self._made.random()
        scope = self._scope(chance, number, foreign)
        prefixes = dict(zip(("scope_1", "scope_2", "scope_3"), Scope(scope).prefixes, strict=True))
        created = self._begun + timedelta(days=7) * (number / total)
        at = self.instant(created)
        name = f"{self._crowd.tenant}{number:020}" if number >= 0 else f"{self._crowd.tenant}-{-number:019}"
        run_id, pause_id = f"run_{name}", f"sus_{name}"
        who = f'{{"principal":"maker-{number % 9}","via":"token:crowd"}}'
        shared = {"scope": scope, **prefixes, "created_by": who, "created_at": at, "updated_at": at}
        agent = RARE_AGENT if number % 20_000 == 11 else self._made.choice(AGENTS)
        call = self._call(number)
        run = {
            "id": run_id,
            **shared,
            "agent_name": agent,
            "state": "paused",
            "revision": 2,
            "step_count": 1,
            "tokens_used": 10,
            "persona_ref": "",
            "metadata": b"{}",
            "request_sha256": "0" * 64,
            "lease_epoch": 0,
            "progress_epoch": 0,
            "progress_revision": 0,
            "open_interactions": 0,
            "event_position": 2,
            "last_suspension_id": pause_id,
        }
        suspension = {
            "id": pause_id,
            **shared,
            "run_id": run_id,
            "reason": self._reason(),
            "agent_name": agent,
            "pending": dumps([call.to_json()]),
            "calls": dumps([call_preview(call.name, call.arguments).to_json() | {"note": call.note}]),
            "search_text": search_text([call]),
            "pending_sha256": "0" * 64,
            "continuation_sha256": "0" * 64,
            "digest": "0" * 64,
            "request_sha256": "0" * 64,
            "expires_at": self._deadline(),
        }
        return _Rows(run, suspension, {"suspension_id": pause_id, "body": self._body})

    def _scope(self, chance: float, number: int, foreign: bool) -> str:
        if foreign:
            return f"w={self._crowd.other}/p=branch-{number % BRANCHES:04}"
        if chance < 0.1:
            return self._desks[0]
        if chance < 0.5:
            return self._desks[1 + int((chance - 0.1) / 0.4 * (DESKS - 1))]
        return f"w={self._crowd.tenant}/p=branch-{number % BRANCHES:04}"

    def _reason(self) -> str:
        chance = self._made.random()
        return (Reason.APPROVAL if chance < 0.7 else Reason.EXTERNAL_TOOL if chance < 0.9 else Reason.AGENT_REPLY).value

    def _deadline(self) -> Any:
        if self._made.random() < 0.3:
            return None
        return self.instant(self._now + timedelta(seconds=self._made.uniform(-3_600, 3 * 86_400)))

    def _call(self, number: int) -> PendingCall:
        made = self._made
        tool = RARE_TOOL if number % 10_000 == 7 else made.choice(TOOLS)
        arguments = (
            f'{{"reservation_id":"{code(number)}","customer":"guest-{made.randrange(5_000)}","city":"{made.choice(CITIES)}",'
            f'"seat":"{made.randrange(1, 200)}C","reason":"The passenger asks to move the flight and keep both bags."}}'
        )
        return PendingCall("call-1", tool, arguments, note=f"lane {made.randrange(120)}: over the limit")

    def instant(self, instant: datetime) -> Any:
        return to_database(instant, connection.vendor)


def code(number: int) -> str:
    """The reservation's code of the pause with this number; no other has it."""
    return f"r{number:07}"


def _insert(table: str, rows: list[dict[str, Any]]) -> None:
    columns = list(rows[0])
    names = ", ".join(columns)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(tuple(row[name] for name in columns))
            return
        places = ", ".join("%s" for _ in columns)
        # Committed one by one, each row would wait for the disk.
        with transaction.atomic():
            cursor.executemany(
                f"INSERT INTO {table} ({names}) VALUES ({places})", [tuple(row.values()) for row in rows]
            )


def load_history(crowd: Crowd, count: int, now: datetime) -> None:
    """Commit so many of whatever else lists show: decided, started, expired and closed pauses, receipts, questions."""
    pauses = _Pauses(crowd, random.Random(11), now, b"{}")
    at = [pauses.instant(now - timedelta(seconds=30 * number)) for number in range(count)]
    rows = [pauses.row(-number - 1, count, foreign=False) for number in range(count)]
    events, admissions, outcomes, closures, questions = [], [], [], [], []
    for number, row in enumerate(rows):
        admitted, started = number % 4 < 3, number % 4 == 1
        row.suspension["claimed_at"] = at[number]
        if admitted:
            row.run.update({"state": "running", "admission_id": row.suspension["id"], "admitted_at": at[number]})
            row.run["resume"] = "started" if started else "admitted"
        else:
            row.run.update({"state": "failed", "completed_at": at[number]})
            row.suspension["retired_at"] = at[number]
        shared = {name: row.run[name] for name in ("scope", "scope_1", "scope_2", "scope_3")}
        receipt = shared | {"suspension_id": row.suspension["id"], "run_id": row.run["id"]}
        admissions.append(_filled(Admission, receipt, admitted_at=at[number], reason="approval", input_bytes=1))
        admissions[-1]["claimed_revision"] = admissions[-1]["run_revision"] + 1
        kind = "start" if number % 2 else "expiry"
        expired = {"lease_owner": None, "request_id": None, "expired_revision": 3}
        outcome = {"request_id": None} if number % 2 else expired
        outcomes.append(_filled(StartOrExpiry, receipt | outcome, kind=kind, at=at[number]))
        if number % 2:
            outcomes[-1] |= {"expired_revision": None, "lease_owner": "worker-1"}
        closures.append(
            _filled(Closure, receipt, proof_ref=f"proof-{crowd.tenant}-{number}", request_revision=4, run_revision=5)
        )
        what = {"id": f"evt_{crowd.tenant}{number:020}", "chain": row.run["id"], "run_id": row.run["id"]}
        kinds = ("run.created", "run.paused", "resume.expired", "run.expired")
        events.append(_filled(Event, shared | what, type=kinds[number % 4], at=at[number]))
        asked = {"interaction_id": f"q-{number}", "run_id": None, "created_at": at[number]}
        asked |= dict.fromkeys(("answer", "answered_at", "answered_by", "resolved_by"))
        questions.append(_filled(Interaction, shared | asked, resolved_at=at[number] if number % 2 else None))
        del questions[-1]["id"]
        questions[-1]["resolved_by"] = questions[-1]["created_by"] if number % 2 else None
    _insert("run", [_whole(row.run, "admission_id", "resume", "admitted_at", "completed_at") for row in rows])
    _insert("suspension", [_whole(row.suspension, "retired_at") for row in rows])
    for table, found in (
        ("resume_admission", admissions),
        ("resume_start_or_expiry", outcomes),
        ("resume_closure", closures),
        ("event", events),
        ("interaction", questions),
    ):
        _insert(table, found)


def _whole(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return dict.fromkeys(names) | row


def _filled(model: type[Model], *known: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A row with something in each column that nobody cares about."""
    actor = '{"principal":"maker-1","via":"token:crowd"}'
    row: dict[str, Any] = {}
    for field in model._meta.concrete_fields:
        plain = {"BinaryField": b"{}", "BigIntegerField": 1, "IntegerField": 1, "BigAutoField": 0}
        person = field.column in ("actor", "admitted_by", "closed_by", "created_by")
        text = actor if person else "0"
        row[field.column] = plain.get(field.get_internal_type(), text)
        if isinstance(field, InstantField):
            row[field.column] = to_database(datetime(2031, 1, 1, tzinfo=UTC), connection.vendor)
    for each in (*known, more):
        row |= each
    return row
