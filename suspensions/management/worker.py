"""What a worker of the web server loads: the WSGI application, bound to the server's life."""

from django.core.wsgi import get_wsgi_application

from suspensions.management.processes import die_with_parent

die_with_parent()
application = get_wsgi_application()
