"""Reading whole chains for verification: what lies in the database now, row by row, however damaged.

Source: store.md sections 4 and 10. Nothing here writes; a run is locked only to look at it a second time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar

from suspensions.domain.digests import sha256_hex
from suspensions.domain.errors import CortexError
from suspensions.domain.question_history import QuestionRow, Settled
from suspensions.domain.run_history import PauseRow, RunColumns, kept_sha256, result_sha256
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import content_digest, loads
from suspensions.domain.values import Admission, Closure, Event, EventType, Expiry, Start
from suspensions.domain.verification import Finding, Head, Stored, Unreadable, require_recomputable
from suspensions.models.fields import from_database, read_instant
from suspensions.models.receipt_rows import OUTCOME, read_actor
from suspensions.store import admissions, closures, interaction_rows, resume_rows, run_rows, sql, suspension_rows
from suspensions.store.interaction_rows import InteractionRow

T = TypeVar("T")
HASHED = (Event, Admission, Start, Expiry, Closure)
BATCH = 100
AT_ONCE = 32 * 1024 * 1024
"""Bytes of contents that are held at once, unless a single run has more."""

_EVENT_COLUMNS = (
    "id, run_id, scope, type, at, actor, revision, suspension_id, data, position, previous, record_sha256, hash, chain"
)


class _Gathered:
    """Rows of several chains, told apart by chain; a row that does not read is kept by its name."""

    def __init__(self) -> None:
        self.events: dict[str, list[Event]] = defaultdict(list)
        self.receipts: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        self.runs: dict[str, RunColumns] = {}
        self.pauses: dict[str, dict[str, PauseRow]] = defaultdict(dict)
        self.questions: dict[str, dict[str, QuestionRow]] = defaultdict(dict)
        self.proofs: dict[str, dict[str, bytes]] = defaultdict(dict)
        self.unreadable: dict[str, list[Unreadable]] = defaultdict(list)
        self.misfiled: dict[str, list[Finding]] = defaultdict(list)

    def read(self, kind: str, row_id: str, chain: str, make: Callable[[], T]) -> T | None:
        try:
            made = make()
            parts: Any = made if isinstance(made, tuple) else (made,)
            for part in parts:
                if isinstance(part, HASHED):
                    require_recomputable(part)
            return made
        except (CortexError, ValueError, TypeError, KeyError, AttributeError):
            self.unreadable[chain].append(Unreadable(kind, row_id))
            return None

    def stored(self, chain: str, head: Head | None) -> Stored:
        receipts = self.receipts[chain]
        return Stored(
            chain=chain,
            head=head,
            events=self.events[chain],
            admissions=receipts["admission"],
            starts=receipts["start"],
            expiries=receipts["expiry"],
            closures=receipts["closure"],
            run=self.runs.get(chain),
            pauses=self.pauses[chain],
            questions=self.questions[chain],
            proofs=self.proofs[chain],
            unreadable=self.unreadable[chain],
            misfiled=self.misfiled[chain],
        )


def stored_runs(scope: Scope | None, since: datetime | None) -> Iterator[Stored]:
    """Every run's chain that the scope covers (None: all) and that changed since, oldest run first."""
    after = ""
    while True:
        where, parameters = "run.id > %s", [after]
        if scope is not None:
            where += f" AND run.{run_rows.prefix_column(scope)} = %s"
            parameters.append(scope.text)
        if since is not None:
            where += " AND run.updated_at >= %s"
            parameters.append(sql.instant(since))
        heads = _run_heads(f"{where} ORDER BY run.id LIMIT {BATCH}", parameters)
        if not heads:
            return
        yield from _by_parts(list(heads), heads)
        after = max(heads)


def stored_run(run_id: str) -> Stored:
    """One run's chain, read under the run's lock: a writer in between would look like damage."""
    sql.require_transaction()
    lock = " FOR UPDATE" if sql.is_postgresql() else ""
    head = _run_heads(f"run.id = %s{lock}", [run_id]).get(run_id)
    return _gather([run_id]).stored(run_id, head)


def stored_locked_runs(run_ids: list[str]) -> Iterator[Stored]:
    """The chains of runs that the caller has locked."""
    sql.require_transaction()
    yield from _by_parts(run_ids, _run_heads(sql.among("run.id", run_ids), run_ids))


