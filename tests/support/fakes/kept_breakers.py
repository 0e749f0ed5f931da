"""A keeper of breakers over ten nodes, a clock, and ConfigMap `appwrapper-node-health`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from controller.fleet.breaker import RECORD_NAME, Breaker, encode
from controller.fleet.breaker_keeper import BreakerKeeper
from controller.fleet.device_index import DeviceIndex
from controller.fleet.node_index import NodeIndex
from shared.api.objects import CONFIGMAPS
from shared.config.fault_tolerance import EvacuationBreaker, NodeHealth
from shared.kube.client import PatchType
from tests.support.builders.autopilot import GPU
from tests.support.builders.health_record import NAMESPACE
from tests.support.builders.nodes import TAINTS, change, node
from tests.support.fakes.fake_clock import START, FakeClock, fake_sources, settle
from tests.support.fakes.fake_kube import FakeKube, WatchFeed, listed

PLACE = "ConfigMap appwrapper-system/appwrapper-node-health"
EVENT = tuple[str, str, str]


@dataclass
class Events:
    """Records the Events on the ConfigMap."""

    emitted: list[EVENT] = field(default_factory=list)

    def normal(self, about: Any, reason: str, message: str) -> None:
        self._tell("Normal", about, reason, message)

    def warning(self, about: Any, reason: str, message: str) -> None:
        self._tell("Warning", about, reason, message)

    def _tell(self, kind: str, about: Any, reason: str, message: str) -> None:
        named = (about.kind, about.namespace, about.name, about.uid)
        assert named == ("ConfigMap", NAMESPACE, RECORD_NAME, "record")
        self.emitted.append((kind, reason, message))


class KeeperBench:
    """Ten nodes of 8 GPUs; a keeper with a record that a test chooses, and a clock."""

    def __init__(
        self, *there: Any, latch: timedelta = timedelta(0), devices: DeviceIndex | None = None
    ) -> None:
        self.clock = FakeClock()
        self.feed = WatchFeed()
        self.kube = FakeKube(lists=[[listed(5, *there)]], watches=[self.feed])
        self.nodes = NodeIndex(TAINTS, NodeHealth(latch=latch))
        if devices is None:
            devices = DeviceIndex()
            devices.known = True
        self.devices = devices
        self.events = Events()
        self.closings = 0
        self.turned: list[Any] = []
        client: Any = self.kube
        recorder: Any = self.events
        self.keeper = BreakerKeeper(
            client,
            fake_sources(self.clock),
            self.nodes,
            self.devices,
            EvacuationBreaker(),
            NAMESPACE,
            recorder,
            self.closed,
            self.turned.append,
        )
        self.tag()

    def closed(self) -> None:
        self.closings += 1

    def tag(self, *bad: int) -> None:
        """Sets EVICT on exactly these nodes."""
        for number in range(10):
            known = node(f"n{number}", "EVICT" if number in bad else "")
            self.nodes.update(change(known, known), self.clock.now())
        self.keeper.evaluate()

    def answer(self, *answers: Any) -> None:
        """Sets the answers to the next patches."""
        self.kube.answers["patch"] = list(answers)

    @property
    def refused(self) -> str | None:
        return self.keeper.closed_to({GPU})

    def refuses(self) -> bool:
        """True if it refuses now; mypy would assume that an attribute has not changed."""
        return self.refused is not None

    @property
    def written(self) -> list[Any]:
        """Returns the bodies of all patches."""
        for call in self.kube.called("patch"):
            assert call.args[:3] == (CONFIGMAPS, NAMESPACE, RECORD_NAME)
            assert call.args[4] is PatchType.MERGE
        return [call.args[3] for call in self.kube.called("patch")]


def record(opened: datetime | None = START, *, confirmed: datetime | None = None) -> str:
    return encode({GPU: Breaker(opened, confirmed)})


def body(version: int, text: str, **metadata: Any) -> Any:
    found = {"uid": "record", "resourceVersion": str(version), **metadata}
    return {"metadata": found, "data": {"evacuationBreakers": text}}


@asynccontextmanager
async def running(world: KeeperBench, *, nodes_known: bool = True) -> AsyncIterator[KeeperBench]:
    if nodes_known:
        world.keeper.nodes_known()
    tasks = [
        asyncio.create_task(world.keeper.record.run()),
        asyncio.create_task(world.keeper.run()),
    ]
    await settle()
    try:
        yield world
    finally:
        for task in tasks:
            task.cancel()
        assert {type(each) for each in await asyncio.gather(*tasks, return_exceptions=True)} == {
            asyncio.CancelledError
        }
