"""The root URL conf: the Django admin, the REST API, the pages. Health answers ahead of it."""

from django.contrib import admin
from django.urls import include, path

handler400 = "cortex_admin.errors.bad_request"
handler403 = "cortex_admin.errors.permission_denied"
handler404 = "cortex_admin.errors.not_found"
handler500 = "cortex_admin.errors.server_error"

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/v1/", include("suspensions.api.urls")),
    path("", include("suspensions.pages.urls")),
]
