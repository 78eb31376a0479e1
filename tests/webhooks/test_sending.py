"""What goes over the wire, where it may go, and what is made of the answer."""

from __future__ import annotations

import datetime
import logging
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from pytest_django.fixtures import Settings
from standardwebhooks import WebhookVerificationError

from suspensions.domain import clock
from suspensions.domain.ids import EVENT, new_id
from suspensions.domain.instants import format_instant
from suspensions.domain.scopes import Scope
from suspensions.domain.webhooks import PING, Answer, Claimed, Told, is_public, new_secret
from suspensions.notify.sending import Sender
from tests.support.receivers import Receiver

REFUSED = Answer(None, "the host leads into a private network")
SCOPE = Scope.parse("w=a/p=b")


def claimed(url: str, secret: str = "", **told: Any) -> Claimed:
    about = {"type": "run.paused", "run_id": "arun_1", "suspension_id": "sus_1", **told}
    event = Told(new_id(EVENT), at=clock.now(), scope=SCOPE, **about)
    return Claimed(1, "whk_1", 1, event, url, secret or new_secret())


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What names lead to; numbers lead to themselves."""
    known: dict[str, list[str]] = {}

    def getaddrinfo(host: Any, port: Any, *args: Any, **more: Any) -> Sequence[Any]:
        text = host.decode() if isinstance(host, bytes) else host
        addresses = known.get(text) or [str(ip_address(text))]
        family = {4: socket.AF_INET, 6: socket.AF_INET6}
        return [
            (
                family[ip_address(each).version],
                socket.SOCK_STREAM,
                6,
                "",
                (each, int(port), 0, 0)[: 4 if ":" in each else 2],
            )
            for each in addresses
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return known


# -- what a receiver gets --------------------------------------------------------------------------------


def test_a_receiver_verifies_what_it_gets(receiver: Receiver, sender: Sender) -> None:
    secret = new_secret()
    sent = claimed(f"{receiver.url}/hook?key=k", secret)
    assert sender.send([sent]) == [Answer(204)]
    [got] = receiver.received
    assert (got.path, got.headers["content-type"], got.headers["webhook-id"]) == (
        "/hook?key=k",
        "application/json",
        sent.told.event_id,
    )
    assert receiver.verified(secret) == [
        {
            "type": "run.paused",
            "id": sent.told.event_id,
            "at": format_instant(sent.told.at),
            "scope": "w=a/p=b",
            "run_id": "arun_1",
            "suspension_id": "sus_1",
            "url": "/suspensions/sus_1",
        }
    ]
    with pytest.raises(WebhookVerificationError):
        receiver.verified(new_secret())


@pytest.mark.parametrize(
    ("told", "url"),
    [
        ({"suspension_id": None}, "/runs/arun_1"),
        ({"suspension_id": None, "run_id": None}, "/interactions/?scope=w%3Da%2Fp%3Db"),
        ({"suspension_id": None, "run_id": None, "type": PING}, "/access/webhooks/whk_1"),
    ],
)
def test_it_is_told_where_to_look(
    receiver: Receiver, sender: Sender, settings: Settings, told: dict[str, Any], url: str
) -> None:
    settings.PUBLIC_URL = "https://cortex.example.com"
    sender.send([claimed(receiver.url, **told)])
    assert receiver.received[0].json["url"] == f"https://cortex.example.com{url}"


def test_many_are_sent_at_once(receiver: Receiver, sender: Sender) -> None:
    sent = [claimed(receiver.url) for _ in range(8)]
    assert sender.send(sent) == [Answer(204)] * 8
    assert sorted(receiver.ids()) == sorted(each.told.event_id for each in sent)


# -- answers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 404, 410, 429, 500, 503])
def test_a_refusal_is_its_status(receiver: Receiver, sender: Sender, status: int) -> None:
    receiver.statuses = [status]
    assert sender.send([claimed(receiver.url)]) == [Answer(status)]
    assert not Answer(status).taken


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(receiver: Receiver, sender: Sender, status: int) -> None:
    receiver.statuses, receiver.location = [status], f"{receiver.url}/elsewhere"
    assert sender.send([claimed(receiver.url)]) == [Answer(status, "answered with a redirect, which is not followed")]
    assert [got.path for got in receiver.received] == ["/"]


def test_nobody_there_and_a_name_that_is_not_known(sender: Sender) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        assert sender.send([claimed(url)]) == [Answer(None, "no connection")]
    assert sender.send([claimed("https://a.invalid/")]) == [Answer(None, "the host's name is not known")]


def test_one_byte_now_and_then_does_not_keep_us(raw: Callable[[Callable[[socket.socket, Event], None]], str]) -> None:
    def drip(peer: socket.socket, ended: Event) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while not ended.wait(0.01):
            peer.sendall(b"x")

    with Sender(allow_private=True, within=0.3) as sender:
        assert sender.send([claimed(raw(drip))]) == [Answer(None, "no answer within 0.3 seconds", late=True)]


def test_the_body_of_an_answer_is_not_waited_for(raw: Callable[[Callable[[socket.socket, Event], None]], str]) -> None:
    def promise(peer: socket.socket, ended: Event) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        ended.wait(30)

    with Sender(allow_private=True) as sender:
        assert sender.send([claimed(raw(promise))]) == [Answer(200)]


def test_what_is_no_http_is_a_failure(raw: Callable[[Callable[[socket.socket, Event], None]], str]) -> None:
    with Sender(allow_private=True) as sender:
        url = raw(lambda peer, ended: peer.sendall(b"220 mail.example ESMTP\r\n"))
        assert sender.send([claimed(url)]) == [Answer(None, "the connection broke off before an answer")]


@pytest.fixture
def raw() -> Iterator[Callable[[Callable[[socket.socket, Event], None]], str]]:
    """Start a server that does with its one connection as it is told; its address."""
    ended, running = Event(), []

    def start(serve: Callable[[socket.socket, Event], None]) -> str:
        listening = socket.create_server(("127.0.0.1", 0))

        def run() -> None:
            peer, _ = listening.accept()
            with listening, peer:
                peer.recv(65536)
                try:
                    serve(peer, ended)
                except OSError:
                    return

        thread = Thread(target=run)
        thread.start()
        running.append(thread)
        return f"http://127.0.0.1:{listening.getsockname()[1]}/"

    yield start
    ended.set()
    for thread in running:
        thread.join()


# -- where it may go -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.1.2.3"],
        ["169.254.169.254"],
        ["::1"],
        ["fd00::1"],
        ["::ffff:10.0.0.1"],
        ["93.184.215.14", "10.0.0.1"],
    ],
    ids=" ".join,
)
def test_a_name_that_leads_into_a_private_network_is_refused(names: dict[str, list[str]], addresses: list[str]) -> None:
    names["receiver.example"] = addresses
    with Sender(allow_private=False) as strict:
        assert strict.send([claimed("https://receiver.example/")]) == [REFUSED]


def test_this_machine_is_refused_by_any_of_its_names(receiver: Receiver) -> None:
    port = receiver.url.rpartition(":")[2]
    with Sender(allow_private=False) as strict:
        for host in ("127.0.0.1", "localhost", "127.1", "2130706433", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]"):
            [answer] = strict.send([claimed(f"http://{host}:{port}/")])
            assert answer in (REFUSED, Answer(None, "the host's name is not known")), host
    assert receiver.received == []


def test_the_address_that_was_looked_at_is_the_one_that_is_connected_to(
    names: dict[str, list[str]], receiver: Receiver, sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = receiver.url.rpartition(":")[2]
    names["receiver.example"] = ["127.0.0.1"]
    look = socket.getaddrinfo

    def look_once(*about: Any, **more: Any) -> Sequence[Any]:
        found = look(*about, **more)
        # A name whose owner means harm leads elsewhere when it is asked for again.
        names["receiver.example"] = ["127.0.0.9"]
        return found

    monkeypatch.setattr(socket, "getaddrinfo", look_once)
    assert sender.send([claimed(f"http://receiver.example:{port}/")]) == [Answer(204)]
    assert receiver.received[0].headers["host"] == f"receiver.example:{port}"


def test_the_next_address_is_tried_where_nobody_listens_at_the_first(
    names: dict[str, list[str]], receiver: Receiver, sender: Sender
) -> None:
    names["receiver.example"] = ["127.0.0.2", "127.0.0.1"]
    assert sender.send([claimed(f"http://receiver.example:{receiver.url.rpartition(':')[2]}/")]) == [Answer(204)]
    assert len(receiver.received) == 1


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("::ffff:93.184.215.14", True),
        ("64:ff9b::5db8:d70e", True),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
        ("2001:0:1::1", False),
        ("fec0::1", False),
        ("fe80::1", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(ip_address(address)) is public


# -- TLS -------------------------------------------------------------------------------------------------


@contextmanager
def over_tls(receiver: Receiver, name: str, folder: Path) -> Iterator[str]:
    """The file of a certificate for the name; the receiver's port speaks TLS with it."""
    key = Ed25519PrivateKey.generate()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    day = datetime.timedelta(days=1)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(datetime.datetime.now(datetime.UTC) - day)
        .not_valid_after(datetime.datetime.now(datetime.UTC) + day)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, None)
    )
    chain, secret = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(certificate.public_bytes(Encoding.PEM))
    secret.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, secret)
    receiver.tls = context
    yield str(chain)


