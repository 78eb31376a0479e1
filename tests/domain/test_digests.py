"""Digests: golden vectors, recomputed by hand with nothing but hashlib and RFC 8785. Source: store.md section 4.

The vectors are part of the contract: receipts of years ago must verify. A change here is a change of the domain names.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from suspensions.domain import digests
from suspensions.domain.digests import digest, same_digest, sha256_hex
from suspensions.domain.scopes import Scope
from suspensions.domain.strict_json import NotCanonical
from suspensions.domain.values import (
    Actor,
    Admission,
    AdmissionRequest,
    ClaimVersion,
    Closure,
    ClosureRequest,
    Event,
    EventType,
    Expiry,
    Reason,
    Start,
    suspension_digest,
)

SCOPE = Scope.parse("workspace=acme/project=web")
VERSION = ClaimVersion("arun_01h455vb4pex5vsknk084sn02q", "sus_01h455vb4pex5vsknk084sn03r", 2)
EVENT_ID = "evt_01h455vb4pex5vsknk084sn04s"
AT = datetime(2031, 5, 1, 12, 30, 0, 42, tzinfo=UTC)
ACTOR = Actor("kim", "session")

REQUEST = AdmissionRequest(SCOPE, VERSION, b'{"reply":"\xc3\xa9"}')
START = Start(1, VERSION, SCOPE, "a" * 64, AT, ACTOR, "worker-1", 3, "r-1", EVENT_ID)
EXPIRY = Expiry(1, VERSION, SCOPE, "a" * 64, EVENT_ID, 4, AT, ACTOR)
CLOSURE = ClosureRequest(
    schema_version=1,
    scope=SCOPE,
    version=VERSION,
    admission_digest="a" * 64,
    start_digest="b" * 64,
    run_revision=3,
    actor="kim",
    issuer="datacentre",
    issuer_revision="7",
    proof_ref="prf_01h455vb4pex5vsknk084sn05t",
    proof_digest="c" * 64,
    observed_at=AT,
    expires_at=AT + timedelta(hours=1),
)
EVENT = Event(
    id=EVENT_ID,
    run_id=VERSION.run_id,
    scope=SCOPE,
    type=EventType.RESUME_STARTED,
    at=AT,
    actor=ACTOR,
    revision=3,
    suspension_id=VERSION.suspension_id,
    data={"lease": None, "request_digest": "a" * 64},
    position=4,
    previous="d" * 64,
    record_sha256="e" * 64,
)


def recomputed(domain: str, members: Any) -> str:
    """What anybody would compute who knows the document alone."""
    return sha256(f"{domain}\n".encode() + rfc8785.dumps(members)).hexdigest()


_PIN = {"run_id": VERSION.run_id, "suspension_id": VERSION.suspension_id, "run_revision": 2}
_INSTANT = "2031-05-01T12:30:00.000042Z"

# What it is, the product's digest, the domain, the object as documented, and the digest as it has ever been.
VECTORS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "request": (
        REQUEST.digest(),
        "cortex/resume-request/v1",
        {
            "schema_version": 1,
            "scope": "workspace=acme/project=web",
            "version": _PIN,
            "input_sha256": sha256(REQUEST.input).hexdigest(),
            "input_bytes": 14,
        },
        "e5244804ba7db3d234b4c24a2d3cb9976db95db2857c685f70abafee88b37763",
    ),
    "suspension": (
        suspension_digest(VERSION.suspension_id, VERSION.run_id, SCOPE, Reason.APPROVAL, "1" * 64, "2" * 64, AT),
        "cortex/suspension/v1",
        {
            "id": VERSION.suspension_id,
            "run_id": VERSION.run_id,
            "scope": "workspace=acme/project=web",
            "reason": "approval",
            "pending_sha256": "1" * 64,
            "continuation_sha256": "2" * 64,
            "expires_at": _INSTANT,
        },
        "ad77298a0d79bc103c17ba289aaaae492c4949275bf5cb8304ba32ed307683d7",
    ),
    "suspension without a deadline": (
        suspension_digest(VERSION.suspension_id, VERSION.run_id, SCOPE, Reason.AGENT_REPLY, "1" * 64, "2" * 64, None),
        "cortex/suspension/v1",
        {
            "id": VERSION.suspension_id,
            "run_id": VERSION.run_id,
            "scope": "workspace=acme/project=web",
            "reason": "agent_reply",
            "pending_sha256": "1" * 64,
            "continuation_sha256": "2" * 64,
            "expires_at": None,
        },
        "547ecbd0e1532979d8cc04bd0111584e5c0404e0626a92cf9f5150343cc7a850",
    ),
    "start": (
        START.digest,
        "cortex/resume-start/v1",
        {
            "schema_version": 1,
            "version": _PIN,
            "scope": "workspace=acme/project=web",
            "request_digest": "a" * 64,
            "started_at": _INSTANT,
        },
        "6ae6b0f2dad3e516566b9c9b46f19220ec3a4113924e4535cc529273f3ef24dc",
    ),
    "expiry": (
        EXPIRY.digest,
        "cortex/resume-expiry/v1",
        {
            "schema_version": 1,
            "version": _PIN,
            "scope": "workspace=acme/project=web",
            "request_digest": "a" * 64,
            "event_id": EVENT_ID,
            "run_revision": 4,
            "expired_at": _INSTANT,
        },
        "323637f10c7a93e4bdea75a1a9e4e94fbdce84a64f5f48777eb46dfe0fec407a",
    ),
    "closure": (
        CLOSURE.digest(),
        "cortex/resume-closure/v1",
        {
            "schema_version": 1,
            "scope": "workspace=acme/project=web",
            "version": _PIN,
            "admission_digest": "a" * 64,
            "start_digest": "b" * 64,
            "run_revision": 3,
            "actor": "kim",
            "issuer": "datacentre",
            "issuer_revision": "7",
            "proof_ref": "prf_01h455vb4pex5vsknk084sn05t",
            "proof_digest": "c" * 64,
            "observed_at": _INSTANT,
            "expires_at": "2031-05-01T13:30:00.000042Z",
        },
        "902d3953e63775e6d7f72603923e45bf88871fdffca1d717141f75375a7c2cf0",
    ),
    "interaction": (
        digest(digests.INTERACTION, {"interaction_id": "q \u00e9", "tool_use_id": "tu", "content_sha256": "f" * 64}),
        "cortex/interaction/v1",
        {"interaction_id": "q \u00e9", "tool_use_id": "tu", "content_sha256": "f" * 64},
        "df6620426e8ba50e7e636005e344116857b92a28e0c3410572c36bb76892a0aa",
    ),
    "event": (
        EVENT.compute_hash(),
        "cortex/event/v1",
        {
            "id": EVENT_ID,
            "run_id": VERSION.run_id,
            "scope": "workspace=acme/project=web",
            "type": "resume.started",
            "at": _INSTANT,
            "actor": {"principal": "kim", "via": "session"},
            "revision": 3,
            "suspension_id": VERSION.suspension_id,
            "data": {"lease": None, "request_digest": "a" * 64},
            "position": 4,
            "previous": "d" * 64,
            "record_sha256": "e" * 64,
        },
        "fbd9a51ba739cba4ee27d2da63f769a9532cff83e4aec2c3caf7af117565170e",
    ),
    "record of a start": (
        digest(digests.RECORD, START.record()),
        "cortex/record/v1",
        {
            "kind": "start",
            "schema_version": 1,
            "version": _PIN,
            "scope": "workspace=acme/project=web",
            "request_digest": "a" * 64,
            "started_at": _INSTANT,
            "started_by": {"principal": "kim", "via": "session"},
            "lease_owner": "worker-1",
            "lease_epoch": 3,
            "request_id": "r-1",
            "event_id": EVENT_ID,
        },
        "d44891ae3ff652f3bbd1aac4b3ece7bceb660abe286d7e18a70ec7a689f69b7e",
    ),
}


@pytest.mark.parametrize("what", VECTORS)
def test_a_digest_is_what_anybody_computes_and_what_it_has_ever_been(what: str) -> None:
    product, domain, members, golden = VECTORS[what]
    assert product == recomputed(domain, members)
    assert product == golden


def test_the_canonical_form_is_this_very_text() -> None:
    value = {"b": [1, 1.0, 1e21, 0.000001, -0.0], "a\u20ac": '\u00e9\u2028\n\u0007"\\/', "A": None, "\U0001f600": True}
    text = rfc8785.dumps(value)
    assert text.decode() == (
        '{"A":null,"a\u20ac":"\u00e9\u2028\\n\\u0007\\"\\\\/","b":[1,1,1e+21,0.000001,0],"\U0001f600":true}'
    )
    assert digest("d", value) == sha256(b"d\n" + text).hexdigest()


def test_domains_keep_the_same_object_apart() -> None:
    names = [
        digests.RESUME_REQUEST,
        digests.SUSPENSION,
        digests.RESUME_START,
        digests.RESUME_EXPIRY,
        digests.RESUME_CLOSURE,
        digests.INTERACTION,
        digests.RECORD,
        digests.EVENT,
    ]
    assert len({digest(name, {"a": 1}) for name in names}) == len(set(names)) == 8


def test_a_digest_is_64_lower_case_hex_digits() -> None:
    assert digest("d", {}) == "9cef9f818dcd5ac14ad2b4e4f202e04a6137bc1a4cf885f4a19be17018319ada"
    assert sha256_hex(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_an_instant_is_the_same_in_every_zone() -> None:
    elsewhere = AT.astimezone(timezone(timedelta(hours=14)))
    assert replace(START, started_at=elsewhere).digest == START.digest
    assert replace(START, started_at=AT + timedelta(microseconds=1)).digest != START.digest


def test_nobody_digests_a_time_without_a_zone() -> None:
    with pytest.raises(ValueError, match="zone"):
        _ = replace(START, started_at=AT.replace(tzinfo=None)).digest


@pytest.mark.parametrize("value", [1 << 53, -(1 << 53), float("nan"), float("inf"), "\ud800"])
def test_what_has_no_canonical_form_has_no_digest(value: Any) -> None:
    with pytest.raises(NotCanonical):
        digest("d", {"n": value})


def test_digests_are_compared_whole_and_by_case() -> None:
    one = digest("d", {})
    assert same_digest(one, one)
    for other in (one.upper(), one[:-1], one + "0", "", "\u00e9" * 64):
        assert not same_digest(one, other)


@pytest.mark.parametrize("member", ["request_digest", "event_id", "schema_version", "version", "scope"])
def test_each_member_of_a_start_is_bound_by_digest_or_record(member: str) -> None:
    others: dict[str, Any] = {
        "request_digest": "0" * 64,
        "event_id": "evt_x",
        "schema_version": 2,
        "version": replace(VERSION, run_revision=3),
        "scope": Scope.parse("workspace=acme"),
    }
    other = replace(START, **{member: others[member]})
    assert digest(digests.RECORD, other.record()) != digest(digests.RECORD, START.record())
    assert (other.digest != START.digest) is (member != "event_id")


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("started_by", Actor("kim", "token:x")),
        ("lease_owner", "worker-2"),
        ("lease_epoch", 4),
        ("request_id", None),
    ],
)
def test_what_the_digest_leaves_out_the_record_binds(member: str, value: Any) -> None:
    other = replace(START, **{member: value})
    assert other.digest == START.digest
    assert digest(digests.RECORD, other.record()) != digest(digests.RECORD, START.record())


def test_start_and_expiry_can_never_share_a_record() -> None:
    assert START.record()["kind"] == "start"
    assert EXPIRY.record()["kind"] == "expiry"


def test_an_admissions_digest_is_its_requests() -> None:
    admission = Admission(
        schema_version=1,
        scope=SCOPE,
        version=VERSION,
        input=None,
        input_sha256=sha256_hex(REQUEST.input),
        input_bytes=len(REQUEST.input),
        request_digest=REQUEST.digest(),
        suspension_digest="9" * 64,
        claimed_revision=3,
        admitted_at=AT,
        admitted_by=ACTOR,
        reason=Reason.AGENT_REPLY,
        start_by=None,
        lease_owner=None,
        lease_epoch=None,
        event_id=EVENT_ID,
    )
    assert admission.digest == REQUEST.digest()
    record = digest(digests.RECORD, admission.record())
    for changed in (replace(admission, start_by=AT), replace(admission, admitted_by=Actor("lee", "session"))):
        assert digest(digests.RECORD, changed.record()) != record


def test_a_closures_digest_is_its_requests() -> None:
    closure = Closure(CLOSURE, CLOSURE.digest(), EVENT_ID, 4, AT, ACTOR)
    assert closure.digest == CLOSURE.digest()
    assert json.loads(json.dumps(closure.record()))["request"] == CLOSURE.to_json()


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")), max_size=6))
def test_the_shortcut_writes_what_the_library_writes(members: dict[str, str]) -> None:
    assert digest("cortex/record/v1", members) == recomputed("cortex/record/v1", members)


@given(st.binary(max_size=64), st.binary(max_size=64))
def test_two_inputs_never_share_a_request(first: bytes, second: bytes) -> None:
    left, right = (replace(REQUEST, input=value).digest() for value in (first, second))
    assert (left == right) is (first == second)
