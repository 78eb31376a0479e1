"""freeze and validate: structure and integrity only, no authority. Source: store.md section 6."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from suspensions.domain.errors import ClosureDenied, Forbidden, NotFound
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Actor, ClaimVersion, Closure, ClosureRequest, Reason
from suspensions.operations import closures
from tests.store.rows import hashed, text_of
from tests.store.support import Clock, refused, unchanged
from tests.support import closing
from tests.support.builders import admit, caller, fresh_scope, make_pause, start

AT = datetime(2031, 5, 1, 12, 0, 0, 5, tzinfo=UTC)


def request_in(scope: Scope) -> ClosureRequest:
    """A well-formed request about a run that nobody ever made."""
    return ClosureRequest(
        schema_version=1,
        scope=scope,
        version=ClaimVersion("arun_01h455vb4pex5vsknk084sn02q", "sus_01h455vb4pex5vsknk084sn02q", 2),
        admission_digest="a" * 64,
        start_digest="b" * 64,
        run_revision=3,
        actor="ops",
        issuer="datacentre",
        issuer_revision="3",
        proof_ref="proof-1",
        proof_digest="c" * 64,
        observed_at=AT,
        expires_at=AT + timedelta(hours=1),
    )


@pytest.fixture
def closure(time: Clock, settings: Settings) -> Closure:
    settings.CLOSURE_AUTHORIZER = closing.PERMISSIVE_AUTHORIZER
    settings.CLOSURE_FENCE = closing.PERMISSIVE_FENCE
    scope = fresh_scope()
    admission = admit(make_pause(scope, Reason.AGENT_REPLY))
    started = start(admission)
    request = closing.closure_request(admission, started, time.now)
    return closures.close_resume(caller(scope, Role.OPERATOR, principal="ops"), request, closing.PROOF)


# -- freeze ----------------------------------------------------------------------------------------


def test_freeze_gives_the_digest_that_anybody_would_compute() -> None:
    scope = fresh_scope()
    request = request_in(scope)
    with unchanged(scope):
        frozen, digest = closures.freeze_closure(caller(scope, Role.OPERATOR), request)
    assert frozen == request
    assert digest == hashed(
        "cortex/resume-closure/v1",
        {
            "schema_version": 1,
            "scope": scope.text,
            "version": {
                "run_id": "arun_01h455vb4pex5vsknk084sn02q",
                "suspension_id": "sus_01h455vb4pex5vsknk084sn02q",
                "run_revision": 2,
            },
            "admission_digest": "a" * 64,
            "start_digest": "b" * 64,
            "run_revision": 3,
            "actor": "ops",
            "issuer": "datacentre",
            "issuer_revision": "3",
            "proof_ref": "proof-1",
            "proof_digest": "c" * 64,
            "observed_at": "2031-05-01T12:00:00.000005Z",
            "expires_at": "2031-05-01T13:00:00.000005Z",
        },
    )


def test_freeze_says_nothing_of_whether_the_run_is_there(closure: Closure) -> None:
    by = caller(closure.request.scope, Role.OPERATOR)
    _, digest = closures.freeze_closure(by, closure.request)
    assert digest == closure.request_digest
    assert closures.freeze_closure(by, request_in(closure.request.scope))[1] != digest


def test_freeze_grants_nothing(settings: Settings) -> None:
    settings.CLOSURE_AUTHORIZER = closing.DENYING_AUTHORIZER
    scope = fresh_scope()
    by = caller(scope, Role.OPERATOR)
    frozen, _ = closures.freeze_closure(by, request_in(scope))
    with refused(ClosureDenied, scope):
        closures.close_resume(by, frozen, b"proof")


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.OPERATOR])
def test_only_an_operator_of_the_scope_freezes(role: Role) -> None:
    scope = fresh_scope()
    with pytest.raises(Forbidden):
        closures.freeze_closure(caller(scope, role), request_in(scope))
    with pytest.raises(NotFound):
        closures.freeze_closure(caller(fresh_scope(), Role.OPERATOR), request_in(scope))


def test_every_member_of_the_request_is_bound_by_its_digest() -> None:
    request = request_in(fresh_scope())
    by = caller(request.scope, Role.OPERATOR)
    others: dict[str, Any] = {
        "scope": None,
        "version": [
            replace(request.version, run_id="arun_01h455vb4pex5vsknk084sn02r"),
            replace(request.version, suspension_id="sus_01h455vb4pex5vsknk084sn02r"),
            replace(request.version, run_revision=3),
        ],
        "observed_at": [AT + timedelta(microseconds=1)],
        "expires_at": [AT],
    }
    digests = {request.digest()}
    members = [field.name for field in fields(ClosureRequest)]
    assert len(members) == 13
    changed = 0
    for member in members:
        if member == "scope":
            continue
        value = getattr(request, member)
        default: list[Any] = [value + 1] if isinstance(value, int) else [f"{value}x"]
        for other in others.get(member, default):
            digests.add(closures.freeze_closure(by, replace(request, **{member: other}))[1])
            changed += 1
    digests.add(replace(request, scope=Scope.parse("w=other")).digest())
    assert len(digests) == changed + 2


# -- validate --------------------------------------------------------------------------------------


def test_an_untouched_receipt_is_whole(closure: Closure) -> None:
    assert closures.validate_closure(closure)
    version = closure.request.version
    read = closures.get_closure(
        caller(closure.request.scope), closure.request.scope, version.run_id, version.suspension_id
    )
    with unchanged(closure.request.scope):
        assert closures.validate_closure(read)


def test_a_receipt_that_was_changed_in_any_member_is_not(closure: Closure, time: Clock) -> None:
    changes: dict[str, Any] = {
        "request": replace(closure.request, actor="somebody else"),
        "request_digest": "0" * 64,
        "event_id": "evt_01h455vb4pex5vsknk084sn02q",
        "run_revision": closure.run_revision + 1,
        "closed_at": time.ahead(1),
        "closed_by": Actor("ops", "session"),
        "record_sha256": "0" * 64,
    }
    assert set(changes) == {field.name for field in fields(Closure)} - {"fresh"}
    for member, value in changes.items():
        assert not closures.validate_closure(replace(closure, **{member: value})), member


def test_a_receipt_of_another_request_with_its_own_digest_is_found_by_its_record(closure: Closure) -> None:
    other = replace(closure.request, issuer="somebody else")
    assert not closures.validate_closure(replace(closure, request=other, request_digest=other.digest()))


def test_the_record_is_over_all_members_of_the_receipt(closure: Closure) -> None:
    assert closure.record_sha256 == hashed(
        "cortex/record/v1",
        {
            "request": closure.request.to_json(),
            "request_digest": closure.request_digest,
            "event_id": closure.event_id,
            "run_revision": closure.run_revision,
            "closed_at": text_of(closure.closed_at),
            "closed_by": {"principal": "ops", "via": "token:test"},
        },
    )
