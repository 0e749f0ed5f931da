"""Puts the cluster's eight nodes into four racks of two blocks, under a Topology, for one team.

Every flavor of the team's queue has the topology, so Kueue assigns nodes to all its workloads.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from localcluster.access.probes import node_is_ready
from localcluster.cluster import LocalCluster
from localcluster.installers.kwok import HEARTBEAT_LABEL, HEARTBEAT_STOPPED
from shared.api.objects import APPWRAPPERS, EVENTS, NODES, PODS, JsonObject, Resource
from shared.kube.client import KubeClient, NotFound, PatchType, Propagation
from tests.support.builders.appwrappers import true_conditions
from tests.support.builders.autopilot import GPU, HEALTH
from tests.support.cluster.another_team import another_team, team_documents
from tests.support.cluster.gpu_nodes import NO_EXECUTE, RUNS
from tests.support.cluster.life import Life, listed
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import RESOURCE_FLAVORS, WORKLOADS
from tests.support.observer.controller_words import ControllerWords
from tests.support.patience import comes_to
from tests.support.team import FLAVOR, own

TEAM = own("racks")
BLOCK, RACK, HOST = (
    "tests.localcluster.dev/block",
    "tests.localcluster.dev/rack",
    "kubernetes.io/hostname",
)
REQUIRED, PREFERRED = (f"kueue.x-k8s.io/podset-{how}-topology" for how in ("required", "preferred"))
_TOPOLOGIES = Resource("kueue.x-k8s.io", "v1beta2", "topologies", "Topology", namespaced=False)
_NAME = own("racks")
_POOL = "tests.localcluster.dev/pool"
_UNSCHEDULABLE = "appwrapper_unschedulable_capacity"


def rack_of(node: str) -> str:
    """Returns the rack of a node: 1 and 2 are in rack-1, 3 and 4 in rack-2, …"""
    return f"rack-{(int(node.rpartition('-')[2]) + 1) // 2}"


class Racks:
    """`begin` and `runs` create AppWrappers; in the end they are gone and every node is healthy."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.cluster = cluster
        self.client: KubeClient = cluster.client
        self._stack = AsyncExitStack()
        self._changed: set[str] = set()

    async def begin(self, body: JsonObject) -> Life:
        """Create the AppWrapper, and follow its life from its first moment."""
        name = body["metadata"]["name"]
        life = await self._stack.enter_async_context(Life(self.client, TEAM, name))
        await self.client.create(APPWRAPPERS, TEAM, body)
        self._stack.push_async_callback(self._end, life, name)
        return life

    async def runs(self, body: JsonObject) -> Life:
        """Create it and wait until all of its pods run."""
        life = await self.begin(body)
        await life.until(lambda item: true_conditions(item) == RUNS, "all of its pods running")
        return life

    async def _end(self, life: Life, name: str) -> None:
        with suppress(NotFound):
            await self.client.delete(
                APPWRAPPERS, TEAM, name, uid=None, propagation=Propagation.BACKGROUND
            )
        await life.until_deleted()

    async def stored(self, life: Life) -> JsonObject:
        """Return the AppWrapper, live."""
        name = life.events[0].object["metadata"]["name"]
        return await self.client.get(APPWRAPPERS, TEAM, name)

    async def pods(self, life: Life) -> list[JsonObject]:
        """Return its pods, live."""
        uid = life.events[0].object["metadata"]["uid"]
        return await listed(self.client, PODS, TEAM, f"workload.codeflare.dev/uid={uid}")

    async def nodes_of(self, life: Life) -> list[str]:
        """Return the nodes of its pods, sorted; empty for a pod that has none."""
        return sorted(each["spec"].get("nodeName", "") for each in await self.pods(life))

    async def workload(self, life: Life) -> JsonObject:
        """Return Kueue's Workload."""
        uid = life.events[0].object["metadata"]["uid"]
        found = await listed(self.client, WORKLOADS, TEAM, f"kueue.x-k8s.io/job-uid={uid}")
        assert len(found) == 1, found
        return found[0]

    async def event_messages(self, name: str, reason: str) -> list[str]:
        """Return the messages of the Events with that reason about the AppWrapper of that name."""
        return [
            each["message"]
            for each in await listed(self.client, EVENTS, TEAM)
            if each["involvedObject"]["name"] == name and each["reason"] == reason
        ]

    async def fail_pod(self, life: Life, node: str) -> None:
        """Let its pod on that node fail, as the node would report it."""
        (name,) = (
            each["metadata"]["name"]
            for each in await self.pods(life)
            if each["spec"].get("nodeName") == node
        )
        failed: JsonObject = {"status": {"phase": "Failed"}}
        await self.client.patch(PODS, TEAM, name, failed, PatchType.MERGE, subresource="status")

    async def drain(self, life: Life, node: str) -> None:
        """Delete its pod on that node."""
        for each in await self.pods(life):
            if each["spec"].get("nodeName") == node:
                await removed(self.client, PODS, TEAM, each["metadata"]["name"])

    async def label(self, node: str, value: str | None, key: str = HEALTH) -> None:
        """Write a label of the node, as Autopilot does."""
        self._changed.add(node)
        await self._patch(node, {"metadata": {"labels": {key: value}}})

    async def cordon(self, node: str) -> None:
        """Cordon the node as `kubectl cordon` does; returns when the controller knows.

        It hears of nodes and of pods by two watches.
        """
        self._changed.add(node)
        await self._patch(node, {"spec": {"unschedulable": True}})
        await comes_to(
            lambda: self._metric(_UNSCHEDULABLE, resource=GPU, reason="cordoned"),
            self.cluster.options.gpus_per_node,
        )

    async def silence(self, node: str) -> None:
        """Stop the node's heartbeats."""
        await self.label(node, HEARTBEAT_STOPPED, HEARTBEAT_LABEL)

    async def _metric(self, name: str, **labels: str) -> float:
        """Return a value of the controller's /metrics; -1 while it is being started."""
        try:
            return ControllerWords.of(self.cluster.directory).sample(name, labels)
        except OSError:
            return -1.0

    async def _patch(self, node: str, patch: JsonObject) -> None:
        await self.client.patch(NODES, None, node, patch, PatchType.MERGE)

    async def put_back(self) -> None:
        """Restore all nodes and the rest."""
        try:
            await self._stack.aclose()
        finally:
            well = {
                "metadata": {"labels": {HEALTH: None, HEARTBEAT_LABEL: None}},
                "spec": {"unschedulable": None},
            }
            for node in self._changed:
                await self._patch(node, well)

            async def ready() -> bool:
                nodes = await listed(self.client, NODES, None)
                return all(node_is_ready(each) for each in nodes)

            await comes_to(ready, True)
            # Else the controller may drive the next test's pods off them.
            if self._changed and self.cluster.processes["controller"].state == "running":
                await comes_to(lambda: self._metric(NO_EXECUTE, resource=GPU), 0)


