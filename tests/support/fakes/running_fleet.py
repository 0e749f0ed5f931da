"""The fleet with all its surroundings, for unit tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from controller.facts.evacuation import Key
from controller.facts.pods import Pod
from controller.fleet.fleet import Fleet, node_projection
from controller.gather.device_caches import DeviceCaches
from controller.phases.snapshot import HoldReason
from shared.api.objects import NODES
from shared.config.configuration import Configuration
from shared.kube.informer import Informer
from shared.kube.responses import api_error
from shared.process.clock import Clock
from shared.process.supervisor import Runnable, Supervisor
from tests.support.builders.autopilot import GPU
from tests.support.builders.health_record import config_map
from tests.support.builders.nodes import raw_node
from tests.support.builders.remembered_pods import pod
from tests.support.builders.slack import SLACK, gpu_queue, raw_flavor
from tests.support.fakes.fake_clock import START, FakeClock, fake_sources, settle
from tests.support.fakes.fake_kube import FakeKube, WatchFeed, listed

LATER = START + timedelta(seconds=1)
NO_RECORDER: Any = None  # a recorder that no code may use
NOT_SERVED = api_error(404, "NotFound", "the server could not find the requested resource")


def gpu_pod(name: str, node: str, priority: int = 0, **changes: Any) -> Pod:
    return pod(
        f"{name}-0", appwrapper=name, node=node, priority=priority, resources=(GPU,), **changes
    )


PODS = (
    gpu_pod("low", "n1"),
    gpu_pod("high", "n1", 100),
    gpu_pod("pending", "n1", phase="Pending"),
    gpu_pod("elsewhere", "n2"),
    pod("cpu-0", appwrapper="cpu", node="n1", resources=("cpu",)),
)


class FleetBench:
    """A fleet of three nodes, n3 being EVICT, whose watches a test feeds."""

    def __init__(
        self, config: Configuration, clock: Clock, record: Any, devices: FakeKube | None
    ) -> None:
        self.nodes_feed = WatchFeed()
        self.record_feed = WatchFeed()
        raws = [raw_node("n1"), raw_node("n2"), raw_node("n3", "EVICT")]
        lists: dict[str, Any] = {
            "nodes": listed(7, *raws),
            "configmaps": record,
            "clusterqueues": listed(5, gpu_queue(SLACK, 24)),
            "resourceflavors": listed(5, raw_flavor()),
        }
        feeds = {kind: WatchFeed() for kind in lists}
        feeds |= {"nodes": self.nodes_feed, "configmaps": self.record_feed}
        self.client = Client(lists, feeds)
        self.woken: list[str] = []
        self.registry = CollectorRegistry()
        client: Any = self.client
        sources = fake_sources(clock)
        project = node_projection(config.appwrapper).project
        self.nodes = Informer(client, NODES, transform=project, sources=sources)
        device_client: Any = devices or FakeKube(answers={"get_path": [NOT_SERVED]})
        self.devices = DeviceCaches(device_client, sources)
        self.fleet = Fleet(
            client,
            sources,
            config,
            NO_RECORDER,
            self.registry,
            self.nodes,
            self.devices,
            pod=lambda _, name: next((each for each in PODS if each.name == name), None),
            pods_on=lambda node: [each for each in PODS if each.node == node],
            pods_of=lambda key: [each for each in PODS if each.appwrapper == key[1]],
            wake=self._wake,
        )

    def _wake(self, key: Key) -> None:
        namespace, name = key
        assert namespace == "team1"
        self.woken.append(name)

    async def change(self, raw: Any, version: int) -> list[str]:
        """Returns the keys that the change wakes."""
        self.woken.clear()
        raw["metadata"]["resourceVersion"] = str(version)
        self.nodes_feed.send("MODIFIED", raw)
        await settle()
        return self.woken

    def hold(self, name: str, evacuation: str | None, now: datetime = LATER) -> HoldReason | None:
        with self.fleet.reset_gate.request(name, ("team1", name), now) as request:
            hold = request.hold({evacuation} if evacuation else None)
        return hold.reason if hold else None

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


class Client(FakeKube):
    """A client with one script for each resource."""

    def __init__(self, lists: dict[str, Any], feeds: dict[str, WatchFeed]) -> None:
        served = {"versions": [{"version": "v1beta2"}]}
        super().__init__(answers={"patch": [config_map(20)] * 20, "get_path": [served]})
        self._kinds = {
            kind: FakeKube(lists=[[lists[kind]]] * 9, watches=[feeds[kind]]) for kind in lists
        }

    def pages(self, resource: Any, *args: Any, **kwargs: Any) -> Any:
        return self._kinds[resource.plural].pages(resource, *args, **kwargs)

    def watch(self, resource: Any, *args: Any, **kwargs: Any) -> Any:
        return self._kinds[resource.plural].watch(resource, *args, **kwargs)


def configuration(**section: Any) -> Configuration:
    return Configuration.model_validate({"appwrapper": section})


@asynccontextmanager
async def running(
    section: dict[str, Any] | None = None,
    record: Any = None,
    file: Path | None = None,
    devices: FakeKube | None = None,
) -> AsyncIterator[tuple[FleetBench, FakeClock]]:
    clock = FakeClock()
    read = listed(5, config_map(3)) if record is None else record
    config = configuration(**(section or {}))
    world = FleetBench(config, clock, read, devices)
    stop = asyncio.Event()
    nodes = Runnable("cache", "of nodes", world.nodes.run, ready=world.nodes.wait_synced)
    devices_part = Runnable("device caches", "of tests", world.devices.run)
    monitored = [devices_part, nodes] if config.appwrapper.autopilot.monitor_nodes else []
    parts = [*monitored, *world.fleet.parts(file)]
    task = asyncio.create_task(Supervisor(parts, clock).run(stop))
    await settle(60)
    try:
        yield world, clock
    finally:
        stop.set()
        await task


class Silent:
    """A recorder that ignores all."""

    def warning(self, *_: Any) -> None: ...

    def normal(self, *_: Any) -> None: ...
