"""``manage.py demo_agent``: sample agents, as outsiders of the REST API."""

import os
import secrets
import threading
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

import structlog
from django.core.management import BaseCommand, CommandError

from suspensions.demo.agents import Agent, Peer
from suspensions.demo.client import Api, Refused
from suspensions.demo.questions import Asker
from suspensions.demo.transcripts import PROJECTS
from suspensions.management.stopping import stopping_gently
from suspensions.management.words import read_scope

TICK = 1.0

log = structlog.stdlib.get_logger("cortex.demo")


class Command(BaseCommand):
    """Play the transcripts, one project's agent in a thread of its own, until SIGTERM or SIGINT."""

    help = "Sample agents that pause, wait for a person and go on, through the REST API only."
    requires_system_checks: list[str] = []  # noqa: RUF012  # as the base class has it

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add ``--url``, ``--scope`` and the paces; the tokens come from the environment alone."""
        parser.add_argument("--url", default=os.environ.get("CORTEX_URL", "http://127.0.0.1:8000"))
        parser.add_argument("--scope", default=os.environ.get("CORTEX_SCOPE", "workspace=demo"), metavar="S")
        parser.add_argument("--work-seconds", type=float, default=1.5, help="how long a step seems to take")
        parser.add_argument("--peer-seconds", type=float, default=40.0, help="how long the peer agent thinks")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start a thread for each agent; end them all when asked, or when one was refused for good."""
        token = os.environ.get("CORTEX_TOKEN")
        if not token:
            raise CommandError("CORTEX_TOKEN is not set: it takes a token of a principal with the role agent")
        scope = read_scope(options["scope"])
        ended = threading.Event()
        players = [
            self._agent(options, token, f"{scope}/project={project}", project, ended.wait) for project in PROJECTS
        ]
        players.append(self._asker(options, token, f"{scope}/project=travel", ended.wait))
        if bus_token := os.environ.get("CORTEX_BUS_TOKEN"):
            players.append(self._peer(options, bus_token, f"{scope}/project=privacy", ended.wait))
        failures: list[Exception] = []
        threads = [
            threading.Thread(target=_play, args=(player, ended, failures), name=f"demo-{index}", daemon=True)
            for index, player in enumerate(players)
        ]
        with stopping_gently() as stop:
            self.stdout.write(f"sample agents play in {scope} at {options['url']}")
            self.stdout.flush()
            for thread in threads:
                thread.start()
            while not ended.is_set() and not stop.wait(TICK):
                pass
            # From here, and not from the signal handler: an event's lock is not to be taken there.
            ended.set()
            for thread in threads:
                thread.join()
        if failures:
            raise CommandError(f"the demo was refused: {failures[0]}")

    def _agent(
        self, options: dict[str, Any], token: str, scope: str, project: str, wait: Callable[[float], bool]
    ) -> Callable[[], None]:
        def play() -> None:
            owner = f"demo-{project}-{secrets.token_hex(3)}"
            with Api(options["url"], token, scope, wait) as api:
                Agent(api, PROJECTS[project], owner, wait, work_seconds=options["work_seconds"]).run()

        return play

    def _asker(
        self, options: dict[str, Any], token: str, scope: str, wait: Callable[[float], bool]
    ) -> Callable[[], None]:
        def play() -> None:
            with Api(options["url"], token, scope, wait) as api:
                Asker(api, wait).run()

        return play

    def _peer(
        self, options: dict[str, Any], token: str, scope: str, wait: Callable[[float], bool]
    ) -> Callable[[], None]:
        def play() -> None:
            with Api(options["url"], token, scope, wait) as api:
                Peer(api, wait, options["peer_seconds"]).run()

        return play


def _play(player: Callable[[], None], ended: threading.Event, failures: list[Exception]) -> None:
    try:
        player()
    except Refused as refusal:
        failures.append(refusal)
        ended.set()
    except Exception as error:
        log.exception("a sample agent broke")
        failures.append(error)
        ended.set()
