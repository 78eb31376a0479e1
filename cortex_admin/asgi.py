"""The ASGI entry point, for hosts that insist on one; the product itself is served by WSGI."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cortex_admin.settings")

application = get_asgi_application()