def _by_parts(run_ids: list[str], heads: dict[str, Head]) -> Iterator[Stored]:
    """The chains of all of them; so few at a time that their contents fit into memory together."""
    sizes = {row[0]: int(row[1]) for row in sql.fetch_all(_sizes(run_ids), run_ids * len(_SIZED))}
    part: list[str] = []
    for run_id in run_ids:
        if part and sum(sizes.get(each, 0) for each in (*part, run_id)) > AT_ONCE:
            yield from _gathered_part(part, heads)
            part = []
        part.append(run_id)
    yield from _gathered_part(part, heads)


def _gathered_part(run_ids: list[str], heads: dict[str, Head]) -> Iterator[Stored]:
    gathered = _gather(run_ids)
    for run_id in run_ids:
        yield gathered.stored(run_id, heads.get(run_id))


_SIZED = {
    "suspension JOIN suspension_continuation ON suspension_continuation.suspension_id = suspension.id": ("body",),
    "resume_admission": ("input",),
    "run_content": ("input",),
    "run_result": ("output", "error"),
    "interaction": ("assistant", "messages", "tool_input"),
}


def _sizes(run_ids: list[str]) -> str:
    """What each run's contents take, in bytes."""
    parts = [
        f"SELECT run_id, {' + '.join(f'COALESCE(length({column}), 0)' for column in columns)} AS size"
        f" FROM {table} WHERE {sql.among('run_id', run_ids)}"
        for table, columns in _SIZED.items()
    ]
    return f"SELECT run_id, SUM(size) FROM ({' UNION ALL '.join(parts)}) AS sizes GROUP BY run_id"


def stored_interactions(scope: Scope | None) -> Iterator[Stored]:
    """The chains of interactions that have no run."""
    after = 0
    while True:
        where = "run_id IS NULL AND id > %s"
        parameters: list[Any] = [after]
        if scope is not None:
            where += f" AND {run_rows.prefix_column(scope)} = %s"
            parameters.append(scope.text)
        heads = _interaction_heads(f"{where} ORDER BY id LIMIT {BATCH}", parameters)
        if not heads:
            return
        yield from _interactions(heads)
        after = max(heads)


def stored_interaction(chain: str) -> Stored:
    """The chain of one interaction without a run, read under its lock."""
    sql.require_transaction()
    lock = " FOR UPDATE" if sql.is_postgresql() else ""
    scope, _, interaction_id = chain.partition("\n")
    where = f"run_id IS NULL AND scope = %s AND interaction_id = %s{lock}"
    found = _interactions(_interaction_heads(where, [scope, interaction_id]))
    return found[0] if found else Stored(chain, None, ())


def stored_locked_interactions(interaction_rows: list[int]) -> list[Stored]:
    """The chains of interactions without a run that the caller has locked, by the keys of their rows."""
    sql.require_transaction()
    return _interactions(_interaction_heads(sql.among("id", interaction_rows), interaction_rows))


def _interaction_heads(where: str, parameters: Sequence[Any]) -> dict[int, tuple[str, Head]]:
    rows = sql.fetch_all(
        f"SELECT id, scope, interaction_id, event_position, event_hash FROM interaction WHERE {where}", parameters
    )
    return {row[0]: (f"{row[1]}\n{row[2]}", Head(row[3], row[4])) for row in rows}


def _interactions(heads: dict[int, tuple[str, Head]]) -> list[Stored]:
    gathered = _Gathered()
    if heads:
        _gather_events(gathered, [chain for chain, _ in heads.values()])
        _gather_questions(gathered, "id", list(heads))
    return [gathered.stored(chain, head) for chain, head in heads.values()]


def headless_chains() -> list[str]:
    """Chains and receipts whose run or interaction is not there any more, although no purge removed it."""
    rows = sql.fetch_all(
        "SELECT DISTINCT chain FROM event WHERE run_id IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM run WHERE run.id = event.run_id)"
        " UNION SELECT run_id FROM resume_admission"
        " WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.id = resume_admission.run_id)"
        " UNION SELECT DISTINCT chain FROM event WHERE run_id IS NULL AND NOT EXISTS"
        " (SELECT 1 FROM interaction WHERE interaction.run_id IS NULL"
        " AND interaction.scope || %s || interaction.interaction_id = event.chain)",
        ("\n",),
    )
    return sorted(row[0] for row in rows)


def _run_heads(where: str, parameters: Sequence[Any]) -> dict[str, Head]:
    rows = sql.fetch_all(
        f"SELECT run.id, run.event_position, run.event_hash, run.state, run.revision FROM run WHERE {where}",
        parameters,
    )
    return {row[0]: Head(*row[1:]) for row in rows}


