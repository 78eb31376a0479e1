"""The default authorizer and fence: the right proof works once, and every wrong one writes nothing."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import connection

from suspensions.domain import clock
from suspensions.domain.errors import (
    ClosureDenied,
    CortexError,
    Forbidden,
    ProofExpired,
    ResumeClosureConflict,
    RunConflict,
    RunLeaseLive,
)
from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import SYSTEM, Admission, ClosureRequest, Reason, Start
from suspensions.operations import access, closures, issuers, leases, runs
from tests.support.builders import admit, at, caller, fresh_scope, holder_of, make_pause, start, take
from tests.support.proofs import (
    Issuer,
    bind,
    claims_for,
    make_issuer,
    request_for,
    segment,
    sign,
    sign_with_header,
)

LATER = timedelta(minutes=5)


@dataclass
class Trouble:
    """A started resume whose worker fell silent, an operator, and an issuer of proofs."""

    scope: Scope
    operator: Caller
    issuer: Issuer
    admission: Admission
    start: Start

    def request(self) -> ClosureRequest:
        return request_for(self.operator, self.admission, self.start, self.issuer)

    def signed(self, **claims: Any) -> tuple[ClosureRequest, bytes]:
        return sign(self.request(), self.issuer, "worker-1", **claims)


def make_trouble(reason: Reason = Reason.APPROVAL, *, leased: bool = True) -> Trouble:
    scope = fresh_scope(2)
    name = f"op-{secrets.token_hex(4)}"
    access.make_principal(name, by=SYSTEM)
    access.grant_role(name, Role.OPERATOR, scope, by=SYSTEM)
    admission = admit(make_pause(scope, reason))
    started = start(admission, lease=take("worker-1", seconds=1) if leased else None)
    issuer = make_issuer(scope, f"iss-{secrets.token_hex(4)}")
    return Trouble(scope, caller(scope, Role.OPERATOR, principal=name), issuer, admission, started)


@pytest.fixture
def later() -> Any:
    """Everything in the test happens five minutes on, when the lease has lapsed."""
    with at(clock.now() + LATER):
        yield


@pytest.fixture
def trouble() -> Trouble:
    return make_trouble()


def rows() -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT suspension_id FROM resume_closure ORDER BY 1")
        closed = cursor.fetchall()
        cursor.execute("SELECT id, state, revision, event_position FROM run ORDER BY 1")
        return [*closed, *cursor.fetchall()]


def test_the_right_proof_closes_once_and_a_repeat_is_the_original_receipt(trouble: Trouble, later: None) -> None:
    request, proof = trouble.signed()
    closure = closures.close_resume(trouble.operator, request, proof)
    assert closure.fresh
    assert closure.run_revision == request.run_revision + 1
    assert closures.validate_closure(closure)
    again = closures.close_resume(trouble.operator, request, proof)
    assert not again.fresh
    assert again == closure


def test_the_repeat_is_answered_after_the_proof_expired_but_not_without_authority(
    trouble: Trouble, later: None
) -> None:
    request, proof = trouble.signed()
    closure = closures.close_resume(trouble.operator, request, proof)
    with at(clock.now() + timedelta(days=2)):
        assert closures.close_resume(trouble.operator, request, proof) == closure
        issuers.revoke_issuer(SYSTEM, trouble.issuer.name, trouble.issuer.revision)
        with pytest.raises(ClosureDenied):
            closures.close_resume(trouble.operator, request, proof)


Wrong = Callable[[Trouble], tuple[ClosureRequest, bytes]]


def _other_key(trouble: Trouble) -> tuple[ClosureRequest, bytes]:
    forged = replace(trouble.issuer, key=Ed25519PrivateKey.generate())
    return sign(trouble.request(), forged, "worker-1")


def _unknown_revision(trouble: Trouble) -> tuple[ClosureRequest, bytes]:
    other = replace(trouble.issuer, revision="r2")
    return sign(request_for(trouble.operator, trouble.admission, trouble.start, other), other, "worker-1")


def _revoked(trouble: Trouble) -> tuple[ClosureRequest, bytes]:
    signed = trouble.signed()
    issuers.revoke_issuer(SYSTEM, trouble.issuer.name, trouble.issuer.revision)
    return signed


def _foreign_issuer(trouble: Trouble) -> tuple[ClosureRequest, bytes]:
    other = make_issuer(fresh_scope(), f"iss-{secrets.token_hex(4)}")
    return sign(request_for(trouble.operator, trouble.admission, trouble.start, other), other, "worker-1")


def _header(header: Callable[[Trouble], dict[str, Any]]) -> Wrong:
    def make(trouble: Trouble) -> tuple[ClosureRequest, bytes]:
        request = trouble.request()
        proof = sign_with_header(header(trouble), claims_for(request, "worker-1"), trouble.issuer)
        return bind(request, proof), proof

    return make


def _alg_none(trouble: Trouble) -> tuple[ClosureRequest, bytes]:
    request = trouble.request()
    header = segment({"alg": "none", "kid": trouble.issuer.kid})
    proof = header + b"." + segment(claims_for(request, "worker-1")) + b"."
    return bind(request, proof), proof


def _claim(**claims: Any) -> Wrong:
    return lambda trouble: trouble.signed(**claims)


def _without(name: str) -> Wrong:
    def make(trouble: Trouble) -> tuple[ClosureRequest, bytes]:
        request = trouble.request()
        claims = claims_for(request, "worker-1")
        del claims[name]
        proof = sign_with_header({"alg": "EdDSA", "kid": trouble.issuer.kid}, claims, trouble.issuer)
        return bind(request, proof), proof

    return make


def _bytes(change: Callable[[bytes], bytes], *, rebind: bool) -> Wrong:
    def make(trouble: Trouble) -> tuple[ClosureRequest, bytes]:
        request, proof = trouble.signed()
        changed = change(proof)
        return (bind(request, changed) if rebind else request), changed

    return make


def _other_run(trouble: Trouble) -> tuple[ClosureRequest, bytes]:
    _, proof = make_trouble().signed()
    return bind(trouble.request(), proof), proof


def _other_actor(trouble: Trouble) -> tuple[ClosureRequest, bytes]:
    return sign(replace(trouble.request(), actor="somebody-else"), trouble.issuer, "worker-1")


WRONG: dict[str, Wrong] = {
    "another key": _other_key,
    "an unregistered revision": _unknown_revision,
    "a revoked revision": _revoked,
    "an issuer of another scope": _foreign_issuer,
    "alg none": _alg_none,
    "another alg": _header(lambda trouble: {"alg": "HS256", "kid": trouble.issuer.kid}),
    "another kid": _header(lambda trouble: {"alg": "EdDSA", "kid": f"{trouble.issuer.name}/r9"}),
    "a crit header": _header(lambda trouble: {"alg": "EdDSA", "kid": trouble.issuer.kid, "crit": ["b64"]}),
    "a jwk header": _header(lambda trouble: {"alg": "EdDSA", "kid": trouble.issuer.kid, "jwk": {}}),
    "a jku header": _header(lambda trouble: {"alg": "EdDSA", "kid": trouble.issuer.kid, "jku": "https://x.invalid"}),
    "an x5u header": _header(lambda trouble: {"alg": "EdDSA", "kid": trouble.issuer.kid, "x5u": "https://x.invalid"}),
    "a typ header": _header(lambda trouble: {"alg": "EdDSA", "kid": trouble.issuer.kid, "typ": "JWT"}),
    "a swapped admission digest": _claim(admission_digest="0" * 64),
    "a swapped start digest": _claim(start_digest="0" * 64),
    "another run": _claim(run_id="arun_00000000000000000000000000"),
    "another pause": _claim(suspension_id="sus_00000000000000000000000000"),
    "another revision": _claim(run_revision=99),
    "a revision as text": _claim(run_revision="3"),
    "a revision as double": _claim(run_revision=3.0),
    "another issuer": _claim(issuer="someone"),
    "another time of observation": _claim(observed_at="2026-01-01T00:00:00.000000Z"),
    "the same time in another form": _claim(expires_at="2099-01-01T00:00:00Z"),
    "a missing claim": _without("start_digest"),
    "a further claim": _claim(nbf=1),
    "no workers": _claim(workers=[]),
    "a missing worker": _claim(workers=[{"owner": "worker-2", "permanent": True}]),
    "a worker that may come back": _claim(workers=[{"owner": "worker-1", "permanent": False}]),
    "a worker that is quiet by number": _claim(workers=[{"owner": "worker-1", "permanent": 1}]),
    "a proof of another run": _other_run,
    "another actor": _other_actor,
    "a changed signature": _bytes(lambda proof: proof[:-6] + b"AAAAAA", rebind=True),
    "white space at the end": _bytes(lambda proof: proof + b"\n", rebind=True),
    "white space inside": _bytes(lambda proof: proof.replace(b".", b" .", 1), rebind=True),
    "padding": _bytes(lambda proof: proof.replace(b".", b"=.", 1), rebind=True),
    "other bytes than the digest's": _bytes(lambda proof: proof + b"A", rebind=False),
    "an empty proof": _bytes(lambda proof: b"", rebind=True),
    "a proof that is no JWS": _bytes(lambda proof: b"ledger entry 8841", rebind=True),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_proof_is_denied_without_a_reason_and_writes_nothing(
    wrong: Wrong, trouble: Trouble, later: None
) -> None:
    request, proof = wrong(trouble)
    before = rows()
    with pytest.raises(ClosureDenied) as denied:
        closures.close_resume(trouble.operator, request, proof)
    assert denied.value.detail == ClosureDenied.default_detail
    assert denied.value.reason
    assert rows() == before


def _moved(observed: timedelta, expires: timedelta) -> Wrong:
    def make(trouble: Trouble) -> tuple[ClosureRequest, bytes]:
        now = clock.now()
        request = replace(trouble.request(), observed_at=now + observed, expires_at=now + expires)
        return sign(request, trouble.issuer, "worker-1")

    return make


UNTIMELY: dict[str, Wrong] = {
    "expired": _moved(timedelta(minutes=-2), timedelta(minutes=-1)),
    "expiring this instant": _moved(timedelta(minutes=-2), timedelta(0)),
    "from the future": _moved(timedelta(seconds=1), timedelta(hours=1)),
    "from before the start": _moved(timedelta(minutes=-6), timedelta(hours=1)),
    "valid for longer than a day": _moved(timedelta(minutes=-1), timedelta(hours=24)),
}


@pytest.mark.parametrize("wrong", UNTIMELY.values(), ids=UNTIMELY.keys())
def test_an_untimely_proof_is_refused(wrong: Wrong, trouble: Trouble, later: None) -> None:
    request, proof = wrong(trouble)
    before = rows()
    with pytest.raises(ProofExpired):
        closures.close_resume(trouble.operator, request, proof)
    assert rows() == before


def test_a_live_lease_is_said_to_the_right_proof(trouble: Trouble) -> None:
    request, proof = trouble.signed()
    with pytest.raises(RunLeaseLive):
        closures.close_resume(trouble.operator, request, proof)


def test_a_late_finish_wins_over_a_closure(trouble: Trouble, later: None) -> None:
    request, proof = trouble.signed()
    claimed = trouble.start.claimed_run
    assert claimed is not None
    runs.finish_run(caller(trouble.scope), trouble.scope, claimed.id, RunState.COMPLETED, holder=holder_of(claimed))
    with pytest.raises(RunConflict):
        closures.close_resume(trouble.operator, request, proof)


def test_every_worker_that_held_the_run_since_its_admission_must_be_named(trouble: Trouble, later: None) -> None:
    run_id = trouble.admission.version.run_id
    leases.reclaim_lease(caller(trouble.scope), trouble.scope, run_id, take("worker-2", seconds=1))
    with at(clock.now() + LATER):
        with pytest.raises(ClosureDenied):
            closures.close_resume(trouble.operator, *trouble.signed())
        request, proof = sign(trouble.request(), trouble.issuer, "worker-1", "worker-2")
        assert closures.close_resume(trouble.operator, request, proof).fresh


def test_an_unleased_start_counts_as_its_principal() -> None:
    trouble = make_trouble(leased=False)
    with pytest.raises(ClosureDenied):
        closures.close_resume(trouble.operator, *trouble.signed())
    principal = trouble.start.started_by.principal
    request, proof = sign(trouble.request(), trouble.issuer, f"principal:{principal}")
    assert closures.close_resume(trouble.operator, request, proof).fresh


def test_a_proof_reference_serves_once(later: None) -> None:
    first, second = make_trouble(), make_trouble()
    with at(clock.now() + LATER):
        request, proof = first.signed()
        closures.close_resume(first.operator, request, proof)
        reused, other = sign(replace(second.request(), proof_ref=request.proof_ref), second.issuer, "worker-1")
        with pytest.raises(ResumeClosureConflict):
            closures.close_resume(second.operator, reused, other)


def test_a_closed_resume_answers_another_proof_with_a_conflict(trouble: Trouble, later: None) -> None:
    closures.close_resume(trouble.operator, *trouble.signed())
    with pytest.raises(ResumeClosureConflict):
        closures.close_resume(trouble.operator, *trouble.signed())


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.OPERATOR])
def test_only_an_operator_closes(role: Role, trouble: Trouble, later: None) -> None:
    with pytest.raises(Forbidden):
        closures.close_resume(caller(trouble.scope, role), *trouble.signed())


def test_a_grant_that_was_revoked_meanwhile_is_found_by_the_fence(trouble: Trouble, later: None) -> None:
    request, proof = trouble.signed()
    access.revoke_role(trouble.operator.principal, Role.OPERATOR, trouble.scope, by=SYSTEM)
    before = rows()
    # The caller's grants were read before the revocation, as a slow request's would be.
    with pytest.raises(ClosureDenied):
        closures.close_resume(trouble.operator, request, proof)
    assert rows() == before


def test_nothing_commits_after_thirty_seconds(trouble: Trouble, later: None, monkeypatch: pytest.MonkeyPatch) -> None:
    request, proof = trouble.signed()
    readings = iter([0.0, 1.0, 31.0])
    monkeypatch.setattr(closures, "monotonic", lambda: next(readings))
    before = rows()
    with pytest.raises(CortexError) as refused:
        closures.close_resume(trouble.operator, request, proof)
    assert refused.value.code == "closure_timeout"
    assert rows() == before
