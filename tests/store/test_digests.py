"""Digests and records of what is stored, recomputed from the rows by hand. Source: store.md section 4."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from suspensions.domain.scopes import Scope
from suspensions.domain.values import Admission, Reason, Start, Suspension
from suspensions.operations import closures, resumes, suspensions
from tests.store.rows import hashed, one_row, run_chain, text_of
from tests.store.support import Clock
from tests.support import closing
from tests.support.builders import admit, call, caller, continuation, fresh_scope, make_pause, start, take

ODD = '{"b":1.0,"a":[1e2,12345678901234567890],"n":"\u00e9 e\u0301 \U0001f9e9 \\u0000"}'


@pytest.fixture
def scope() -> Scope:
    return fresh_scope(2)


def version(row: dict[str, Any], column: str = "run_revision") -> dict[str, Any]:
    return {"run_id": row["run_id"], "suspension_id": row["suspension_id"], "run_revision": row[column]}


def pause_in(scope: Scope, **more: Any) -> Suspension:
    body = continuation(prepared="AP8=", odd={"x": [1.0, "\u2028"]})
    calls = [call("c1", "ask", ODD, note="why", reply_with="r-1"), call("c2", "ask", "not json \x00", reply_with="r-1")]
    return make_pause(scope, Reason.AGENT_REPLY, pending=calls, continuation=body, **more)


# -- suspensions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [None, 3600])
def test_a_pauses_digest_is_over_its_stored_texts(seconds: int | None, scope: Scope, time: Clock) -> None:
    pause = pause_in(scope, expires_at=None if seconds is None else time.ahead(seconds))
    row = one_row("suspension", id=pause.id)
    body = bytes(one_row("suspension_continuation", suspension_id=pause.id)["body"])
    assert pause.pending_sha256 == row["pending_sha256"] == sha256(bytes(row["pending"])).hexdigest()
    assert pause.continuation_sha256 == row["continuation_sha256"] == sha256(body).hexdigest()
    assert (
        pause.digest
        == row["digest"]
        == hashed(
            "cortex/suspension/v1",
            {
                "id": pause.id,
                "run_id": pause.run_id,
                "scope": scope.text,
                "reason": "agent_reply",
                "pending_sha256": row["pending_sha256"],
                "continuation_sha256": row["continuation_sha256"],
                "expires_at": text_of(row["expires_at"]),
            },
        )
    )


def test_the_stored_texts_are_utf8_json_with_members_as_they_came(scope: Scope) -> None:
    pause = pause_in(scope)
    stored = bytes(one_row("suspension", id=pause.id)["pending"]).decode()
    assert stored == json.dumps([each.to_json() for each in pause.pending], ensure_ascii=False, separators=(",", ":"))
    assert json.loads(stored)[0]["arguments"] == ODD
    body = bytes(one_row("suspension_continuation", suspension_id=pause.id)["body"]).decode()
    assert body.endswith('"prepared":"AP8=","odd":{"x":[1.0,"\u2028"]}}')


def test_what_a_digest_stands_for_does_not_change_with_the_pauses_life(scope: Scope) -> None:
    pause = pause_in(scope)
    start(admit(pause))
    suspensions.delete_suspension(caller(scope), scope, pause.run_id)
    retired = suspensions.read_suspension(caller(scope), scope, pause.id)
    assert retired.retired_at is not None
    assert (retired.digest, retired.pending_sha256, retired.continuation_sha256) == (
        pause.digest,
        pause.pending_sha256,
        pause.continuation_sha256,
    )


# -- receipts --------------------------------------------------------------------------------------


def admission_record(row: dict[str, Any]) -> dict[str, Any]:
    """All stored members of an admission but the scope's prefixes, which are its scope again."""
    return {
        "schema_version": row["schema_version"],
        "scope": row["scope"],
        "version": version(row),
        "input_sha256": row["input_sha256"],
        "input_bytes": row["input_bytes"],
        "request_digest": row["request_digest"],
        "suspension_digest": row["suspension_digest"],
        "claimed_revision": row["claimed_revision"],
        "admitted_at": text_of(row["admitted_at"]),
        "admitted_by": json.loads(row["admitted_by"]),
        "reason": row["reason"],
        "start_by": text_of(row["start_by"]),
        "lease_owner": row["lease_owner"],
        "lease_epoch": row["lease_epoch"],
        "event_id": row["event_id"],
    }


