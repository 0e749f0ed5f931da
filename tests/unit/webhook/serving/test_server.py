"""How a replica begins and ends, over real connections of this machine, with time moved by hand."""

import logging

import pytest

from shared.config.values import BindAddress
from shared.process.listener import listen
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.serving_replica import DRAIN, Replica, network
from webhook.serving.server import (
    LAST_GOODBYES,
    LAST_REQUESTS,
    LONGEST_END,
)
from webhook.tls.serving_context import server_context


async def test_connections_stay_open_in_normal_times(replica: Replica) -> None:
    client = await replica.connect()
    assert await client.ask() == ("200 ok", False)
    assert await client.ask() == ("200 ok", False)
    assert replica.server.problem() is None


async def test_during_a_shutdown_readiness_fails_at_once_and_requests_are_served(
    replica: Replica,
) -> None:
    before = await replica.connect()
    await before.ask()
    replica.server.drain()
    assert replica.server.problem() == "this replica is ending"
    await replica.passes(DRAIN - 0.1)
    # Clients of before and new ones are served, and asked to come no more on this connection.
    assert await before.ask() == ("200 ok", True)
    assert await (await replica.connect()).ask() == ("200 ok", True)
    assert not replica.running.done()


async def test_a_request_in_flight_when_it_was_asked_to_end_closes_its_connection(
    replica: Replica,
) -> None:
    client = await replica.busy()
    replica.server.drain()
    replica.app.go_on.set()
    assert await client.answer() == ("200 ok", True)
    await network()
    assert client.was_closed


async def test_after_the_drain_period_no_connection_is_accepted_and_idle_ones_close_last(
    replica: Replica,
) -> None:
    idle, busy = await replica.connect(), await replica.busy()
    await idle.ask()
    replica.server.drain()
    await replica.passes(DRAIN + 0.5)
    assert await replica.refuses()
    assert (idle.was_closed, replica.running.done()) == (False, False)
    replica.app.go_on.set()
    assert await busy.answer() == ("200 ok", True)
    await replica.passes(0.1)
    assert idle.was_closed
    await replica.running


async def test_an_idle_connection_is_answered_while_others_are_waited_for(
    replica: Replica,
) -> None:
    idle = await replica.connect()
    await idle.ask()
    await replica.busy()
    replica.server.drain()
    await replica.passes(DRAIN + 5)
    assert await idle.ask() == ("200 ok", True)


async def test_who_connected_last_may_send_a_first_request(replica: Replica) -> None:
    replica.server.drain()
    await replica.passes(DRAIN - 0.1)
    late = await replica.connect()
    await replica.passes(0.9)
    assert not replica.running.done()
    assert await late.ask() == ("200 ok", True)
    await replica.passes(0.1)
    await replica.running


async def test_a_handshake_in_progress_is_waited_for_like_a_first_request() -> None:
    replica = Replica(listen(BindAddress("127.0.0.1", 0)), FakeClock(), server_context())
    await network()
    replica.server.drain()
    await replica.passes(DRAIN - 0.1)
    silent = await replica.connect()
    await replica.passes(0.9)
    assert not replica.running.done()
    await replica.passes(0.3)
    await replica.running
    assert silent.was_closed
    await replica.end()


async def test_a_connection_without_any_request_is_not_waited_for_long(replica: Replica) -> None:
    replica.server.drain()
    await replica.passes(DRAIN - 0.1)
    silent = await replica.connect()
    await replica.passes(1.2)
    assert silent.was_closed
    await replica.running


async def test_requests_in_flight_have_ten_seconds(
    replica: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "webhook")
    client = await replica.busy()
    replica.server.drain()
    await replica.passes(DRAIN + 9.9)
    assert caplog.messages == []
    await replica.passes(0.2)
    assert caplog.messages[0] == "1 requests in flight are cut off"
    assert await client.status() == "500"
    await replica.passes(0.1)
    await replica.running


async def test_a_second_signal_ends_the_drain_period_but_not_requests_in_flight(
    replica: Replica,
) -> None:
    client = await replica.busy()
    replica.server.drain()
    await replica.passes(0.5)
    replica.ending.skip_drain.set()
    await replica.passes(0.5)
    assert await replica.refuses()
    assert not replica.running.done()
    replica.app.go_on.set()
    assert await client.answer() == ("200 ok", True)
    await replica.passes(0.1)
    await replica.running


async def test_a_third_signal_waits_for_no_request(replica: Replica) -> None:
    await replica.busy()
    replica.server.drain()
    await replica.passes(0.5)
    replica.ending.skip_drain.set()
    await replica.passes(0.1)
    replica.ending.given_up.set()
    await network()
    await replica.passes(0.1)
    await replica.running


def test_the_time_for_the_end_is_enough_for_each_of_its_steps() -> None:
    assert LONGEST_END > LAST_REQUESTS + LAST_GOODBYES
