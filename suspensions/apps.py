"""The Django app that holds the suspension store."""

from importlib import import_module

from django.apps import AppConfig


class SuspensionsConfig(AppConfig):
    """Registers the app, and its system checks once all models are there."""

    name = "suspensions"
    label = "suspensions"
    verbose_name = "Suspensions"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks."""
        import_module("suspensions.checks")
