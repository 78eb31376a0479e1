"""Static files for the web server: collected, hashed and compressed, once per change."""

import fcntl
import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command


def ensure_static_files() -> bool:
    """Collect the static files unless the collected ones are of exactly these sources.

    Says whether it collected. Several processes may call it at once: one works, the rest wait.
    """
    if settings.DEBUG:
        return False
    root = Path(settings.STATIC_ROOT)
    stamp = root.with_name(f"{root.name}.sources")
    sources = _sources()
    # Before the lock: an image has its files collected, and may be mounted read-only.
    if _is_current(stamp, sources):
        return False
    root.mkdir(parents=True, exist_ok=True)
    with root.with_name(f"{root.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_current(stamp, sources):
            return False
        call_command("collectstatic", interactive=False, clear=True, verbosity=0)
        stamp.write_text(sources)
        return True


def _is_current(stamp: Path, sources: str) -> bool:
    return stamp.exists() and stamp.read_text() == sources


def _sources() -> str:
    """Digest names and contents of all sources; times would differ after every copy."""
    digest = hashlib.sha256(settings.STORAGES["staticfiles"]["BACKEND"].encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            content = Path(storage.path(path)).read_bytes()
            digest.update(f"{path}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()
