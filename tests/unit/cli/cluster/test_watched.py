import asyncio

import pytest

from cli.cluster.connection import Cluster
from cli.cluster.watched import WatchedObjects
from shared.api.objects import APPWRAPPERS
from shared.kube.client import Forbidden
from shared.kube.discovery import Discovery
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.served_objects import ServedObjects


def test_informers_log_nothing_after_the_end_of_another_wait(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def lived() -> None:
        client, clock = ServedObjects({}, forbidden=["appwrappers"]), FakeClock()
        cluster = Cluster(client, Discovery(client, clock), clock, "team1")
        watched = WatchedObjects(cluster)
        watched.add(APPWRAPPERS, lambda item: item, "team1")
        async with watched.running():
            async with WatchedObjects(cluster).running():
                pass
            await clock.advance(60)
            assert len(client.sent) > 1
            with pytest.raises(Forbidden):
                watched.raise_refusal()

    asyncio.run(lived())
    assert caplog.messages == []
