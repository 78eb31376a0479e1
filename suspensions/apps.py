"""The Django app that holds the suspension store."""

from importlib import import_module

from django.apps import AppConfig
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models.signals import post_migrate


class SuspensionsConfig(AppConfig):
    """Registers the app, and its system checks once all models are there."""

    name = "suspensions"
    label = "suspensions"
    verbose_name = "Suspensions"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks, and install the insert-only triggers and the search after every migration."""
        import_module("suspensions.checks")
        post_migrate.connect(_install_triggers, sender=self)
        post_migrate.connect(_install_terms, sender=self)


def _install_triggers(using: str = DEFAULT_DB_ALIAS, **_: object) -> None:
    """SQLite drops a table's triggers silently when the table is altered, so they are installed anew each time."""
    import_module("suspensions.models.triggers").install_triggers(connections[using])


def _install_terms(using: str = DEFAULT_DB_ALIAS, **_: object) -> None:
    """The index of one engine alone, which a migration of both cannot make."""
    import_module("suspensions.models.search").install_terms(connections[using])
