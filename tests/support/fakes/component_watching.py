"""Watches components over a scripted server."""

import asyncio
from typing import Any

from controller.facts.components import ComponentFacts
from controller.facts.pods import Pod, project_pod
from controller.gather.component_caches import ComponentCaches
from controller.gather.component_watches import ComponentWatches
from controller.memory.memory import Memory
from shared.api.objects import PODS, Resource
from shared.kube.discovery import Discovery
from shared.kube.informer import Informer
from tests.support.cluster.resources import JOBS
from tests.support.fakes.fake_clock import FakeClock, fake_sources
from tests.support.fakes.fake_kube import FakeKube, WatchFeed, kube_object

OWNER = {"uid": "u1", "kind": "AppWrapper", "name": "train", "controller": True}


def owned(version: int, name: str = "a", **fields: Any) -> dict[str, Any]:
    item = kube_object(name, version, **fields)
    item["metadata"]["labels"] = {
        "workload.codeflare.dev/appwrapper": "train",
        "workload.codeflare.dev/attempt": "1",
    }
    item["metadata"]["ownerReferences"] = [OWNER]
    return item


class WatchingBench:
    """Watches over a scripted server; `end` stops what was started."""

    def __init__(self, *lists: Any) -> None:
        self.feed = WatchFeed()
        self.kube = FakeKube(lists=list(lists), watches=[self.feed])
        client: Any = self.kube
        self.clock = FakeClock()
        sources = fake_sources(self.clock)
        self.pods: Informer[Pod] = Informer(client, PODS, transform=project_pod, sources=sources)
        self.woken: list[tuple[str, str]] = []
        self.woken_at_once: list[tuple[str, str]] = []
        self.alive = {(("team1", "train"), "u1")}
        self.memory = Memory()
        self.discovery = Discovery(client, self.clock)
        self.caches = ComponentCaches(
            client, sources, self.discovery, lambda key, uid: (key, uid) in self.alive
        )
        self.watches = self.another_term()
        self.running = asyncio.create_task(self.caches.run())

    def another_term(self) -> ComponentWatches:
        wakes = (self.woken.append, self.woken_at_once.append)
        return ComponentWatches(self.caches, self.pods, self.clock, *wakes, self.memory)

    async def end(self) -> None:
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)

    def known(self, resource: Resource = JOBS, owner: str = "u1") -> ComponentFacts | None:
        return self.watches.known(resource, "team1", "a", owner)

    def informers(self) -> list[str]:
        """Returns the running informers."""
        names = [task.get_name() for task in asyncio.all_tasks() if not task.cancelling()]
        return sorted(name for name in names if name.startswith("informer of "))


async def until_idle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def ensured_in_vain(bench: WatchingBench) -> None:
    """Waits the maximal time for a list that does not come."""
    ensuring = asyncio.create_task(bench.watches.ensure(JOBS))
    await bench.clock.advance(4.9)
    assert not ensuring.done()
    await bench.clock.advance(0.2)
    await ensuring