def _gather(run_ids: list[str]) -> _Gathered:
    gathered = _Gathered()
    _gather_events(gathered, run_ids)
    _gather_admissions(gathered, run_ids)
    _gather_outcomes(gathered, run_ids)
    _gather_closures(gathered, run_ids)
    _gather_pauses(gathered, run_ids)
    _gather_questions(gathered, "run_id", run_ids)
    _gather_runs(gathered, run_ids)
    _gather_misfiled(gathered, run_ids)
    return gathered


def _gather_events(gathered: _Gathered, chains: list[str]) -> None:
    rows = sql.fetch_all(
        f"SELECT {_EVENT_COLUMNS} FROM event WHERE {sql.among('chain', chains)} ORDER BY chain, position", chains
    )
    for row in rows:
        event = gathered.read("event", row[0], row[-1], lambda: _event(row))  # noqa: B023
        if event is not None:
            gathered.events[row[-1]].append(event)


def _event(row: Sequence[Any]) -> Event:
    data = loads(bytes(row[8]))
    if not isinstance(data, dict):
        raise TypeError("an event's data is an object")
    return Event(
        id=row[0],
        run_id=row[1],
        scope=Scope(row[2]),
        type=EventType(row[3]),
        at=read_instant(row[4]),
        actor=read_actor(row[5]),
        revision=row[6],
        suspension_id=row[7],
        data=data,
        position=row[9],
        previous=row[10],
        record_sha256=row[11],
        hash=row[12],
    )


def _gather_admissions(gathered: _Gathered, run_ids: list[str]) -> None:
    where = sql.among("run_id", run_ids)
    rows = sql.fetch_all(f"SELECT {admissions.SELECT}, input FROM resume_admission WHERE {where}", run_ids)
    for row in rows:

        def make() -> Admission | None:
            return admissions.read_admission(row, bytes(row[-1]))  # noqa: B023

        admission = gathered.read("admission", row[0], row[1], make)
        if admission is not None:
            gathered.receipts[row[1]]["admission"].append(admission)


def _gather_outcomes(gathered: _Gathered, run_ids: list[str]) -> None:
    statement = f"SELECT {resume_rows.SELECT}, principal FROM resume_start_or_expiry"
    for row in sql.fetch_all(f"{statement} WHERE {sql.among('run_id', run_ids)}", run_ids):
        outcome = gathered.read(row[1], row[0], row[2], lambda: resume_rows.read_outcome(row))  # noqa: B023
        if outcome is not None and read_actor(row[OUTCOME.index("actor")]).principal != row[-1]:
            gathered.misfiled[row[2]].append(Finding(row[1], row[0], row[2], "is filed under another principal"))
        for kind, receipt in zip(("start", "expiry"), outcome or (None, None), strict=True):
            if receipt is not None:
                gathered.receipts[row[2]][kind].append(receipt)


def _gather_closures(gathered: _Gathered, run_ids: list[str]) -> None:
    where = sql.among("run_id", run_ids)
    for row in sql.fetch_all(f"SELECT {closures.SELECT}, proof FROM resume_closure WHERE {where}", run_ids):

        def make() -> Closure:
            return closures.read_closure(row[:-1])  # noqa: B023

        closure = gathered.read("closure", row[0], row[1], make)
        gathered.proofs[row[1]][row[0]] = bytes(row[-1])
        if closure is not None:
            gathered.receipts[row[1]]["closure"].append(closure)


def _gather_pauses(gathered: _Gathered, run_ids: list[str]) -> None:
    rows = sql.fetch_all(
        f"SELECT {suspension_rows.SELECT}, suspension.calls, suspension.search_text, suspension.agent_name,"
        f" suspension_continuation.body FROM suspension{suspension_rows.CONTINUATION_JOIN}"
        f" WHERE {sql.among('suspension.run_id', run_ids)}",
        run_ids,
    )
    for row in rows:

        def make() -> PauseRow:
            read = suspension_rows.read_row(row)  # noqa: B023
            assert read is not None
            calls, words, agent_name, body = row[suspension_rows.WIDTH :]  # noqa: B023
            pause = suspension_rows.to_suspension(read, body)
            require_recomputable(pause)
            return PauseRow(pause, bytes(read.pending), suspension_rows.shown_sha256(bytes(calls), words, agent_name))

        pause = gathered.read("suspension", row[0], row[1], make)
        if pause is not None:
            gathered.pauses[row[1]][row[0]] = pause


