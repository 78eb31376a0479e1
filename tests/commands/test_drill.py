"""``drill``: each kind of trouble is what it says; and what docs/uncertain.md says to do about it, done."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings

from suspensions.domain import clock
from suspensions.domain.scopes import Scope
from suspensions.management.commands.drill import DEFAULT_SCOPE
from suspensions.operations import progress, resumes, suspensions
from suspensions.operations.sweep import sweep_once
from suspensions.operations.verification import verify_receipts
from suspensions.queries.gauges import Gauges, read_gauges
from tests.commands.test_access_commands import refused, run
from tests.store.rows import rows
from tests.support.builders import caller, fresh_scope, make_run, take
from tests.support.engine import reset_database
from tests.support.server import running_server

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "uncertain.md"
SCOPE = Scope(DEFAULT_SCOPE)


@pytest.fixture(autouse=True)
def demo() -> Iterator[None]:
    """A database that holds nothing but what a drill makes; nothing of it is left for other tests to count."""
    reset_database()
    yield
    reset_database()


def drill(kind: str) -> dict[str, str]:
    """What was made, by its name."""
    out, told = run("drill", kind)
    assert "docs/uncertain.md" in told
    return dict(line.split(" ") for line in out.splitlines())


def gauges() -> Gauges:
    return read_gauges(clock.now(), settings.UNCERTAIN_AFTER)


def state_of(run_id: str) -> str:
    return str(rows("SELECT state FROM run WHERE id = %s", [run_id])[0]["state"])


def test_an_expired_pause_waits_for_a_sweeper() -> None:
    made = drill("expired-pause")
    assert (state_of(made["run"]), gauges().overdue) == ("paused", 1)
    assert sweep_once().expired_pauses == 1
    assert state_of(made["run"]) == "failed"


def test_an_answer_that_nobody_took_waits_for_a_worker() -> None:
    made = drill("not-picked-up")
    found = gauges()
    assert found.decided == 1
    assert found.oldest_decided_at is not None and found.oldest_decided_at < clock.now() - timedelta(minutes=5)
    assert sweep_once().did == 0
    start = resumes.start_next(caller(SCOPE), SCOPE, take())
    assert start is not None and start.version.suspension_id == made["pause"]


def test_an_uncertain_resume_has_handed_out_a_call() -> None:
    made = drill("uncertain-resume")
    assert (state_of(made["run"]), gauges().uncertain) == ("running", 1)
    kept = progress.get_progress(caller(SCOPE), SCOPE, made["run"])
    assert kept.started is not None and [call.name for call in kept.started] == ["refund_payment"]
    assert kept.done is None
    # Nothing makes it go away by itself.
    assert sweep_once().did == 0
    assert resumes.start_next(caller(SCOPE), SCOPE, take()) is None
    assert gauges().uncertain == 1


def test_a_dead_workers_end_is_written_by_a_sweeper() -> None:
    made = drill("dead-worker")
    assert "pause" not in made
    assert state_of(made["run"]) == "running"
    assert sweep_once().finished_endings == 1
    assert state_of(made["run"]) == "cancelled"


def test_troubles_are_whole_and_may_be_made_again() -> None:
    for kind in ("expired-pause", "not-picked-up", "uncertain-resume", "dead-worker") * 2:
        drill(kind)
    assert len(rows("SELECT id FROM run")) == 8
    assert list(verify_receipts()) == []
    assert suspensions.list_expired(caller(SCOPE), SCOPE, clock.now(), 10)


@pytest.mark.parametrize("scope", ["workspace=prod", "workspace=demos", "project=drill"])
def test_a_drill_stays_below_the_demos_scope(scope: str) -> None:
    assert "demo" in refused("drill", "dead-worker", "--scope", scope)
    assert rows("SELECT id FROM run") == []


def test_a_database_with_anything_else_in_it_is_no_demo() -> None:
    make_run(fresh_scope())
    assert "demo database" in refused("drill", "dead-worker")
    assert len(rows("SELECT id FROM run")) == 1


def test_kinds_are_told() -> None:
    line = refused("drill", "fire")
    assert "dead-worker" in line and "uncertain-resume" in line


# -- the document ------------------------------------------------------------------------------------


def commands() -> str:
    """Everything that the document says to type, in order."""
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))


_OPENSSL = """#!{python}
import sys
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
words = sys.argv[1:]
out = open(words[words.index("-out") + 1], "wb")
if words[0] == "genpkey":
    key = Ed25519PrivateKey.generate()
    out.write(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))
else:
    key = form.load_pem_private_key(open(words[words.index("-in") + 1], "rb").read(), None)
    out.write(key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo))
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with `openssl` on it, also where the machine has none: what it is used for here is small."""
    given = os.environ["PATH"]
    if shutil.which("openssl") is not None:
        return given
    stand_in = tmp_path / "bin" / "openssl"
    stand_in.parent.mkdir()
    stand_in.write_text(_OPENSSL.format(python=sys.executable))
    stand_in.chmod(0o755)
    return f"{stand_in.parent}:{given}"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_document_closes_an_uncertain_resume(path: str, tmp_path: Path) -> None:
    made = drill("uncertain-resume")
    with running_server() as server:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands()],
            cwd=ROOT,
            env=os.environ | {"CORTEX": server.url, "PATH": path, "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert state_of(made["run"]) == "incomplete"
    (closure,) = rows("SELECT suspension_id, issuer, closed_by FROM resume_closure")
    assert (closure["suspension_id"], closure["issuer"]) == (made["pause"], "operations")
    assert "night-shift" in closure["closed_by"]
    assert "Every receipt and every event is whole." in done.stdout


def test_what_the_document_names_is_there() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    drills = set(re.findall(r"manage\.py drill ([a-z-]+)", text))
    assert drills == {"expired-pause", "not-picked-up", "uncertain-resume", "dead-worker"}
    for script in re.findall(r"<<'PYTHON'.*?\n(.*?)^PYTHON$", text, re.MULTILINE | re.DOTALL):
        compile(script, "docs/uncertain.md", "exec")
