"""Which addresses a webhook may have, and which types it may choose."""

from __future__ import annotations

import base64

import pytest

from suspensions.domain.errors import InvalidRequest
from suspensions.domain.webhooks import EVENT_TYPES, new_secret, require_types, require_url


@pytest.mark.parametrize(
    "url",
    [
        "https://receiver.example",
        "https://receiver.example:8443/a/b?key=value",
        "https://93.184.215.14/",
        "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/",
    ],
)
def test_addresses_of_the_open_internet_will_do(url: str) -> None:
    assert require_url(url, private=False) == url


@pytest.mark.parametrize(
    "url",
    ["http://localhost:9000/", "http://127.0.0.1/", "http://[::1]/", "https://10.0.0.7/", "https://169.254.169.254/"],
)
def test_private_ones_where_that_is_allowed(url: str) -> None:
    assert require_url(url, private=True) == url
    with pytest.raises(InvalidRequest, match="WEBHOOK_ALLOW_PRIVATE"):
        require_url(url, private=False)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "receiver.example",
        "//receiver.example",
        "ftp://receiver.example",
        "file:///etc/passwd",
        "https://",
        "https:///path",
        "http://receiver.example/",
        "http://10.0.0.7/",
        "https://user@receiver.example/",
        "https://user:password@receiver.example/",
        "https://receiver.example/#part",
        "https://receiver.example:99999/",
        "https://receiver.example/ a",
        "https://receiver.example/\n",
        "https://receiver.example\\@other.example/",
        "https://[::1",
        "https://r\u00e9ceiver.example/",
        "https://receiver.example/" + "a" * 2000,
    ],
)
def test_others_will_not(url: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        require_url(url, private=True)
    assert [fault.pointer for fault in refused.value.faults] == ["/url"]
    assert "password" not in refused.value.detail.replace("a user or password", "")


def test_types_are_known_and_in_their_own_order() -> None:
    assert require_types([]) == ()
    assert require_types(["run.paused", "run.created", "run.paused"]) == ("run.created", "run.paused")
    assert require_types(EVENT_TYPES) == EVENT_TYPES
    with pytest.raises(InvalidRequest):
        require_types(["run.exploded"])


def test_a_secret_is_a_key_of_256_bits() -> None:
    first, second = new_secret(), new_secret()
    assert first != second
    assert len(base64.b64decode(first.removeprefix("whsec_"), validate=True)) == 32
