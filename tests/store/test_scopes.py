"""Scopes: another scope's row looks exactly like a missing one, for every operation. Source: store.md section 1.

Reading, claiming, deleting and listing expired pauses cover what lies below; everything else acts at the exact scope.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from suspensions.domain import ids
from suspensions.domain.errors import CortexError
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import AdmissionRequest, ClaimVersion, Holder, Reason
from suspensions.operations import leases, progress, resumes, runs, suspensions
from suspensions.operations.transactions import in_transaction
from suspensions.store import closures
from tests.store import situations
from tests.store.rows import one_row, rows
from tests.store.situations import Made, Situation, closing
from tests.store.support import ACTOR, around, claim, everything, instant_of, this_moment, unchanged
from tests.support.builders import admit as answer
from tests.support.builders import approve_all, caller, fresh_scope, make_pause, new_suspension, snapshot, take


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on one run, with a situation in which its own scope may do it."""

    name: str
    situation: Situation
    act: Callable[[Scope, Made], Any]
    missing: str
    covering: bool = False


def _saved(scope: Scope) -> Made:
    made = situations.leased(scope)
    assert made.holder is not None
    progress.save_progress(caller(scope), scope, snapshot(made.run_id), made.holder)
    return made


def _late(scope: Scope) -> Made:
    return situations.paused_past_its_deadline(scope)


def _external(scope: Scope) -> Made:
    return situations.paused(scope, Reason.EXTERNAL_TOOL)


def _asking_a_peer(scope: Scope) -> Made:
    return situations.paused(scope, Reason.AGENT_REPLY)


def _resume(scope: Scope, made: Made) -> tuple[Scope, str, str, str]:
    return scope, made.run_id, made.version.suspension_id, made.admission.request_digest if made.admission else ""


def _receipt(scope: Scope, made: Made) -> tuple[Scope, str, str]:
    return _resume(scope, made)[:3]


def _holder(made: Made) -> Holder:
    return made.holder or Holder("worker-1", 1)


