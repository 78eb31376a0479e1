"""The pages: server-rendered HTML with htmx."""
