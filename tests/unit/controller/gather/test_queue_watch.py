"""What Kueue's objects say of an AppWrapper that waits, and whom their changes wake."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controller.facts.remembered_appwrapper import project_appwrapper
from controller.gather.queue_watch import READ_AGE, WAITING, QueueWatch, by_queue
from controller.memory.memory import Remembered
from controller.phases.snapshot import Queueing
from shared.api.appwrapper import AppWrapper
from shared.api.objects import NAMESPACES
from shared.kube.client import Forbidden, KubeError, NotFound, Unreachable
from shared.waits import kueue_settings
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
        client: Any = kueue
        known: Any = Known()
        self.later: list[Any] = []
        places = ("mlbatch-system", "kueue-system")
        wake = self.woken.append
        self.watch = QueueWatch(
            client, fake_sources(self.clock), known, wake, self._wake_later, places
        )

    def _wake_later(self, *args: Any) -> None:
        self.later.append(args)

    async def look(self) -> Queueing | None:
        return await self.watch.look(WAITS, self.remembered)

    async def changed(self, plural: str, item: Any) -> list[Any]:
        """Who is woken by it."""
        self.woken.clear()
        self.kueue.feeds[plural].send("MODIFIED", item)
        await settle()
        return self.woken


@asynccontextmanager
async def watching(*items: Any, **answers: list[Any]) -> AsyncIterator[Watching]:
    found = Watching(Kueue(*items, **answers))
    task = asyncio.create_task(found.watch.run())
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


async def test_queueing_is_read_from_the_caches() -> None:
    async with watching(*ALL) as seen:
        assert await seen.look() == CONSIDERED
        assert seen.kueue.versions == {"v1beta2"}
        assert seen.woken == [KEY]  # once, when everything is listed
        assert seen.kueue.called("get") == []


async def test_one_read_proves_to_all_that_a_queue_is_missing() -> None:
    async with watching(get=[GONE, GONE]) as seen:
        assert await seen.look() == WITHOUT_QUEUE
        assert seen.kueue.called("get")[0].args[1:] == ("team1", "q")
        others = AppWrapper(appwrapper("other"))
        assert await seen.watch.look(others, Remembered()) == WITHOUT_QUEUE
        assert len(seen.kueue.called("get")) == 1
        await seen.clock.advance(READ_AGE)
        assert await seen.look() == WITHOUT_QUEUE
        assert len(seen.kueue.called("get")) == 2


async def test_each_missing_queue_is_proved_by_its_own_read() -> None:
    async with watching(get=[GONE, GONE]) as seen:
        await seen.look()
        other = AppWrapper(appwrapper(queue="other"))
        assert await seen.watch.look(other, seen.remembered) is not None
        assert [call.args[2] for call in seen.kueue.called("get")] == ["q", "other"]


async def test_a_queue_that_the_watch_has_not_shown_is_there() -> None:
    async with watching(ALL[0], ALL[2], get=[local_queue(9)]) as seen:
        seen.woken.clear()
        assert await seen.look() == CONSIDERED
        assert seen.woken == [KEY]
        assert await seen.look() == CONSIDERED


@pytest.mark.parametrize("error", [NO, Unreachable("no answer")])
async def test_a_failed_read_proves_neither_and_is_repeated(error: KubeError) -> None:
    """A report of a process before this one must stay: the pass ends without a write."""
    async with watching(get=[error, GONE]) as seen:
        with pytest.raises(type(error)):
            await seen.look()
        assert await seen.look() == WITHOUT_QUEUE


async def test_a_queue_that_was_read_may_be_deleted_soon() -> None:
    async with watching(ALL[0], ALL[2], get=[local_queue(9), GONE]) as seen:
        assert await seen.look() == CONSIDERED
        await seen.changed("localqueues", local_queue(10))
        seen.kueue.feeds["localqueues"].send("DELETED", local_queue(11))
        await settle()
        found = await seen.look()
        assert found is not None
        assert found.trouble == WITHOUT_QUEUE.trouble


async def test_a_missing_cluster_queue_is_proved_by_its_own_name() -> None:
    async with watching(ALL[1], get=[GONE]) as seen:
        found = await seen.look()
        assert found is not None
        text = "ClusterQueue c of LocalQueue q does not exist. An admin must create it"
        assert (found.trouble, found.certain) == (text, True)
        assert seen.kueue.called("get")[0].args[1:] == (None, "c")


async def test_a_preemptor_has_its_name() -> None:
    message = "Preempted to accommodate a workload (UID: x, JobUID: uid-of-urgent) due to age"
    urgent = workload(3, owner="urgent", namespace="b")
    async with watching(
        *ALL[1:], ("workloads", workload(3, message)), ("workloads", urgent)
    ) as seen:
        found = await seen.look()
        assert found is not None
        assert found.pending == ("Preempted to accommodate Job urgent of namespace b due to age")
        seen.kueue.feeds["workloads"].send("DELETED", urgent)
        await settle()
        assert await seen.look() == found  # the preemptor is gone, and keeps its name
        seen.remembered = Remembered()
        found = await seen.look()
        assert found is not None
        assert found.pending == "Preempted to accommodate another workload due to age"


async def test_only_reported_changes_wake_and_only_waiting_appwrappers() -> None:
    async with watching(*ALL) as seen:
        assert await seen.changed("workloads", workload(11)) == []
        assert await seen.changed("workloads", workload(12, "other words")) == [KEY]
        assert await seen.changed("workloads", workload(13, "x", owner="runs")) == []
        assert await seen.changed("localqueues", local_queue(14)) == []
        assert await seen.changed("localqueues", local_queue(15, stopPolicy="Hold")) == [KEY]
        assert await seen.changed("clusterqueues", cluster_queue(16)) == []
        assert await seen.changed("clusterqueues", cluster_queue(17, stopPolicy="Hold")) == [KEY]
        other = cluster_queue(18, stopPolicy="Hold")
        other["metadata"]["name"] = "other"
        assert await seen.changed("clusterqueues", other) == []


async def test_words_that_change_each_second_wake_once_in_ten() -> None:
    async with watching(*ALL) as seen:
        assert await seen.changed("workloads", workload(11, "5 more needed")) == [KEY]
        for second in (1, 2):
            await seen.clock.advance(1)
            assert await seen.changed("workloads", workload(11 + second, f"{second} more")) == []
        assert seen.later == [(KEY, 9.0), (KEY, 8.0)]
        await seen.clock.advance(8)
        assert await seen.changed("workloads", workload(14, "7 more needed")) == [KEY]
        seen.kueue.feeds["workloads"].send("DELETED", workload(15, "7 more needed"))
        seen.woken.clear()
        await settle()
        assert seen.woken == [KEY], "that it is gone is more than other words"


ABSENT = Queueing(workload=False, unmanaged="Kueue is not installed in this cluster")


async def test_without_kueue_it_is_looked_for_now_and_then() -> None:
    async with watching(*ALL, get_path=[GONE] * 6 + [SERVED]) as seen:
        assert (await seen.look(), seen.woken) == (ABSENT, [KEY])
        assert list(seen.watch.informers) == []
        await seen.clock.advance(29)
        assert await seen.look() == ABSENT
        await seen.clock.advance(120)
        assert await seen.look() == CONSIDERED
        watched = [each.resource.plural for each in seen.watch.informers]
        assert watched == ["workloads", "localqueues", "clusterqueues"]
        assert max(seen.clock.slept) <= 30


async def test_nothing_is_known_while_the_api_cannot_be_read() -> None:
    async with watching(*ALL, get_path=[NO, SERVED]) as seen:
        assert await seen.look() is None
        await seen.clock.advance(1)
        assert await seen.look() == CONSIDERED


async def test_a_kueue_without_v1beta2_is_not_read(caplog: pytest.LogCaptureFixture) -> None:
    async with watching(*ALL, get_path=[OLDER, SERVED]) as seen:
        assert await seen.look() is None
        assert (list(seen.watch.informers), seen.kueue.versions) == ([], set())
        warnings = [each.getMessage() for each in caplog.records]
        assert warnings == ["the installed Kueue does not serve v1beta2"]
        await seen.clock.advance(1)
        assert await seen.look() == CONSIDERED
        assert seen.kueue.versions == {"v1beta2"}


async def test_a_kueue_without_v1beta2_leaves_the_report_that_there_is_none() -> None:
    """Nothing wakes an AppWrapper then, so what it reports must stay what is known."""
    async with watching(*ALL, get_path=[GONE, OLDER, SERVED]) as seen:
        assert await seen.look() == ABSENT
        await seen.clock.advance(1)
        assert len(seen.kueue.called("get_path")) == 2
        assert await seen.look() == ABSENT
        seen.woken.clear()
        await seen.clock.advance(2)
        assert (await seen.look(), seen.woken) == (CONSIDERED, [KEY])


async def test_a_kueue_that_goes_is_looked_for_again() -> None:
    async with watching(*ALL, get_path=[SERVED, GONE, GONE, GONE]) as seen:
        seen.kueue.refuses = GONE
        for feed in seen.kueue.feeds.values():
            feed.fail(NO)
        await seen.clock.advance(3)
        assert await seen.look() == ABSENT


async def test_a_kind_that_its_group_lacks_is_listed_again_with_growing_pauses() -> None:
    """As while Kueue is being installed: the API server serves the group before all Kinds."""
    async with watching(*ALL, get_path=[SERVED] * 40) as seen:
        seen.kueue.refuses = GONE
        for feed in seen.kueue.feeds.values():
            feed.fail(NO)
        await seen.clock.advance(300)
        assert len(seen.kueue.called("get_path")) <= 20
        assert max(seen.clock.slept) > 15
        assert await seen.look() is None
        seen.kueue.refuses = None
        await seen.clock.advance(30)
        assert await seen.look() == CONSIDERED


SETTINGS = {
    "data": {kueue_settings.KEY: "integrations: {frameworks: [batch/job]}"},
}


async def test_why_kueue_makes_no_workload() -> None:
    async with watching(*ALL, get=[SETTINGS, NO]) as seen:
        assert await seen.watch.unmanaged("team1") == (
            "integrations.frameworks of Kueue's configuration lacks"
            " workload.codeflare.dev/appwrapper"
        )
        assert [call.args for call in seen.kueue.called("get")] == [
            (kueue_settings.RESOURCE, "mlbatch-system", "kueue-manager-config"),
            (NAMESPACES, None, "team1"),
        ]


async def test_settings_that_are_not_in_the_first_namespace_are_read_from_the_next_one() -> None:
    async with watching(*ALL, get=[GONE, SETTINGS, NO]) as seen:
        assert (await seen.watch.unmanaged("team1") or "").startswith("integrations.frameworks of")
        assert [call.args[1] for call in seen.kueue.called("get")] == [
            "mlbatch-system",
            "kueue-system",
            None,
        ]


async def test_settings_that_cannot_be_read_prove_nothing() -> None:
    async with watching(*ALL, get=[NO, GONE]) as seen:
        assert await seen.watch.unmanaged("team1") is None


TEAM = {"metadata": {"name": "team1", "labels": {}}}
MANAGED = {
    "data": {
        kueue_settings.KEY: "integrations: {frameworks: [workload.codeflare.dev/appwrapper]}",
    }
}


async def test_settings_prove_nothing_of_a_namespace_that_cannot_be_read() -> None:
    async with watching(*ALL, get=[MANAGED, NO]) as seen:
        assert await seen.watch.unmanaged("team1") is None


async def test_thousands_that_wait_read_the_settings_once_in_a_while() -> None:
    async with watching(*ALL, get=[MANAGED, TEAM, SETTINGS, TEAM]) as seen:
        for _ in range(3):
            assert await seen.watch.unmanaged("team1") == ""
        assert len(seen.kueue.called("get")) == 2
        await seen.clock.advance(READ_AGE)
        assert await seen.watch.unmanaged("team1") != ""
        assert len(seen.kueue.called("get")) == 4


async def test_a_workload_that_kueue_has_not_come_to() -> None:
    new = workload(3)
    new["status"] = {}
    async with watching(("workloads", new), *ALL[1:]) as seen:
        assert await seen.look() == Queueing(workload=True)
