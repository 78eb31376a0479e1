"""The demo's client: patient with a server that is away, plain about a refusal."""

from collections.abc import Callable

import httpx
import pytest

from suspensions.demo.client import LONGEST_PAUSE, Api, Refused, Stopped

Answer = httpx.Response | httpx.TransportError


class Server:
    """Answers as it was told to, in order, the last for ever."""

    def __init__(self, *answers: Answer) -> None:
        self.requests: list[httpx.Request] = []
        self._answers = list(answers)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, httpx.TransportError):
            raise answer
        return answer


def api(server: Callable[[httpx.Request], httpx.Response], wait: Callable[[float], bool] = lambda _: False) -> Api:
    return Api("http://server", "ctx_token", "w=a", wait, httpx.MockTransport(server))


def test_a_request_carries_token_and_scope() -> None:
    server = Server(httpx.Response(200, json={"id": "x"}))

    assert api(server).post("runs", {"a": 1}) == {"id": "x"}

    (request,) = server.requests
    assert str(request.url) == "http://server/api/v1/runs"
    assert request.headers["Authorization"] == "Bearer ctx_token"
    assert request.headers["Cortex-Scope"] == "w=a"


def test_a_server_that_is_away_or_busy_is_asked_again_with_the_same_request() -> None:
    server = Server(
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        httpx.Response(503, json={"code": "store_busy"}),
        httpx.Response(502, text="<html>"),
        httpx.Response(201, json={"id": "x"}),
    )
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return False

    assert api(server, wait).post("runs", {"id": "arun_1"}) == {"id": "x"}
    assert waits == [0.5, 1.0, 2.0, 4.0]
    assert {request.content for request in server.requests} == {b'{"id":"arun_1"}'}


def test_the_waits_do_not_grow_for_ever() -> None:
    server = Server(*[httpx.ConnectError("refused")] * 12, httpx.Response(204))
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return False

    assert api(server, wait).get("runs") is None
    assert max(waits) == LONGEST_PAUSE


def test_the_end_is_heard_while_the_server_is_away() -> None:
    with pytest.raises(Stopped):
        api(Server(httpx.ConnectError("refused")), lambda _: True).get("runs")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
def test_a_refusal_is_not_asked_again(status: int) -> None:
    server = Server(httpx.Response(status, json={"code": "some_code", "detail": "So it is."}))

    with pytest.raises(Refused) as refusal:
        api(server).get("runs")

    assert (refusal.value.status, refusal.value.code) == (status, "some_code")
    assert len(server.requests) == 1


def test_every_page_of_a_list_is_read() -> None:
    server = Server(
        httpx.Response(200, json={"items": [{"id": 1}], "next": "more"}),
        httpx.Response(200, json={"items": [{"id": 2}], "next": None}),
    )

    assert api(server).pages("runs", state="paused") == [{"id": 1}, {"id": 2}]
    assert [dict(request.url.params) for request in server.requests] == [
        {"limit": "256", "state": "paused"},
        {"limit": "256", "cursor": "more", "state": "paused"},
    ]
