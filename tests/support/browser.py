"""A real browser for the tests: Chromium as found, else Debian's package."""

import os
import shutil

from tests.support.packages import install, one_at_a_time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# As root Chromium has no sandbox; the rest keeps it from asking the outside for anything.
FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)
ROOT_FLAGS = ("--no-sandbox",)


class BrowserUnavailable(RuntimeError):
    """No Chromium could be had; the message says in one line what to install."""


def find_chromium() -> str:
    """Give the path of Chromium; install Debian's package where there is none, as root.

    Raises: BrowserUnavailable.
    """
    with one_at_a_time():
        return _on_path() or _from_debian_package() or _unavailable()


def launch_flags() -> list[str]:
    """Give the flags that Chromium is started with."""
    return [*FLAGS, *(ROOT_FLAGS if os.geteuid() == 0 else ())]


def _on_path() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


def _from_debian_package() -> str | None:
    install("chromium")
    return _on_path()


def _unavailable() -> str:
    raise BrowserUnavailable("Chromium: not found; install it (Debian: apt-get install chromium) and put it on PATH")