OPERATIONS = [
    Operation(
        "pause",
        situations.running,
        lambda scope, made: suspensions.create_suspension(caller(scope), new_suspension(scope, made.run_id)),
        "run_not_found",
    ),
    Operation(
        "finish",
        situations.running,
        lambda scope, made: runs.finish_run(caller(scope), scope, made.run_id, RunState.COMPLETED),
        "run_not_found",
    ),
    Operation(
        "cancel",
        situations.paused,
        lambda scope, made: runs.cancel_run(caller(scope), scope, made.run_id, "stop"),
        "run_not_found",
    ),
    Operation(
        "decide",
        situations.paused,
        lambda scope, made: resumes.decide(
            caller(scope), scope, made.version.suspension_id, 2, approve_all(made.pause) if made.pause else ()
        ),
        "suspension_not_found",
    ),
    Operation(
        "admit",
        _asking_a_peer,
        lambda scope, made: resumes.admit_resume(
            caller(scope), AdmissionRequest(scope, made.version, b"yes"), frozenset({"reply-1"})
        ),
        "not_suspended",
    ),
    Operation(
        "start",
        situations.admitted,
        lambda scope, made: resumes.start_resume(caller(scope), *_resume(scope, made)),
        "resume_admission_not_found",
    ),
    Operation(
        "expire",
        situations.overdue,
        lambda scope, made: resumes.expire_resume(caller(scope), *_resume(scope, made)),
        "resume_admission_not_found",
    ),
    Operation(
        "close",
        situations.started_and_lapsed,
        lambda scope, made: in_transaction(
            closures.close_resume, closing(made, scope=scope, run_revision=3), b"proof", ACTOR
        ),
        "resume_admission_not_found",
    ),
    Operation(
        "renew",
        situations.leased,
        lambda scope, made: leases.renew_lease(caller(scope), scope, made.run_id, _holder(made), take(seconds=900)),
        "run_not_found",
    ),
    Operation(
        "release",
        situations.leased,
        lambda scope, made: leases.release_lease(caller(scope), scope, made.run_id, _holder(made)),
        "run_not_found",
    ),
    Operation(
        "reclaim",
        situations.lapsed,
        lambda scope, made: leases.reclaim_lease(caller(scope), scope, made.run_id, take("worker-2")),
        "run_not_found",
    ),
    Operation(
        "save progress",
        situations.leased,
        lambda scope, made: progress.save_progress(caller(scope), scope, snapshot(made.run_id), _holder(made)),
        "run_lease_lost",
    ),
    Operation(
        "get progress",
        _saved,
        lambda scope, made: progress.get_progress(caller(scope), scope, made.run_id),
        "progress_not_found",
    ),
    Operation(
        "get admission",
        situations.admitted,
        lambda scope, made: resumes.get_admission(caller(scope), *_receipt(scope, made)),
        "resume_admission_not_found",
    ),
    Operation(
        "latest admission",
        situations.admitted,
        lambda scope, made: resumes.latest_admission(caller(scope), scope, made.run_id),
        "resume_admission_not_found",
    ),
    Operation(
        "get start",
        situations.started,
        lambda scope, made: resumes.get_start(caller(scope), *_receipt(scope, made)),
        "resume_start_not_found",
    ),
    Operation(
        "get expiry",
        situations.expired,
        lambda scope, made: resumes.get_expiry(caller(scope), *_receipt(scope, made)),
        "resume_expiry_not_found",
    ),
    Operation(
        "get closure",
        situations.closed,
        lambda scope, made: closures.get_closure(*_receipt(scope, made)),
        "resume_closure_not_found",
    ),
    Operation(
        "get suspension",
        situations.paused,
        lambda scope, made: suspensions.get_suspension(caller(scope), scope, made.run_id),
        "not_suspended",
        covering=True,
    ),
    Operation(
        "read suspension",
        situations.paused,
        lambda scope, made: suspensions.read_suspension(caller(scope), scope, made.version.suspension_id),
        "suspension_not_found",
        covering=True,
    ),
    Operation(
        "claim",
        _external,
        lambda scope, made: suspensions.claim_suspension(caller(scope), scope, made.run_id),
        "not_suspended",
        covering=True,
    ),
    Operation(
        "claim version",
        _external,
        lambda scope, made: suspensions.claim_suspension(caller(scope), scope, made.run_id, version=made.version),
        "not_suspended",
        covering=True,
    ),
    Operation(
        "claim expired",
        _late,
        lambda scope, made: suspensions.claim_suspension(caller(scope), scope, made.run_id, expired_by=this_moment()),
        "not_suspended",
        covering=True,
    ),
    Operation(
        "claim leased",
        situations.paused,
        lambda scope, made: claim(scope, made.run_id, lease=take(), first=snapshot(made.run_id)),
        "not_suspended",
        covering=True,
    ),
    Operation(
        "claim continuation",
        situations.incomplete,
        lambda scope, made: leases.claim_continuation(caller(scope), scope, made.run_id, take()),
        "run_not_found",
        covering=True,
    ),
    Operation(
        "delete suspension",
        situations.claimed,
        lambda scope, made: suspensions.delete_suspension(caller(scope), scope, made.run_id),
        "not_suspended",
        covering=True,
    ),
]

each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)


def _refusal(act: Callable[[], Any]) -> tuple[str, str, str]:
    """What a caller is told, word by word."""
    with pytest.raises(CortexError) as caught:
        act()
    return caught.value.code, caught.value.detail, repr(caught.value.members())


def _ghost(made: Made) -> Made:
    """The same with ids that nobody ever had."""
    run_id = ids.new_id(ids.RUN)
    pause = made.pause and replace(made.pause, id=ids.new_id(ids.SUSPENSION), run_id=run_id)
    return _Ghost(made.scope, run_id, made.holder, pause, made.admission, made.start, made.closure)


class _Ghost(Made):
    @property
    def version(self) -> Any:
        pinned = ClaimVersion(self.run_id, ids.new_id(ids.SUSPENSION), 2)
        return pinned if self.pause is None else replace(pinned, suspension_id=self.pause.id)


@each_operation
@pytest.mark.parametrize("where", ["above", "below", "beside", "elsewhere"])
def test_another_scopes_row_looks_exactly_like_a_missing_one(operation: Operation, where: str) -> None:
    made = operation.situation(fresh_scope(2))
    other = around(made.scope)[where]
    if operation.covering and where == "above":
        operation.act(other, made)
        assert everything(made.scope)["run"], "what it covers it acts on"
        assert one_row("run", id=made.run_id)["scope"] == made.scope.text
        return

    with unchanged(made.scope, other):
        missing = _refusal(lambda: operation.act(other, _ghost(made)))
        foreign = _refusal(lambda: operation.act(other, made))

    assert foreign == missing
    assert foreign[0] == operation.missing
    operation.act(made.scope, made)


# -- lists -------------------------------------------------------------------------------------------

Listing = Callable[[Scope], Any]

