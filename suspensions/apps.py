"""The Django app that holds the suspension store."""

from django.apps import AppConfig


class SuspensionsConfig(AppConfig):
    """Registers the app; its system checks are loaded once all models are there."""

    name = "suspensions"
    label = "suspensions"
    verbose_name = "Suspensions"
    default_auto_field = "django.db.models.BigAutoField"
