"""Two answers for those who watch the process: is it alive, and can it serve."""

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 as long as the process answers at all; touches no database."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 once the database is there with every migration applied, else 503 with why."""
    try:
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return JsonResponse({"status": "unavailable", "reason": "database"}, status=503)
    if pending:
        return JsonResponse({"status": "unavailable", "reason": "migrations"}, status=503)
    return JsonResponse({"status": "ok"})
