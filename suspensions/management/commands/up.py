"""``manage.py up``: everything on one machine, with a living demo. What ``make run`` calls."""

import logging
import os
import secrets
import sys
from argparse import ArgumentParser
from http.client import HTTPConnection, HTTPException
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.core.management import BaseCommand, CommandError, call_command

from suspensions.checks import dangers_of_listening
from suspensions.demo import yesterday
from suspensions.domain.policy import Role
from suspensions.domain.scopes import Scope
from suspensions.domain.values import SYSTEM
from suspensions.management.addresses import DEFAULT_BIND, Address, parse_bind, require_free
from suspensions.management.processes import Child, Supervisor
from suspensions.management.statics import ensure_static_files
from suspensions.operations import access

FIRST_ACCOUNT = "admin"
FIRST_ROLES = (Role.VIEWER, Role.APPROVER, Role.OPERATOR, Role.ADMIN)
DEMO_AGENT, DEMO_BUS = "demo-agent", "demo-bus"
DEMO_SCOPE = Scope("workspace=demo")
DEMO_TOKEN = "demo"  # noqa: S105  # the token's name


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
        2. Migrate, collect static files, make the first account and a demo's yesterday.
        3. Start the children, print the address once the server is ready, and watch them.
        """
        # The terminal is for what a newcomer needs to read, not for each grant that the demo takes.
        logging.getLogger("cortex.people").setLevel(logging.WARNING)
        address = parse_bind(options["bind"])
        if dangers := dangers_of_listening(loopback=address.is_loopback):
            raise CommandError("; ".join(dangers))
        require_free(address)
        call_command("migrate", interactive=False, verbosity=0)
        ensure_static_files()
        self._make_first_account()
        children = [_web(address), Child("sweeper", _manage("sweep"))]
        if not options["no_demo"]:
            yesterday.tell(DEMO_SCOPE)
            children.append(_demo(address))
        supervisor = Supervisor(children, report=self._report)
        code = supervisor.run(lambda: self._announce(address))
        self._report("stopped")
        if code:
            sys.exit(code)

    def _report(self, line: str) -> None:
        self.stderr.write(f"up: {line}")

    def _announce(self, address: Address) -> bool:
        """Print the address once the server is ready."""
        if not _is_ready(address):
            return False
        self.stdout.write(f"\nCortex Admin is ready: {address.url}\n  Ctrl-C stops everything.\n")
        self.stdout.flush()
        return True

    def _make_first_account(self) -> None:
        """Make the first person where nobody can sign in, and print the password this one time.

        1. Roles, which make the account where it is missing. 2. Password. 3. Print. An end between
        1 and 2 leaves nobody who can sign in, so that the next start does it all again.
        """
        users = get_user_model().objects
        if users.exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX).exists():
            return
        access.make_principal(FIRST_ACCOUNT, by=SYSTEM)
        for role in FIRST_ROLES:
            access.grant_role(FIRST_ACCOUNT, role, DEMO_SCOPE, SYSTEM)
        password = secrets.token_urlsafe(12)
        user = users.get(username=FIRST_ACCOUNT)
        user.is_staff = user.is_superuser = True
        user.set_password(password)
        user.save()
        self.stdout.write(f"\n  sign in as  {FIRST_ACCOUNT}\n  password    {password}   (shown this once)")
        self.stdout.flush()


def _manage(*words: str) -> list[str]:
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), *words]


def _web(address: Address) -> Child:
    host = f"[{address.host}]" if ":" in address.host else address.host
    command = _manage("serve", "--bind", f"{host}:{address.port}", "--verbosity", "0")
    # The terminal is for what a newcomer needs to read; the demo's polls alone would flood it.
    quiet = {"ACCESS_LOG": os.environ.get("ACCESS_LOG") or "false"}
    return Child("web server", command, quiet, essential=True)


def _demo(address: Address) -> Child:
    """Give the sample agents: outsiders that hold a token each and speak the REST API only."""
    environment = {
        "CORTEX_URL": address.url,
        "CORTEX_SCOPE": DEMO_SCOPE.text,
        "CORTEX_TOKEN": _service_token(DEMO_AGENT, Role.AGENT),
        "CORTEX_BUS_TOKEN": _service_token(DEMO_BUS, Role.BUS),
    }
    return Child("demo agents", _manage("demo_agent"), environment, needs_ready=True)


def _service_token(name: str, role: Role) -> str:
    """A token of the service, in place of the last start's, which died with it."""
    access.make_principal(name, service=True, by=SYSTEM)
    access.grant_role(name, role, DEMO_SCOPE, SYSTEM)
    return access.renew_token(name, DEMO_TOKEN, SYSTEM)


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
