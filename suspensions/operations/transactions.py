"""One operation, one durable transaction: what is retried, and what its failures mean.

Source: store.md sections 3 and 9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from django.db import IntegrityError, InterfaceError, OperationalError, connection

from suspensions.domain import refusals
from suspensions.domain.errors import (
    AlreadyExists,
    CommitUnknown,
    CortexError,
    InteractionConflict,
    ResumeClosureConflict,
    StoreBusy,
)
from suspensions.domain.failpoints import Point, reach
from suspensions.store import driver
from suspensions.store.sql import GuardFailed

P = ParamSpec("P")
R = TypeVar("R")
Finished = Callable[[], None]
"""Called when everything is written and only the commit is left."""

ATTEMPTS = 3
TIMED_OUT = ("57014", "55P03")
"""PostgreSQL's statement and lock timeouts."""
_DEADLOCK, _SERIALIZATION = "40P01", "40001"
_CONNECTION_EXCEPTION = "08"
# The server shut down, crashed, is starting up, or cut a transaction that idled for too long.
_GONE = ("57P01", "57P02", "57P03", "25P03")

# Constraint names on PostgreSQL, column lists on SQLite: what a violated unique key means to the caller.
_TAKEN: dict[str, type[CortexError]] = {
    "run_pkey": AlreadyExists,
    "run.id": AlreadyExists,
    "suspension_pkey": AlreadyExists,
    "suspension.id": AlreadyExists,
    "interaction_id_in_scope": InteractionConflict,
    "interaction.scope, interaction.interaction_id": InteractionConflict,
    "resume_closure_proof_ref": ResumeClosureConflict,
    "resume_closure.proof_ref": ResumeClosureConflict,
}


def in_transaction(operation: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run `operation` in one durable transaction of its own.

    Raises: what the operation raises, and as `with_attempts`; StoreBusy too where a row stayed locked for too long.
    """

    def once(finished: Finished) -> R:
        with driver.DurableTransaction():
            result = operation(*args, **kwargs)
            finished()
        return result

    try:
        return with_attempts(once)
    except CortexError as refusal:
        refusals.count(refusal)
        raise
    except OperationalError as error:
        # The statement was cancelled before anything could be committed: not an error of ours.
        if sqlstate(error) in TIMED_OUT:
            raise StoreBusy from error
        raise


def with_attempts(once: Callable[[Finished], R]) -> R:
    """Run something that opens one durable transaction and says when only its commit is left.

    It is begun anew only where nothing can have been committed: a deadlock, a lost connection before the commit,
    or a unique key that somebody else filled a moment ago (the second look then finds the record).

    Raises: CommitUnknown where the connection was lost or the disk failed while committing; StoreBusy where SQLite's
    one write lock was not to be had in time, or every attempt failed; the refusal that a violated key stands for.
    """
    for attempt in range(1, ATTEMPTS + 1):
        finished: list[bool] = []
        reach(Point.BEFORE_BEGIN)
        try:
            result = once(lambda: _finish(finished))  # noqa: B023
            reach(Point.AFTER_COMMIT)
            return result
        except GuardFailed:
            continue
        except IntegrityError as error:
            if attempt == ATTEMPTS or not _is_unique_violation(error):
                raise _translated(error) from error
        except (OperationalError, InterfaceError) as error:
            lost = connection_lost(error)
            if finished and (lost or _leaves_open(error)):
                connection.close()
                raise CommitUnknown from error
            if not lost and not _may_be_retried(error):
                raise
            if lost:
                connection.close()
            elif is_locked(error):
                raise StoreBusy from error
    raise StoreBusy


def _finish(finished: list[bool]) -> None:
    finished.append(True)
    reach(Point.BEFORE_COMMIT)


def connection_lost(error: Exception) -> bool:
    """Whether the server or the way to it went away, so that nobody can say what became of the transaction.

    The error tells, not the connection: leaving the transaction's block has already opened another one.
    """
    if connection.vendor != "postgresql":
        return False
    state = sqlstate(error)
    return state is None or state.startswith(_CONNECTION_EXCEPTION) or state in _GONE


def _leaves_open(error: Exception) -> bool:
    """Whether a failed COMMIT may be found again all the same.

    PostgreSQL's answer, where there is one, says that it was rolled back. SQLite's tells of its file: what reached the
    disk nobody knows, unless the lock was not to be had.
    """
    return connection.vendor == "sqlite" and not is_locked(error)


def is_locked(error: Exception) -> bool:
    return "database is locked" in str(error)


def _may_be_retried(error: Exception) -> bool:
    return is_locked(error) or sqlstate(error) in (_DEADLOCK, _SERIALIZATION)


def sqlstate(error: Exception) -> str | None:
    return getattr(error.__cause__, "sqlstate", None)


def _is_unique_violation(error: IntegrityError) -> bool:
    return sqlstate(error) == "23505" or "UNIQUE constraint failed" in str(error)


def _translated(error: IntegrityError) -> Exception:
    """The refusal that a violated key stands for; the error itself where it is a defect."""
    diagnostics: Any = getattr(error.__cause__, "diag", None)
    name = getattr(diagnostics, "constraint_name", None) or str(error).rpartition("failed: ")[2]
    for key, refusal in _TAKEN.items():
        if name == key or (key.endswith("proof_ref") and name.startswith(key)):
            return refusal()
    return error
