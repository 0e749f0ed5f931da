"""The heartbeats of nodes on which nothing runs."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from bench.errors import BenchError
from bench.load.kubelets import Kubelets, node
from shared.api.objects import LEASES, NODES, JsonObject, JsonValue, Resource
from shared.kube.client import Forbidden, ListPage, PatchType, Propagation
from shared.kube.http_client import HttpKubeClient

COUNT = 4
Place = tuple[str, str]  # plural, name


class Recorder(HttpKubeClient):
    """What is stored, and what was patched, with `all_reported` once each node has sent twice.

    Somebody else writes to the nodes until they were looked at `restless` times.
    """

    def __init__(self, refused: str = "", restless: int = 2) -> None:
        self.stored: dict[Place, JsonObject] = {}
        self.patched: list[Place] = []
        self.all_reported = asyncio.Event()
        self.was_refused = asyncio.Event()
        self._refused = refused
        self._reads, self._restless = 0, restless

    async def create(
        self, resource: Resource, namespace: str | None, body: JsonObject, **options: Any
    ) -> JsonObject:
        assert namespace == {NODES: None, LEASES: "kube-node-lease"}[resource]
        self.stored[resource.plural, body["metadata"]["name"]] = body
        return body

    async def pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        page_size: int = 500,
    ) -> AsyncGenerator[ListPage, None]:
        assert (resource, metadata_only) == (NODES, True)
        nodes = [item for (kind, _), item in self.stored.items() if kind == NODES.plural]
        version = str(min(self._reads, self._restless))
        self._reads += 1
        for item in nodes:
            assert label_selector in item["metadata"]["labels"]
            item["metadata"]["resourceVersion"] = version
        yield ListPage(nodes, version)

    async def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: JsonValue,
        patch_type: PatchType,
        *,
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
    ) -> JsonObject:
        if name == self._refused and resource is NODES:
            self.was_refused.set()
            raise Forbidden(403, "Forbidden", "no")
        assert subresource == ("status" if resource is NODES else "")
        self.patched.append((resource.plural, name))
        if self.patched.count(("nodes", f"bystander-{COUNT - 1}")) == 2:
            self.all_reported.set()
        return {}

    async def delete(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str | None,
        propagation: Propagation,
        grace_period_seconds: int | None = None,
    ) -> JsonObject:
        assert namespace == {NODES: None, LEASES: "kube-node-lease"}[resource]
        return self.stored.pop((resource.plural, name))


async def test_all_nodes_report_in_turn_and_none_is_left() -> None:
    client = Recorder()
    async with Kubelets(client, COUNT, pause_seconds=0) as kubelets:
        assert {kind for kind, _ in client.stored} == {"nodes", "leases"}
        assert len(client.stored) == 2 * COUNT
        assert kubelets.reports == 0
        async with kubelets.reporting(0.001):
            await client.all_reported.wait()
        reported = [name for kind, name in client.patched if kind == "nodes"]
        assert reported[: 2 * COUNT] == 2 * [f"bystander-{number}" for number in range(COUNT)]
        assert kubelets.reports == len(reported)
    assert client.stored == {}


async def test_nodes_that_do_not_come_to_rest_are_not_measured_with() -> None:
    client = Recorder(restless=1_000)
    with pytest.raises(BenchError) as caught:
        await Kubelets(client, COUNT, pause_seconds=0).__aenter__()
    assert str(caught.value) == "4 nodes do not come to rest on this machine."


async def some_heartbeats(kubelets: Kubelets, until: asyncio.Event) -> None:
    async with kubelets.reporting(0.001):
        await until.wait()


async def test_a_heartbeat_that_is_refused_ends_the_measurement() -> None:
    client = Recorder(refused="bystander-1")
    async with Kubelets(client, COUNT, pause_seconds=0) as kubelets:
        with pytest.raises(BenchError) as caught:
            await some_heartbeats(kubelets, client.was_refused)
    assert str(caught.value) == "A heartbeat of a node could not be sent: 403 Forbidden: no"
    assert client.stored == {}


def test_a_node_is_as_large_as_one_of_a_cluster_and_takes_no_pods() -> None:
    made = node("n", "2026-01-01T00:00:00Z")
    assert 10_000 < len(json.dumps(made)) < 20_000
    assert [taint["effect"] for taint in made["spec"]["taints"]] == ["NoSchedule"]
    assert made["status"]["allocatable"]["nvidia.com/gpu"] == "8"
