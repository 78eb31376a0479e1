"""What the one warm parent of all child processes has done before it forks: everything but a connection."""

from __future__ import annotations

import django
from django.conf import settings
from django.db import connections

django.setup()

import tests.concurrency.children  # noqa: E402 - the modules that children need, loaded once
import tests.concurrency.contests  # noqa: E402
import tests.concurrency.requests  # noqa: E402, F401
from tests.support.closing import PERMISSIVE_AUTHORIZER, PERMISSIVE_FENCE  # noqa: E402

settings.CLOSURE_AUTHORIZER = PERMISSIVE_AUTHORIZER
settings.CLOSURE_FENCE = PERMISSIVE_FENCE
# A child works alone on one connection; a pool's threads would be started for nothing.
connections.settings["default"].get("OPTIONS", {}).pop("pool", None)
