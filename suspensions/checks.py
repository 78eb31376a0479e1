"""System checks: dangerous combinations of settings refuse to start and say why."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004
from django.db import connections

from suspensions.models.triggers import missing_triggers

LOOPBACK_NAMES = frozenset({"localhost", ".localhost", "127.0.0.1", "[::1]"})
SECRET_LENGTH = 32
"""A signing key below this many characters can be guessed."""


def public_hosts() -> list[str]:
    """Name the allowed hosts that others than this machine can reach."""
    return [host for host in settings.ALLOWED_HOSTS if host not in LOOPBACK_NAMES]


def dangers_of_listening(*, loopback: bool) -> list[str]:
    """Say what forbids to listen on an address; empty where nothing does."""
    if loopback:
        return []
    dangers = []
    if settings.DEBUG:
        dangers.append("DEBUG shows source and settings to everybody: listen on 127.0.0.1, or unset")
    if settings.SECRET_KEY_IS_GENERATED:
        dangers.append("SECRET_KEY must be set to listen on an address that others can reach")
    return dangers


@register()
def check_debug(app_configs: Sequence[AppConfig] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse DEBUG together with a host that others can reach."""
    if settings.DEBUG and (hosts := public_hosts()):
        return [
            Error(
                f"DEBUG is on while ALLOWED_HOSTS names {', '.join(hosts)}",
                hint="Unset DEBUG, or allow loopback names only.",
                id="suspensions.E001",
            )
        ]
    return []


@register()
def check_sqlite_locks_at_once(app_configs: Sequence[AppConfig] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse SQLite whose transactions take the write lock late: claims would fail, not wait."""
    database = settings.DATABASES["default"]
    if database["ENGINE"] != "django.db.backends.sqlite3":
        return []
    if database.get("OPTIONS", {}).get("transaction_mode") == "IMMEDIATE":
        return []
    return [
        Error(
            "SQLite runs without transaction_mode IMMEDIATE",
            hint='Set OPTIONS["transaction_mode"] = "IMMEDIATE", as the settings do.',
            id="suspensions.E002",
        )
    ]


@register()
def check_secret_key(app_configs: Sequence[AppConfig] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a generated or short secret on a host that others can reach."""
    hosts = public_hosts()
    if not hosts:
        return []
    named = ", ".join(hosts)
    if settings.SECRET_KEY_IS_GENERATED:
        why = f"SECRET_KEY is the generated one while ALLOWED_HOSTS names {named}"
    elif len(settings.SECRET_KEY) < SECRET_LENGTH:
        why = f"SECRET_KEY is shorter than {SECRET_LENGTH} characters on the host {named}"
    else:
        return []
    return [Error(why, hint="Set SECRET_KEY to a long random text of its own.", id="suspensions.E003")]


@register()
def check_deadlines(app_configs: Sequence[AppConfig] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a default deadline that the maximum would refuse at every pause."""
    default, longest = settings.DEFAULT_DEADLINE, settings.MAX_DEADLINE
    if default is None or longest is None or default <= longest:
        return []
    return [
        Error(
            "DEFAULT_DEADLINE is longer than MAX_DEADLINE",
            hint="Every pause without a deadline of its own would be refused.",
            id="suspensions.E004",
        )
    ]


@register()
def check_https(app_configs: Sequence[AppConfig] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Warn where sessions and tokens would travel in the clear."""
    if public_hosts() and not settings.DEBUG and not settings.SESSION_COOKIE_SECURE:
        return [
            Warning(
                f"HTTPS is off while ALLOWED_HOSTS names {', '.join(public_hosts())}",
                hint="Put a TLS proxy in front and set HTTPS=true.",
                id="suspensions.W001",
            )
        ]
    return []


@register(Tags.database)
def check_insert_only_triggers(
    app_configs: Sequence[AppConfig] | None = None,
    databases: Sequence[str] | None = None,
    **kwargs: Any,
) -> list[CheckMessage]:
    """Look for the triggers without which receipts and events could be changed unseen."""
    if not databases:
        return []
    found: list[CheckMessage] = []
    for alias in databases:
        connection = connections[alias]
        if "resume_admission" not in connection.introspection.table_names():
            continue  # Nothing was migrated yet; the migration itself installs them.
        missing = missing_triggers(connection)
        if missing:
            found.append(
                Error(
                    f"Receipts and events can be changed: {', '.join(missing)} missing",
                    hint="Run manage.py migrate, which installs them.",
                    id="suspensions.E010",
                )
            )
    return found
