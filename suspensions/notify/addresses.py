"""Where a host's name leads, asked right before connecting there: what it led to earlier says nothing."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from socket import SOCK_STREAM, gaierror

from suspensions.domain.webhooks import is_public


class AddressRefused(Exception):
    """The name leads into a private network, or nowhere: in few words."""


async def addresses_of(host: str, port: int, *, allow_private: bool) -> list[str]:
    """The addresses that a host has, all of which may be connected to.

    One private address among them refuses the host: which of them is taken is not ours to choose for it.

    Raises: AddressRefused.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=SOCK_STREAM)
    except (gaierror, UnicodeError):
        raise AddressRefused("the host's name is not known") from None
    # A dictionary keeps the order in which the system would try them.
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not allow_private and not all(is_public(ip_address(address.partition("%")[0])) for address in addresses):
        raise AddressRefused("the host leads into a private network")
    return addresses
