"""Making and ending runs."""

from __future__ import annotations

from suspensions.domain.errors import Forbidden
from suspensions.domain.policy import Caller, Role
from suspensions.domain.scopes import Scope
from suspensions.domain.states import RunState
from suspensions.domain.values import Holder, NewRun, Run
from suspensions.operations.transactions import in_transaction
from suspensions.store import runs


def create_run(caller: Caller, new: NewRun) -> Run:
    """Make a running run. The same id with the same content is that run, fresh false.

    Raises: Forbidden, NotFound, and as `store.runs.create_run`.
    """
    caller.require(new.scope, Role.AGENT)
    return in_transaction(runs.create_run, new, caller.actor)


def finish_run(
    caller: Caller,
    scope: Scope,
    run_id: str,
    outcome: RunState,
    *,
    output: str = "",
    error: str = "",
    holder: Holder | None = None,
) -> Run:
    """End a running run; the same again is the same run. Raises: as `store.runs.finish_run`."""
    caller.require(scope, Role.AGENT)
    return in_transaction(runs.finish_run, scope, run_id, outcome, output, error, holder, caller.actor)


def cancel_run(caller: Caller, scope: Scope, run_id: str, reason: str, *, holder: Holder | None = None) -> Run:
    """End a run as cancelled: an operator, or the agent that holds its lease.

    Raises: Forbidden, and as `store.runs.cancel_run`.
    """
    roles = caller.require(scope, Role.OPERATOR, Role.AGENT)
    if Role.OPERATOR not in roles and holder is None:
        raise Forbidden((Role.OPERATOR,))
    return in_transaction(runs.cancel_run, scope, run_id, reason, holder, caller.actor)
