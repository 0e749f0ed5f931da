import pytest

from bench.load.http_answer import HttpAnswer, MalformedAnswer, parse

WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\n1;name=value\r\nd\r\n0\r\n\r\n"
)


@pytest.mark.parametrize(
    ("received", "answer"),
    [
        (WHOLE, HttpAnswer(200, b"{}")),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", HttpAnswer(204, b"")),
        (CHUNKED, HttpAnswer(200, b"abcd")),
    ],
)
def test_complete_answers(received: bytes, answer: HttpAnswer) -> None:
    assert parse(received) == answer


@pytest.mark.parametrize("received", [WHOLE, CHUNKED], ids=["length", "chunked"])
def test_every_shorter_piece_is_incomplete(received: bytes) -> None:
    assert [parse(received[:end]) for end in range(len(received))] == [None] * len(received)


@pytest.mark.parametrize(
    ("received", "message"),
    [
        (WHOLE + b"!", "1 bytes more than the answer's length"),
        (b"220 mail\r\n\r\n", "no HTTP/1.1 answer: b'220 mail'"),
        (
            b"HTTP/1.1 200 OK\r\n\r\n{}",
            "an answer without its length: b'HTTP/1.1 200 OK\\r\\n\\r\\n{}'",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "a chunk of no size: b'zz'",
        ),
    ],
)
def test_malformed_answers(received: bytes, message: str) -> None:
    with pytest.raises(MalformedAnswer) as caught:
        parse(received)
    assert str(caught.value) == message
