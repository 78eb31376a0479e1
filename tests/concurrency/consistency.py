"""Whether everything that a scope holds agrees: state, receipts, events, chain, pauses, leases.

It reads rows and judges them by rules of its own, so that a fault of the store cannot hide in the store's reading.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import rfc8785
from django.db import connection

from suspensions.domain.instants import format_instant
from suspensions.domain.scopes import Scope
from suspensions.models.fields import from_database

Row = dict[str, Any]

_STATE_AFTER = {
    "run.created": "running",
    "run.paused": "paused",
    "run.claimed": "running",
    "run.cancelled": "cancelled",
    "run.expired": "failed",
    "resume.admitted": "running",
    "resume.expired": "failed",
    "resume.closed": "incomplete",
}
_ENDED = ("completed", "failed", "cancelled", "incomplete")
_MOVES_NOTHING = ("run.lease_taken", "run.lease_released", "resume.started")
_RECEIPTS = {
    "resume.admitted": "admissions",
    "resume.started": "starts",
    "resume.expired": "expiries",
    "resume.closed": "closures",
}
_TABLES = {
    "runs": "run WHERE scope = %s",
    "suspensions": "suspension WHERE scope = %s",
    "bodies": "suspension_continuation WHERE suspension_id IN (SELECT id FROM suspension WHERE scope = %s)",
    "admissions": "resume_admission WHERE scope = %s",
    "starts": "resume_start_or_expiry WHERE kind = 'start' AND scope = %s",
    "expiries": "resume_start_or_expiry WHERE kind = 'expiry' AND scope = %s",
    "closures": "resume_closure WHERE scope = %s",
    "events": "event WHERE scope = %s ORDER BY chain, position, id",
    "results": "run_result WHERE run_id IN (SELECT id FROM run WHERE scope = %s)",
    "progress": "progress WHERE run_id IN (SELECT id FROM run WHERE scope = %s)",
    "interactions": "interaction WHERE scope = %s",
}


class Ground:
    """All rows of one scope, by table."""

    def __init__(self, scope: Scope) -> None:
        self.rows = {name: list(_rows(f"SELECT * FROM {words}", scope.text)) for name, words in _TABLES.items()}

    def of_run(self, name: str, run_id: str) -> list[Row]:
        return [row for row in self.rows[name] if row["run_id"] == run_id]

    def footprint(self) -> dict[str, Any]:
        """What stands there, without ids and times: equal where the same was done once."""
        return {
            **{name: len(rows) for name, rows in self.rows.items()},
            "chains": sorted(self._chains().values()),
            "states": sorted((run["state"], run["revision"], run["resume"] or "") for run in self.rows["runs"]),
            "epochs": sorted(run["lease_epoch"] for run in self.rows["runs"]),
            "steps": sorted(run["step_count"] for run in self.rows["runs"]),
            "leases": sorted(run["lease_owner"] or "" for run in self.rows["runs"]),
            "live": sum(row["retired_at"] is None for row in self.rows["suspensions"]),
            "open": sum(row["resolved_at"] is None for row in self.rows["interactions"]),
            "answered": sum(row["answer"] is not None for row in self.rows["interactions"]),
        }

    def _chains(self) -> dict[str, list[str]]:
        chains: dict[str, list[str]] = {}
        for event in self.rows["events"]:
            chains.setdefault(event["chain"], []).append(f"{event['type']} {event['revision']}")
        return chains

    def problems(self) -> Iterator[str]:
        for run in self.rows["runs"]:
            yield from self._of_run(run)
        for interaction in self.rows["interactions"]:
            if interaction["run_id"] is None:
                chain = f"{interaction['scope']}\n{interaction['interaction_id']}"
                yield from self._of_chain(chain, interaction["event_position"], interaction["event_hash"])
        bodies = {row["suspension_id"]: bytes(row["body"]) for row in self.rows["bodies"]}
        for pause in self.rows["suspensions"]:
            yield from _of_pause(pause, bodies.get(pause["id"]))

    def _of_run(self, run: Row) -> Iterator[str]:
        yield from self._of_chain(run["id"], run["event_position"], run["event_hash"])
        yield from self._of_story(run)
        yield from self._of_resume(run)
        yield from self._of_pauses(run)
        ended = run["state"] in _ENDED
        if ended != (run["finish_sha256"] is not None) or ended != (run["completed_at"] is not None):
            yield f"the end of {run['state']} is half written"
        unresolved = [row for row in self.of_run("interactions", run["id"]) if row["resolved_at"] is None]
        if run["open_interactions"] != len(unresolved):
            yield f"{len(unresolved)} open interactions, the run counts {run['open_interactions']}"
        leases = [json.loads(bytes(event["data"])).get("lease") for event in self.of_run("events", run["id"])]
        taken = [lease["epoch"] for lease in leases if lease]
        if taken != sorted(set(taken)) or run["lease_epoch"] != (taken[-1] if taken else 0):
            yield f"leases {taken} were told of, the run's epoch is {run['lease_epoch']}"

    def _of_chain(self, chain: str, position: int, head: str | None) -> Iterator[str]:
        events = [event for event in self.rows["events"] if event["chain"] == chain]
        if [event["position"] for event in events] != list(range(1, position + 1)):
            yield f"the chain holds {[event['position'] for event in events]}, its head says {position}"
        previous = None
        for event in events:
            if event["previous"] != previous:
                yield f"event {event['position']} does not follow the one before"
            previous = event["hash"]
            if _event_hash(event) != previous:
                yield f"event {event['position']} has another hash than its content"
        if previous != head:
            yield "the chain's head is not its last event"

    def _of_story(self, run: Row) -> Iterator[str]:
        """The events, told one after another, lead to the state and revision that the run is in."""
        state, revision = "created", 0
        for event in self.of_run("events", run["id"]):
            kind = event["type"]
            if not kind.startswith("interaction.") and kind not in _MOVES_NOTHING:
                state = _STATE_AFTER.get(kind) or json.loads(bytes(event["data"]))["outcome"]
                revision += 1
            if event["revision"] != revision:
                yield f"{kind} stands at revision {event['revision']} where {revision} is due"
        if (state, revision) != (run["state"], run["revision"]):
            yield f"the events lead to {state} {revision}, the run is {run['state']} {run['revision']}"

    def _of_resume(self, run: Row) -> Iterator[str]:
        """Each receipt has its event and the reverse, and the run's own column agrees with them."""
        told = Counter((event["type"], event["suspension_id"], event["record_sha256"]) for event in self._told(run))
        kept = Counter(
            (kind, row["suspension_id"], row["record_sha256"])
            for kind, name in _RECEIPTS.items()
            for row in self.of_run(name, run["id"])
        )
        if told != kept:
            yield f"receipts {sorted(kept)} and their events {sorted(told)} differ"
        for row in self.of_run("admissions", run["id"]):
            if sha256(bytes(row["input"])).hexdigest() != row["input_sha256"]:
                yield "an admission's input is not the one that its receipt names"
        over = {row["suspension_id"] for name in ("expiries", "closures") for row in self.of_run(name, run["id"])}
        begun = {row["suspension_id"] for row in self.of_run("starts", run["id"])}
        waiting = {row["suspension_id"] for row in self.of_run("admissions", run["id"])} - over - begun
        if run["resume"] == "admitted" and waiting != {run["admission_id"]}:
            yield f"the run waits for the start of {run['admission_id']}, the receipts for {waiting}"
        if run["resume"] == "started" and run["admission_id"] not in begun - over:
            yield "the run says that its resume was started, no receipt does"
        if run["resume"] is None and waiting and run["state"] != "cancelled":
            yield f"{waiting} was admitted, and neither started nor ended"

    def _told(self, run: Row) -> list[Row]:
        return [event for event in self.of_run("events", run["id"]) if event["type"] in _RECEIPTS]

    def _of_pauses(self, run: Row) -> Iterator[str]:
        pauses = self.of_run("suspensions", run["id"])
        live = [row for row in pauses if row["retired_at"] is None]
        told = [event["suspension_id"] for event in self.of_run("events", run["id"]) if event["type"] == "run.paused"]
        if sorted(row["id"] for row in pauses) != sorted(told):
            yield "pauses and their events differ"
        if len(live) > 1 or (run["state"] in _ENDED and live):
            yield f"{len(live)} live pauses of a run that is {run['state']}"
        if run["state"] == "paused" and [row["claimed_at"] for row in live] != [None]:
            yield "a paused run has no pause that waits"
        if run["state"] != "paused" and any(row["claimed_at"] is None for row in live):
            yield "a pause waits, and its run is not paused"