LISTS: dict[str, tuple[Situation, Listing]] = {
    "admissions": (situations.admitted, lambda scope: resumes.list_admissions(caller(scope), scope, None, 10).items),
    "starts": (situations.started, lambda scope: resumes.list_starts(caller(scope), scope, None, 10).items),
    "expiries": (situations.expired, lambda scope: resumes.list_expiries(caller(scope), scope, None, 10).items),
    "closures": (situations.closed, lambda scope: closures.list_closures(scope, None, 10).items),
    "agent reply runs": (
        _asking_a_peer,
        lambda scope: resumes.list_agent_reply_runs(caller(scope), scope, None, 10),
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_these_lists_are_of_the_exact_scope(name: str) -> None:
    situation, listing = LISTS[name]
    made = situation(fresh_scope(2))

    assert len(listing(made.scope)) == 1
    for other in around(made.scope).values():
        assert listing(other) == ()


def test_the_next_start_is_of_the_exact_scope() -> None:
    made = situations.admitted(fresh_scope(2))
    for other in around(made.scope).values():
        assert resumes.start_next(caller(other), other, take()) is None
    assert resumes.start_next(caller(made.scope), made.scope, take()) is not None


# -- look-alikes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("w={x}ab", "w={x}a"),
        ("w={x}a", "w={x}ab"),
        ("w={x}a", "w={x}A"),
        ("w={x}A", "w={x}a"),
        ("w={x}axb", "w={x}a_b"),
        ("w={x}a_b", "w={x}axb"),
        ("w={x}ab/p=c", "w={x}a"),
        ("w={x}a/p=b", "w={x}A"),
        ("w={x}axb/p=c", "w={x}a_b"),
        ("w={x}/p=ab", "w={x}/p=a"),
        ("w={x}/p=ab/t=c", "w={x}/p=a"),
        ("w={x}/p=AB/t=c", "w={x}/p=ab"),
    ],
)
def test_a_scope_that_only_looks_like_it_covers_nothing(own: str, other: str) -> None:
    unique = fresh_scope().text.removeprefix("w=")
    mine, theirs = (Scope.parse(text.format(x=unique)) for text in (own, other))
    made = situations.paused_past_its_deadline(mine)

    with unchanged(mine, theirs):
        for act in (
            lambda: suspensions.get_suspension(caller(theirs), theirs, made.run_id),
            lambda: claim(theirs, made.run_id, expired_by=this_moment()),
            lambda: suspensions.delete_suspension(caller(theirs), theirs, made.run_id),
        ):
            assert _refusal(act)[0] == "not_suspended"
        assert suspensions.list_expired(caller(theirs), theirs, this_moment(), 10) == ()
    assert len(suspensions.list_expired(caller(mine), mine, this_moment(), 10)) == 1


# -- a run keeps its scope ---------------------------------------------------------------------------


def test_what_follows_a_broader_claim_runs_under_the_runs_own_scope() -> None:
    scope = fresh_scope(3)
    above = Scope.parse(scope.prefixes[1])
    made = situations.paused(scope)
    claim(above, made.run_id, lease=take(), first=snapshot(made.run_id))
    holder = Holder("worker-1", 1)

    for act in (
        lambda: leases.release_lease(caller(above), above, made.run_id, holder),
        lambda: runs.finish_run(caller(above), above, made.run_id, RunState.COMPLETED, holder=holder),
    ):
        assert _refusal(act)[0] == "run_not_found"

    leases.release_lease(caller(scope), scope, made.run_id, holder)
    make_pause(scope, run=made.run)
    found = {row["scope"] for row in rows("SELECT scope FROM event WHERE run_id = %s", [made.run_id])}
    assert found == {scope.text}


def test_every_row_of_a_whole_life_stands_in_the_runs_scope() -> None:
    scope = fresh_scope(3)
    made = situations.started(scope)
    later = make_pause(scope, Reason.AGENT_REPLY, run=made.run)
    answer(later)
    one, two, three = scope.prefixes
    expected = {"scope": scope.text, "scope_1": one, "scope_2": two, "scope_3": three}
    for table in ("run", "suspension", "resume_admission", "resume_start_or_expiry", "event"):
        column = "id" if table == "run" else "run_id"
        found = rows(f"SELECT scope, scope_1, scope_2, scope_3 FROM {table} WHERE {column} = %s", [made.run_id])
        assert found
        assert all(row == expected for row in found)
    assert instant_of(one_row("run", id=made.run_id)["created_at"]) == made.run.created_at
