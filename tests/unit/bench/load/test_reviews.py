import socket
import ssl

import pytest

from bench.load.reviews import (
    HttpAnswer,
    LoadFailed,
    ReviewOrder,
    http_request,
    must_be_allowed,
    run,
)

ALLOWED = b'{"response":{"allowed":true}}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(ALLOWED), ALLOWED)


class Webhook:
    """A connection that answers at once. Readable always, as its socket pair's other end wrote."""

    def __init__(self, answer: bytes = ANSWER, pieces: int = 1) -> None:
        self.requests: list[bytes] = []
        self._answer = answer
        self._pieces = pieces
        self._pending: list[bytes] = []
        self._ours, self._theirs = socket.socketpair()
        self._theirs.send(b"!")

    def send(self, data: bytes, /) -> int:
        self.requests.append(data)
        size = -(-len(self._answer) // self._pieces)
        self._pending = [self._answer[at : at + size] for at in range(0, len(self._answer), size)]
        return len(data)

    def recv(self, size: int, /) -> bytes:
        if not self._pending:
            raise ssl.SSLWantReadError
        return self._pending.pop(0)

    def fileno(self) -> int:
        return self._ours.fileno()

    def close(self) -> None:
        self._ours.close()
        self._theirs.close()


def order(connections: int, requests: int, warmup: int = 0) -> ReviewOrder:
    return ReviewOrder(1, "/mutate", "webhook.svc", "", connections, requests, warmup, '{"a":1}')


def test_request_is_what_the_api_server_sends() -> None:
    assert http_request(order(1, 1)) == (
        b"POST /mutate?timeout=10s HTTP/1.1\r\n"
        b"Host: webhook.svc\r\n"
        b"User-Agent: kube-apiserver-admission\r\n"
        b"Accept: application/json, */*\r\n"
        b"Content-Type: application/json\r\n"
        b"Content-Length: 7\r\n"
        b"\r\n"
        b'{"a":1}'
    )


@pytest.mark.parametrize("pieces", [1, 3])
def test_every_request_is_sent_and_timed_once(pieces: int) -> None:
    webhooks = [Webhook(pieces=pieces) for _ in range(3)]
    asked = order(connections=3, requests=10, warmup=5)
    try:
        outcome = run(asked, list(webhooks))
    finally:
        for webhook in webhooks:
            webhook.close()
    assert len(outcome.latencies) == 10
    assert outcome.answer == {"response": {"allowed": True}}
    sent = [request for webhook in webhooks for request in webhook.requests]
    assert sent == [http_request(asked)] * 15
    assert all(webhook.requests for webhook in webhooks)


def test_fewer_requests_than_connections() -> None:
    webhooks = [Webhook(), Webhook()]
    try:
        outcome = run(order(connections=2, requests=1), list(webhooks))
    finally:
        for webhook in webhooks:
            webhook.close()
    assert len(outcome.latencies) == 1
    assert [len(webhook.requests) for webhook in webhooks] == [1, 0]


def test_a_refusal_for_want_of_an_answer_about_rights_is_a_slow_answer() -> None:
    refused = b'{"response":{"allowed":false,"status":{"message":"...: no answer within 2 s"}}}'
    must_be_allowed(HttpAnswer(200, refused))
    with pytest.raises(LoadFailed):
        must_be_allowed(HttpAnswer(500, refused))


def test_a_closed_connection_is_an_error() -> None:
    webhook = Webhook(answer=b"HTTP/1.1 200 OK\r\n")
    webhook.recv = lambda size, /: b""  # type: ignore[method-assign]  # the other side hung up
    try:
        with pytest.raises(LoadFailed, match=r"^the webhook closed the connection$"):
            run(order(1, 1), [webhook])
    finally:
        webhook.close()


@pytest.mark.parametrize(
    "answer",
    [
        HttpAnswer(500, ALLOWED),
        HttpAnswer(200, b'{"response":{"allowed":false}}'),
    ],
)
def test_only_allowed_answers_count(answer: HttpAnswer) -> None:
    with pytest.raises(LoadFailed) as caught:
        must_be_allowed(answer)
    assert str(caught.value) == f"the webhook answered {answer.status}: {answer.body!r}"
