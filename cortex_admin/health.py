"""Two answers for those who watch the process: is it alive, and can it serve."""

from collections.abc import Callable

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse

from suspensions.problems import MethodNotAllowed, problem_response


class HealthMiddleware:
    """Answer ``/healthz`` and ``/readyz`` ahead of everything else.

    A probe comes by the address of a container, which no list of allowed hosts names, and
    without TLS. As ordinary URLs both would answer it with 400 or a redirect.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self._migrated = False

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a probe, or pass the request on."""
        if request.path_info not in {"/healthz", "/readyz"}:
            return self.get_response(request)
        if request.method not in {"GET", "HEAD"}:
            return problem_response(request, MethodNotAllowed(request.method or "", ("GET", "HEAD")))
        if request.path_info == "/healthz":
            return JsonResponse({"status": "ok"})
        return self._readiness()

    def _readiness(self) -> JsonResponse:
        """Say 200 once the database is there with every migration applied, else 503 with why."""
        try:
            # Migrations do not go away: once seen, the database's answer is enough.
            self._migrated = self._migrated or _is_migrated()
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
        except DatabaseError:
            return JsonResponse({"status": "unavailable", "reason": "database"}, status=503)
        if not self._migrated:
            return JsonResponse({"status": "unavailable", "reason": "migrations"}, status=503)
        return JsonResponse({"status": "ok"})


def _is_migrated() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())
