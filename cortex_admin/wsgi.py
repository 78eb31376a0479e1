"""The WSGI entry point for hosts with a server of their own; ``manage.py serve`` has its own."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cortex_admin.settings")

application = get_wsgi_application()
