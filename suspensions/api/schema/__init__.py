"""The OpenAPI document: generated from the routes' own declarations, and its readable page."""
