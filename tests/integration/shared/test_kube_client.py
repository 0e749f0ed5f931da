"""The client, the informer, discovery and events against a real API server."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import (
    APPWRAPPERS,
    CONFIGMAPS,
    EVENTS,
    NAMESPACES,
    GroupVersionKind,
    Resource,
)
from shared.kube.client import (
    AlreadyExists,
    Conflict,
    Invalid,
    KubeClient,
    NotFound,
    PatchType,
    Propagation,
    WatchEventType,
)
from shared.kube.discovery import Discovery, UnknownKind
from shared.kube.events import EventRecorder, ObjectReference
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from shared.process.clock import SystemClock
from shared.process.sources import Sources

LABEL = {"kube-client-test": "yes"}
SELECTOR = "kube-client-test=yes"


def config_map(name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": LABEL}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.fixture
def client(cluster: RunningCluster) -> KubeClient:
    return cluster.client


@pytest.fixture
async def namespace(client: KubeClient) -> AsyncIterator[str]:
    name = f"kube-client-{uuid.uuid4().hex[:6]}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    made = await client.create(NAMESPACES, None, body)
    yield name
    uid = made["metadata"]["uid"]
    await client.delete(NAMESPACES, None, name, uid=uid, propagation=Propagation.BACKGROUND)


async def test_the_life_of_an_object(client: KubeClient, namespace: str) -> None:
    dry = await client.create(CONFIGMAPS, namespace, config_map("a", k="v"), dry_run=True)
    assert dry["data"] == {"k": "v"}
    with pytest.raises(NotFound) as missing:
        await client.get(CONFIGMAPS, namespace, "a")
    assert missing.value.reason == "NotFound"
    assert missing.value.message == 'configmaps "a" not found'

    made = await client.create(CONFIGMAPS, namespace, config_map("a", k="v"))
    with pytest.raises(AlreadyExists):
        await client.create(CONFIGMAPS, namespace, config_map("a"))
    assert await client.get(CONFIGMAPS, namespace, "a") == made
    metadata_only = await client.get(CONFIGMAPS, namespace, "a", metadata_only=True)
    assert metadata_only["kind"] == "PartialObjectMetadata"
    assert "data" not in metadata_only

    changed = await client.update(CONFIGMAPS, namespace, "a", {**made, "data": {"k": "w"}})
    assert changed["data"] == {"k": "w"}
    with pytest.raises(Conflict) as conflict:
        await client.update(CONFIGMAPS, namespace, "a", {**made, "data": {"k": "x"}})
    assert conflict.value.reason == "Conflict"

    with pytest.raises(Conflict):
        await client.delete(
            CONFIGMAPS, namespace, "a", uid="another", propagation=Propagation.BACKGROUND
        )
    await client.delete(
        CONFIGMAPS,
        namespace,
        "a",
        uid=made["metadata"]["uid"],
        propagation=Propagation.BACKGROUND,
        grace_period_seconds=0,
    )
    with pytest.raises(NotFound):
        await client.get(CONFIGMAPS, namespace, "a")


async def test_the_three_kinds_of_patch(client: KubeClient, namespace: str) -> None:
    await client.create(CONFIGMAPS, namespace, config_map("a", k="v"))
    merged = await client.patch(
        CONFIGMAPS, namespace, "a", {"data": {"k": None, "l": "1"}}, PatchType.MERGE
    )
    assert merged["data"] == {"l": "1"}
    operations = [
        {"op": "test", "path": "/data/l", "value": "1"},
        {"op": "remove", "path": "/data"},
    ]
    removed = await client.patch(CONFIGMAPS, namespace, "a", operations, PatchType.JSON)
    assert "data" not in removed
    with pytest.raises(Invalid):
        await client.patch(CONFIGMAPS, namespace, "a", operations, PatchType.JSON)
    applied = await client.patch(
        CONFIGMAPS,
        namespace,
        "a",
        config_map("a", k="mine"),
        PatchType.APPLY,
        field_manager="first",
    )
    assert applied["data"] == {"k": "mine"}
    other = config_map("a", k="theirs")
    with pytest.raises(Conflict):
        await client.patch(
            CONFIGMAPS, namespace, "a", other, PatchType.APPLY, field_manager="second"
        )
    forced = await client.patch(
        CONFIGMAPS, namespace, "a", other, PatchType.APPLY, field_manager="second", force=True
    )
    assert forced["data"] == {"k": "theirs"}


async def test_a_list_comes_in_pages(client: KubeClient, namespace: str) -> None:
    names = [f"a{number}" for number in range(5)]
    for name in names:
        await client.create(CONFIGMAPS, namespace, config_map(name, k="v"))
    pages = [
        page
        async for page in client.pages(
            CONFIGMAPS, namespace, label_selector=SELECTOR, page_size=2, metadata_only=True
        )
    ]
    assert [[item["metadata"]["name"] for item in page.items] for page in pages] == [
        names[:2],
        names[2:4],
        names[4:],
    ]
    assert len({page.resource_version for page in pages}) == 1
    assert all("data" not in item for page in pages for item in page.items)


async def test_a_watch_delivers_events_in_order(client: KubeClient, namespace: str) -> None:
    (page,) = [page async for page in client.pages(CONFIGMAPS, namespace)]
    big = "x" * 1_000_000
    async with aclosing(
        client.watch(
            CONFIGMAPS,
            namespace,
            resource_version=page.resource_version,
            label_selector=SELECTOR,
        )
    ) as events:
        await client.create(CONFIGMAPS, namespace, config_map("a", k="v"))
        await client.patch(CONFIGMAPS, namespace, "a", {"data": {"k": big}}, PatchType.MERGE)
        await client.delete(
            CONFIGMAPS, namespace, "a", uid=None, propagation=Propagation.BACKGROUND
        )
        seen: list[tuple[WatchEventType, str]] = []
        async for event in events:
            if event.type is not WatchEventType.BOOKMARK:
                seen.append((event.type, event.object["data"]["k"]))
            if event.type is WatchEventType.DELETED:
                break
    assert seen == [
        (WatchEventType.ADDED, "v"),
        (WatchEventType.MODIFIED, big),
        (WatchEventType.DELETED, big),
    ]


async def test_an_informer_keeps_in_step(client: KubeClient, namespace: str) -> None:
    await client.create(CONFIGMAPS, namespace, config_map("before", k="1"))
    changes: asyncio.Queue[Change[str]] = asyncio.Queue()
    informer: Informer[str] = Informer(
        client,
        CONFIGMAPS,
        transform=lambda raw: raw["data"]["k"],
        sources=Sources.of_the_machine(),
        namespace=namespace,
        label_selector=SELECTOR,
        indexes={"value": lambda value: [value]},
    )
    informer.add_handler(changes.put_nowait)
    running = asyncio.create_task(informer.run())
    try:
        await informer.wait_synced()
        assert await changes.get() == Change((namespace, "before"), None, "1")
        made = await client.create(CONFIGMAPS, namespace, config_map("ours", k="2"))
        informer.assume(made)
        assert informer.indexed("value", "2") == [((namespace, "ours"), "2")]
        assert await changes.get() == Change((namespace, "ours"), None, "2")
        await client.patch(CONFIGMAPS, namespace, "ours", {"data": {"k": "3"}}, PatchType.MERGE)
        assert await changes.get() == Change((namespace, "ours"), "2", "3")
        await client.delete(
            CONFIGMAPS, namespace, "ours", uid=None, propagation=Propagation.BACKGROUND
        )
        gone = await changes.get()
        assert (gone.key, gone.old, gone.new) == ((namespace, "ours"), "3", None)
        assert gone.last is not None
        assert gone.last["data"] == {"k": "3"}
        informer.assume(made)
        assert informer.get(namespace, "ours") is None
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def test_discovery(client: KubeClient) -> None:
    discovery = Discovery(client, SystemClock())
    assert await discovery.resource_for(APPWRAPPERS.gvk) == APPWRAPPERS
    assert await discovery.resource_for(CONFIGMAPS.gvk) == CONFIGMAPS
    assert await discovery.resource_for(NAMESPACES.gvk) == NAMESPACES
    job = GroupVersionKind.of("batch/v1", "Job")
    assert await discovery.resource_for(job) == Resource("batch", "v1", "jobs", "Job")
    for unknown in ("example.com/v1", "batch/v9", "batch/v1"):
        with pytest.raises(UnknownKind):
            await discovery.resource_for(GroupVersionKind.of(unknown, "Nothing"))


async def test_events_are_written_and_counted(client: KubeClient, namespace: str) -> None:
    made = await client.create(CONFIGMAPS, namespace, config_map("a"))
    recorder = EventRecorder(client, SystemClock(), component="test")
    uid = made["metadata"]["uid"]
    about = ObjectReference("v1", "ConfigMap", namespace, "a", uid)
    for _ in range(3):
        recorder.warning(about, "Trouble", "it is broken")
    recorder.drain()
    await recorder.run()
    (page,) = [
        page
        async for page in client.pages(
            EVENTS, namespace, field_selector=f"involvedObject.uid={about.uid}"
        )
    ]
    assert [
        (event["type"], event["reason"], event["message"], event["count"]) for event in page.items
    ] == [("Warning", "Trouble", "it is broken", 3)]
