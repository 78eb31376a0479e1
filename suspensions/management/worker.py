"""What a worker of the web server loads: the WSGI application, bound to the server's life."""

import os
import signal

from suspensions.domain import rates, refusals
from suspensions.management.processes import die_with_parent
from suspensions.management.shared_counts import FOLDER, SharedTally
from suspensions.management.shared_windows import SharedWindows
from suspensions.management.wsgi import served_application
from suspensions.problems import PROBLEMS

# The server's parent process ends after its workers, unless it was killed. Nobody then hurries up a worker that was
# asked to stop: it would serve beside its successor for as long as its last wait lasts, or for ever.
die_with_parent(signal.SIGKILL)
if FOLDER in os.environ:
    refusals.keep_in(SharedTally(os.environ[FOLDER], list(PROBLEMS)))
    rates.keep_in(SharedWindows(os.environ[FOLDER]))
application = served_application()
