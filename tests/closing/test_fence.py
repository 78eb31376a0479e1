"""What the fence holds until its commit: whatever takes the actor's authority away waits, or wins.

Source: store.md section 6, "Fence".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.contrib.auth import get_user_model
from django.db import OperationalError, connection

from suspensions.closing.proof import LockingFence
from suspensions.domain import clock
from suspensions.domain.errors import ClosureDenied
from suspensions.domain.policy import Role
from suspensions.domain.values import SYSTEM, Closure
from suspensions.operations import access, issuers
from suspensions.operations.transactions import with_attempts
from suspensions.store import closures
from tests.closing.test_proof import LATER, Trouble, make_trouble
from tests.support.builders import at
from tests.support.threads import together

TAKEN_AWAY: dict[str, Callable[[Trouble], object]] = {
    "a grant": lambda trouble: access.revoke_role(trouble.operator.principal, Role.OPERATOR, trouble.scope, SYSTEM),
    "the issuer": lambda trouble: issuers.revoke_issuer(SYSTEM, trouble.issuer.name, trouble.issuer.revision),
    "the account": lambda trouble: (
        get_user_model().objects.filter(username=trouble.operator.principal).update(is_active=False)
    ),
}


@contextmanager
def _without_patience() -> Iterator[None]:
    """On PostgreSQL the connection goes back to its pool, so its patience is given back, too."""
    little, as_before = {
        "postgresql": ("SET lock_timeout = '50ms'", "RESET lock_timeout"),
        "sqlite": ("PRAGMA busy_timeout = 0", "PRAGMA busy_timeout = 20000"),
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(little)
        try:
            yield
        finally:
            cursor.execute(as_before)


@pytest.mark.parametrize("take_away", TAKEN_AWAY.values(), ids=TAKEN_AWAY.keys())
def test_what_the_closing_rests_on_cannot_be_taken_away_before_its_commit(
    take_away: Callable[[Trouble], object],
) -> None:
    trouble = make_trouble()
    outcomes: list[object] = []

    def impatient() -> object:
        with _without_patience():
            return take_away(trouble)

    with at(clock.now() + LATER):
        request, proof = trouble.signed()

        def close() -> Closure:
            outcomes.extend(together([impatient]))
            return closures.close_resume(request, proof, trouble.operator.actor)

        fence = LockingFence()
        closure = with_attempts(lambda finished: fence.with_resume_closure(trouble.operator, request, proof, close))
    assert closure.fresh
    (outcome,) = outcomes
    assert isinstance(outcome, Exception)
    assert isinstance(outcome, OperationalError) or isinstance(outcome.__cause__, OperationalError)


@pytest.mark.parametrize("take_away", TAKEN_AWAY.values(), ids=TAKEN_AWAY.keys())
def test_what_was_taken_away_before_denies(take_away: Callable[[Trouble], object]) -> None:
    trouble = make_trouble()
    with at(clock.now() + LATER):
        request, proof = trouble.signed()
        take_away(trouble)
        with pytest.raises(ClosureDenied):
            LockingFence().with_resume_closure(
                trouble.operator, request, proof, lambda: closures.close_resume(request, proof, trouble.operator.actor)
            )