def _documents() -> list[JsonObject]:
    """Build the team, with the quota of all eight nodes together."""
    documents = team_documents(TEAM)
    for each in documents:
        if each["kind"] == "ClusterQueue":
            del each["spec"]["cohortName"]
            (flavor,) = each["spec"]["resourceGroups"][0]["flavors"]
            assert flavor["name"] == FLAVOR
            flavor["name"] = _NAME
    return documents


@asynccontextmanager
async def racks_team(cluster: LocalCluster) -> AsyncIterator[None]:
    """Label the nodes, and create Kueue's Topology and the team's queue."""
    nodes = sorted(each["metadata"]["name"] for each in await listed(cluster.client, NODES, None))
    for node in nodes:
        number = int(rack_of(node).rpartition("-")[2])
        labels = {_POOL: _NAME, RACK: rack_of(node), BLOCK: f"block-{(number + 1) // 2}"}
        patch: JsonObject = {"metadata": {"labels": labels}}
        await cluster.client.patch(NODES, None, node, patch, PatchType.MERGE)
    levels = [{"nodeLabel": each} for each in (BLOCK, RACK, HOST)]
    kueue = "kueue.x-k8s.io/v1beta2"
    topology = {"apiVersion": kueue, "kind": "Topology", "metadata": {"name": _NAME}}
    flavor = {"apiVersion": kueue, "kind": "ResourceFlavor", "metadata": {"name": _NAME}}
    await cluster.apply(
        [
            topology | {"spec": {"levels": levels}},
            flavor | {"spec": {"nodeLabels": {_POOL: _NAME}, "topologyName": _NAME}},
        ]
    )
    try:
        async with another_team(cluster, TEAM, _documents()):
            yield
    finally:
        await removed(cluster.client, RESOURCE_FLAVORS, None, _NAME)
        await removed(cluster.client, _TOPOLOGIES, None, _NAME)
        for node in nodes:
            patch = {"metadata": {"labels": dict.fromkeys((_POOL, RACK, BLOCK))}}
            await cluster.client.patch(NODES, None, node, patch, PatchType.MERGE)


@asynccontextmanager
async def racks(cluster: LocalCluster) -> AsyncIterator[Racks]:
    """Yield racks for one test, in the team."""
    found = Racks(cluster)
    try:
        yield found
    finally:
        await found.put_back()
