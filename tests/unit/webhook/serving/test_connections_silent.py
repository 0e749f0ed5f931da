"""Connections that ask for nothing, or never come to an end of it."""

import asyncio

import pytest

from tests.support.fakes.serving_replica import LONG, Client, Replica, network
from webhook.serving.connections import LARGEST_HEAD, LONGEST_WAIT

SWEEP = 10
LINE = b"x-filler: " + b"x" * 1000 + b"\r\n"


@pytest.mark.parametrize(
    "sent",
    [b"", b"POST /mutate HTTP/1.1\r\nhost: a\r\n", b"\r\n"],
    ids=["nothing", "half", "blank"],
)
async def test_a_connection_that_brings_no_request_is_closed_in_the_end(
    replica: Replica, sent: bytes
) -> None:
    client = await replica.connect()
    client.send_raw(sent)
    await network()
    await replica.clock.advance(LONGEST_WAIT - 1)
    await network()
    # The API server may have opened it for a request that another connection took.
    assert not client.was_closed
    await replica.clock.advance(SWEEP + 1)
    await network()
    assert client.was_closed


async def test_one_byte_after_an_answer_does_not_hold_a_connection_indefinitely(
    replica: Replica,
) -> None:
    client = await replica.connect()
    await replica.clock.advance(LONGEST_WAIT - SWEEP)
    assert await client.ask() == ("200 ok", False)
    client.send_raw(b"P")
    await replica.clock.advance(LONGEST_WAIT - 1)
    await network()
    assert not client.was_closed
    await replica.clock.advance(SWEEP + 1)
    await network()
    assert client.was_closed


async def test_who_is_being_answered_is_not_closed(replica: Replica) -> None:
    client = await replica.busy()
    await replica.clock.advance(2 * LONGEST_WAIT)
    replica.app.go_on.set()
    assert await client.answer() == ("200 ok", False)


async def sent_head(client: Client, lines: int) -> None:
    client.send_raw(b"GET / HTTP/1.1\r\n")
    for _ in range(lines):
        client.send_raw(LINE)
        await network()


async def test_a_head_without_end_is_cut_off(replica: Replica) -> None:
    client = await replica.connect()
    await sent_head(client, LARGEST_HEAD // len(LINE) + 1)
    assert client.was_closed


async def test_a_head_within_the_limit_is_read_each_time(replica: Replica) -> None:
    client = await replica.connect()
    for _ in range(2):
        await sent_head(client, LARGEST_HEAD // len(LINE) - 1)
        client.send_raw(b"\r\n")
        assert await client.answer() == ("200 ok", False)


async def test_the_body_of_a_request_sent_behind_another_counts_for_no_head(
    replica: Replica,
) -> None:
    client = await replica.busy()
    size = 2 * LARGEST_HEAD
    client.send_raw(b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % size)
    await network()
    replica.app.go_on.set()
    assert await client.answer() == ("200 ok", False)
    client.send_raw(b"x" * size)
    assert await client.answer() == ("200 ok", False)


async def test_who_does_not_read_its_answers_is_closed_in_the_end(replica: Replica) -> None:
    client = await replica.connect()
    for path in ("/long", "/"):
        client.send(path)
        await network()
    await replica.clock.advance(LONGEST_WAIT - 1)
    assert await client.status() == "200"  # and the rest is not read
    await replica.clock.advance(SWEEP + 1)
    await network()
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await client.reads(len(LONG))
