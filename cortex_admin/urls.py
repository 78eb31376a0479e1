"""The root URL conf: health, the Django admin, the REST API, the pages."""

from django.contrib import admin
from django.urls import include, path

from cortex_admin import health

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("admin/", admin.site.urls),
    path("api/v1/", include("suspensions.api.urls")),
    path("", include("suspensions.pages.urls")),
]
