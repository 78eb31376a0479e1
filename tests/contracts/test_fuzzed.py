"""Every operation of the OpenAPI document, fuzzed from outside against the real server: it finds nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from suspensions.api.schema.views import document
from suspensions.domain.policy import Role
from tests.support.api import assert_ok, client_for
from tests.support.server import running_server
from tests.support.walks import Walk

# A valid body may still be refused by what no schema says: a deadline, a lease in both forms, a message's place.
UNSAID = ("positive_data_acceptance",)
# Waits of up to half a minute are tested by hand.
BY_HAND = ("start_next", "wait_for_run")
# Each engine gets a part of the addresses, since the whole takes minutes.
PATHS = {"sqlite": "^/api/v1/runs", "postgresql": "^/api/v1/(?!runs)"}

CONFIGURATION = """
headers = {{ Authorization = "Bearer {token}", Cortex-Scope = "{scope}" }}

[parameters]
run_id = "{run_id}"
suspension_id = "{suspension_id}"
interaction_id = "{interaction_id}"
"""


def _operations() -> list[tuple[str, str]]:
    """Path and name of every operation that is not tested by hand."""
    return [
        (path, operation["operationId"])
        for path, methods in document()["paths"].items()
        for operation in methods.values()
        if operation["operationId"] not in BY_HAND
    ]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_nothing_is_found(scope: str, engine: str, tmp_path: Path) -> None:
    walk = Walk(scope).paused().admitted().started()
    question = {
        "interaction_id": "fuzzed",
        "tool_use_id": "t1",
        "assistant": {"content": [{"type": "tool_use", "id": "t1"}]},
    }
    assert_ok(walk.agent.post("/interactions", question), 201)
    fuzzer = client_for(scope, *(role for role in Role if role is not Role.ADMIN))
    (tmp_path / "schemathesis.toml").write_text(
        CONFIGURATION.format(
            token=fuzzer.token,
            scope=scope,
            run_id=walk.run_id,
            suspension_id=walk.suspension_id,
            interaction_id=question["interaction_id"],
        )
    )
    with running_server() as server:
        command = [
            *(str(Path(sys.executable).with_name("schemathesis")), "run", f"{server.url}/api/schema/"),
            *("--phases", "examples,coverage,fuzzing", "--max-examples", "3", "--workers", "1", "--seed", "1"),
            *("--exclude-checks", ",".join(UNSAID)),
            *(part for name in BY_HAND for part in ("--exclude-operation-id", name)),
            *("--include-path-regex", PATHS[engine]),
            *("--request-timeout", "40", "--no-color"),
        ]
        told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=880)
    summary = told.stdout[-9000:]
    assert told.returncode == 0, summary
    selected = re.search(r"(\d+) selected / (\d+) total", told.stdout)
    assert selected is not None
    chosen = [path for path, _ in _operations() if re.search(PATHS[engine], path)]
    assert (int(selected[1]), int(selected[2])) == (len(chosen), len(_operations()) + len(BY_HAND))
    assert re.search(r"(\d{3,}) generated, \1 passed", summary), summary
