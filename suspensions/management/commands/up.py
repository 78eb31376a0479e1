"""``manage.py up``: everything on one machine, with a living demo. What ``make run`` calls."""

import os
import secrets
import sys
from argparse import ArgumentParser
from http.client import HTTPConnection, HTTPException
from io import StringIO
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import BaseCommand, CommandError, call_command, get_commands

from suspensions.checks import dangers_of_listening
from suspensions.domain.values import SYSTEM
from suspensions.management.addresses import DEFAULT_BIND, Address, parse_bind, require_free
from suspensions.management.processes import Child, Supervisor
from suspensions.management.statics import ensure_static_files
from suspensions.operations import access

FIRST_ACCOUNT = "admin"
FIRST_ROLES = ("viewer", "approver", "operator", "admin")
DEMO_ACCOUNT = "demo-agent"
DEMO_ROLES = ("agent",)
DEMO_SCOPE = "workspace=demo"
DEMO_NAME = "demo"


class Command(BaseCommand):
    """Prepare what is missing, then run web server, sweeper and demo until Ctrl-C."""

    help = "Run everything on this machine: web server, sweeper and a living demo."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``--bind`` and ``--no-demo``."""
        parser.add_argument(
            "--bind",
            default=DEFAULT_BIND,
            metavar="HOST:PORT",
            help=f"where to listen (default {DEFAULT_BIND}; PORT in the environment goes first)",
        )
        parser.add_argument("--no-demo", action="store_true", help="without the sample agents")

    def handle(self, *args: Any, **options: Any) -> None:
        """Bring everything up; end with exit code 0 on Ctrl-C.

        1. Refuse a dangerous or taken address, before anything is written.
        2. Migrate, collect static files, make the first account.
        3. Start the children, print the address once the server is ready, and watch them.
        """
        address = parse_bind(options["bind"])
        if dangers := dangers_of_listening(loopback=address.is_loopback):
            raise CommandError("; ".join(dangers))
        require_free(address)
        call_command("migrate", interactive=False, verbosity=0)
        ensure_static_files()
        password = self._make_first_account()
        children = [_web(address), Child("sweeper", _manage("sweep"))]
        if not options["no_demo"]:
            children += _demo(address)
        supervisor = Supervisor(children, report=self._report)
        code = supervisor.run(lambda: self._announce(address, password))
        self._report("stopped")
        if code:
            sys.exit(code)

    def _report(self, line: str) -> None:
        self.stderr.write(f"up: {line}")

    def _announce(self, address: Address, password: str | None) -> bool:
        """Print the address, and a new account's password this one time, once it is ready."""
        if not _is_ready(address):
            return False
        lines = [f"Cortex Admin is ready: {address.url}"]
        if password is not None:
            lines += [
                f"  sign in as  {FIRST_ACCOUNT}",
                f"  password    {password}   (shown this once)",
            ]
        self.stdout.write("\n".join(["", *lines, "  Ctrl-C stops everything.", ""]))
        self.stdout.flush()
        return True

    def _make_first_account(self) -> str | None:
        """Make the first person where there is none; give the new password."""
        users = get_user_model().objects
        if users.exists():
            return None
        password = secrets.token_urlsafe(12)
        users.create_superuser(username=FIRST_ACCOUNT, password=password)
        _grant(FIRST_ACCOUNT, FIRST_ROLES)
        return password


def _grant(account: str, roles: tuple[str, ...], *words: str) -> None:
    for role in roles:
        call_command("grant", account, role, "--scope", DEMO_SCOPE, *words, stdout=StringIO())


def _manage(*words: str) -> list[str]:
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), *words]


def _web(address: Address) -> Child:
    host = f"[{address.host}]" if ":" in address.host else address.host
    command = _manage("serve", "--bind", f"{host}:{address.port}", "--verbosity", "0")
    # The terminal is for what a newcomer needs to read; the demo's polls alone would flood it.
    quiet = {"ACCESS_LOG": os.environ.get("ACCESS_LOG") or "false"}
    return Child("web server", command, quiet, essential=True)


def _demo(address: Address) -> list[Child]:
    """Give the sample agents: outsiders that hold a token and speak the REST API only."""
    if "demo_agent" not in get_commands():
        return []
    _grant(DEMO_ACCOUNT, DEMO_ROLES, "--service")
    # Made anew at each start: a token's text is shown once and kept nowhere.
    token = access.renew_token(DEMO_ACCOUNT, DEMO_NAME, SYSTEM)
    environment = {"CORTEX_URL": address.url, "CORTEX_TOKEN": token, "CORTEX_SCOPE": DEMO_SCOPE}
    return [Child("demo agents", _manage("demo_agent"), environment, needs_ready=True)]


def _is_ready(address: Address) -> bool:
    """Ask ``/readyz``; False while nobody listens or the answer is another than 200."""
    host = address.url.removeprefix("http://").rstrip("/")
    connection = HTTPConnection(host, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
