"""Without what keeps two callers of one row apart, and what makes an operation one durable transaction."""

from __future__ import annotations

from tests.mutants.mutant import BOTH, POSTGRESQL, SQLITE, Edit, Mutant, without

_ADMISSIONS = "suspensions/store/admissions.py"
_SQL = "suspensions/store/sql.py"
_STARTS = "suspensions/store/starts.py"
_TRANSACTIONS = "suspensions/operations/transactions.py"
_RACES = "tests/concurrency/test_races.py"
_FAULTS = "tests/concurrency/test_faults.py"
_WAITING = "tests/concurrency/test_waiting.py"

MUTANTS = (
    without(
        "the row lock of a run",
        _SQL,
        'WHERE id = %s AND {scope_column} = %s FOR UPDATE"',
        'WHERE id = %s AND {scope_column} = %s"',
        _RACES,
        engines=(POSTGRESQL,),
    ),
    without(
        "the row lock of a run that is read with it",
        _SQL,
        'f"{sql} FOR UPDATE" if is_postgresql() else sql',
        "sql",
        _RACES,
        engines=(POSTGRESQL,),
    ),
    without(
        "the row lock of an interaction",
        "suspensions/store/interactions.py",
        'lock = " FOR UPDATE" if sql.is_postgresql() else ""',
        'lock = ""',
        _RACES,
        engines=(POSTGRESQL,),
    ),
    without(
        "the lock that a repeated start request waits for",
        _STARTS,
        '        sql.lock_request("start next", scope.text, actor.principal, request_id)\n',
        "",
        _RACES,
        engines=(POSTGRESQL,),
    ),
    without(
        "skip_locked when a start is handed out",
        _STARTS,
        '" FOR UPDATE SKIP LOCKED"',
        '" FOR UPDATE"',
        _WAITING,
        engines=(POSTGRESQL,),
    ),
    without(
        "the lock of the resume that is handed out",
        _STARTS,
        '" FOR UPDATE SKIP LOCKED" if sql.is_postgresql() else ""',
        '""',
        _WAITING,
        _RACES,
        engines=(POSTGRESQL,),
    ),
    without(
        "the write lock at the begin of a transaction",
        "cortex_admin/settings.py",
        '"transaction_mode": "IMMEDIATE"',
        '"transaction_mode": "DEFERRED"',
        _RACES,
        engines=(SQLITE,),
    ),
    Mutant(
        "the reading of the clock after the lock",
        (
            Edit(_ADMISSIONS, "    sql.lock_run(", "    now = clock.now()\n    sql.lock_run("),
            Edit(_ADMISSIONS, "    now = clock.now()\n    taking =", "    taking ="),
        ),
        (_WAITING,),
    ),
    without(
        "the count of rows that a write touched, in one statement",
        _SQL,
        "        if each.exactly and touched != 1:\n            raise GuardFailed(each.sql)\n\n\n# What",
        "        pass\n\n\n# What",
        _RACES,
        engines=(POSTGRESQL,),
    ),
    without(
        "the count of rows that a write touched, one by one",
        _SQL,
        "        if each.exactly and touched != 1:\n            raise GuardFailed(each.sql)\n        reach",
        "        reach",
        _RACES,
        engines=(POSTGRESQL,),
    ),
    without(
        "the repeated state in the write that moves a run",
        "suspensions/store/run_rows.py",
        'return [sql.update("run", columns, guard)',
        'return [sql.update("run", columns, {"id": row.id})',
        _RACES,
        engines=(POSTGRESQL,),
    ),
    without(
        "the repeated lease in the write of progress",
        "suspensions/store/progress.py",
        'guard = {"id": row.id, "state": row.state, "lease_owner": holder.owner, "lease_epoch": holder.epoch}',
        'guard = {"id": row.id}',
        _RACES,
        engines=(POSTGRESQL,),
    ),
    without(
        "the repeated lease in a renewal",
        "suspensions/store/leases.py",
        'guard = {"id": row.id, "state": row.state, "lease_owner": holder.owner, "lease_epoch": holder.epoch}',
        'guard = {"id": row.id}',
        _RACES,
        engines=(POSTGRESQL,),
    ),
    without(
        "the durable flag",
        "suspensions/store/driver.py",
        "super().__init__(DEFAULT_DB_ALIAS, savepoint=True, durable=True)",
        "super().__init__(DEFAULT_DB_ALIAS, savepoint=True, durable=False)",
        "tests/store/test_transactions.py",
    ),
    without(
        "the check of a block's state before its short end",
        "suspensions/store/driver.py",
        "and not nested and not database.needs_rollback\n",
        "and not nested\n",
        "tests/store/test_transactions.py",
        engines=BOTH,
    ),
    without(
        "a short end for a short beginning alone",
        "suspensions/store/driver.py",
        "plain = self.is_short and kind is None",
        "plain = kind is None",
        "tests/store/test_transactions.py",
        engines=(POSTGRESQL,),
    ),
    without(
        "no bare BEGIN where somebody left a transaction open",
        "suspensions/store/driver.py",
        "        connected.pgconn.transaction_status in _NOTHING_OPEN\n        and connected.isolation_level",
        "        connected.isolation_level",
        "tests/store/test_transactions.py",
        engines=(POSTGRESQL,),
    ),
    without(
        "the isolation level that the settings name",
        "suspensions/store/driver.py",
        "        and connected.isolation_level is None\n",
        "",
        "tests/store/test_transactions.py",
        engines=(POSTGRESQL,),
    ),
    without(
        "no commit of what failed inside",
        "suspensions/store/driver.py",
        "                    _require_not_aborted(database.connection)\n",
        "                    pass\n",
        "tests/store/test_transactions.py",
        engines=(POSTGRESQL,),
    ),
    without(
        "the end of a block that was interrupted at its beginning",
        "suspensions/store/driver.py",
        "            self._take_back(interrupted)\n",
        "            assert interrupted\n",
        "tests/store/test_transactions.py",
        engines=(POSTGRESQL,),
    ),
    without(
        "the transaction itself",
        _TRANSACTIONS,
        "        with driver.DurableTransaction():\n            result = operation(*args, **kwargs)",
        "        if connection.ensure_connection() is None:\n"
        "            connection.in_atomic_block = True\n"
        "            result = operation(*args, **kwargs)\n"
        "            connection.in_atomic_block = False",
        "tests/concurrency/test_crashes.py",
    ),
    without(
        "the demand for an open transaction",
        _SQL,
        "if not driver.this_connection().in_atomic_block:",
        "if False:",
        "tests/store/test_transactions.py",
    ),
    without(
        "the second look after a key that somebody else filled",
        _TRANSACTIONS,
        "if attempt == ATTEMPTS or not _is_unique_violation(error):",
        "if True:",
        _RACES,
        engines=(POSTGRESQL,),
    ),
    without(
        "the second look after a write that found the row moved",
        _TRANSACTIONS,
        "        except GuardFailed:\n            continue",
        "        except GuardFailed:\n            raise StoreBusy from None",
        _RACES,
        engines=(POSTGRESQL,),
    ),
    without(
        "the doubt about a commit that was cut",
        _TRANSACTIONS,
        "            if finished and (lost or _leaves_open(error)):",
        "            if False:",
        _FAULTS,
        engines=(POSTGRESQL,),
    ),
    without(
        "the second try after a lost connection",
        _TRANSACTIONS,
        "if not lost and not _may_be_retried(error):",
        "if not _may_be_retried(error):",
        _FAULTS,
        engines=(POSTGRESQL,),
    ),
    without(
        "the second try after a deadlock",
        _TRANSACTIONS,
        "sqlstate(error) in (_DEADLOCK, _SERIALIZATION)",
        "False",
        _FAULTS,
        engines=(POSTGRESQL,),
    ),
    without(
        "the answer that the store is busy",
        _TRANSACTIONS,
        "                raise StoreBusy from error",
        "                raise",
        _FAULTS,
        engines=(SQLITE,),
    ),
)
