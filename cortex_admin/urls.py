"""The root URL conf: the Django admin, the REST API, the pages. Health answers ahead of it."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/v1/", include("suspensions.api.urls")),
    path("", include("suspensions.pages.urls")),
]
