"""The views: each parses, calls one operation or query, and renders."""