_COMPUTED = ("kept_sha256", "result_sha256")
_RUN_COLUMNS = [column.name for column in fields(RunColumns) if column.name not in _COMPUTED]
_KEPT = ("agent_id", "session_id", "persona_ref", "metadata")


def _gather_runs(gathered: _Gathered, run_ids: list[str]) -> None:
    """What of a run's row follows from its events, and digests over its contents."""
    names = ", ".join(f"run.{name}" for name in ("id", *_RUN_COLUMNS, *_KEPT))
    rows = sql.fetch_all(
        f"SELECT {names}, {run_rows.CONTENT_SELECT} FROM run{run_rows.CONTENT_JOIN}"
        f" WHERE {sql.among('run.id', run_ids)}",
        run_ids,
    )
    for run_id, *values in rows:
        columns = gathered.read("run", run_id, run_id, lambda: _run_columns(values))  # noqa: B023
        if columns is not None:
            gathered.runs[run_id] = columns


def _run_columns(values: list[Any]) -> RunColumns:
    agent_id, session_id, persona_ref, metadata, *contents = values[len(_RUN_COLUMNS) :]
    content, output, error = [bytes(each or b"") for each in contents]
    read = dict(zip(_RUN_COLUMNS, values, strict=False))
    instants = {name: from_database(read[name]) for name in ("created_at", "admitted_at", "start_by")}
    return RunColumns(
        **{**read, **instants, "created_by": read_actor(read["created_by"])},
        kept_sha256=kept_sha256(agent_id, session_id, persona_ref, bytes(metadata), content),
        result_sha256=result_sha256(output, error),
    )


def _gather_questions(gathered: _Gathered, column: str, keys: Sequence[Any]) -> None:
    """Questions by their runs, or those without a run by the keys of their rows."""
    where = sql.among(column, keys)
    rows = sql.fetch_all(
        f"SELECT {interaction_rows.SELECT}, scope_1, scope_2, scope_3 FROM interaction WHERE {where}", keys
    )
    for values in rows:
        row, filed = InteractionRow(*values[:-3]), tuple(values[-3:])
        chain = row.run_id or row.chain
        question = gathered.read("interaction", row.interaction_id, chain, lambda: _question(row))  # noqa: B023
        if question is not None:
            gathered.questions[chain][row.interaction_id] = question
        if Scope(row.scope).prefixes != filed:
            finding = Finding("interaction", row.interaction_id, chain, _FILED_ELSEWHERE)
            gathered.misfiled[chain].append(finding)


def _question(row: InteractionRow) -> QuestionRow:
    answered = resolved = None
    if row.answer is not None:
        if content_digest(bytes(row.answer)) != row.answer_sha256:
            raise ValueError("an answer carries another digest than its own")
        by, at = read_actor(row.answered_by or ""), read_instant(row.answered_at)
        answered = Settled(by, at, sha256_hex(bytes(row.answer)))
    elif (row.answer_sha256, row.answered_by, row.answered_at) != (None, None, None):
        raise ValueError("an answer is not there, and who gave it is")
    if row.resolved_at is not None:
        resolved = Settled(read_actor(row.resolved_by or ""), read_instant(row.resolved_at))
    return QuestionRow(
        interaction_id=row.interaction_id,
        tool_use_id=row.tool_use_id,
        content_sha256=row.content_sha256,
        digest=row.digest,
        kept_sha256=interaction_rows.kept_sha256(row),
        created_by=read_actor(row.created_by),
        answered=answered,
        resolved=resolved,
    )


_FILED_ELSEWHERE = "is filed under another scope"
_FILED = {
    "run": ("run", "id", "id"),
    "suspension": ("suspension", "id", "run_id"),
    "admission": ("resume_admission", "suspension_id", "run_id"),
    "start or expiry": ("resume_start_or_expiry", "suspension_id", "run_id"),
    "closure": ("resume_closure", "suspension_id", "run_id"),
    "event": ("event", "id", "chain"),
}


def _gather_misfiled(gathered: _Gathered, run_ids: list[str]) -> None:
    """Rows whose scope, cut to its levels, is not what stands in the columns by which lists find them."""
    for kind, (table, key, chain) in _FILED.items():
        columns = f"{key}, {chain}, scope, scope_1, scope_2, scope_3"
        for row in sql.fetch_all(f"SELECT {columns} FROM {table} WHERE {sql.among(chain, run_ids)}", run_ids):
            if Scope(row[2]).prefixes != tuple(row[3:]):
                gathered.misfiled[row[1]].append(Finding(kind, row[0], row[1], _FILED_ELSEWHERE))
