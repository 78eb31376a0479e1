"""The root URL conf: the Django admin, the REST API, the pages. Health answers ahead of it."""

from django.contrib import admin
from django.urls import include, path

from suspensions.api.errors import unknown_address
from suspensions.api.schema import views as schema_views

handler400 = "cortex_admin.errors.bad_request"
handler403 = "cortex_admin.errors.permission_denied"
handler404 = "cortex_admin.errors.not_found"
handler500 = "cortex_admin.errors.server_error"

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/v1/", include("suspensions.api.urls")),
    path("api/schema/", schema_views.schema, name="api-schema"),
    path("api/docs/", schema_views.docs, name="api-docs"),
    path("api/", unknown_address),
    path("api/<path:rest>", unknown_address),
    path("problems/<str:code>", schema_views.problem),
    path("", include("suspensions.pages.urls")),
]
