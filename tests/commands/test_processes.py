"""Children live and die together, and leave nobody behind."""

import os
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from suspensions.management.processes import Child, Supervisor

ROOT = Path(__file__).resolve().parents[2]
FOREVER = [sys.executable, "-c", "import signal; signal.pause()"]


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe, at which two processes can meet."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def _python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def _all_ready() -> bool:
    return True


def test_the_end_of_an_essential_child_ends_all_with_its_code() -> None:
    other = Child("sweeper", FOREVER)
    reports: list[str] = []
    supervisor = Supervisor(
        [other, Child("web server", _python("raise SystemExit(7)"), essential=True)],
        report=reports.append,
    )
    assert supervisor.run(_all_ready) == 7
    assert other.process is not None
    assert other.process.returncode == -signal.SIGTERM
    assert reports == ["web server ended (exit code 7): stopping everything"]


def test_an_essential_child_that_ends_well_has_failed_all_the_same() -> None:
    supervisor = Supervisor([Child("web server", _python(""), essential=True)], report=print)
    assert supervisor.run(_all_ready) == 1


def test_another_child_is_started_again_after_a_pause(pipe: Path) -> None:
    dies = _python(f"open({str(pipe)!r}, 'w').close(); raise SystemExit(3)")
    # Reading blocks until a writer came and went: this one ends once the other lived twice.
    watches = _python(f"[open({str(pipe)!r}).read() for _ in range(2)]")
    reports: list[str] = []
    supervisor = Supervisor([Child("sweeper", dies), Child("watch", watches, essential=True)], report=reports.append)
    supervisor.run(_all_ready)
    assert reports[0] == "sweeper ended (exit code 3): starting it again in 2 s"


def test_a_child_that_needs_readiness_waits_for_the_announcement(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    looks = f"import pathlib, sys; sys.exit(5 if pathlib.Path({str(ready)!r}).exists() else 9)"
    asked = 0

    def announce() -> bool:
        nonlocal asked
        asked += 1
        if asked == 2:
            ready.touch()
        return asked == 2

    late = Child("demo", _python(looks), essential=True, needs_ready=True)
    assert Supervisor([late], report=print).run(announce) == 5


def test_a_child_that_ignores_the_request_to_end_is_ended_by_force(pipe: Path) -> None:
    deaf = (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        f"open({str(pipe)!r}, 'w').close(); signal.pause()"
    )
    child = Child("deaf", _python(deaf))
    ends = Child("web server", _python(f"open({str(pipe)!r}).read()"), essential=True)
    Supervisor([child, ends], report=print, stop_within=0.2).run(_all_ready)
    assert child.process is not None
    assert child.process.returncode == -signal.SIGKILL


def test_what_a_killed_child_leaves_behind_is_ended_with_it(pipe: Path) -> None:
    # The grandchild holds the pipe open for as long as it lives.
    leaves = _python(
        "import os, signal, subprocess, sys\n"
        f"grandchild = [sys.executable, '-c', 'import signal; signal.pause()']\n"
        f"subprocess.Popen(grandchild, stdout=open({str(pipe)!r}, 'w'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        Supervisor([Child("server", leaves, essential=True)], report=print).run(_all_ready)
        assert select.select([reader], [], [], 30)[0] == [reader]
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)


_SUPERVISED = textwrap.dedent(
    """
    import sys
    from suspensions.management.processes import Child, Supervisor

    # Both write to one pipe: each its line in one write, or PYTHONUNBUFFERED lets the other between pid and newline.
    worker = "import os, signal; os.write(1, (str(os.getpid()) + os.linesep).encode()); signal.pause()"
    children = [Child(name, [sys.executable, "-c", worker]) for name in ("one", "two")]
    raise SystemExit(Supervisor(children, report=print).run(lambda: True))
    """
)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_whatever_ends_the_supervisor_ends_its_children(sent: signal.Signals, code: int) -> None:
    surroundings = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        _python(_SUPERVISED), cwd=ROOT, stdout=subprocess.PIPE, text=True, env=surroundings
    ) as supervisor:
        assert supervisor.stdout is not None
        try:
            children = [int(supervisor.stdout.readline()) for _ in range(2)]
            watched = [os.pidfd_open(pid) for pid in children]
            supervisor.send_signal(sent)
            assert supervisor.wait(timeout=30) == code
        finally:
            supervisor.kill()
    for descriptor in watched:
        # A process descriptor becomes readable when its process ends.
        assert select.select([descriptor], [], [], 30)[0] == [descriptor]
        os.close(descriptor)
