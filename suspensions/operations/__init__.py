"""The use cases: one transaction each, the same for API, pages and commands."""
