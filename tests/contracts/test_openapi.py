"""The OpenAPI document: valid, whole, and the same as the committed one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml
from django.test import Client as DjangoClient
from drf_spectacular.validation import validate_schema

from suspensions.api.requests import SHAPES
from suspensions.api.schema.generator import components
from suspensions.api.schema.views import document, document_text
from suspensions.problems import PROBLEMS

SNAPSHOT = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"

# The contract's table of routes, method and path, below /api/v1.
ROUTES = """
POST /runs · GET /runs · GET /runs/{run_id} · GET /runs/{run_id}/events · POST /runs/{run_id}/finish
POST /runs/{run_id}/cancel · POST /suspensions · GET /suspensions · GET /suspensions/expired
GET /suspensions/{suspension_id} · GET /runs/{run_id}/suspension · DELETE /runs/{run_id}/suspension
POST /runs/{run_id}/claim · POST /runs/{run_id}/claim-continuation · POST /suspensions/{suspension_id}/decision
POST /resume-admissions · GET /resume-admissions · GET /runs/{run_id}/resume-admissions/latest
GET /runs/{run_id}/suspensions/{suspension_id}/admission · GET /runs/{run_id}/suspensions/{suspension_id}/start
GET /runs/{run_id}/suspensions/{suspension_id}/expiry · GET /runs/{run_id}/suspensions/{suspension_id}/closure
POST /resume-starts · POST /resume-starts/next · POST /resume-expiries · POST /resume-closures
POST /resume-closures/freeze · GET /resume-closures · GET /resume-starts · GET /resume-expiries
POST /receipts/verify · GET /uncertain-resumes · GET /agent-reply-runs · PUT /runs/{run_id}/progress
GET /runs/{run_id}/progress · DELETE /runs/{run_id}/progress · POST /runs/{run_id}/lease/renew
POST /runs/{run_id}/lease/release · POST /runs/{run_id}/lease/reclaim · GET /runs/{run_id}/wait
POST /interactions · GET /interactions · GET /interactions/{interaction_id}
POST /interactions/{interaction_id}/answer · POST /interactions/{interaction_id}/resume-messages
POST /interactions/{interaction_id}/resolve · POST /interactions/{interaction_id}/mark-resolved · GET /me
"""


def operations() -> dict[str, dict[str, Any]]:
    return {
        f"{method.upper()} {path.removeprefix('/api/v1')}": operation
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    }


def test_the_committed_document_is_the_one_that_is_served() -> None:
    assert SNAPSHOT.read_bytes() == document_text("yaml"), (
        "write it anew: python manage.py spectacular --file docs/openapi.yaml"
    )


def test_it_is_valid_openapi() -> None:
    validate_schema(document())  # type: ignore[no-untyped-call]
    assert document()["openapi"].startswith("3.1")


def test_it_has_every_route_and_no_other() -> None:
    assert set(operations()) == set(re.split(r"\s·\s|\n", ROUTES.strip()))


def test_names_of_operations_are_unique() -> None:
    names = [operation["operationId"] for operation in operations().values()]
    assert len(set(names)) == len(names)


def test_every_code_stands_at_some_route_or_outside_of_them() -> None:
    told = {
        code
        for operation in operations().values()
        for answer in operation["responses"].values()
        for code in answer.get("x-codes", ())
    }
    assert set(PROBLEMS) - told == {"method_not_allowed"}


def test_every_refusal_is_a_problem_with_its_status() -> None:
    for name, operation in operations().items():
        for status, answer in operation["responses"].items():
            if int(status) >= 400:
                assert {str(PROBLEMS[code].status) for code in answer["x-codes"]} == {status}, name
                assert answer["content"]["application/problem+json"]["schema"]["$ref"].endswith("/Problem")


def test_every_reference_leads_somewhere() -> None:
    text = document_text("json").decode()
    for kind, name in set(re.findall(r'"#/components/(\w+)/([^"]+)"', text)):
        assert name in document()["components"][kind], name


def test_every_schema_is_used() -> None:
    text = document_text("json").decode()
    unused = [name for name in components() if f'"#/components/schemas/{name}"' not in text]
    assert unused == []


def test_no_enumeration_holds_null() -> None:
    """Generators of typed clients make several types of such a one, or none."""

    def walk(schema: Any) -> None:
        if isinstance(schema, dict):
            assert None not in (schema.get("enum") or ()), schema
            for part in schema.values():
                walk(part)
        elif isinstance(schema, list):
            for part in schema:
                walk(part)

    walk(document())


def test_every_example_is_read_by_the_reader_it_stands_for() -> None:
    examples = [(shape, shape.example) for shape in SHAPES if shape.example is not None]
    assert len(examples) >= 7
    for shape, example in examples:
        shape.read(json.loads(json.dumps(example)))


def test_the_document_is_served_as_json_and_as_yaml() -> None:
    client = DjangoClient()
    answer = client.get("/api/schema/")
    assert (answer.headers["Content-Type"], answer.json()) == ("application/json", document())
    for asked in (
        client.get("/api/schema/?format=yaml"),
        client.get("/api/schema/", headers={"Accept": "application/yaml"}),
    ):
        assert asked.headers["Content-Type"].startswith("application/yaml")
        assert yaml.safe_load(asked.content) == document()