def test_the_certificate_must_name_the_host_that_was_given(
    names: dict[str, list[str]], receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = receiver.url.rpartition(":")[2]
    names |= {"receiver.example": ["127.0.0.1"], "other.example": ["127.0.0.1"]}
    not_accepted = Answer(None, "the receiver's certificate was not accepted")
    with over_tls(receiver, "receiver.example", tmp_path) as trusted:
        with Sender(allow_private=True) as sender:
            assert sender.send([claimed(f"https://receiver.example:{port}/")]) == [not_accepted]
        monkeypatch.setenv("SSL_CERT_FILE", trusted)
        with Sender(allow_private=True) as sender:
            assert sender.send([claimed(f"https://receiver.example:{port}/")]) == [Answer(204)]
            assert sender.send([claimed(f"https://other.example:{port}/")]) == [not_accepted]
            assert sender.send([claimed(f"https://127.0.0.1:{port}/")]) == [not_accepted]
    assert len(receiver.received) == 1


# -- what is never told ----------------------------------------------------------------------------------


def test_no_log_at_any_level_holds_secret_or_address(
    receiver: Receiver, sender: Sender, caplog: pytest.LogCaptureFixture
) -> None:
    secret = new_secret()
    with caplog.at_level(logging.DEBUG):
        receiver.statuses = [500, 302]
        sender.send([claimed(f"{receiver.url}/path-word?key=query-word", secret)])
        sender.send([claimed("https://user-word:password-word@a.invalid/path-word", secret)])
    assert not [word for word in ("path-word", "query-word", "password-word", secret) if word in caplog.text]
