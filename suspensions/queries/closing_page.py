"""One run's last resume with what is known of it, for whoever closes it. Source: pages.md, "Uncertain resumes"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from suspensions.domain.errors import RunNotFound
from suspensions.domain.reach import Reach
from suspensions.domain.scopes import Scope
from suspensions.domain.standing import Closing, closing_of
from suspensions.domain.values import Admission, Closure, Expiry, Run, Start
from suspensions.models import Admission as AdmissionRow
from suspensions.models import Run as RunRow
from suspensions.queries import issuers, receipts
from suspensions.queries.issuers import IssuerValue
from suspensions.queries.reach import within
from suspensions.queries.rows import RUN_COLUMNS, to_run
from suspensions.queries.run_page import Work, read_work


@dataclass(frozen=True, slots=True)
class ClosingRead:
    """The run as it is now, the receipts of its latest admission, its last progress, and who may vouch for it."""

    run: Run
    admission: Admission | None
    outcome: Start | Expiry | None
    closure: Closure | None
    work: Work | None
    issuers: tuple[IssuerValue, ...]

    def stand(self, now: datetime) -> Closing:
        return closing_of(self.run, now, self.outcome, self.closure)


def read_closing(reach: Reach, run_id: str) -> ClosingRead:
    """A run that the reach covers. Raises: RunNotFound, StoredRecordBroken."""
    row = RunRow.objects.filter(within(reach), id=run_id).values(*RUN_COLUMNS).first()
    if row is None:
        raise RunNotFound
    run = to_run(row)
    latest = AdmissionRow.objects.filter(run_id=run_id).order_by("-suspension_id")
    suspension_id = latest.values_list("suspension_id", flat=True).first()
    admission, outcome, closure = (None, None, None) if suspension_id is None else receipts.of_pause(suspension_id)
    return ClosingRead(run, admission, outcome, closure, read_work(run_id), _vouching(run.scope))


def _vouching(scope: Scope) -> tuple[IssuerValue, ...]:
    """The issuers whose word reaches the scope, revoked ones too."""
    return tuple(issuer for issuer in issuers.list_issuers() if issuer.scope.covers(scope))
