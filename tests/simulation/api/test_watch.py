"""The events that a watcher of the simulated API server receives, and when."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from shared.api.objects import CONFIGMAPS, NAMESPACES, JsonObject
from shared.kube.client import Gone, Unreachable, WatchEvent
from tests.simulation.api.client import SimulatedClient
from tests.simulation.choices import Recorded
from tests.simulation.cluster import Cluster
from tests.simulation.faults import Faults

Deviations = dict[tuple[str, int], int]
Changes = Callable[[Cluster], object]
_EVENT, _WATCH = "event configmaps", "watch configmaps"


def _create(cluster: Cluster, name: str, **labels: str) -> None:
    body: JsonObject = {"metadata": {"name": name, "labels": labels}, "data": {"key": "old"}}
    cluster.store.create(CONFIGMAPS, "team", body)


def _label(cluster: Cluster, name: str, **labels: str) -> None:
    def change(item: JsonObject) -> None:
        item["metadata"]["labels"] = labels
        item["data"] = {"key": "new"}

    cluster.store.change(CONFIGMAPS, "team", name, change)


class _Watched:
    """Run changes beside one watch of ten seconds. The events are as (time, type, name)."""

    def __init__(self, changes: Changes, deviations: Deviations | None = None, **options: Any):
        self.cluster = Cluster(Recorded(deviations))
        self.client = SimulatedClient(self.cluster, Faults(self.cluster, until=100.0), "watcher")
        self.events: list[WatchEvent] = []
        self.times: list[float] = []
        self.error: Exception | None = None
        self._changes = changes
        self.cluster.run(self._main(self._watch(**options)))

    @property
    def seen(self) -> list[tuple[str, str]]:
        named = ((each.type.value, each.object["metadata"]) for each in self.events)
        return [(kind, meta.get("name", "")) for kind, meta in named]

    async def _main(self, watch: Coroutine[Any, Any, None]) -> None:
        self.cluster.store.create(NAMESPACES, None, {"metadata": {"name": "team"}})
        watching = asyncio.ensure_future(watch)
        await asyncio.sleep(1.0)
        self._changes(self.cluster)
        await watching

    async def _watch(self, **options: Any) -> None:
        options.setdefault("resource_version", "1")
        try:
            async for event in self.client.watch(CONFIGMAPS, "team", seconds=10.0, **options):
                self.events.append(event)
                self.times.append(self.cluster.loop.now)
        except (Gone, Unreachable) as error:
            self.error = error
        self.ended_at = self.cluster.loop.now


def test_an_object_that_enters_or_leaves_the_selection_is_added_or_deleted() -> None:
    def changes(cluster: Cluster) -> None:
        _create(cluster, "a")
        _label(cluster, "a", team="x")
        _label(cluster, "a", team="x", other="y")
        _label(cluster, "a")

    run = _Watched(changes, label_selector="team")
    assert run.seen[:3] == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    left = run.events[2].object["metadata"]
    assert left["labels"] == {"team": "x", "other": "y"}
    assert left["resourceVersion"] == str(run.cluster.store.revision)


def test_a_delayed_event_delays_the_events_behind_it() -> None:
    def changes(cluster: Cluster) -> None:
        for name in ("a", "b", "c"):
            _create(cluster, name)

    run = _Watched(changes, {(_EVENT, 2): 2})
    assert [name for _, name in run.seen[:3]] == ["a", "b", "c"]
    first, second, third = run.times[:3]
    assert (second - first, third - second) == pytest.approx((6.0, 0.0))


def test_a_watch_ends_with_a_bookmark_only_if_every_event_arrived() -> None:
    run = _Watched(lambda cluster: _create(cluster, "a"))
    assert run.seen == [("ADDED", "a"), ("BOOKMARK", "")]
    assert run.events[1].object["metadata"]["resourceVersion"] == str(run.cluster.store.revision)
    late = _Watched(lambda cluster: _create(cluster, "a"), {(_EVENT, 1): 3})
    assert late.seen == []
    assert late.error is None


def test_a_watch_from_before_the_compaction_is_gone() -> None:
    run = _Watched(lambda cluster: None, resource_version="2")
    assert run.error is None

    cluster = Cluster(Recorded())
    client = SimulatedClient(cluster, Faults(cluster), "watcher")

    async def main() -> None:
        cluster.store.create(NAMESPACES, None, {"metadata": {"name": "team"}})
        _create(cluster, "a")
        cluster.store.compact(CONFIGMAPS)
        await anext(client.watch(CONFIGMAPS, resource_version="2"))

    with pytest.raises(Gone):
        cluster.run(main())


@pytest.mark.parametrize(
    ("fault", "ends_at", "seen"),
    [(1, 3.0, [("ADDED", "a")]), (3, 15.0, [])],
    ids=["cut", "silent"],
)
def test_a_broken_watch_raises_unreachable(
    fault: int, ends_at: float, seen: list[tuple[str, str]]
) -> None:
    run = _Watched(lambda cluster: _create(cluster, "a"), {(_WATCH, 1): fault})
    assert isinstance(run.error, Unreachable)
    assert run.seen == seen
    assert run.ended_at == pytest.approx(ends_at, abs=0.01)


def test_a_watcher_may_change_its_event_without_effect_on_the_server() -> None:
    run = _Watched(lambda cluster: _create(cluster, "a"))
    run.events[0].object["data"]["key"] = "changed"
    stored = run.cluster.store.get(CONFIGMAPS, "team", "a")
    assert stored is not None
    assert stored["data"] == {"key": "old"}


def test_a_watch_of_metadata_shows_no_data() -> None:
    run = _Watched(lambda cluster: _create(cluster, "a"), metadata_only=True)
    assert run.events[0].object["kind"] == "PartialObjectMetadata"
    assert "data" not in run.events[0].object
