"""The database of one test process: made, migrated, pointed at, emptied, removed.

Nothing here wraps a test in a transaction. Receipts and events refuse DELETE and TRUNCATE, and
durability is only shown by real commits, so tests keep apart by using a fresh scope each.
"""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.core.management import call_command
from django.db import connection, connections
from psycopg import sql


def worker_name() -> str:
    """Name this test process: ``gw0``, ``gw1`` under xdist, else ``main``."""
    return os.environ.get("PYTEST_XDIST_WORKER", "main")


@contextmanager
def own_database() -> Iterator[str]:
    """Give the URL of a migrated database that this process has to itself, and switch to it.

    ``DATABASE_URL`` names it as well meanwhile, so that child processes work on the same one.
    """
    server = os.environ["DATABASE_URL"]
    beside = {"sqlite": _sqlite_beside, "postgresql": _postgresql_beside}
    with beside[connection.vendor](server) as url:
        _switch_to(url)
        os.environ["DATABASE_URL"] = url
        try:
            call_command("migrate", verbosity=0, interactive=False)
            yield url
        finally:
            os.environ["DATABASE_URL"] = server
            _close_everything()


@contextmanager
def _sqlite_beside(server: str) -> Iterator[str]:
    file = Path(server.removeprefix("sqlite:///")).with_name(f"{worker_name()}.sqlite3")
    yield f"sqlite:///{file}"


@contextmanager
def _postgresql_beside(server: str) -> Iterator[str]:
    parts = urlsplit(server)
    name = f"{parts.path.strip('/')}_test_{worker_name()}"
    drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    create = sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'")
    with closing(psycopg.connect(server, autocommit=True)) as admin:
        admin.execute(drop)
        admin.execute(create.format(sql.Identifier(name)))
    try:
        yield urlunsplit(parts._replace(path=f"/{name}"))
    finally:
        with closing(psycopg.connect(server, autocommit=True)) as admin:
            admin.execute(drop)


def _switch_to(url: str) -> None:
    """Point Django at another database of the same server; no connection may be open yet."""
    _close_everything()
    name = url.removeprefix("sqlite:///") if connection.vendor == "sqlite" else urlsplit(url).path
    connections.settings["default"]["NAME"] = name if connection.vendor == "sqlite" else name[1:]


def _close_everything() -> None:
    connection.close()
    # PostgreSQL's pool outlives its connections, and would hand out ones to the old database.
    if connection.vendor == "postgresql":
        connection.close_pool()  # type: ignore[attr-defined]


# --- Emptying ------------------------------------------------------------------------------


def reset_database() -> None:
    """Empty every table of the app and of Django's accounts, triggers notwithstanding.

    For the few tests that need an empty database. What migrations recorded stays.
    """
    tables = [
        table
        for table in connection.introspection.django_table_names(only_existing=True)
        if table not in {"django_migrations", "django_content_type", "auth_permission"}
    ]
    if connection.vendor == "sqlite":
        _empty_sqlite(tables)
    else:
        _empty_postgresql(tables)


_REENABLE = {"O": "ENABLE", "A": "ENABLE ALWAYS", "R": "ENABLE REPLICA", "D": "DISABLE"}


def _empty_postgresql(tables: list[str]) -> None:
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        # One transaction: a failure in between must not leave the triggers off.
        cursor.execute("BEGIN")
        try:
            cursor.execute(
                "SELECT tgrelid::regclass::text, tgname, tgenabled::text FROM pg_trigger "
                "WHERE NOT tgisinternal AND tgrelid::regclass::text = ANY(%s)",
                [tables],
            )
            triggers = cursor.fetchall()
            for table, name, _ in triggers:
                cursor.execute(f"ALTER TABLE {quote(table)} DISABLE TRIGGER {quote(name)}")
            cursor.execute(f"TRUNCATE {', '.join(map(quote, tables))}")
            for table, name, state in triggers:
                as_before = f"{_REENABLE[state]} TRIGGER {quote(name)}"
                cursor.execute(f"ALTER TABLE {quote(table)} {as_before}")
        except BaseException:
            cursor.execute("ROLLBACK")
            raise
        cursor.execute("COMMIT")


def _empty_sqlite(tables: list[str]) -> None:
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA foreign_keys = OFF")
        cursor.execute("BEGIN IMMEDIATE")
        try:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            triggers = cursor.fetchall()
            for name, _ in triggers:
                cursor.execute(f"DROP TRIGGER {quote(name)}")
            for table in tables:
                cursor.execute(f"DELETE FROM {quote(table)}")
            for _, statement in triggers:
                # Without parameters a % in the trigger's text is left alone.
                cursor.execute(statement)
        except BaseException:
            cursor.execute("ROLLBACK")
            raise
        else:
            cursor.execute("COMMIT")
        finally:
            cursor.execute("PRAGMA foreign_keys = ON")
