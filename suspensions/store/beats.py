"""Signs of life. Source: store.md section 8."""

from __future__ import annotations

from datetime import datetime, timedelta

from suspensions.store import sql

FORGOTTEN_AFTER = timedelta(days=7)
"""A container has another host name after each start; the old ones must not stand there for ever."""


def keep_beat(name: str, host: str, now: datetime) -> None:
    """Note that a process of this name lives on this host; of two, the later one stands."""
    sql.require_transaction()
    sql.write(
        sql.Write(
            "INSERT INTO beat (name, host, at) VALUES (%s, %s, %s)"
            " ON CONFLICT (name, host) DO UPDATE SET at = excluded.at WHERE beat.at < excluded.at",
            (name, host, sql.instant(now)),
            exactly=False,
        )
    )
    sql.delete("beat", "at < %s", (sql.instant(now - FORGOTTEN_AFTER),))
