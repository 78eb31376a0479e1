"""Sending deliveries over HTTP: many at once, each within a time, to addresses that were looked at.

Nothing here touches the database. Source: ADR 51.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import httpx

from suspensions.domain import clock
from suspensions.domain.webhooks import Answer, Claimed
from suspensions.notify.addresses import AddressRefused, addresses_of
from suspensions.notify.messages import body_of, headers_of

WITHIN = 10.0
"""Seconds for everything: name, connection, TLS, and the first line of the answer."""
_PORTS = {"https": 443, "http": 80}


class Sender:
    """Sends by one loop of its own, closed at the end of the `with` block."""

    def __init__(self, *, allow_private: bool, within: float = WITHIN) -> None:
        self._allow_private = allow_private
        self._within = within
        self._runner = asyncio.Runner()
        # Made once: reading the certificates of all authorities takes longer than sending.
        self._tls = httpx.create_ssl_context()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._runner.close()

    def send(self, claimed: Sequence[Claimed]) -> list[Answer]:
        """Send all at once; an answer for each, in their order. It takes no longer than the slowest may."""
        return self._runner.run(self._send_all(claimed))

    async def _send_all(self, claimed: Sequence[Claimed]) -> list[Answer]:
        # Without the environment's proxies: a proxy would resolve the name again, to whatever it likes.
        async with httpx.AsyncClient(
            verify=self._tls, timeout=self._within, follow_redirects=False, trust_env=False
        ) as client:
            return list(await asyncio.gather(*(self._send(client, each) for each in claimed)))

    async def _send(self, client: httpx.AsyncClient, claimed: Claimed) -> Answer:
        """Errors become few words of ours: a library's own may quote the address, and what the receiver said."""
        try:
            # The client's own limit is for each read: one byte now and then would keep us for ever.
            async with asyncio.timeout(self._within):
                return await self._post(client, claimed)
        except (TimeoutError, httpx.TimeoutException):
            return Answer(None, f"no answer within {self._within:g} seconds", late=True)
        except AddressRefused as refused:
            return Answer(None, str(refused))
        except httpx.ConnectError as error:
            return Answer(None, _why_not_connected(error))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError):
            return Answer(None, "the connection broke off before an answer")

    async def _post(self, client: httpx.AsyncClient, claimed: Claimed) -> Answer:
        url = httpx.URL(claimed.url)
        port = url.port or _PORTS[url.scheme]
        addresses = await addresses_of(url.host, port, allow_private=self._allow_private)
        # One that leads nowhere must not use up the time of the others.
        timeout = httpx.Timeout(self._within, connect=self._within / (len(addresses) or 1))
        for place, address in enumerate(addresses, 1):
            try:
                return await self._post_to(client, claimed, url.copy_with(host=address), timeout)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                # Nothing was sent yet, so that the next address is no second delivery.
                if place == len(addresses):
                    raise
        raise AddressRefused("the host has no address")

    async def _post_to(
        self, client: httpx.AsyncClient, claimed: Claimed, there: httpx.URL, timeout: httpx.Timeout
    ) -> Answer:
        """Post to this very address, as to the host that the certificate must name."""
        url, body = httpx.URL(claimed.url), body_of(claimed)
        request = client.build_request(
            "POST",
            there,
            content=body.encode(),
            headers={
                "host": url.netloc.decode(),
                "content-type": "application/json",
                "user-agent": "cortex-admin-webhooks",
                **headers_of(claimed, body, clock.now()),
            },
            timeout=timeout,
            extensions={"sni_hostname": url.raw_host.decode()},
        )
        # The body of the answer is not read: it is nobody's business here, and may have no end.
        response = await client.send(request, stream=True)
        await response.aclose()
        return _answer(response)


def _answer(response: httpx.Response) -> Answer:
    status = response.status_code
    if 200 <= status < 300:
        return Answer(status)
    return Answer(status, "answered with a redirect, which is not followed" if 300 <= status < 400 else "")


def _why_not_connected(error: BaseException) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return "the receiver's certificate was not accepted"
        cause = cause.__cause__ or cause.__context__
    return "no connection"
