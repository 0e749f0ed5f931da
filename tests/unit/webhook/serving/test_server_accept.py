"""Many clients that connect at once, and errors while the server accepts them."""

import os
import resource
import socket

import pytest

from tests.support.fakes.serving_replica import DRAIN, Replica, network, result
from webhook.serving.server import Server

ANSWERED = ("200 ok", False)


async def test_many_clients_are_accepted_in_one_round(replica: Replica) -> None:
    """Between two large bodies the event loop runs few rounds."""
    clients = replica.send_at_once(40)
    await network()
    assert [result(each) for each in clients] == ["ok"] * 40


async def test_clients_in_the_backlog_are_answered_when_the_port_closes(replica: Replica) -> None:
    replica.server.drain()
    await replica.passes(DRAIN - 0.1)
    late = replica.send_at_once(10)
    replica.ending.skip_drain.set()
    await replica.passes(0.1)
    assert await replica.refuses()
    assert [result(each) for each in late] == ["ok"] * 10


async def test_without_a_free_descriptor_clients_wait_a_second(
    replica: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    (client,) = replica.send_at_once(1)
    free = os.dup(client.fileno())
    os.close(free)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
    try:
        await network()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert caplog.messages == [
        "no connection can be accepted for 1 s: [Errno 24] Too many open files"
    ]
    await replica.clock.advance(1)
    await network()
    assert result(client) == "ok"


async def test_a_bug_while_accepting_ends_no_replica(
    replica: Replica, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_server: Server, connected: socket.socket) -> None:
        connected.close()
        raise RuntimeError("a bug")

    with monkeypatch.context() as patched:
        patched.setattr(Server, "_welcome", fail)
        assert (await replica.connect()).was_closed
    assert "a bug" in caplog.text
    assert await (await replica.connect()).ask() == ANSWERED
