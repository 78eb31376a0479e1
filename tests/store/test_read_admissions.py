"""get, latest and list of admissions and of the other receipts. Source: store.md section 3, api.md "Answers"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from suspensions.domain.errors import (
    CortexError,
    InvalidCursor,
    InvalidLimit,
    InvalidRequest,
    NotFound,
    ResumeAdmissionNotFound,
)
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Admission, ClosureRequest, Page, Reason, Suspension
from suspensions.operations import closures, resumes, runs, suspensions
from tests.store.support import Clock
from tests.support import closing
from tests.support.builders import admit, caller, fresh_scope, make_pause, make_run, new_suspension, start, take

UNKNOWN_RUN = "arun_01h455vb4pex5vsknk084sn02q"
UNKNOWN_PAUSE = "sus_01h455vb4pex5vsknk084sn02q"


@pytest.fixture
def scope() -> Scope:
    return fresh_scope()


def admitted(scope: Scope, **more: Any) -> Admission:
    return admit(make_pause(scope, Reason.AGENT_REPLY, **more))


def listed(scope: Scope, cursor: str | None = None, limit: int = 50, state: str | None = None) -> Page[Admission]:
    return resumes.list_admissions(caller(scope, Role.VIEWER), scope, cursor, limit, state)


def pause_again(scope: Scope, run_id: str) -> Suspension:
    return suspensions.create_suspension(caller(scope), new_suspension(scope, run_id, Reason.AGENT_REPLY))


# -- one -------------------------------------------------------------------------------------------


def test_an_admission_is_read_back_whole_by_every_role(scope: Scope) -> None:
    admission = admitted(scope)
    version = admission.version
    for role in Role:
        by = caller(scope, role)
        for found in (
            resumes.get_admission(by, scope, version.run_id, version.suspension_id),
            resumes.latest_admission(by, scope, version.run_id),
        ):
            assert found == admission
            assert (found.fresh, found.input) == (False, admission.input)


def test_an_admission_outlives_its_pause_and_its_run(scope: Scope) -> None:
    admission = admitted(scope)
    version = admission.version
    start(admission)
    suspensions.delete_suspension(caller(scope), scope, version.run_id)
    assert resumes.get_admission(caller(scope), scope, version.run_id, version.suspension_id) == admission
    runs.finish_run(caller(scope), scope, version.run_id, RunState.COMPLETED)
    assert resumes.latest_admission(caller(scope), scope, version.run_id) == admission


def test_what_was_not_admitted_is_not_found(scope: Scope) -> None:
    admission = admitted(scope)
    waiting = make_pause(scope, Reason.AGENT_REPLY)
    version = admission.version
    for run_id, suspension_id in [
        (UNKNOWN_RUN, UNKNOWN_PAUSE),
        (version.run_id, UNKNOWN_PAUSE),
        (UNKNOWN_RUN, version.suspension_id),
        (waiting.run_id, waiting.id),
        (waiting.run_id, version.suspension_id),
        (version.run_id, waiting.id),
    ]:
        with pytest.raises(ResumeAdmissionNotFound):
            resumes.get_admission(caller(scope), scope, run_id, suspension_id)
    for run_id in (UNKNOWN_RUN, waiting.run_id):
        with pytest.raises(ResumeAdmissionNotFound):
            resumes.latest_admission(caller(scope), scope, run_id)


def test_another_scopes_admission_looks_like_a_missing_one() -> None:
    parent = fresh_scope()
    scope = Scope.parse(f"{parent.text}/p=here")
    version = admitted(scope).version
    said = set()
    for at in (parent, Scope.parse(f"{scope.text}/t=below"), fresh_scope()):
        for run_id, suspension_id in ((version.run_id, version.suspension_id), (UNKNOWN_RUN, UNKNOWN_PAUSE)):
            with pytest.raises(ResumeAdmissionNotFound) as by_pause:
                resumes.get_admission(caller(at), at, run_id, suspension_id)
            with pytest.raises(ResumeAdmissionNotFound) as latest:
                resumes.latest_admission(caller(at), at, run_id)
            said |= {(each.value.detail, str(each.value.members())) for each in (by_pause, latest)}
        assert listed(at).items == ()
    assert len(said) == 1
    with pytest.raises(NotFound):
        resumes.get_admission(caller(fresh_scope()), scope, version.run_id, version.suspension_id)


def test_the_latest_is_the_one_of_the_highest_pause(scope: Scope) -> None:
    run = make_run(scope)
    admissions = []
    for _ in range(3):
        admission = admit(pause_again(scope, run.id))
        admissions.append(admission)
        assert resumes.latest_admission(caller(scope), scope, run.id) == admission
        start(admission)
    pause_again(scope, run.id)
    assert resumes.latest_admission(caller(scope), scope, run.id) == admissions[-1]
    for admission in admissions:
        version = admission.version
        assert resumes.get_admission(caller(scope), scope, run.id, version.suspension_id) == admission


# -- the list --------------------------------------------------------------------------------------


def test_the_list_is_the_exact_scopes_history_by_pause_descending_without_inputs(scope: Scope) -> None:
    admissions = [admitted(scope) for _ in range(4)]
    admitted(Scope.parse(f"{scope.text}/p=below"))
    found = listed(scope)
    assert [each.request_digest for each in found.items] == [each.request_digest for each in reversed(admissions)]
    assert found.next is None
    for item in found.items:
        assert item.input is None
        assert item.input_bytes == len(b'{"reply":"yes"}')
        assert item.input_sha256 == admissions[0].input_sha256


def test_pages_join_without_gap_or_repeat_while_rows_are_added(scope: Scope) -> None:
    admissions = [admitted(scope) for _ in range(7)]
    seen: list[str] = []
    cursor = None
    for _ in range(10):
        page = listed(scope, cursor, 3)
        seen += [each.version.suspension_id for each in page.items]
        admitted(scope)  # newer than all that the walk is about
        cursor = page.next
        if cursor is None:
            break
    assert seen == sorted((each.version.suspension_id for each in admissions), reverse=True)


def test_a_page_that_holds_all_has_no_next(scope: Scope) -> None:
    for _ in range(3):
        admitted(scope)
    assert listed(scope, limit=3).next is None
    assert listed(scope, limit=2).next is not None
    assert listed(fresh_scope()) == Page((), None)


def test_a_filter_gives_those_that_stand_there(scope: Scope, time: Clock, settings: Settings) -> None:
    settings.CLOSURE_AUTHORIZER = closing.PERMISSIVE_AUTHORIZER
    settings.CLOSURE_FENCE = closing.PERMISSIVE_FENCE
    by = caller(scope)
    waiting, started, finished, closed = (admitted(scope) for _ in range(4))
    expired = admitted(scope, expires_at=time.ahead(1))
    for each in (started, finished, closed):
        start(each)
    runs.finish_run(by, scope, finished.version.run_id, RunState.COMPLETED)
    time.tick(5000)
    version = expired.version
    resumes.expire_resume(by, scope, version.run_id, version.suspension_id, expired.request_digest)
    closures.close_resume(by, _closure_request(closed, time), b"proof")

    def ids(state: str | None) -> set[str]:
        return {each.version.run_id for each in listed(scope, state=state).items}

    assert ids("admitted") == {waiting.version.run_id}
    assert ids("started") == {started.version.run_id, finished.version.run_id}
    assert ids("expired") == {expired.version.run_id}
    assert ids("closed") == {closed.version.run_id}
    assert len(ids(None)) == 5


def _closure_request(admission: Admission, time: Clock) -> ClosureRequest:
    version = admission.version
    started = resumes.get_start(caller(admission.scope), admission.scope, version.run_id, version.suspension_id)
    return closing.closure_request(admission, started, time.now)


@pytest.mark.parametrize("state", ["", "Admitted", "running", "admitted "])
def test_an_unknown_state_is_refused(state: str, scope: Scope) -> None:
    with pytest.raises(InvalidRequest):
        listed(scope, state=state)


# -- every list of receipts alike ------------------------------------------------------------------

Lister = Callable[[Scope, str | None, int], Page[Any]]
_LISTS: dict[str, Lister] = {
    "admissions": lambda scope, cursor, limit: resumes.list_admissions(caller(scope), scope, cursor, limit),
    "starts": lambda scope, cursor, limit: resumes.list_starts(caller(scope), scope, cursor, limit),
    "expiries": lambda scope, cursor, limit: resumes.list_expiries(caller(scope), scope, cursor, limit),
    "closures": lambda scope, cursor, limit: closures.list_closures(caller(scope), scope, cursor, limit),
}


@pytest.fixture
def three_of_each(scope: Scope, time: Clock, settings: Settings) -> Scope:
    """A scope with three expiries, three closures, and so six admissions and three starts."""
    settings.CLOSURE_AUTHORIZER = closing.PERMISSIVE_AUTHORIZER
    settings.CLOSURE_FENCE = closing.PERMISSIVE_FENCE
    by = caller(scope)
    closing_ones = [admitted(scope) for _ in range(3)]
    expiring = [admitted(scope, expires_at=time.ahead(1)) for _ in range(3)]
    for each in closing_ones:
        start(each, lease=take("worker", 10))
    time.tick(5000)
    for each in expiring:
        version = each.version
        resumes.expire_resume(by, scope, version.run_id, version.suspension_id, each.request_digest)
    for each in closing_ones:
        closures.close_resume(by, _closure_request(each, time), b"proof")
    return scope


def _key(item: Any) -> str:
    version = item.request.version if hasattr(item, "request") else item.version
    return str(version.suspension_id)


def test_each_list_pages_by_pause_descending(three_of_each: Scope) -> None:
    for name, expected in [("admissions", 6), ("starts", 3), ("expiries", 3), ("closures", 3)]:
        keys: list[str] = []
        cursor = None
        while True:
            page = _LISTS[name](three_of_each, cursor, 2)
            assert len(page.items) <= 2
            assert not any(item.fresh for item in page.items)
            keys += [_key(item) for item in page.items]
            cursor = page.next
            if cursor is None:
                break
        assert keys == sorted(set(keys), reverse=True)
        assert len(keys) == expected, name


def test_a_cursor_of_another_list_or_scope_is_refused(three_of_each: Scope) -> None:
    cursors = {name: lister(three_of_each, None, 1).next for name, lister in _LISTS.items()}
    other = fresh_scope()
    for name, lister in _LISTS.items():
        for origin, cursor in cursors.items():
            assert cursor is not None
            if origin != name:
                with pytest.raises(InvalidCursor):
                    lister(three_of_each, cursor, 1)
            with pytest.raises(InvalidCursor):
                lister(other, cursor, 1)
    with pytest.raises(InvalidCursor):
        listed(three_of_each, cursors["admissions"], 1, "started")


@pytest.mark.parametrize("name", _LISTS)
@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "é", "=" * 8, "\x00", "a" * 5000])
def test_a_cursor_that_nobody_made_is_refused(name: str, cursor: str, scope: Scope) -> None:
    with pytest.raises(InvalidCursor):
        _LISTS[name](scope, cursor, 1)


@pytest.mark.parametrize("name", _LISTS)
@pytest.mark.parametrize("limit", [0, -1, 257, True, 1.0, "10", None])
def test_a_limit_out_of_1_to_256_is_refused(name: str, limit: Any, scope: Scope) -> None:
    with pytest.raises(InvalidLimit):
        _LISTS[name](scope, None, limit)


@pytest.mark.parametrize("name", _LISTS)
def test_the_bounds_of_a_limit_are_inclusive(name: str, scope: Scope) -> None:
    for limit in (1, 256):
        assert _LISTS[name](scope, None, limit).items == ()


@pytest.mark.parametrize("name", _LISTS)
def test_a_list_of_a_scope_without_a_grant_is_not_there(name: str) -> None:
    scope, stranger = fresh_scope(), caller(fresh_scope())
    reads: dict[str, Callable[[], object]] = {
        "admissions": lambda: resumes.list_admissions(stranger, scope, None, 1),
        "starts": lambda: resumes.list_starts(stranger, scope, None, 1),
        "expiries": lambda: resumes.list_expiries(stranger, scope, None, 1),
        "closures": lambda: closures.list_closures(stranger, scope, None, 1),
    }
    with pytest.raises(CortexError) as caught:
        reads[name]()
    assert type(caught.value) is NotFound
