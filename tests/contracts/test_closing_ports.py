"""The example of docs/closing-ports.md, swapped in for both ports, closes by a ticket and by nothing else."""

from __future__ import annotations

import hmac
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.utils.module_loading import import_string

from suspensions.domain import clock
from suspensions.domain.errors import ClosureDenied
from suspensions.domain.values import SYSTEM, Closure
from suspensions.operations import access, closures, leases
from tests.closing.test_proof import LATER, Trouble, make_trouble
from tests.store.support import unchanged
from tests.support.builders import at, caller, take
from tests.support.closing import closure_request

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "closing-ports.md"
KEY = "shared-with-the-ticket-system"


@pytest.fixture(autouse=True)
def swapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[None]:
    """Both ports are the document's, as an installation would have them."""
    (code,) = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "acme_closing.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TICKET_KEY", KEY)
    named = dict(re.findall(r"^(CLOSURE_\w+)=(\S+)$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE))
    assert set(named) == {"CLOSURE_AUTHORIZER", "CLOSURE_FENCE"}
    for name, path in named.items():
        setattr(settings, name, path)
    yield
    sys.modules.pop("acme_closing", None)


@pytest.fixture
def trouble() -> Trouble:
    return make_trouble()


def ticket(trouble: Trouble, *, key: str = KEY, **changes: Any) -> bytes:
    said = {"start": trouble.start.digest, "quiet": ["worker-1"], **changes}
    mac = hmac.new(key.encode(), json.dumps(said, sort_keys=True).encode(), sha256).hexdigest()
    return json.dumps({**said, "mac": mac}).encode()


def close(trouble: Trouble, proof: bytes) -> Closure:
    """Five minutes on, when the lease has lapsed."""
    with at(clock.now() + LATER):
        request = closure_request(trouble.admission, trouble.start, clock.now(), actor=trouble.operator.principal)
        request = replace(request, proof_digest=sha256(proof).hexdigest())
        return closures.close_resume(trouble.operator, request, proof)


def test_a_ticket_closes(trouble: Trouble) -> None:
    closure = close(trouble, ticket(trouble))
    assert closure.fresh
    assert closures.validate_closure(closure)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"key": "another"}, "not signed"),
        ({"start": "0" * 64}, "another start"),
        ({"quiet": []}, "says nothing of worker-1"),
    ],
    ids=["signed by another", "of another start", "of no worker"],
)
def test_a_ticket_that_is_not_right_closes_nothing(trouble: Trouble, changes: dict[str, Any], reason: str) -> None:
    with unchanged(trouble.scope), pytest.raises(ClosureDenied) as denied:
        close(trouble, ticket(trouble, **changes))
    assert reason in denied.value.reason


def test_no_ticket_closes_nothing(trouble: Trouble) -> None:
    with unchanged(trouble.scope), pytest.raises(ClosureDenied):
        close(trouble, b"a JWS, or anything")


def test_whoever_is_no_operator_any_more_closes_nothing(trouble: Trouble) -> None:
    proof = ticket(trouble)
    access.revoke_role(trouble.operator.principal, None, None, by=SYSTEM)
    with unchanged(trouble.scope), pytest.raises(ClosureDenied):
        close(trouble, proof)


def test_a_holder_that_appeared_after_the_authorizer_looked_is_seen_by_the_fence(
    trouble: Trouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    authorizer = import_string("acme_closing.TicketAuthorizer")

    def look_and_be_overtaken(self: Any, who: Any, request: Any, proof: bytes) -> None:
        looked(self, who, request, proof)
        run_id = trouble.admission.version.run_id
        leases.reclaim_lease(caller(trouble.scope), trouble.scope, run_id, take("worker-2"))

    looked = authorizer.authorize_resume_closure
    monkeypatch.setattr(authorizer, "authorize_resume_closure", look_and_be_overtaken)
    with pytest.raises(ClosureDenied) as denied:
        close(trouble, ticket(trouble))
    assert "worker-2" in denied.value.reason
