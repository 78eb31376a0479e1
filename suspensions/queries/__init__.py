"""Reads for lists, details and timelines. They never lock."""
