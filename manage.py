#!/usr/bin/env python
"""Runs the project's commands: ``manage.py up``, ``serve``, ``sweep`` and the others."""

import os
import sys


def main() -> None:
    """Hand the command line to Django under the project's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cortex_admin.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"manage.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
