"""Whoever connects gets in; with too many, whoever has waited longest goes."""

from collections.abc import AsyncIterator

import pytest

from shared.config.values import BindAddress
from shared.process.listener import listen
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.serving_replica import Client, Replica, network, result

ANSWERED = ("200 ok", False)
HALF = b"POST /slow HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf"


@pytest.fixture
async def replica() -> AsyncIterator[Replica]:
    """Of three connections at most."""
    bound = listen(BindAddress("127.0.0.1", 0))
    made = Replica(bound, FakeClock(), most_connections=3)
    await network()
    yield made
    await made.end()


async def connected(replica: Replica) -> Client:
    """A second after the one before."""
    await replica.clock.advance(1)
    return await replica.connect()


async def closed(*clients: Client) -> list[bool]:
    await network()
    return [client.was_closed for client in clients]


async def test_one_more_takes_the_place_of_the_first(replica: Replica) -> None:
    clients = [await connected(replica) for _ in range(4)]
    assert await closed(*clients) == [True, False, False, False]
    assert await clients[3].ask() == ANSWERED


async def test_who_has_had_an_answer_stays_longer(replica: Replica) -> None:
    known, silent, late = [await connected(replica) for _ in range(3)]
    assert await known.ask() == ANSWERED
    probe = await connected(replica)
    assert await probe.ask() == ANSWERED
    assert await closed(known, silent, late, probe) == [False, True, False, False]


async def test_who_waits_for_an_answer_stays_and_who_sends_half_a_request_does_not(
    replica: Replica,
) -> None:
    busy = await replica.busy()
    half = await connected(replica)
    half.send_raw(HALF)
    silent = await connected(replica)
    probe = await connected(replica)
    assert await probe.ask() == ANSWERED
    assert await closed(busy, half, silent) == [False, True, False]
    replica.app.go_on.set()
    assert await busy.answer() == ANSWERED


async def test_if_all_connections_wait_for_an_answer_no_other_is_accepted(replica: Replica) -> None:
    waiting = [await replica.busy() for _ in range(3)]
    late = await connected(replica)
    assert await closed(*waiting, late) == [False, False, False, True]
    replica.app.go_on.set()
    assert [await each.answer() for each in waiting] == [ANSWERED] * 3
    assert await (await connected(replica)).ask() == ANSWERED


async def test_those_of_a_burst_that_find_no_room_are_closed(replica: Replica) -> None:
    await replica.busy()
    burst = replica.send_at_once(10)
    await network()
    assert sorted(result(each) for each in burst) == ["closed"] * 8 + ["ok"] * 2


@pytest.mark.parametrize("leaves", [False, True])
async def test_who_does_not_read_its_answers_makes_room_for_who_does(
    replica: Replica, leaves: bool
) -> None:
    """It asks again, so that the next answer waits for it; or it says goodbye."""
    deaf = [await connected(replica) for _ in range(3)]
    for each in deaf:
        each.send("/long")
        await network()
        if leaves:
            each.leave()
        else:
            each.send("/")
    await network()
    probe = await connected(replica)
    assert await probe.ask() == ANSWERED