def require_consistent(scope: Scope) -> Ground:
    """Raises: AssertionError that lists whatever does not agree."""
    ground = Ground(scope)
    problems = list(ground.problems())
    assert not problems, "\n".join(problems)
    return ground


def footprint(scope: Scope) -> dict[str, Any]:
    """What stands in a scope, once it is known to agree."""
    return require_consistent(scope).footprint()


def _of_pause(pause: Row, body: bytes | None) -> Iterator[str]:
    if body is None or sha256(body).hexdigest() != pause["continuation_sha256"]:
        yield "a pause's continuation is missing, or is not the one that its digest names"
    if sha256(bytes(pause["pending"])).hexdigest() != pause["pending_sha256"]:
        yield "a pause's pending calls are not the ones that its digest names"


def _event_hash(event: Row) -> str:
    at = from_database(event["at"])
    assert at is not None
    members = {name: event[name] for name in ("id", "run_id", "scope", "type", "revision", "suspension_id")}
    members |= {name: event[name] for name in ("position", "previous", "record_sha256")}
    members |= {"at": format_instant(at), "actor": json.loads(event["actor"]), "data": json.loads(bytes(event["data"]))}
    return sha256(b"cortex/event/v1\n" + rfc8785.dumps(members)).hexdigest()


def _rows(statement: str, scope: str) -> Iterator[Row]:
    with connection.cursor() as cursor:
        cursor.execute(statement, (scope,))
        names = [column[0] for column in cursor.description]
        yield from (dict(zip(names, values, strict=True)) for values in cursor.fetchall())
