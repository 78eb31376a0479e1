"""Saying that somebody has a pause open: a soft mark that blocks nobody. Source: pages.md, "One pause"."""

from __future__ import annotations

import structlog
from django.db import DatabaseError

from suspensions.domain import clock
from suspensions.domain.errors import CortexError
from suspensions.domain.policy import Caller
from suspensions.domain.scopes import Scope
from suspensions.operations.transactions import in_transaction
from suspensions.queries.looking import LASTS
from suspensions.store import looking

log = structlog.stdlib.get_logger("cortex.looking")


def mark_looking(caller: Caller, scope: Scope, suspension_id: str) -> None:
    """Keep the caller's mark on a pause; a page never fails for want of it. Raises: NotFound for a foreign scope."""
    caller.require(scope)
    now = clock.now()
    try:
        if not looking.is_marked(caller.principal, suspension_id, now):
            in_transaction(looking.mark, caller.principal, suspension_id, now, LASTS)
    except (DatabaseError, CortexError) as error:
        log.debug("a look at a pause was not marked", reason=type(error).__name__)
