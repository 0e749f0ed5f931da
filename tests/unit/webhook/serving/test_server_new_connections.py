"""What the kernel does with connections of this machine, which it makes without any delay."""

import select
import socket
from collections.abc import Iterator

import pytest

from shared.config.values import BindAddress
from shared.process.listener import listen
from webhook.serving.server import stop_new_connections


@pytest.fixture(params=["127.0.0.1", ""])
def listening(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    with listen(BindAddress(request.param, 0)) as listening:
        yield listening


def connects(client: socket.socket, listening: socket.socket) -> bool:
    client.setblocking(False)
    client.connect_ex(("127.0.0.1", listening.getsockname()[1]))
    _, writable, _ = select.select([], [client], [], 0)
    return bool(writable) and client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0


def test_new_connections_are_refused_and_existing_ones_served(listening: socket.socket) -> None:
    with socket.socket() as before, socket.socket() as after:
        assert connects(before, listening)
        stop_new_connections(listening)
        assert not connects(after, listening)
        served, _ = listening.accept()
        with served:
            before.sendall(b"question")
            assert served.recv(8) == b"question"


def test_if_the_kernel_does_not_allow_it_a_line_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Forbidding(socket.socket):
        def setsockopt(self, *_args: object) -> None:
            raise PermissionError(1, "Operation not permitted")

    caplog.set_level("INFO")
    with Forbidding() as listening:
        stop_new_connections(listening)
    assert caplog.messages == [
        "a connection that begins right now may be reset: Operation not permitted"
    ]
