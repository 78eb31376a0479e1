"""The API's client, for contracts that are about the API."""

from tests.api.conftest import client

__all__ = ["client"]
