"""What a new demo remembers: told once, whole, and yesterday in every time zone."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from suspensions.demo import yesterday
from suspensions.domain import clock
from suspensions.domain.scopes import Scope
from suspensions.operations import receipts, resumes, suspensions
from suspensions.queries.run_page import list_runs, read_run
from tests.support import builders


@pytest.fixture
def scope(database: None) -> Scope:
    return builders.fresh_scope()


def test_the_upgrade_was_approved_and_the_new_account_denied(scope: Scope) -> None:
    # Noon, so that the minutes it takes lie in one day in each of the zones below.
    noon = builders.now().replace(hour=12, minute=0)
    with clock.use_clock(lambda: noon):
        yesterday.tell(scope)

    found = list_runs((scope,), "", None, None, None, 10).items
    assert {str(run.state) for run in found} == {"completed"}
    said = {}
    for run in found:
        whole = read_run((scope,), run.id)
        admission = resumes.latest_admission(builders.caller(run.scope), run.scope, run.id)
        said[admission.admitted_by.principal] = whole.output or ""
        checks = receipts.verify_receipt(
            builders.caller(run.scope), run.scope, "admission", run.id, admission.version.suspension_id
        )
        assert all(check.ok for check in checks)
        pause = suspensions.read_suspension(builders.caller(run.scope), run.scope, admission.version.suspension_id)
        for zone in ("Pacific/Kiritimati", "UTC", "Pacific/Pago_Pago"):
            here = ZoneInfo(zone)
            gone = noon.astimezone(here).date() - pause.created_at.astimezone(here).date()
            assert gone == timedelta(days=1)
    assert "upgrade_cabin was approved and has run" in said["noor.haddad"]
    assert "update_payee was denied" in said["piet.lindqvist"]


def test_it_is_told_once(scope: Scope) -> None:
    yesterday.tell(scope)
    yesterday.tell(scope)

    assert len(list_runs((scope,), "", None, None, None, 10).items) == len(yesterday.STORIES)