def start_record(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "start",
        "schema_version": row["schema_version"],
        "version": version(row),
        "scope": row["scope"],
        "request_digest": row["request_digest"],
        "started_at": text_of(row["at"]),
        "started_by": json.loads(row["actor"]),
        "lease_owner": row["lease_owner"],
        "lease_epoch": row["lease_epoch"],
        "request_id": row["request_id"],
        "event_id": row["event_id"],
    }


def expiry_record(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "expiry",
        "schema_version": row["schema_version"],
        "version": version(row),
        "scope": row["scope"],
        "request_digest": row["request_digest"],
        "event_id": row["event_id"],
        "run_revision": row["expired_revision"],
        "expired_at": text_of(row["at"]),
        "expired_by": json.loads(row["actor"]),
    }


def closure_request(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "schema_version": row["schema_version"],
        "scope": row["scope"],
        "version": version(row, "version_revision"),
        "admission_digest": row["admission_digest"],
        "start_digest": row["start_digest"],
        "run_revision": row["request_revision"],
        "actor": row["actor"],
        "issuer": row["issuer"],
        "issuer_revision": row["issuer_revision"],
        "proof_ref": row["proof_ref"],
        "proof_digest": row["proof_digest"],
        "observed_at": text_of(row["observed_at"]),
        "expires_at": text_of(row["expires_at"]),
    }


def closure_record(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "request": closure_request(row),
        "request_digest": row["request_digest"],
        "event_id": row["event_id"],
        "run_revision": row["run_revision"],
        "closed_at": text_of(row["closed_at"]),
        "closed_by": json.loads(row["closed_by"]),
    }


def event_of(row: dict[str, Any]) -> dict[str, Any]:
    """The event that a receipt names, in its run's checked chain."""
    return {event["id"]: event for event in run_chain(row["run_id"])}[row["event_id"]]


@pytest.mark.parametrize("leased", [False, True])
def test_an_admission_is_recomputed_from_its_row(leased: bool, scope: Scope, time: Clock) -> None:
    pause = pause_in(scope, expires_at=time.ahead(100))
    admission = admit(pause, value=b"\x00\xff", lease=take() if leased else None)
    row = one_row("resume_admission", suspension_id=pause.id)
    request = {
        "schema_version": 1,
        "scope": scope.text,
        "version": {"run_id": pause.run_id, "suspension_id": pause.id, "run_revision": 2},
        "input_sha256": sha256(b"\x00\xff").hexdigest(),
        "input_bytes": 2,
    }
    assert admission.digest == row["request_digest"] == hashed("cortex/resume-request/v1", request)
    assert (row["input_sha256"], row["input_bytes"]) == (request["input_sha256"], 2)
    assert bytes(row["input"]) == b"\x00\xff"
    assert row["suspension_digest"] == pause.digest
    assert admission.record_sha256 == row["record_sha256"] == hashed("cortex/record/v1", admission_record(row))
    assert event_of(row)["record_sha256"] == row["record_sha256"]
    assert (row["lease_owner"], row["lease_epoch"]) == (("worker-1", 1) if leased else (None, None))


@pytest.mark.parametrize("how", ["by name", "leased", "next", "next with a request"])
def test_a_start_is_recomputed_from_its_row(how: str, scope: Scope, time: Clock) -> None:
    admission = admit(pause_in(scope))
    time.tick(0.5)
    starts: dict[str, Callable[[], Start | None]] = {
        "by name": lambda: start(admission),
        "leased": lambda: start(admission, lease=take()),
        "next": lambda: resumes.start_next(caller(scope), scope, take()),
        "next with a request": lambda: resumes.start_next(caller(scope), scope, take(), request_id="r-1"),
    }
    started = starts[how]()
    assert started is not None
    row = one_row("resume_start_or_expiry", suspension_id=admission.version.suspension_id)
    assert started.digest == hashed(
        "cortex/resume-start/v1",
        {
            "schema_version": 1,
            "version": version(row),
            "scope": scope.text,
            "request_digest": admission.request_digest,
            "started_at": text_of(row["at"]),
        },
    )
    assert started.record_sha256 == row["record_sha256"] == hashed("cortex/record/v1", start_record(row))
    assert event_of(row)["record_sha256"] == row["record_sha256"]


