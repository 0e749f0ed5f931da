"""Watches the queues and Workloads of a scripted Kueue."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from controller.facts.appwrapper_outline import project_appwrapper
from controller.gather.kueue_caches import KueueCaches
from controller.gather.queue_watch import WAITING, QueueWatch, by_queue
from controller.memory.memory import Remembered
from controller.phases.snapshot import Queueing
from shared.api.appwrapper import AppWrapper
from shared.kube.client import Forbidden, NotFound
from shared.waits.queueing import queue_trouble
from tests.support.fakes.fake_clock import FakeClock, fake_sources, settle
from tests.support.fakes.fake_kube import FakeKube, WatchFeed, kube_object, listed

KEY = ("team1", "train")
GONE = NotFound(404, "NotFound", "gone")
NO = Forbidden(403, "Forbidden", "no")
OLDER = {"versions": [{"version": "v1beta1"}]}
SERVED = {"versions": [{"version": "v1beta2"}, {"version": "v1beta1"}]}


def appwrapper(name: str = "train", phase: str = "Suspended", queue: str = "q") -> Any:
    metadata = {
        "namespace": "team1",
        "name": name,
        "uid": f"uid-of-{name}",
        "labels": {"kueue.x-k8s.io/queue-name": queue},
    }
    return {"metadata": metadata, "spec": {"suspend": True}, "status": {"phase": phase}}


WAITS = AppWrapper(appwrapper())


def workload(
    version: int, message: str = "no quota", owner: str = "train", namespace: str = "team1"
) -> Any:
    kind = "AppWrapper" if owner == "train" else "Job"
    uid = f"uid-of-{owner}"
    reference = {"kind": kind, "name": owner, "uid": uid, "controller": True}
    item = kube_object(f"w-{owner}", version, namespace=namespace)
    item["metadata"]["ownerReferences"] = [reference]
    waits = {"type": "QuotaReserved", "status": "False", "message": message}
    return item | {"status": {"conditions": [waits]}}


def local_queue(version: int, **spec: Any) -> Any:
    return kube_object("q", version, spec={"clusterQueue": "c", **spec})


def cluster_queue(version: int, **spec: Any) -> Any:
    return kube_object("c", version, namespace="", spec=spec)


class Kueue(FakeKube):
    """Lists what a test says, and watches it."""

    def __init__(self, *items: Any, **answers: list[Any]) -> None:
        super().__init__(answers={"get_path": [SERVED] * 9, **answers})
        self.items: dict[str, list[Any]] = {
            "workloads": [],
            "localqueues": [],
            "clusterqueues": [],
        }
        for plural, item in items:
            self.items[plural].append(item)
        self.feeds = {plural: WatchFeed() for plural in self.items}
        self.versions: set[str] = set()
        self.refuses: Exception | None = None

    async def pages(self, resource: Any, *_: Any, **__: Any) -> Any:
        self.versions.add(resource.version)
        if self.refuses is not None:
            raise self.refuses
        yield listed(7, *self.items[resource.plural])

    async def watch(self, resource: Any, *_: Any, **__: Any) -> Any:
        async for event in self.feeds[resource.plural].events():
            yield event


class Known:
    """The informer of AppWrappers: one waits, and another runs."""

    def __init__(self) -> None:
        items = (appwrapper(), appwrapper("runs", "Running"))
        self._known = {
            (each["metadata"]["namespace"], each["metadata"]["name"]): project_appwrapper(each)
            for each in items
        }

    def get(self, *key: str) -> Any:
        return self._known.get((key[0], key[1]))

    def indexed(self, index: str, value: Any) -> Any:
        assert index == WAITING
        return [(key, each) for key, each in self._known.items() if value in by_queue(each)]


class Watching:
    def __init__(self, kueue: Kueue) -> None:
        self.kueue = kueue
        self.clock = FakeClock()
        self.woken: list[Any] = []
        self.remembered = Remembered()
        self.later: list[Any] = []
        client: Any = kueue
        self.caches = KueueCaches(client, fake_sources(self.clock))
        self.watch = self.another_term()

    def another_term(self) -> QueueWatch:
        client: Any = self.kueue
        known: Any = Known()
        places = ("mlbatch-system", "kueue-system")
        wakes = self.woken.append, self._wake_later
        return QueueWatch(self.caches, client, self.clock, known, *wakes, places)

    def _wake_later(self, *args: Any) -> None:
        self.later.append(args)

    async def look(self) -> Queueing | None:
        return await self.watch.read(WAITS, self.remembered)

    async def changed(self, plural: str, item: Any) -> list[Any]:
        """Who is woken by it."""
        self.woken.clear()
        self.kueue.feeds[plural].send("MODIFIED", item)
        await settle()
        return self.woken


@asynccontextmanager
async def watching(*items: Any, **answers: list[Any]) -> AsyncIterator[Watching]:
    found = Watching(Kueue(*items, **answers))
    task = asyncio.create_task(found.caches.run())
    await settle()
    try:
        yield found
    finally:
        task.cancel()


CONSIDERED = Queueing(workload=True, pending="no quota", considered=True)
MISSING = queue_trouble("team1", "q", None, None)
assert MISSING is not None
WITHOUT_QUEUE = Queueing(workload=False, trouble=MISSING.text, certain=True)
ALL = (
    ("workloads", workload(3)),
    ("localqueues", local_queue(4)),
    ("clusterqueues", cluster_queue(5)),
)
