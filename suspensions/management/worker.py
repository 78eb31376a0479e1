"""What a worker of the web server loads: the WSGI application, bound to the server's life."""

import os

from suspensions.domain import refusals
from suspensions.management.processes import die_with_parent
from suspensions.management.shared_counts import FOLDER, SharedTally
from suspensions.management.wsgi import served_application
from suspensions.problems import PROBLEMS

die_with_parent()
if FOLDER in os.environ:
    refusals.keep_in(SharedTally(os.environ[FOLDER], list(PROBLEMS)))
application = served_application()