def test_an_expiry_is_recomputed_from_its_row(scope: Scope, time: Clock) -> None:
    pause = pause_in(scope, expires_at=time.ahead(1))
    admission = admit(pause)
    time.tick(5000)
    expiry = resumes.expire_resume(caller(scope), scope, pause.run_id, pause.id, admission.request_digest)
    row = one_row("resume_start_or_expiry", suspension_id=pause.id)
    assert expiry.digest == hashed(
        "cortex/resume-expiry/v1",
        {
            "schema_version": 1,
            "version": version(row),
            "scope": scope.text,
            "request_digest": admission.request_digest,
            "event_id": row["event_id"],
            "run_revision": row["expired_revision"],
            "expired_at": text_of(row["at"]),
        },
    )
    assert expiry.record_sha256 == row["record_sha256"] == hashed("cortex/record/v1", expiry_record(row))
    assert event_of(row)["record_sha256"] == row["record_sha256"]


def test_a_closure_is_recomputed_from_its_row(scope: Scope, time: Clock, settings: Settings) -> None:
    settings.CLOSURE_AUTHORIZER = closing.PERMISSIVE_AUTHORIZER
    settings.CLOSURE_FENCE = closing.PERMISSIVE_FENCE
    admission = admit(pause_in(scope))
    started = start(admission)
    request = closing.closure_request(admission, started, time.now)
    closure = closures.close_resume(caller(scope), request, closing.PROOF)
    row = one_row("resume_closure", suspension_id=admission.version.suspension_id)
    assert row["admission_digest"] == admission.request_digest
    assert row["start_digest"] == started.digest
    assert row["proof_digest"] == sha256(bytes(row["proof"])).hexdigest()
    assert closure.digest == row["request_digest"] == hashed("cortex/resume-closure/v1", closure_request(row))
    assert closure.record_sha256 == row["record_sha256"] == hashed("cortex/record/v1", closure_record(row))
    assert event_of(row)["record_sha256"] == row["record_sha256"]


_COLUMNS_NOT_IN_RECORD = {
    # The scope's prefixes follow from it, the input is bound by its digest, and the hash cannot cover itself.
    "resume_admission": {"scope_1", "scope_2", "scope_3", "record_sha256", "input"},
    # `principal` repeats a member of the actor, for the unique key of requests.
    "resume_start_or_expiry": {"scope_1", "scope_2", "scope_3", "record_sha256", "principal"},
    # The proof itself is bound by its digest.
    "resume_closure": {"scope_1", "scope_2", "scope_3", "record_sha256", "proof"},
}


@pytest.mark.parametrize("table", _COLUMNS_NOT_IN_RECORD)
def test_no_stored_member_of_a_receipt_can_change_unseen(
    table: str, scope: Scope, time: Clock, settings: Settings
) -> None:
    """Every column but the named few moves the record when it changes."""
    settings.CLOSURE_AUTHORIZER = closing.PERMISSIVE_AUTHORIZER
    settings.CLOSURE_FENCE = closing.PERMISSIVE_FENCE
    admission = admit(pause_in(scope), lease=take())
    started = start(admission, lease=take(seconds=1))
    time.tick(1)
    request = closing.closure_request(admission, started, time.now)
    closures.close_resume(caller(scope), request, closing.PROOF)
    records: dict[str, list[Callable[[dict[str, Any]], dict[str, Any]]]] = {
        "resume_admission": [admission_record],
        "resume_start_or_expiry": [start_record, expiry_record],
        "resume_closure": [closure_record],
    }
    row = one_row(table, suspension_id=admission.version.suspension_id)
    for column in set(row) - _COLUMNS_NOT_IN_RECORD[table] - {"kind"}:
        other = {**row, column: _another(row[column], column)}
        assert any(record(row) != record(other) for record in records[table]), column


def _another(value: Any, column: str) -> Any:
    if column in ("admitted_by", "actor", "closed_by", "expired_by") and str(value).startswith("{"):
        return '{"principal":"mallory","via":"session"}'
    if column.endswith("_at") or column in ("at", "start_by"):
        return "2001-01-01T00:00:00.000000+00:00"
    if isinstance(value, (bytes, memoryview)):
        return bytes(value) + b"x"
    if isinstance(value, int):
        return value + 1
    return f"{value}x"


def test_the_same_answer_to_another_pause_is_another_digest(scope: Scope) -> None:
    first, second = admit(pause_in(scope)), admit(pause_in(scope))
    assert first.input == second.input
    assert first.request_digest != second.request_digest


def test_a_list_item_carries_the_digests_of_the_whole(scope: Scope) -> None:
    admission = admit(pause_in(scope))
    [item] = resumes.list_admissions(caller(scope), scope, None, 1).items
    members = ("request_digest", "suspension_digest", "record_sha256", "input_sha256", "input_bytes", "digest")
    assert [getattr(item, member) for member in members] == [getattr(admission, member) for member in members]
    assert isinstance(item, Admission)
