"""The WSGI entry point for hosts with a server of their own; ``manage.py serve`` has its own."""

import os

from suspensions.management.wsgi import wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cortex_admin.settings")

application = wsgi_application()
