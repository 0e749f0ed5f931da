"""A machine whose clock is wrong, is set, or has stopped. The API servers' clock decides."""

from datetime import timedelta

import pytest

from shared.kube.client import Unreachable
from tests.support.fakes.fake_clock import FakeClock, settle
from tests.support.fakes.handshakes import served_certificate
from tests.support.fakes.tls import START
from tests.support.fakes.tls_cluster import ROUNDS, Cluster, is_served
from webhook.tls.server_clock import ServerClock

DAY = timedelta(days=1)
WRONG = pytest.mark.parametrize(
    ("off", "difference"),
    [
        (DAY, "1 day, 0:00:00 ahead of"),
        (3000 * DAY, "3000 days, 0:00:00 ahead of"),
        (-DAY, "1 day, 0:00:00 behind"),
        (-8000 * DAY, "8000 days, 0:00:00 behind"),
    ],
)


def set_clock(cluster: Cluster, off: timedelta) -> None:
    cluster.clock.set_ahead(off)
    cluster.ahead -= off


@WRONG
async def test_a_first_start_under_a_wrong_clock_makes_what_api_servers_accept(
    off: timedelta, difference: str
) -> None:
    cluster = Cluster()
    set_clock(cluster, off)
    async with cluster.replica() as source:
        assert is_served(source, cluster)
        assert source.not_after == START + 90 * DAY
        warning = f"this machine's clock is {difference} the API server's"
        assert (source.problem(), source.warning()) == (None, warning)


@WRONG
async def test_a_replica_under_a_wrong_clock_replaces_nothing_that_is_good(
    off: timedelta, difference: str
) -> None:
    cluster = Cluster()
    async with cluster.replica():
        await cluster.passes(3600)
        cluster.calls.clear()
        set_clock(cluster, off)
        async with cluster.replica() as source:
            await cluster.passes(3600)
            assert is_served(source, cluster)
            assert difference in str(source.warning())
    assert cluster.writes() == []


@WRONG
async def test_a_clock_that_is_set_while_serving_changes_nothing(
    off: timedelta, difference: str
) -> None:
    cluster = Cluster()
    async with cluster.replica() as source:
        await cluster.passes(3600)
        cluster.calls.clear()
        set_clock(cluster, off)
        assert source.problem() is None
        await cluster.passes(600)
        assert (source.problem(), cluster.writes()) == (None, [])
        assert difference in str(source.warning())


async def test_a_certificate_from_a_clock_that_was_ahead_is_replaced() -> None:
    """For example the API server's own clock, at the installation."""
    cluster = Cluster()
    cluster.ahead = DAY
    async with cluster.replica() as source:
        first = cluster.contents
        cluster.ahead = timedelta(0)
        await cluster.passes(300)
        await cluster.passes(30)
        assert is_served(source, cluster)
        assert (source.problem(), source.warning()) == (None, None)
        assert cluster.contents.authority != first.authority


async def test_a_leaf_is_renewed_in_time_after_the_machine_slept() -> None:
    """Its monotonic clock stops meanwhile."""
    cluster = Cluster()
    async with cluster.replica() as source:
        before = served_certificate(source.context)
        cluster.clock.set_ahead(61 * DAY)
        await cluster.passes(300)
        assert is_served(source, cluster)
        assert served_certificate(source.context) != before


async def test_without_an_api_server_time_goes_on() -> None:
    cluster = Cluster()
    async with cluster.replica() as source:

        def away(_verb: str, _plural: str) -> None:
            raise Unreachable("refused")

        cluster.fail = away
        cluster.clock.pass_by(90 * DAY.total_seconds() - 1)
        assert source.problem() is None
        cluster.clock.pass_by(1)
        await settle(ROUNDS)
        assert str(source.problem()).startswith("the certificate expired at")


def test_without_the_time_of_the_api_server_the_machines_clock_counts() -> None:
    clock = FakeClock(START)
    time = ServerClock(clock, lambda: None)
    time.correct()
    clock.set_ahead(DAY)
    assert (time.now(), time.warning()) == (START + DAY, None)


def test_a_difference_of_a_minute_is_not_worth_a_word() -> None:
    clock = FakeClock(START)
    ahead = timedelta(0)
    time = ServerClock(clock, lambda: ahead)
    time.correct()
    ahead = timedelta(minutes=1)
    time.correct()
    assert (time.now(), time.warning()) == (START, None)
    ahead = timedelta(minutes=1, seconds=1)
    time.correct()
    assert time.now() == START + ahead
    assert time.warning() == "this machine's clock is 0:01:00 behind the API server's"
