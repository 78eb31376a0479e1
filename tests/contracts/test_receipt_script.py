"""The script of docs/receipts.md checks every kind of receipt as the API gives it, with a standard library alone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from suspensions.api import shapes
from suspensions.domain import clock
from suspensions.domain.scopes import Scope
from suspensions.domain.values import Admission, Closure, Expiry, Reason, Start
from suspensions.operations import closures, resumes
from tests.closing.test_proof import LATER, make_trouble
from tests.support.api import assert_ok, client_for
from tests.support.builders import admit, at, caller, fresh_scope, make_pause, start, take

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "receipts.md"
# Told in the answer, and no part of the receipt.
BESIDE = {"fresh", "lease"}


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (code,) = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert code.count("\n") <= 40
    file = tmp_path_factory.mktemp("script") / "check.py"
    file.write_text(code, encoding="utf-8")
    return file


def check(script: Path, document: Any) -> subprocess.CompletedProcess[str]:
    """Run it as anybody would, and without anything that is installed here."""
    file = script.with_name("receipt.json")
    file.write_text(json.dumps(document), encoding="utf-8")
    words = [sys.executable, "-I", "-S", str(script), str(file)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


def closed() -> tuple[Admission, Start, Closure]:
    trouble = make_trouble()
    with at(clock.now() + LATER):
        return trouble.admission, trouble.start, closures.close_resume(trouble.operator, *trouble.signed())


def expired() -> Expiry:
    scope = fresh_scope(3)
    late = admit(make_pause(scope, Reason.EXTERNAL_TOOL, expires_at=clock.now() + timedelta(minutes=1)))
    version = late.version
    with at(clock.now() + timedelta(hours=1)):
        return resumes.expire_resume(caller(scope), scope, version.run_id, version.suspension_id, late.request_digest)


RECEIPTS: dict[str, Callable[[], dict[str, Any]]] = {
    "admission": lambda: shapes.admission(closed()[0]),
    "admission in a list": lambda: shapes.admission_item(closed()[0]),
    "admission of a reply": lambda: shapes.admission(
        admit(make_pause(fresh_scope(), Reason.AGENT_REPLY), value=b"\x00\xff", lease=take('wörker "\u2028"'))
    ),
    "start": lambda: shapes.start(replace(closed()[1], suspension=None, input=None, claimed_run=None)),
    "fresh start": lambda: shapes.start(start(admit(make_pause(fresh_scope())))),
    "expiry": lambda: shapes.expiry(expired()),
    "closure": lambda: shapes.closure(closed()[2]),
}


@pytest.mark.parametrize("make", RECEIPTS.values(), ids=RECEIPTS.keys())
def test_a_whole_receipt_holds(make: Callable[[], dict[str, Any]], script: Path) -> None:
    result = check(script, make())
    assert (result.returncode, result.stderr) == (0, "")
    assert "digest: holds\nrecord: holds\n" in result.stdout


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield from leaves(member, (*path, name))
    else:
        yield path


def changed(document: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    other = deepcopy(document)
    place: Any = other
    for name in path[:-1]:
        place = place[name]
    value = place[path[-1]]
    if path[-1] == "input":
        place[path[-1]] = "AAAA"
    else:
        place[path[-1]] = value + 1 if isinstance(value, int) else f"{value or ''}0"
    return other


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["admission", "start", "expiry", "closure"])
def test_any_other_member_does_not(kind: str, script: Path) -> None:
    document = RECEIPTS[kind]()
    paths = [path for path in leaves(document) if path[0] not in BESIDE]
    assert len(paths) >= 10
    for path in paths:
        result = check(script, changed(document, path))
        assert result.returncode == 1, path
        assert "DOES NOT HOLD" in result.stdout, path


def test_the_api_gives_what_the_script_reads(script: Path) -> None:
    admission, _, _ = closed()
    client = client_for(Scope(admission.scope.text))
    version = admission.version
    for kind in ("admission", "start", "closure"):
        path = f"/runs/{version.run_id}/suspensions/{version.suspension_id}/{kind}"
        assert check(script, assert_ok(client.get(path))).returncode == 0
