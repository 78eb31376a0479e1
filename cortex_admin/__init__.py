"""The project around the app: settings, root URL conf, health checks, server entry points."""
